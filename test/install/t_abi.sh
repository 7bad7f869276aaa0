#!/usr/bin/env bash
# The library still exports what it has exported, under the same versions; what the headers declare
# is what it exports; the constants of the headers are frozen by unit/test_abi.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
headers=("$PT_SOURCE"/libpt/include/pt/*.h)

nm -D --defined-only "$PT_BUILD/lib/libpt.so" | awk '$2 ~ /[A-Z]/ && $2 != "A" { print $3 }' | sed 's/@@*/ /' | LC_ALL=C sort >"$tmp/now"
grep -v '^#' "$PT_SOURCE/libpt/abi/symbols.txt" | LC_ALL=C sort >"$tmp/before"
check "there is something to compare" test "$(wc -l <"$tmp/before")" -gt 100
gone=$(LC_ALL=C comm -23 "$tmp/before" "$tmp/now")
check "no symbol is gone or has another version (${gone//$'\n'/, })" [ -z "$gone" ]
new=$(LC_ALL=C comm -13 "$tmp/before" "$tmp/now")
[ -z "$new" ] || echo "new, for libpt/abi/symbols.txt before the release: ${new//$'\n'/, }"

# Declarations: a function's name stands before the first parenthesis behind PTL_API.
sed -n 's/^PTL_API [^(]*[ *]\(ptl_[a-z0-9_]*\)(.*/\1/p' "${headers[@]}" | LC_ALL=C sort >"$tmp/declared"
cut -d' ' -f1 "$tmp/now" >"$tmp/exported"
same "declared and exported functions are the same" "$tmp/declared" "$tmp/exported"

# Structures and prototypes, against the description of the last release: additions are fine.
if command -v abidw >/dev/null && command -v abidiff >/dev/null; then
    mkdir "$tmp/build"
    "$PT_SOURCE/script/abi-dump" "$tmp/build" >"$tmp/abi" 2>"$tmp/log" || fail "script/abi-dump: $(tail -3 "$tmp/log")"
    # What the headers only name may change. (libabigail finds out by names of files, and session.h is two.)
    comm -23 <(grep -ohE '^struct ptl_[a-z0-9_]+;' "${headers[@]}" | tr -d ';' | LC_ALL=C sort -u) \
        <(grep -ohE '^struct ptl_[a-z0-9_]+ \{' "${headers[@]}" | sed 's/ {//' | LC_ALL=C sort -u) |
        sed 's/^struct \(.*\)/[suppress_type]\n  name = \1/' >"$tmp/opaque"
    abidiff --suppressions "$tmp/opaque" --no-added-syms "$PT_SOURCE/libpt/abi/libpt.abi" "$tmp/abi" >"$tmp/diff" 2>&1
    check "the binary interface is compatible (script/abi-dump >libpt/abi/libpt.abi, with a new SOVERSION or before the first release)" \
        test $? -eq 0
    head -30 "$tmp/diff"
    # The comparison can fail: a field of ptl_packet_decode()'s result becomes wider.
    sed -E "s/(<class-decl name='ptl_packet' size-in-bits=')[0-9]+/\\11024/" "$tmp/abi" >"$tmp/other"
    abidiff --suppressions "$tmp/opaque" --no-added-syms "$tmp/abi" "$tmp/other" >/dev/null 2>&1
    check "another size of struct ptl_packet is noticed" test $? -ne 0
    # And: ptl_psb_find() loses a parameter, ptl_version() is gone.
    awk '/<function-decl name=.ptl_psb_find/ { here = 1 } here && /<parameter/ { here = 0; next } { print }' "$tmp/abi" >"$tmp/other"
    abidiff --no-added-syms "$tmp/abi" "$tmp/other" >/dev/null 2>&1
    check "another prototype is noticed" test $? -ne 0
    grep -v "elf-symbol name='ptl_version'" "$tmp/abi" >"$tmp/other"
    abidiff --no-added-syms "$tmp/abi" "$tmp/other" >/dev/null 2>&1
    check "a function that is gone is noticed" test $? -ne 0
else
    echo "no abidw: structures and prototypes are not compared"
fi

# A constant that the headers lost does not compile in unit/test_abi; one that they gained:
grep -ohE '^ *(#define )?PTL_[A-Z0-9_]+( *=.*|,.*| +[0-9(].*| *)$' "${headers[@]}" | grep -oE 'PTL_[A-Z0-9_]+' | sort -u | while read -r name; do
    grep -qw "$name" "$PT_SOURCE/test/unit/test_abi.c" || echo "$name"
done | grep -vE '_(VERSION_.*|H|API|MUST_CHECK|MAX_VALUE)$' >"$tmp/new"
[ ! -s "$tmp/new" ] || echo "new, for test/unit/test_abi.c before the release: $(xargs <"$tmp/new")"
done_testing
