#!/usr/bin/env bash
# --coverage counts what is printed without it; --quick needs no code.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
need_shared truth/cases

# The addresses of blocks as they were printed; each line of numbers is a sum over them.
count_lines() { # the trace's arguments
    ptxed --no-inst "$@" | grep -E '^[0-9a-f]{16}$' | sort | uniq -c | awk '{ print $2, $1 }' >"$tmp/insns"
}
for case in recur-O0 prt-O3-cyc filter-all sysc-O2-cbr m32-O1 sig-O2 hash-O2; do
    cd "$shared/truth/cases/$case" || exit 1
    args=$(awk '$2 == "ptxed" { $1 = $2 = ""; print; exit }' cmds)
    args=${args//--no-inst/}
    # shellcheck disable=SC2086 # arguments are words
    count_lines $args
    # shellcheck disable=SC2086
    ptxed --coverage $args >"$tmp/coverage" 2>"$tmp/err"
    check "$case: sorted by address" sort -c -k1,1 "$tmp/coverage"
    # How often the first instruction of a block ran is at least how often the block did.
    awk 'NR == FNR { ran[$1] = $2; next }
         $2 > ran[$1] || $2 < 1 { bad = 1; print "more often than printed:", $0 }
         END { exit bad }' "$tmp/insns" "$tmp/coverage" || fail "$case: too many"
    # shellcheck disable=SC2086
    want=$(ptxed --quiet --stat:insn $args)
    # shellcheck disable=SC2086
    got=$(ptxed --coverage --stat:insn $args | grep '^insn')
    check "$case: as many instructions" [ "$want" = "$got" ]
    # Each instruction that was printed lies in a block that ran.
    awk 'function n(h,  i, v) { v = 0; for (i = 5; i <= 16; i++) v = v * 16 + index("0123456789abcdef", substr(h, i, 1)) - 1; return v }
         NR == FNR { b[NR] = n($1); e[NR] = b[NR] + $4; m = NR; next }
         { a = n($1); while (i < m && b[i + 1] <= a) i++; ok = 0
           for (j = i; j > 0 && j > i - 50; j--) if (b[j] <= a && a < e[j]) ok = 1
           if (!ok) { print "in no block:", $0; bad = 1 } }
         END { exit bad }' "$tmp/coverage" "$tmp/insns" || fail "$case: not covered"
done

# An edge was taken as often as its two instructions stand one behind the other in the text.
for case in filter-all sig-O2; do
    cd "$shared/truth/cases/$case" || exit 1
    args=$(awk '$2 == "ptxed" { $1 = $2 = ""; print; exit }' cmds)
    # shellcheck disable=SC2086
    ptxed --no-inst ${args//--no-inst/} >"$tmp/text"
    # shellcheck disable=SC2086
    ptxed --coverage=edges ${args//--no-inst/} >"$tmp/edges"
    check "$case: there are edges" [ -s "$tmp/edges" ]
    awk 'NR == FNR { if (!/^[0-9a-f]+$/) { if (/^\[(enabled|disabled|interrupt|overflow)/) last = ""; next }
                     if (last != "") pair[last " " $0]++
                     last = $0; next }
         pair[$1 " " $2] != $3 { bad = 1; print "printed", pair[$1 " " $2] + 0, "times:", $0 }
         END { exit bad }' "$tmp/text" "$tmp/edges" || fail "$case: edges"
done

cd "$shared/truth/cases/recur-O0" || exit 1
ptxed --coverage --symbols --elf recur-O0 --pt recur-O0.pt >"$tmp/named"
ptxed --coverage --elf recur-O0 --pt recur-O0.pt >"$tmp/plain"
sed 's/  [^ ]*+0x[0-9a-f]*$//' "$tmp/named" >"$tmp/stripped"
same "symbols only add names" "$tmp/plain" "$tmp/stripped"
for bad in --check --quick; do
    check "--coverage not with $bad" [ "$(ptxed --coverage $bad --elf recur-O0 --pt recur-O0.pt 2>/dev/null | wc -c)" = 0 ]
done

# What packets say: the dump has the same addresses.
ptdump --lastip --no-offset recur-O0.pt >"$tmp/dump"
awk '$1 == "tip" { print $NF }' "$tmp/dump" >"$tmp/want"
ptxed --quick --pt recur-O0.pt 2>/dev/null | sed -n 's/^\[tip, ip: \([0-9a-f]*\)\]$/\1/p' >"$tmp/got"
check "there are TIPs" [ -s "$tmp/want" ]
same "--quick: the addresses of TIPs" "$tmp/want" "$tmp/got"
for trace in "$shared"/truth/cases/*psb64*/*.pt; do
    psbs=$(ptdump --no-offset "$trace" | grep -c '^psb$')
    got=$(ptxed --quick=psb --pt "$trace" 2>/dev/null | grep -c '^\[psb+')
    check "--quick=psb: one line for each of $psbs" [ "$psbs" = "$got" ]
done
done_testing
