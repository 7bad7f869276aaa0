# shellcheck shell=bash
# shellcheck disable=SC2154 # tmp is of lib.sh
# Runs of ptxed compared with each other; sourced by the tests of -j and --shard, after lib.sh.
# run NAME WORD...: ptxed's text, messages and status in files of that name.
run() {
    local out=$1
    shift
    ptxed "$@" >"$tmp/$out.out" 2>"$tmp/$out.err"
    echo $? >"$tmp/$out.status"
}
# equal NAME A B: did two runs say the same?
equal() {
    # Two that are refused alike prove nothing.
    if [ "$(cat "$tmp/$2.status")" = 2 ] && [ ! -s "$tmp/$2.out" ]; then
        fail "$1: refused: $(head -1 "$tmp/$2.err")"
    elif cmp -s "$tmp/$2.out" "$tmp/$3.out" && cmp -s "$tmp/$2.err" "$tmp/$3.err" &&
        cmp -s "$tmp/$2.status" "$tmp/$3.status"; then
        echo "ok: $1"
    else
        fail "$1"
        cmp "$tmp/$2.out" "$tmp/$3.out"
        diff "$tmp/$2.err" "$tmp/$3.err"
        diff "$tmp/$2.status" "$tmp/$3.status"
    fi
}
# segments_of WORD...: into how many segments two threads cut it.
segments_of() {
    ptxed -v -j2 -q "$@" 2>&1 | sed -n 's/.*: \([0-9]*\) segments, .*/\1/p'
}
