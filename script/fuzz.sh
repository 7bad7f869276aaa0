#!/usr/bin/env bash
# Run the libFuzzer targets (clang), each for some seconds, with generated seeds.
#   script/fuzz.sh [seconds [target...]]       60 seconds each, all targets
# The growing corpora stay in build-fuzz/corpus; what fails is written to build-fuzz/finds.
# A find belongs, once fixed, into test/fuzz/corpus/<target>/, which the tests replay.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true

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
mkdir -p build-fuzz/finds
failed=0
for target in "${targets[@]}"; do
    corpus=build-fuzz/corpus/$target
    options=(-max_total_time="$seconds" -max_len=8192 -timeout=10 -rss_limit_mb=2048
        -artifact_prefix="build-fuzz/finds/$target-" -print_final_stats=1)
    [ -e "$seeds/$target.dict" ] && options+=(-dict="$seeds/$target.dict")
    mkdir -p "$corpus" "$seeds/$target"
    [ -d "test/fuzz/corpus/$target" ] && cp -n "test/fuzz/corpus/$target"/* "$seeds/$target/"
    if "build-fuzz/bin/fuzz_$target" "${options[@]}" "$corpus" "$seeds/$target" \
        >"build-fuzz/$target.log" 2>&1; then
        echo "ok: $target: $(sed -n 's/stat::number_of_executed_units: *//p' "build-fuzz/$target.log") runs"
    else
        failed=$((failed + 1))
        echo "FAILED: $target (build-fuzz/$target.log)"
        grep -E 'ERROR|SUMMARY|runtime error|Test unit written' "build-fuzz/$target.log" | head -5 || true
    fi
done
exit $((failed > 0))
