#!/usr/bin/env bash
# Every call of the tools into libc fails once, under ASan, LSan and UBSan (test/fault). In all some
# 11,000 failures; of what costs a process each (threads, pipes, the recorder) half, at 0.1 s of CPU,
# else 0.03 s: about a quarter of an hour on a core of one's own. The tests take a sample.
# With hardware about 4 calls of each (a quarter of an hour and more), where the fake PMU is there.
#   script/fault.sh                  every call
#   FAULT_MOST=20 script/fault.sh    about 20 calls of each command and kind, spread evenly
#   FAULT_ONLY='^ptdump' script/...  only commands whose names match
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset asan-ubsan >/dev/null
cmake --build --preset asan-ubsan --target fault_preload helper_fault helper_perfdata ptdump ptxed ptcapture >build-asan-ubsan/build.log 2>&1 ||
    { tail -30 build-asan-ubsan/build.log; exit 1; }
status=0
FAULT=full PT_BUILD=$PWD/build-asan-ubsan test/fault/t_fault.sh || status=1

# With hardware: in a guest with a fake PMU, where each call takes seconds.
guest=${PT_SHARED:-$PWD/../shared}/fake-pt/run.sh
if [ ! -e "$guest" ]; then
    echo "note: ptcapture with hardware is not run: no $guest"
    exit $status
fi
cmake --preset release >/dev/null
cmake --build --preset release --target fault_preload helper_fault helper_busy ptcapture ptdump >build/build.log 2>&1 ||
    { tail -30 build/build.log; exit 1; }
inputs=()
for file in bin/ptcapture bin/ptdump bin/test/helper_fault bin/test/helper_busy lib/fault_preload.so; do
    inputs+=(-i "$PWD/build/$file")
done
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
bash "$guest" -t 7200 -o "$out" "${inputs[@]}" -i test/fault/guest_fault.sh -i test/fault/guest_look.sh \
    -s "FAULT_MOST=${FAULT_MOST:-4} FAULT_ONLY='${FAULT_ONLY:-}' sh ./guest_fault.sh" >/dev/null 2>&1 || status=1
tr -d '\0' <"$out/stdout"
exit $status
