#!/usr/bin/env bash
# The manual pages as built: no option is missing in one and none is invented, every script and
# header has a page, every public function leads to its own, examples exist; no tool that reads
# manual pages complains.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
man=$PT_BUILD/share/man

# The option names in the page: roff's \- is a hyphen.
in_page() { sed 's/\\f.//g; s/\\-/-/g' "$1" | grep -oE -- '--[a-z][a-z0-9.:_-]*' | sed 's/[.]$//' | sort -u; }
# Those that --help of a tool prints, not --list-options, which the pages are made from.
in_help() { "$1" --help | grep -oE '^  (-[a-zA-Z], )?--[^ =[]*' | grep -oE -- '--.*' | sort -u; }

for tool in ptdump ptxed ptcapture; do
    command -v "$tool" >/dev/null || continue
    page=$man/man1/$tool.1
    in_help "$tool" >"$tmp/help"
    in_page "$page" >"$tmp/page"
    missing=$(comm -23 "$tmp/help" "$tmp/page")
    # "--sb" may stand for all options --sb:x.
    unknown=$(comm -13 "$tmp/help" "$tmp/page" | while read -r option; do grep -q -- "^$option:" "$tmp/help" || echo "$option"; done)
    check "$tool: it has options" [ -s "$tmp/help" ]
    check "$tool: its options are in the manual page (missing: ${missing//$'\n'/ })" [ -z "$missing" ]
    check "$tool: the manual page names real options (not: ${unknown//$'\n'/ })" [ -z "$unknown" ]
    for section in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do
        grep -qx "[.]SH $section" "$page" || fail "$tool: no section $section"
    done
    # Text that is written for an option that no longer exists is an error.
    { cat "$PT_SOURCE/doc/man/$tool.1.in" && printf '%s\n' '.\" @after --gone' text '.\" @end'; } >"$tmp/gone.in"
    "$PT_SOURCE/script/make-man" options "$tmp/gone.in" "$(command -v "$tool")" >/dev/null 2>"$tmp/err" &&
        fail "$tool: text for an option that is gone is taken"
    check "$tool: text for an option that is gone is reported" grep -q -- 'no such option or group: --gone' "$tmp/err"
done

for script in "$PT_SOURCE"/script/*.bash; do
    name=$(basename "$script")
    page=$man/man1/$name.1
    check "$name: manual page" test -s "$page" || continue
    for section in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do
        grep -qx "[.]SH $section" "$page" || fail "$name: no section $section"
    done
    # Every word of --help is in the page.
    "$script" --help | sed 's/usage://; s/^options:$//; s/^Exit status://' | grep -oE '[A-Za-z0-9]{3,}' | tr '[:upper:]' '[:lower:]' | sort -u >"$tmp/help"
    sed 's/\\f./ /g; s/\\-/-/g; s/\\&//g' "$page" | grep -oE '[A-Za-z0-9]{3,}' | tr '[:upper:]' '[:lower:]' | sort -u >"$tmp/page"
    check "$name: all of --help is in the page ($(comm -23 "$tmp/help" "$tmp/page" | xargs))" [ -z "$(comm -23 "$tmp/help" "$tmp/page")" ]
done

for header in "$PT_SOURCE"/libpt/include/pt/*.h; do
    name=pt_$(basename "$header" .h)
    check "$name(3)" test -s "$man/man3/$name.3" || continue
    sed 's/\\f.//g; s/\\-/-/g' "$man/man3/$name.3" >"$tmp/page"
    # Functions, types and constants; those of a table (XX) are in it.
    grep -oE '\b(ptl_[a-z0-9_]+\(|(struct|enum) ptl_[a-z0-9_]+|PTL_[A-Z0-9_]+)' "$header" |
        grep -vE '^PTL_(API|MUST_CHECK|)$' | sort -u >"$tmp/names"
    missing=$(awk 'NR == FNR { page = page "\n" $0; next } !index(page, $0)' "$tmp/page" "$tmp/names")
    check "$name(3): all of the header (missing: ${missing//$'\n'/ })" [ -z "$missing" ]
    grep -q "$name"'\\fR(3)' "$man/man7/libpt.7" || fail "libpt(7) does not name $name(3)"
    sed -n 's/.*\b\(ptl_[a-z0-9_]*\)(.*/\1/p' <(grep '^PTL_API' "$header") | while read -r function; do
        { read -r line && ! read -r _; } <"$man/links/$function.3" && [ "$line" = ".so man3/$name.3" ] || echo "$function"
    done >"$tmp/lost"
    check "$name(3): a page for each function ($(xargs <"$tmp/lost"))" test ! -s "$tmp/lost"
done

# libpt-json(5) tells of each type of line, by the schema.
grep -oE '^    "[a-z]+": \{$' "$PT_SOURCE/tool/schema/libpt-lines.schema.json" | tr -dc 'a-z\n' | grep -vE '^(hex|count|bytes|seconds)$' |
    while read -r type; do grep -qx "[.]B $type" "$man/man5/libpt-json.5" || echo "$type"; done >"$tmp/lost"
check "libpt-json(5): all types ($(xargs <"$tmp/lost"))" test ! -s "$tmp/lost"

# Pages that SEE ALSO names and that are ours exist.
grep -hoE '^\.BR (pt|libpt|perf\\-(read|get|copy))[^ ]* \([1357]\)' "$man"/man?/*.? | sed 's/^.BR //; s/\\-/-/g; s/ (/./; s/)//' | sort -u |
    while read -r page; do [ -e "$man/man${page##*.}/$page" ] || echo "$page"; done >"$tmp/lost"
check "pages that others name exist ($(xargs <"$tmp/lost"))" test ! -s "$tmp/lost"

pages=("$man"/man?/*.[1357])
if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning "${pages[@]}" >"$tmp/lint" 2>&1
    check "mandoc has no warnings ($(head -3 "$tmp/lint"))" test ! -s "$tmp/lint"
fi
if command -v groff >/dev/null; then
    groff -t -man -Tutf8 -ww "${pages[@]}" >/dev/null 2>"$tmp/lint"
    check "groff has no warnings ($(head -3 "$tmp/lint"))" test ! -s "$tmp/lint"
fi
for awk in mawk gawk busybox; do # the generators need nothing of a certain awk
    command -v $awk >/dev/null || continue
    mkdir -p "$tmp/bin"
    if [ $awk = busybox ]; then ln -sf "$(command -v busybox)" "$tmp/bin/awk"; else ln -sf "$(command -v $awk)" "$tmp/bin/awk"; fi
    PATH="$tmp/bin:$PATH" PT_VERSION=x "$PT_SOURCE/script/make-man" header "$PT_SOURCE/libpt/include/pt/packet.h" pt_flow >"$tmp/page.$awk"
    [ -e "$tmp/first" ] || cp "$tmp/page.$awk" "$tmp/first"
    same "$awk makes the same page" "$tmp/first" "$tmp/page.$awk"
done
done_testing
