#!/usr/bin/env bash
# Recordings: however many threads decode, and in whatever parts, the text, the messages and the
# exit status are those of one thread; what is asked for is found without decoding the rest.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=test/cli/jobs_lib.sh
. "$(dirname "$0")/jobs_lib.sh"

# jobs NAME WORD...: several numbers of threads, tiny segments.
jobs() {
    local name=$1 n
    shift
    run one -j1 "$@"
    for n in 2 5; do
        run many -j$n --segment-size $((n * 400)) "$@"
        equal "$name: -j$n" one many
    done
}
# shards NAME WORD...: the texts of the parts make the whole.
shards() {
    local name=$1 n k
    shift
    run one -j1 "$@"
    for n in 2 7; do
        for ((k = 1; k <= n; k++)); do
            ptxed -j$((k % 3 + 1)) --segment-size 700 --shard $k/$n "$@" 2>"$tmp/shard.err"
        done >"$tmp/shards"
        same "$name: $n shards" "$tmp/one.out" "$tmp/shards"
    done
}

# A loop of calls, by hand: user code that is left and entered again, at times by another task.
printf '\xe8\x0b\x00\x00\x00\x74\x03\x90\x90\x90\xeb\xf4\x90\x90\x90\x90\x90\xc3' >"$tmp/code"
make() { # SEED ROUNDS [MWAIT]
    python3 - "$@" <<'PY'
import random, sys
rnd = random.Random(int(sys.argv[1]))
tsc, on = 0x1000, True
def psb():
    global tsc
    tsc += 100 + rnd.randrange(50)
    print('psb\ntsc %x\ncbr 10\nmode.exec cs.l' % tsc)
    if on: print('fup 6: 1000')
    print('psbend')
psb()
for i in range(int(sys.argv[2])):
    if not on:
        tsc += 20
        print('tsc %x\ntip.pge 6: 1000' % tsc)
        on = True
    for _ in range(rnd.randrange(1, 8)):
        print('tnt.8 !%s' % rnd.choice('!.'))
    what = rnd.randrange(10)
    if what < 3:
        print('fup 6: 1000\ntip.pgd 0: 0')
        on = False
    elif what == 3:
        print('ovf\nfup 6: 1000')
    elif what == 4 and len(sys.argv) > 3:
        print('mwait 0 0')
    elif what < 8:
        psb()
PY
}
damage() { # FILE EVERY SEED
    python3 - "$@" <<'PY'
import random, sys
data = bytearray(open(sys.argv[1], 'rb').read())
every, rnd = int(sys.argv[2]), random.Random(int(sys.argv[3]))
at = rnd.randrange(every)
while at < len(data):
    data[at] ^= 1 << rnd.randrange(8)
    at += 1 + rnd.randrange(2 * every)
sys.stdout.buffer.write(data)
PY
}
wrap() { # TRACE NAME=VALUE...
    helper_wrap "$1" "$tmp/code" 0x1000 "${@:2}"
}

make 1 1500 mwait | helper_trace >"$tmp/made.pt" || fail "the trace was made"
wrap "$tmp/made.pt" piece=900 buffer=2500 cpus=2 tasks=3 switch=700 >"$tmp/made.data"
run one -j1 "$tmp/made.data"
check "the text is long" [ "$(wc -l <"$tmp/one.out")" -gt 20000 ]
check "nothing went wrong" grep -q "errors 0" "$tmp/one.err"
# How many of them are decoded again depends on which thread is faster; that most begin well,
# test_segments.c tells.
segments=$(segments_of --segment-size 2K "$tmp/made.data")
check "it was cut into segments ($segments)" [ "${segments:-0}" -gt 10 ]
# With time of MTC and CYC, whose ratio the recording does not tell: all begin well.
python3 - <<'PY' | helper_trace >"$tmp/timed.pt"
for i in range(6000):
    print('psb\ntsc %x\ntma %x %x\ncbr 10\nmode.exec cs.l\nfup 6: 1000\npsbend' % (0x1000 + 900 * i, (0x10 + i) & 0xffff, i % 9))
    for k in range(9):
        print('mtc %x\ncyc %x\ntnt.8 !!' % ((9 * i + k) & 0xff, 40 + k))
PY
helper_wrap "$tmp/timed.pt" "$tmp/code" 0x1000 piece=1048576 buffer=1048576 ratio=0 >"$tmp/timed.data"
jobs "MTC and CYC without a ratio" "$tmp/timed.data"
again=$(ptxed -v -j2 -q --segment-size 1K "$tmp/timed.data" 2>&1 | grep -o '[0-9]* segments, [0-9]* of them')
check "MTC and CYC without a ratio: $again decoded again" grep -qE '^[1-9][0-9]+ segments, 0 of' <<<"$again"

jobs "two processors, three tasks" "$tmp/made.data"
jobs "fields, times" --fields all --event:time --event:ip --offset "$tmp/made.data"
jobs "quiet, numbers" --quiet --stat:insn "$tmp/made.data"
jobs "JSON" --json --fields all "$tmp/made.data"
jobs "switches" --sb:switch "$tmp/made.data"
jobs "by time" --merge "$tmp/made.data"
jobs "records between the lines" --sb:compact "$tmp/made.data"
jobs "a task" --select:tid 4712 --fields tid "$tmp/made.data"
jobs "a stretch of time" --select:time 20%,40% "$tmp/made.data"
shards "two processors" "$tmp/made.data"
shards "fields" --fields all "$tmp/made.data"
shards "a task" --select:tid 4712 --fields tid "$tmp/made.data"

# --- GNU parallel ---------------------------------------------------------------------------
# Other machines are two names for this one, reached with a program that takes the place of ssh.
if command -v parallel >/dev/null; then
    cat >"$tmp/ssh" <<'SH'
#!/bin/sh
# ssh [-option]... HOST COMMAND...
while [ "${1#-}" != "$1" ]; do
    case $1 in -l | -p | -o) shift ;; esac
    shift
done
echo "$1" >>"${0%/*}/hosts"
shift
[ "$1" != -- ] || shift
# As sshd does; a test run may have no SHELL, and parallel starts the remote command with it.
exec env SHELL=/bin/sh sh -c "$*"
SH
    chmod +x "$tmp/ssh"
    cp "$tmp/made.data" "$tmp/ma de.data"
    run one -j1 --fields all "$tmp/ma de.data"
    PARALLEL_SSH=$tmp/ssh "$PT_SOURCE/script/pt-shards.bash" -n 6 -S 2/one,2/two -- --fields all "$tmp/ma de.data" \
        >"$tmp/shards" 2>"$tmp/err" </dev/null
    check "pt-shards.bash over two hosts: status" [ $? -eq "$(cat "$tmp/one.status")" ]
    same "pt-shards.bash over two hosts: 6 parts" "$tmp/one.out" "$tmp/shards"
    check "both hosts worked" [ "$(sort -u "$tmp/hosts" 2>/dev/null | tr '\n' ' ')" = "one two " ]
    "$PT_SOURCE/script/pt-shards.bash" -n 3 -S : -- --fields all "$tmp/ma de.data" >"$tmp/shards" 2>"$tmp/err"
    same "pt-shards.bash: sshlogin :" "$tmp/one.out" "$tmp/shards"
fi

# --- only what is asked for ---------------------------------------------------------------
# decoded NAME PERCENT WORD...: so much of the trace may be decoded for it (by one thread).
decoded() {
    local name=$1 percent=$2 all part
    shift 2
    all=$(ptxed -j1 -q --stat:decoded "$long" 2>/dev/null | sed -n 's/^decoded: \([0-9]*\).*/\1/p')
    part=$(ptxed -j1 -q --stat:decoded "$@" "$long" 2>/dev/null | sed -n 's/^decoded: \([0-9]*\).*/\1/p')
    check "$name: $part of $all bytes are decoded" [ "${part:-0}" -gt 0 -a $((part * 100)) -lt $((all * percent)) ]
}
make 2 40000 | helper_trace >"$tmp/long.pt"
wrap "$tmp/long.pt" piece=9000 buffer=30000 cpus=2 tasks=2 >"$tmp/long.data"
long=$tmp/long.data
decoded "1 % of the time" 2 --select:time 50%,51%
decoded "one of two processors" 51 --select:cpu 1
decoded "the last 100 instructions" 3 --tail 100
wrap "$tmp/long.pt" piece=9000 buffer=30000 tasks=50 switch=30000 >"$tmp/long.data"
decoded "one of fifty tasks" 4 --select:tid 4720
ptxed -j1 --fields tid "$long" 2>/dev/null | grep '^4720 ' >"$tmp/expected"
ptxed -j2 --fields tid --select:tid 4720 "$long" 2>/dev/null >"$tmp/got"
check "the task has lines" [ -s "$tmp/expected" ]
same "one of fifty tasks: its lines" "$tmp/expected" "$tmp/got"
for n in 1 7 5000; do
    # instructions and what lies between them
    ptxed -j1 "$long" 2>/dev/null | tac | awk -v n=$n '!/^\[/ { i++ } i < n || !/^\[/ { print } i == n { exit }' | tac >"$tmp/expected"
    for j in 1 3; do
        ptxed -j$j --segment-size 1K --tail $n "$long" 2>/dev/null >"$tmp/got"
        same "the last $n, -j$j" "$tmp/expected" "$tmp/got"
    done
done
from=$(ptxed -j1 --fields time "$long" 2>/dev/null | sed -n '20000s/:.*//p')
to=$(ptxed -j1 --fields time "$long" 2>/dev/null | sed -n '25000s/:.*//p')
ptxed -j1 --fields time "$long" 2>/dev/null | awk -F: -v from="$from" -v to="$to" '$1 >= from && $1 <= to' >"$tmp/expected"
ptxed -j2 --segment-size 1K --fields time --select:time "$from,$to" "$long" 2>/dev/null >"$tmp/got"
same "a stretch of time: its lines" "$tmp/expected" "$tmp/got"

wrap "$tmp/made.pt" piece=1300 buffer=3000 across=1 lost=4 >"$tmp/lost.data"
jobs "full buffers" "$tmp/lost.data"
shards "full buffers" "$tmp/lost.data"
wrap "$tmp/made.pt" piece=1300 buffer=3000 timeless=1 >"$tmp/timeless.data"
jobs "without time" "$tmp/timeless.data"
shards "without time" "$tmp/timeless.data"
for seed in 1 2 3; do
    damage "$tmp/made.pt" $((seed * 200)) $seed >"$tmp/bad.pt"
    wrap "$tmp/bad.pt" piece=1500 buffer=4000 cpus=2 tasks=2 switch=900 >"$tmp/bad.data"
    jobs "damage $seed" --fields tid "$tmp/bad.data"
    jobs "damage $seed, resync" --resync-on-error "$tmp/bad.data"
done
head -c $(($(stat -c %s "$tmp/made.data") * 2 / 3)) "$tmp/made.data" >"$tmp/cut.data"
jobs "a cut file" "$tmp/cut.data"
done_testing
