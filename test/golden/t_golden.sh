#!/usr/bin/env bash
# Scenarios: packets and code in, the tools' text out. A scenario is one file, NAME.scn:
#
#     # what it shows, and where the expected text is known from
#     == code 1000            code at this address, as hexadecimal bytes
#     90                      # nop
#     == trace                packets, as ptdump prints them (helper_trace.c)
#     psb
#     == ptxed --no-inst      the tool, its options, the standard output it must have
#     0000000000001000
#     == status 1             exit status of the tool before (0 if it is not given)
#
# In options, %trace is the trace; code and trace are given to ptxed, the trace to ptdump,
# where the options do not name it. t_golden.sh [NAME...] runs some.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)

# Cut the scenario into numbered parts: $1/N.head and $1/N.body.
cut_up() {
    awk -v dir="$1" '
        /^== / { n++; body = sprintf("%s/%02d.body", dir, n)
                 print substr($0, 4) > sprintf("%s/%02d.head", dir, n); printf "" > body; next }
        n { print > body }' "$2"
}

# bytes FILE: hexadecimal text to bytes.
bytes() { sed 's/#.*//; s/^/hex /' "$1" | helper_trace; }

# expect NAME TOOL-LINE EXPECTED STATUS
expect() {
    local name=$1 want=$3 status=$4 got args
    read -r -a args <<<"$2"
    case $2 in
    *%trace*) args=("${args[@]//%trace/trace}") ;;
    ptxed*) args=(ptxed "${code[@]}" "${args[@]:1}" --pt trace) ;;
    ptdump*) args+=(trace) ;;
    esac
    (cd "$work" && "${args[@]}" >out 2>err </dev/null)
    got=$?
    [ "$got" -eq "$status" ] || fail "$name: $2: exit status $got, not $status"
    # Blanks at the end of a line and empty lines at the end of a section do not matter.
    sed 's/ *$//; /^#/d; /^$/d' "$want" >"$work/want"
    sed 's/ *$//' "$work/out" >"$work/got"
    same "$name: $2" "$work/want" "$work/got"
}

run_scenario() {
    local name part head tool='' body='' status=0
    name=$(basename "$1" .scn)
    work=$tmp/$name
    code=()
    mkdir "$work"
    cut_up "$work" "$1"
    for part in "$work"/*.head; do
        read -r head <"$part"
        case $head in
        code\ *)
            bytes "${part%.head}.body" >"$work/code.${head#code }" || fail "$name: $head"
            code+=(--raw "code.${head#code }:0x${head#code }")
            ;;
        trace) helper_trace <"${part%.head}.body" >"$work/trace" || fail "$name: trace" ;;
        status\ *) status=${head#status } ;;
        *)
            [ -z "$tool" ] || expect "$name" "$tool" "$body" "$status"
            tool=$head body=${part%.head}.body status=0
            ;;
        esac
    done
    expect "$name" "$tool" "$body" "$status"
}

if [ $# -gt 0 ]; then
    for name in "$@"; do run_scenario "$here/$name.scn"; done
else
    for file in "$here"/*.scn; do run_scenario "$file"; done
fi
done_testing
