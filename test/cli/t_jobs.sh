#!/usr/bin/env bash
# However many threads decode, and in whatever parts: the text, the exit status and the messages are
# those of one thread.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=test/cli/jobs_lib.sh
. "$(dirname "$0")/jobs_lib.sh"

# jobs NAME WORD...: several numbers of threads, tiny segments.
jobs() {
    local name=$1 n
    shift
    run one -j1 "$@"
    for n in 2 4 8; do
        run many -j$n --segment-size $((n * 500)) "$@"
        equal "$name: -j$n" one many
    done
}
# shards NAME WORD...: the texts of the parts make the whole.
shards() {
    local name=$1 n k
    shift
    run one -j1 "$@"
    for n in 2 5; do
        for ((k = 1; k <= n; k++)); do
            ptxed -j$((k % 3 + 1)) --segment-size 700 --shard $k/$n "$@" 2>"$tmp/shard.err"
        done >"$tmp/shards"
        same "$name: $n shards" "$tmp/one.out" "$tmp/shards"
    done
}

# damage FILE EVERY SEED: other bits every so many bytes.
damage() {
    python3 - "$@" <<'EOF'
import random, sys
data = bytearray(open(sys.argv[1], 'rb').read())
every, rnd = int(sys.argv[2]), random.Random(int(sys.argv[3]))
at = rnd.randrange(every)
while at < len(data):
    data[at] ^= 1 << rnd.randrange(8)
    at += 1 + rnd.randrange(2 * every)
sys.stdout.buffer.write(data)
EOF
}

# --- a made-up program -----------------------------------------------------------------
# A loop of calls and a conditional branch, by hand: PSB+ after each few rounds, some with
# other states, overflows, tracing off and on, events.
printf '\xe8\x0b\x00\x00\x00\x74\x03\x90\x90\x90\xeb\xf4\x90\x90\x90\x90\x90\xc3' >"$tmp/code"
python3 - >"$tmp/text" <<'EOF'
import random
rnd = random.Random(7)
tsc, on = 0x1000, False
def psb(mode=True):
    global tsc
    tsc += 100 + rnd.randrange(50)
    print('psb\ntsc %x\ncbr 10' % tsc)
    if mode: print('mode.exec cs.l')
    if on: print('fup 6: 1000')
    print('psbend')
on = True
psb()
for i in range(600):
    if not on:
        if rnd.randrange(2):
            psb()
        print('tip.pge 6: 1000')
        on = True
    # call 1010; nop; ret; je; (nops); jmp 1000: a compressed return, one branch
    for _ in range(rnd.randrange(1, 8)):
        print('tnt.8 !%s' % rnd.choice('!.'))
    what = rnd.randrange(12)
    if what == 0:
        print('fup 6: 1000\ntip.pgd 0: 0')
        on = False
    elif what == 1:
        print('ovf\nfup 6: 1000')
    elif what == 2:
        print('fup 6: 1000\ntip 6: 1000')
    elif what == 3:
        print('cyc %x\nmtc %x' % (rnd.randrange(1, 99), rnd.randrange(256)))
    elif what == 4:
        print('mwait 0 0')
    elif what == 5:
        print('pwre c3.1')
    elif what < 10:
        psb(rnd.randrange(4) > 0)
EOF
helper_trace <"$tmp/text" >"$tmp/made.pt" || fail "the trace was made"
made=(--raw "$tmp/code:0x1000" --pt)
run one -j1 "${made[@]}" "$tmp/made.pt"
check "the trace is long" [ "$(wc -l <"$tmp/one.out")" -gt 5000 ]
jobs "made up" "${made[@]}" "$tmp/made.pt"
jobs "made up, times" --time --event:time --offset "${made[@]}" "$tmp/made.pt"
jobs "made up, ticks" --event:tick "${made[@]}" "$tmp/made.pt"
jobs "made up, quiet" --quiet --stat:insn "${made[@]}" "$tmp/made.pt"
jobs "made up, numbers" --stat "${made[@]}" "$tmp/made.pt"
jobs "made up, blocks" --block:show-blocks --check "${made[@]}" "$tmp/made.pt"
jobs "made up, no code" --pt "$tmp/made.pt"
jobs "made up, cut" "${made[@]}" "$tmp/made.pt:3-1777"
shards "made up" "${made[@]}" "$tmp/made.pt:3-1777"
for seed in 1 2 3 4 5 6; do
    damage "$tmp/made.pt" $((seed * 150)) $seed >"$tmp/bad.pt"
    jobs "made up, damage $seed" --offset "${made[@]}" "$tmp/bad.pt"
    jobs "made up, damage $seed, resync" --resync-on-error --time --event:time "${made[@]}" "$tmp/bad.pt"
done

# Segments are really decoded apart; that they are rightly begun, test_segments.c tells.
segments=$(segments_of --segment-size 2K "${made[@]}" "$tmp/made.pt")
check "the trace was cut into segments ($segments)" [ "${segments:-0}" -gt 3 ]

# --- GNU parallel ----------------------------------------------------------------------
if command -v parallel >/dev/null; then
    run one -j1 "${made[@]}" "$tmp/made.pt"
    cp "$tmp/made.pt" "$tmp/ma de.pt"
    "$PT_SOURCE/script/pt-shards.bash" -n 5 -- "${made[@]}" "$tmp/ma de.pt" >"$tmp/shards" 2>"$tmp/err"
    check "pt-shards.bash: status" [ $? -eq "$(cat "$tmp/one.status")" ]
    same "pt-shards.bash: 5 parts" "$tmp/one.out" "$tmp/shards"
fi

# --- options ---------------------------------------------------------------------------
for word in 0/3 4/3 x 1 1/ 1/2x; do
    ptxed --shard "$word" "${made[@]}" "$tmp/made.pt" >"$tmp/out" 2>"$tmp/err"
    check "--shard $word is refused" [ $? -eq 2 ]
done
ptxed --shard 1/2 --stat "${made[@]}" "$tmp/made.pt" >"$tmp/out" 2>"$tmp/err"
check "--shard with numbers of blocks is refused" [ $? -eq 2 ]
# More text than any pipe holds: it must notice.
for _ in $(seq 12); do cat "$tmp/made.pt"; done >"$tmp/more.pt"
check "that is more than a pipe holds" [ "$(ptxed "${made[@]}" "$tmp/more.pt" 2>"$tmp/err" | wc -c)" -gt 2500000 ]
(
    trap '' PIPE
    ptxed -j4 --segment-size 1K "${made[@]}" "$tmp/more.pt"
    echo $? >"$tmp/status"
) 2>"$tmp/err" | head -1 >"$tmp/out"
check "a reader that has had enough" [ "$(cat "$tmp/status")" -eq 1 ]
check "and only that is said" [ "$(cat "$tmp/err")" = 'ptxed: cannot write: Broken pipe.' ]
ptxed -j4 --segment-size 1K "${made[@]}" "$tmp/made.pt" >/dev/full 2>"$tmp/err"
check "a full device" [ $? -eq 1 ]
check "a full device is reported" grep -q 'cannot write' "$tmp/err"

# --- real traces -----------------------------------------------------------------------
real=$shared/real/cases/mruby
if [ -e "$real" ]; then
    cat "$real"/trace.pt{,,,} >"$tmp/mruby4.pt"
    code=(--raw "$real/code.img:0x400000" --pt)
    sum() { ptxed "$@" 2>&1 | sha256sum; }
    one=$(sum -j1 -q --stat:insn "${code[@]}" "$tmp/mruby4.pt")
    for size in 5K 100K 1M; do
        check "mruby x4, quiet, segments of $size" \
            [ "$one" = "$(sum -j4 --segment-size $size -q --stat:insn "${code[@]}" "$tmp/mruby4.pt")" ]
    done
    one=$(sum -j1 --no-inst --offset "${code[@]}" "$real/trace.pt")
    check "mruby, text" [ "$one" = "$(sum -j3 --no-inst --offset "${code[@]}" "$real/trace.pt")" ]
    one=$(ptxed -j1 --no-inst --offset "${code[@]}" "$real/trace.pt" 2>/dev/null | sha256sum)
    check "mruby, text, 3 shards" [ "$one" = "$(for k in 1 2 3; do
        ptxed --shard $k/3 --no-inst --offset "${code[@]}" "$real/trace.pt" 2>/dev/null
    done | sha256sum)" ]
    head -c 300000 "$real/trace.pt" >"$tmp/part.pt"
    for seed in 1 2; do
        damage "$tmp/part.pt" 6000 $seed >"$tmp/bad.pt"
        one=$(sum -j1 --no-inst "${code[@]}" "$tmp/bad.pt")
        for j in 2 8; do
            check "mruby, damage $seed, -j$j" \
                [ "$one" = "$(sum -j$j --segment-size 10K --no-inst "${code[@]}" "$tmp/bad.pt")" ]
        done
    done
fi
for dir in "$shared"/truth/cases/*/ "$shared"/real/cases/hello/; do
    [ -e "$dir/cmds" ] || continue
    cd "$dir" || exit 1
    while read -r _ tool words; do
        [ "$tool" = ptxed ] || continue
        read -ra words <<<"$words"
        run one -j1 "${words[@]}"
        run many -j4 --segment-size 1K "${words[@]}"
        equal "$(basename "$dir") ${words[*]}" one many
        run one -j1 --time --event:time "${words[@]}"
        run many -j4 --segment-size 1K --time --event:time "${words[@]}"
        equal "$(basename "$dir"), times" one many
    done <cmds
done
done_testing
