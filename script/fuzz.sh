#!/usr/bin/env bash
# Run the libFuzzer targets (clang, ASan and UBSan), with the stored corpus and generated seeds.
#   script/fuzz.sh [seconds [target...]]       60 seconds each, all targets; two at a time (JOBS)
#   script/fuzz.sh hours <n>                   all targets in turn, for that long; ends at a find
# The growing corpora stay in build-fuzz/corpus, the numbers of runs in build-fuzz/runs; what fails is
# written to build-fuzz/finds. A find belongs, once fixed, into test/fuzz/corpus/<target>/, which the
# tests replay.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60} hours=
shift || true
if [ "$seconds" = hours ]; then
    hours=$1 seconds=60
    shift
fi
jobs=${JOBS:-2}
# Each run allocates a decoder's tables anew. Memory that goes back to the system, or is seldom used
# again, has to be zeroed page by page: most of the time of the targets that decode.
export ASAN_OPTIONS=quarantine_size_mb=8:allocator_release_to_os_interval_ms=-1:max_malloc_fill_size=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}

seeds=$(mktemp -d)
trap 'rm -rf "$seeds"' EXIT
python3 test/fuzz/seeds.py "$seeds"

targets=("$@")
[ ${#targets[@]} -gt 0 ] || for source in test/fuzz/fuzz_*.c; do
    target=$(basename "$source" .c)
    targets+=("${target#fuzz_}")
done
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target "${targets[@]/#/fuzz_}" >build-fuzz/build.log 2>&1 ||
    { tail -30 build-fuzz/build.log; exit 1; }
mkdir -p build-fuzz/finds build-fuzz/runs

# fuzz TARGET: a line about it, and its status.
fuzz() {
    local target=$1 corpus=build-fuzz/corpus/$1 log=build-fuzz/$1.log runs status=0
    local options=(-max_total_time="$seconds" -max_len=8192 -timeout=120 -rss_limit_mb=2048
        -close_fd_mask=3 -artifact_prefix="build-fuzz/finds/$target-" -print_final_stats=1)
    [ -e "$seeds/$target.dict" ] && options+=(-dict="$seeds/$target.dict")
    mkdir -p "$corpus" "$seeds/$target"
    [ -d "test/fuzz/corpus/$target" ] && cp -n "test/fuzz/corpus/$target"/* "$seeds/$target/"
    "build-fuzz/bin/fuzz_$target" "${options[@]}" "$corpus" "$seeds/$target" >"$log" 2>&1 || status=1
    runs=$(sed -n 's/stat::number_of_executed_units: *//p' "$log")
    echo "${runs:-0}" >>"build-fuzz/runs/$target"
    if [ $status -eq 0 ]; then
        echo "ok: $target: $runs runs"
    else
        echo "FAILED: $target ($log)"
        grep -E 'ERROR|SUMMARY|runtime error|Test unit written' "$log" | head -5 || true
    fi
    return $status
}

# all: every target once, some at a time.
all() {
    local failed=0 running=0
    for target in "${targets[@]}"; do
        if [ $running -ge "$jobs" ]; then
            wait -n || failed=1
            running=$((running - 1))
        fi
        fuzz "$target" &
        running=$((running + 1))
    done
    while [ $running -gt 0 ]; do
        wait -n || failed=1
        running=$((running - 1))
    done
    return $failed
}

if [ -z "$hours" ]; then
    all
    exit
fi
while [ $SECONDS -lt $((hours * 3600)) ]; do
    all || exit 1
done
echo "runs in all: $(cat build-fuzz/runs/* | awk '{ n += $1 } END { print n }')"
