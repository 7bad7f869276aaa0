#!/usr/bin/env bash
# Everything: install what is needed, build, run all tests. The last line is
# "N passed, N failed, N skipped"; before it stands once more what failed, and why.
#
# Tests often wait, for each other or for a guest: what does not need the first build runs beside
# them, at low priority. Its output comes when it has ended.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
umask 022 # packages and the guest have other users, too

jobs=${JOBS:-$(nproc)}
[ "$jobs" -ge 2 ] || jobs=2
budget=${BUDGET:-1110} # seconds; fuzzers have what the rest leaves of them, at least 5 s a target, 60 s at most
# Programs that tests use do not take every name: blanks in LD_PRELOAD, commas in qemu's options.
case ${TMPDIR:-} in *[!A-Za-z0-9_./-]*) unset TMPDIR ;; esac
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
: >"$state/results" # "passed|failed|skipped NAME": both lanes write there

note() { printf '== %s\n' "$*"; }
result() { printf '%s %s\n' "$1" "$2" >>"$state/results"; }
# Line by line, so that it does not mix with the other lane's lines.
show() { while IFS= read -r line; do printf '%s\n' "$line"; done; }
# why NAME: standard input is the reason why it failed, the end of it.
why() { { echo "-- $1" && tail -n 60; } >>"$state/why"; }

# step NAME COMMAND...: one check of its own.
step() {
    local name=$1 start=$SECONDS log
    log=$(mktemp -p "$state")
    shift
    if "$@" >"$log" 2>&1; then
        result passed "$name"
    else
        result failed "$name"
        why "$name" <"$log"
        echo "FAILED: $name" >>"$log"
    fi
    show <"$log"
    note "$name: $((SECONDS - start)) s"
}

count() { grep -c "^$1 " "$state/results"; }
finish() {
    [ ! -s "$state/why" ] || { note "what failed" && cat "$state/why"; }
    note "$SECONDS s in all"
    sed -n 's/^failed /FAILED: /p' "$state/results"
    echo "$(count passed) passed, $(count failed) failed, $(count skipped) skipped"
    [ "$(count failed)" -eq 0 ] && exit 0
    exit 1
}
# Stopped from outside: say how far it came.
stopped() {
    trap - TERM INT HUP
    result failed "stopped after $SECONDS s"
    kill "${lanes[@]}" 2>/dev/null
    finish
}
lanes=()
trap stopped TERM INT HUP

# build PRESET [option of cmake...] [-- option of cmake --build...]
build() {
    local preset=$1 configure=()
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        configure+=("$1")
        shift
    done
    shift
    cmake --preset "$preset" "${configure[@]}" >"$state/$preset" 2>&1 &&
        cmake --build --preset "$preset" -j "$jobs" "$@" >>"$state/$preset" 2>&1 ||
        { grep -E -A 12 'error|FAILED|undefined' "$state/$preset" | head -60; tail -20 "$state/$preset"; return 1; }
}

# run_ctest PREFIX BUILD-DIR [ctest options]: counts its tests one by one, each name behind PREFIX.
run_ctest() {
    local prefix=$1 dir=$2 log status
    log=$(mktemp -p "$state")
    shift 2
    ctest --test-dir "$dir" --output-on-failure -j "$jobs" "$@" 2>&1 </dev/null | tee "$log" | show
    status=${PIPESTATUS[0]}
    sed -nE "s,^ *[0-9]+/[0-9]+ Test +#[0-9]+: ([^ ]+) \.*( *Passed |\*\*\*Skipped|\*\*\*).*,\2 $prefix\1,p" "$log" |
        sed -E 's/^ *Passed +/passed /; s/^\*\*\*Skipped /skipped /; s/^\*\*\* /failed /' >"$log.results"
    cat "$log.results" >>"$state/results"
    # ctest may fail without a test that does.
    if [ "$status" -ne 0 ] && ! grep -q '^failed ' "$log.results"; then
        result failed "ctest in $dir"
        why "ctest in $dir" <"$log"
    fi
    sed -n 's/^failed //p' "$log.results" | while IFS= read -r name; do
        awk -v name="${name#"$prefix"}" '/^ *[0-9]+\/[0-9]+ Test +#/ { on = $4 == name } /^[0-9]+% tests passed/ { exit }
            /^( +Start +[0-9]+|ok): / { next } on' "$log" | why "$name"
    done
}

# What needs the first build: the tests.
tests() {
    run_ctest '' build
    note "tests: $SECONDS s"
}

# fuzz TARGETS: an hour's work is script/fuzz.sh hours 1.
fuzz() {
    local seconds=$(((budget - SECONDS) * jobs / $1))
    [ "$seconds" -ge 5 ] || seconds=5
    [ "$seconds" -le 60 ] || seconds=60
    seconds=${FUZZ_SECONDS:-$seconds}
    step "fuzz targets, $seconds s each" env JOBS="$jobs" script/fuzz.sh "$seconds"
}

# What does not.
beside() {
    local check unit targets threaded=(test_space test_two_threads) quick=(-DCMAKE_C_FLAGS_RELWITHDEBINFO='-O1 -g1')
    renice -n 10 -p "$BASHPID" >/dev/null 2>&1
    # All warnings of clang come before it optimizes.
    step "build with clang" build clang -DCMAKE_C_FLAGS_RELEASE='-O0 -DNDEBUG' --
    for check in script/check-*; do
        step "$(basename "$check")" "$check"
    done
    mapfile -t unit < <(basename -s .c test/unit/test_*.c)
    # Warnings are errors in the builds above; under sanitizers gcc has wrong ones.
    step "build with sanitizers" build asan-ubsan "${quick[@]}" -DPT_WERROR=OFF -- --target "${unit[@]}"
    run_ctest 'sanitizers: ' build-asan-ubsan -R '^unit/'
    step "build with the thread sanitizer" build tsan "${quick[@]}" -DPT_WERROR=OFF -- --target "${threaded[@]}"
    # Of test_space only what has threads: the rest takes a minute.
    step "test_space with the thread sanitizer" build-tsan/bin/test_space threads_share_a_space
    step "test_two_threads with the thread sanitizer" build-tsan/bin/test_two_threads
    mapfile -t targets < <(basename -s .c test/fuzz/fuzz_*.c)
    step "build of the fuzz targets" build fuzz -- --target "${targets[@]}"
    fuzz "${#targets[@]}"
}

script/setup.sh --test || { result failed "script/setup.sh --test"; finish; }
note "installed: $SECONDS s"
step "build with gcc" build release --
tests &
lanes+=($!)
beside &
lanes+=($!)
wait
finish
