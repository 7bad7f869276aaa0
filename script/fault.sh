#!/usr/bin/env bash
# Every call of the tools into libc fails once, under ASan, LSan and UBSan (test/fault). In all some
# 11,000 failures; of what costs a process each (threads, pipes, the recorder) half, at 0.1 s of CPU,
# else 0.03 s: about a quarter of an hour on a core of one's own. The tests take a sample.
#   script/fault.sh                  every call
#   FAULT_MOST=20 script/fault.sh    about 20 calls of each command and kind, spread evenly
#   FAULT_ONLY='^ptdump' script/...  only commands whose names match
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset asan-ubsan >/dev/null
cmake --build --preset asan-ubsan --target fault_preload helper_fault helper_perfdata ptdump ptxed ptcapture >build-asan-ubsan/build.log 2>&1 ||
    { tail -30 build-asan-ubsan/build.log; exit 1; }
FAULT=full PT_BUILD=$PWD/build-asan-ubsan exec test/fault/t_fault.sh
