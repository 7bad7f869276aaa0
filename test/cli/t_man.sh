#!/usr/bin/env bash
# Every option that a tool's --help names is in its manual page, and the other way round.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"

# The option names in the page: roff's \- is a hyphen, N stands for a digit.
in_page() { sed 's/\\f.//g; s/\\-/-/g' "$1" | grep -oE -- '--[a-z][a-z0-9.:_-]*( N _[a-z]+)?' | sed 's/ //g; s/[.]$//' | sort -u; }
in_help() { "$1" --help | grep -oE '^  (-[a-zA-Z], )?--[^ =[]*' | grep -oE -- '--.*' | sed -E 's/addr[0-3]_/addrN_/' | sort -u; }

for tool in ptdump ptxed ptcapture; do
    page=$PT_SOURCE/doc/man/$tool.1
    [ -e "$page" ] && command -v "$tool" >/dev/null || continue
    in_help "$tool" >"$tmp/help"
    in_page "$page" >"$tmp/page"
    missing=$(comm -23 "$tmp/help" "$tmp/page")
    unknown=$(comm -13 "$tmp/help" "$tmp/page")
    check "$tool: its options are in the manual page (missing: ${missing//$'\n'/ })" [ -z "$missing" ]
    check "$tool: the manual page names real options (not: ${unknown//$'\n'/ })" [ -z "$unknown" ]
done
done_testing
