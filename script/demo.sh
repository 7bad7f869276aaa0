#!/usr/bin/env bash
# From a bare Debian 12 to the instructions that a program executed: install what is needed, build,
# and run the session that README.md begins with.
set -euo pipefail
cd "$(dirname "$0")/.."

script/setup.sh
cmake --preset release -DPT_TESTS=OFF -DPT_BENCH=OFF >/dev/null
cmake --build --preset release | tail -n 1
PATH=$PWD/build/bin:$PATH
readme=$PWD/README.md

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
# What README shows of fib.c is the file.
sed -n '/^\$ cat fib.c$/,/^\$ cc /p' "$readme" | sed '1d;$d' >fib.c
sed -n '/^```console$/,/^```$/s/^\$ //p' "$readme" | while IFS= read -r command; do
    printf '\n$ %s\n' "$command"
    (set +o pipefail && eval "$command") </dev/null # `| head` ends a pipe early
done
