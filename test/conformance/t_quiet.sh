#!/usr/bin/env bash
# --quiet counts without looking at each block: numbers and errors are those of the printed trace.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
need_shared truth/cases

pick() { # numbers and errors
    grep -aE '^(insn|blocks):|^\[[0-9a-f]+, [0-9a-f]+: ' || true
}
n=0
for list in "$shared"/{conformance,real,truth}/cases/*/cmds; do
    cd "${list%/cmds}" || exit 1
    while read -r _ tool args; do
        [ "$tool" = ptxed ] || continue
        args="${args//--quiet/} --no-inst --stat"
        # shellcheck disable=SC2086 # arguments are words
        ptxed $args 2>/dev/null | pick >"$tmp/told"
        # shellcheck disable=SC2086
        ptxed $args --quiet 2>/dev/null | pick >"$tmp/counted"
        cmp -s "$tmp/told" "$tmp/counted" || same "${list%/cmds}: ptxed $args" "$tmp/told" "$tmp/counted"
        n=$((n + 1))
    done <"$list"
done
echo "$n commands"
[ "$n" -gt 100 ] || fail "only $n commands"
done_testing
