#!/usr/bin/env bash
# All damaged versions of real files, under ASan and UBSan: every prefix, every byte of the headers
# changed, a thousand swaps of blocks each (test/mutate/versions.h). Takes hours; the tests
# take a sample.
#   script/mutate.sh                  all
#   MUTATE_EVERY=100 script/mutate.sh every 100th of them, of all files: minutes
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset asan-ubsan >/dev/null
cmake --build --preset asan-ubsan --target helper_mutate mutate_preload helper_perfdata ptdump ptxed ptcapture >build-asan-ubsan/build.log 2>&1 ||
    { tail -30 build-asan-ubsan/build.log; exit 1; }
MUTATE=full PT_BUILD=$PWD/build-asan-ubsan exec test/mutate/t_mutate.sh
