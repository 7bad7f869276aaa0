#!/usr/bin/env bash
# ptdump: the last packets (--tail) and those of a stretch of time (--select:time), to the packet.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 1

printf '\x90\x90\x90\xeb\xfb' >code
# A trace with a PSB now and then, of TSC, CYC, TNT, TIP and PAD.
python3 - >spec <<'PY'
import random
rnd, tsc = random.Random(5), 0x1000
for i in range(4000):
    if i % 50 == 0:
        tsc += 100 + rnd.randrange(50)
        print('psb\ntsc %x\ncbr 10\nmode.exec cs.l\nfup 6: 1000\npsbend' % tsc)
    what = rnd.randrange(8)
    if what == 0:
        tsc += 10 + rnd.randrange(20)
        print('tsc %x' % tsc)
    print(['tnt.8 !!', 'pad', 'tip 6: 1000', 'tip 2: 1003', 'tnt.8 !', 'pad', 'tip 1: 1000', 'tnt.8 .!'][what])
PY
helper_trace <spec >made.pt || fail "the trace was made"
full() { ptdump "$@" 2>/dev/null; }
check 'it is long' test "$(full made.pt | wc -l)" -gt 4000

# --- the last packets --------------------------------------------------------------------
for options in '' --no-pad --raw '--no-timing --no-offset' --lastip; do
    for n in 1 7 60 900 4100 1M; do
        # shellcheck disable=SC2086
        full $options made.pt | tail -n "${n/1M/1000000}" >expected
        # shellcheck disable=SC2086
        ptdump $options --tail $n made.pt >got
        check "$options --tail $n: status" test $? -eq 0
        same "the last $n packets $options" expected got
    done
done
check 'as JSON' test "$(ptdump --json --tail 3 made.pt | grep -c '"packet"')" -eq 3
check 'of a range' test "$(full --tail 1 made.pt:0-1000)" = "$(full made.pt:0-1000 | tail -1)"
# What comes before is not decoded: its errors are not told.
(printf '\x02\x82%.0s' {1..8} && printf '\x05\x05' && cat made.pt) >bad.pt
ptdump bad.pt >out 2>err
check 'all of it: an error' test $? -eq 1
ptdump --tail 100 bad.pt >out 2>err
check 'the end: none' test $? -eq 0 -a ! -s err
for bad in '--tail 0' '--tail x' '--tail 1 --quiet' '--tail 1 --sb:compact'; do
    # shellcheck disable=SC2086
    ptdump $bad made.pt >out 2>err
    check "$bad: refused" test $? -eq 2 -a ! -s out -a -s err
done

# --- recordings ------------------------------------------------------------------------------
helper_wrap made.pt code 0x1000 piece=900 buffer=2500 cpus=2 >made.data
# The lines of each buffer in a file of its own; those in brackets, but for headings, left out.
by_buffer() { # FILE
    awk -v to="$1" '/^\[aux/ { n = $2 + 0 } !/^\[/ { print > to n }'
}
full made.data | by_buffer all
check 'there are two' test -s all0 -a -s all1
for n in 1 30 700 9999999; do
    rm -f got0 got1
    ptdump --tail $n made.data 2>/dev/null | tee out | by_buffer got
    for buffer in 0 1; do
        tail -n $n all$buffer >expected
        same "buffer $buffer, the last $n" expected got$buffer
    done
    # A heading is that of a piece whose packets follow.
    check "headings, $n" awk '/^\[aux/ { if (last) exit 1; last = 1; next } { last = 0 } END { exit last }' out
done

# --- a stretch of time -------------------------------------------------------------------------
# Both ends in the middle of pieces; the time of a packet is that of the last TSC up to it.
read -r from to < <(awk '$2 == "tsc" { print $3 }' all0 | sed -n '60p;90p' | tr '\n' ' ')
seconds() { # TSC: the conversion of helper_wrap is one tick a nanosecond
    printf '0.%09d' "$((0x$1))"
}
for range in "$from $to" "$from ffffffff" "0 $to"; do
    read -r a b <<<"$range"
    rm -f got0 got1
    ptdump --select:time "$(seconds "$a"),$(seconds "$b")" made.data 2>/dev/null | by_buffer got
    for buffer in 0 1; do
        awk -v a="$((0x$a))" -v b="$((0x$b))" '
            function number(s, v, i) {
                for (i = 1; i <= length(s); i++) v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
                return v
            }
            $2 == "tsc" { now = number($3) }
            now + 0 >= a && now + 0 <= b' all$buffer >expected
        touch got$buffer
        check "buffer $buffer, $range: something" test -s expected
        same "buffer $buffer, $range" expected got$buffer
    done
done
# Wherever a window begins, also in a piece that has no PSB, what one leaves the next one has.
helper_wrap made.pt code 0x1000 piece=100 buffer=2500 across=1 packets=1 >short.data
cuts=$(awk '$2 == "tsc" { print $3 }' all0 | sort -u | awk 'NR % 7 == 3' | head -12)
ptdump --select:time "$(seconds "$(head -1 <<<"$cuts")")," short.data 2>/dev/null | grep -v '^\[' >expected
: >got
while read -r a b; do
    ptdump --select:time "$(seconds "$a"),$(seconds "$b")" short.data 2>/dev/null | grep -v '^\[' >>got
done < <(paste -d' ' <(echo "$cuts") <(tail -n +2 <<<"$cuts" | while read -r t; do printf '%x\n' $((0x$t - 1)); done; echo ffffffff))
check 'windows: there is much' test "$(wc -l <expected)" -gt 1000
same 'windows side by side' expected got
check 'something was left out' test "$(wc -l <got0)" -lt "$(wc -l <all0)"
done_testing
