# shellcheck shell=bash
# Sourced by the black-box tests. PT_BUILD and PT_SOURCE come from ctest; by hand they
# default to ./build and the repository.
set -u
PT_SOURCE=${PT_SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
PT_BUILD=${PT_BUILD:-$PT_SOURCE/build}
export PATH="$PT_BUILD/bin:$PT_BUILD/bin/test:$PATH"
shared=${PT_SHARED:-$PT_SOURCE/../shared} # material of the test machines, may be absent
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failures=0

skip() {
    echo "skipped: $*"
    exit 77
}
need_shared() {
    [ -e "$shared/$1" ] || skip "no $1 beside the repository"
}
fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}
# check NAME COMMAND...: the command must succeed.
check() {
    local name=$1
    shift
    if "$@"; then echo "ok: $name"; else fail "$name"; fi
}
# same NAME EXPECTED-FILE GOT-FILE
same() {
    if cmp -s "$2" "$3"; then
        echo "ok: $1"
    else
        fail "$1"
        diff "$2" "$3" | head -20
    fi
}
done_testing() {
    [ "$failures" -eq 0 ] || { echo "$failures failed"; exit 1; }
    exit 0
}
