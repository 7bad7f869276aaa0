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
    printf '\161\000\020\100\000\000\000'                # tip.pge: all 48 bits, 0x401000
    printf '\374'                                        # tnt: stop bit, 111110
    printf '\055\060\020'                                # tip: 16-bit update, 0x1030
    printf '\001'                                        # tip.pgd: no ip
} >"$tmp/want.pt"
same "make_trace: trace" "$tmp/want.pt" "$tmp/sum.pt"
"$tmp/sum.elf"
[ $? -eq 14 ] || fail "make_trace: the program does not compute 14"
check "make_trace: code in the executable" cmp -s "$tmp/sum.bin" <(tail -c +4097 "$tmp/sum.elf" | head -c "$(stat -c %s "$tmp/sum.bin")")
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
check "count_packets says where" grep -q '^offset 36: unknown opcode$' "$tmp/err"
example_count_packets "$tmp/none" 2>/dev/null && fail "count_packets: missing file: exit status 0"

# 2 + 3 * (1 + 3 + 3) + 2 + 3 instructions.
again='0000000000401020 <square> 3
000000000040100c <start+0xc> 3'
cat >"$tmp/want" <<END
0000000000401000 <start> 3
$again
0000000000401007 <start+0x7> 1
$again
0000000000401007 <start+0x7> 1
$again
0000000000401012 <start+0x12> 2
0000000000401030 <finish> 3
11 blocks, 28 instructions, 0 errors
END
example_print_blocks "$tmp/sum.pt" "$tmp/sum.elf" >"$tmp/got" || fail "print_blocks: exit status $?"
same "print_blocks" "$tmp/want" "$tmp/got"
example_print_blocks "$tmp/sum.pt" "$tmp/sum.elf" 1000000 >"$tmp/got" && fail "print_blocks: wrong base: exit status 0"
check "print_blocks at a wrong base" grep -q 'no memory mapped at this address$' "$tmp/got"
example_print_blocks "$tmp/sum.pt" "$tmp/sum.bin" 2>"$tmp/err" && fail "print_blocks: not ELF: exit status 0"
check "print_blocks: not ELF" grep -q 'sum.bin: bad image$' "$tmp/err"

{
    echo 'tracing on at 401000'
    sed '$d; s/^0*\([0-9a-f]*\) <.*> \([0-9]*\)$/\1: \2 instructions/' "$tmp/want"
    echo 'tracing off'
    echo '28 instructions'
} >"$tmp/want2"
example_walk_memory "$tmp/sum.pt" "$tmp/sum.bin" 401000 >"$tmp/got" || fail "walk_memory: exit status $?"
check "walk_memory: bytes" test "$(awk '/bytes/ { n += $4 } END { print n }' "$tmp/got")" -eq $((12 + 3 * (6 + 6) + 2 * 5 + 7 + 9))
sed -i 's/, [0-9]* bytes$//' "$tmp/got"
same "walk_memory" "$tmp/want2" "$tmp/got"
example_walk_memory "$tmp/sum.pt" "$tmp/sum.bin" 500000 >/dev/null && fail "walk_memory: wrong address: exit status 0"

printf 'thread %d: 28 instructions, 0 errors\n' 0 1 >"$tmp/want"
example_two_threads "$tmp/sum.pt" "$tmp/sum.elf" >"$tmp/got" || fail "two_threads: exit status $?"
same "two_threads" "$tmp/want" "$tmp/got"
done_testing
