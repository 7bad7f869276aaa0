#!/usr/bin/env bash
# From a bare Debian 12 to the instructions that a program executed: install what is needed, build,
# record a small program, print its packets and its instructions.
set -euo pipefail
cd "$(dirname "$0")/.."

script/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release | tail -n 1
PATH=$PWD/build/bin:$PATH

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >fib.c <<'C'
#include <stdio.h>
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) { printf("fib(10) = %d\n", fib(10)); return 0; }
C
# At -O1 the recursion is still there to be seen.
cc -O1 -fno-inline -o fib fib.c

run() {
    printf '\n$ %s\n' "$*"
    "$@"
}
# Only the first lines: a pipe that ends early is not an error.
first() {
    local n=$1
    shift
    printf '\n$ %s | head -%d\n' "$*" "$n"
    "$@" | head -"$n" || true
}
run ptcapture -o fib.data -- ./fib
first 12 ptdump fib.data
printf '\n$ ptxed --symbols fib.data | grep -A 8 "fib+0x0" | head -9\n'
ptxed --symbols fib.data | grep -A 8 '<fib+0x0>\|fib+0' | head -9 || true
run ptxed --quiet --stat fib.data
