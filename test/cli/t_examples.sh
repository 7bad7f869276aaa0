#!/usr/bin/env bash
# The examples of doc/examples: what they print is worked out by hand from the program that
# make_trace.c writes (squares of 3, 2, 1, summed up).
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"

# The trace bytes, by the packet formats of the SDM.
example_make_trace "$tmp" || fail "make_trace: exit status $?"
{
    for _ in 1 2 3 4 5 6 7 8; do printf '\002\202'; done # psb
    printf '\002\003\040\000'                            # cbr: ratio 32
    printf '\002\043'                                    # psbend
    printf '\231\001'                                    # mode.exec: CS.L
    printf '\121\000\020\100\000'                        # tip.pge: 32-bit update, 0x401000
    printf '\374'                                        # tnt: stop bit, 111110
    printf '\055\060\020'                                # tip: 16-bit update, 0x1030
    printf '\001'                                        # tip.pgd: no ip
} >"$tmp/want.pt"
same "make_trace: trace" "$tmp/want.pt" "$tmp/sum.pt"
"$tmp/sum.elf"
[ $? -eq 14 ] || fail "make_trace: the program does not compute 14"
check "make_trace: code in the executable" cmp -s "$tmp/sum.bin" <(tail -c +4097 "$tmp/sum.elf")
example_make_trace "$tmp/none" 2>/dev/null && fail "make_trace: missing directory: exit status 0"

cat >"$tmp/want" <<'END'
psb        1
psbend     1
tnt.8      1
tip        1
tip.pge    1
tip.pgd    1
mode.exec  1
cbr        1
END
example_count_packets "$tmp/sum.pt" >"$tmp/got" || fail "count_packets: exit status $?"
same "count_packets" "$tmp/want" "$tmp/got"

# A byte that is no packet between two copies: reported, and the second copy counted.
{ cat "$tmp/sum.pt"; printf '\005\005'; cat "$tmp/sum.pt"; } >"$tmp/bad.pt"
example_count_packets "$tmp/bad.pt" >"$tmp/got" 2>"$tmp/err" && fail "count_packets: errors: exit status 0"
{
    sed 's/1$/2/' "$tmp/want"
    echo 'skipped    2 bytes'
} >"$tmp/want2"
same "count_packets after an error" "$tmp/want2" "$tmp/got"
check "count_packets says where" grep -q '^offset 34: unknown opcode$' "$tmp/err"
example_count_packets "$tmp/none" 2>/dev/null && fail "count_packets: missing file: exit status 0"
done_testing
