#!/usr/bin/env bash
# Every call of the tools into libc fails once, in one run each, under ASan, LSan and UBSan
# (test/fault). Takes hours, as each run is a process of its own; the tests take a sample.
#   script/fault.sh               every call
#   FAULT_MOST=20 script/fault.sh about 20 calls of each command and kind, spread evenly: minutes
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset asan-ubsan >/dev/null
cmake --build --preset asan-ubsan --target fault_preload helper_perfdata ptdump ptxed ptcapture >build-asan-ubsan/build.log 2>&1 ||
    { tail -30 build-asan-ubsan/build.log; exit 1; }
FAULT=full PT_BUILD=$PWD/build-asan-ubsan exec test/fault/t_fault.sh
