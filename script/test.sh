#!/usr/bin/env bash
# Everything: install what is needed, build, run all tests. The last line is
# "N passed, N failed, N skipped".
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

passed=0 failed=0 skipped=0
note() { printf '== %s\n' "$*"; }
# step NAME COMMAND...: one check of its own.
step() {
    local name=$1 start=$SECONDS
    shift
    note "$name"
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name"
    fi
    note "$name: $((SECONDS - start)) s"
}
finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] && exit 0
    exit 1
}

script/setup.sh --test || { failed=1; finish; }

# build PRESET [options of cmake --build]
build() { cmake --preset "$1" >"build-$1.log" 2>&1 && cmake --build --preset "$@" >>"build-$1.log" 2>&1 || { tail -50 "build-$1.log"; return 1; }; rm -f "build-$1.log"; }
# run_ctest BUILD-DIR LABEL [ctest options]: counts its tests one by one.
run_ctest() {
    local dir=$1 log
    shift
    log=$(mktemp)
    ctest --test-dir "$dir" --output-on-failure -j2 "$@" 2>&1 | tee "$log"
    passed=$((passed + $(grep -cE '^ *[0-9]+/[0-9]+ Test .* Passed ' "$log")))
    skipped=$((skipped + $(grep -cE '^ *[0-9]+/[0-9]+ Test .*\*\*\*Skipped' "$log")))
    failed=$((failed + $(grep -cE '^ *[0-9]+/[0-9]+ Test .*\*\*\*(Failed|Timeout|Exception|Not Run)' "$log")))
    rm -f "$log"
}

step "build with gcc" build release
step "build with clang" build clang
for check in script/check-*; do
    step "$(basename "$check")" "$check"
done
run_ctest build
# 17 targets, two at a time; an hour's work is script/fuzz.sh hours 1.
step "fuzz targets, ${FUZZ_SECONDS:-5} s each" script/fuzz.sh "${FUZZ_SECONDS:-5}"
step "build with sanitizers" build asan-ubsan
note "unit tests with sanitizers"
run_ctest build-asan-ubsan -R '^unit/'
threaded=(test_space test_two_threads)
step "build with the thread sanitizer" build tsan --target "${threaded[@]}"
for name in "${threaded[@]}"; do
    step "$name with the thread sanitizer" "build-tsan/bin/$name"
done
finish
