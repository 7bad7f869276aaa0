#!/usr/bin/env bash
# Static analysis and valgrind: everything they say must be explained in script/analyze.exceptions.
#   script/analyze.sh [--quick] [cppcheck|gcc|clang|valgrind|tsan...]     default: all of them, half an hour
# gcc: -fanalyzer over libpt and the tools. clang: clang-tidy with its analyser everywhere (script/check-tidy --all).
# valgrind: memcheck on what ptdump, ptxed and ptcapture mostly do; without --quick also `-j 2`, JSON and coverage.
# tsan: ThreadSanitizer on ptxed with eight threads and on ptdump, whole and damaged input; the traces by hardware
# as well, if PT_SHARED or ../shared has them.
set -uo pipefail
shopt -s lastpipe # judge() at the end of a pipe says how the script ends
cd "$(dirname "$0")/.." || exit 2
quick=
[ "${1:-}" = --quick ] && { quick=1; shift; }
[ $# -gt 0 ] || set -- cppcheck gcc clang valgrind tsan
exceptions=script/analyze.exceptions
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# judge TOOL: lines FILE:LINE: MESSAGE on standard input; those that no exception explains are told.
judge() {
    local tool=$1 unexplained
    sed "s|$PWD/||; s|^\(\.\./\)*||" | sort -u >"$work/found"
    # TOOL FILE PATTERN # why
    awk -v tool="$tool" '$1 == tool { print "^" $2 ":.*" $3 }' $exceptions >"$work/explained"
    unexplained=$(grep -vEf "$work/explained" "$work/found")
    echo "$tool: $(wc -l <"$work/found") findings, $(grep -c . <<<"$unexplained") unexplained"
    [ -z "$unexplained" ] || { echo "$unexplained"; failed=1; }
    # What is no longer said needs no reason.
    while read -r pattern; do
        grep -q -- "$pattern" "$work/found" && continue
        echo "$tool: nothing is explained by $pattern in $exceptions"
        failed=1
    done <"$work/explained"
}

run_cppcheck() {
    command -v cppcheck >/dev/null || { echo "cppcheck: not installed"; return; }
    [ -e build/compile_commands.json ] || cmake --preset release >/dev/null
    cppcheck -q -j "$(nproc)" --std=c11 --enable=warning,performance,portability --inline-suppr \
        --suppress=missingIncludeSystem --suppress=checkersReport -Ilibpt/include -Ilibpt/src -Itool -Iptxed -Iptdump \
        --template='{file}:{line}: {id}: {message}' --template-location='' \
        libpt/src tool ptdump ptxed ptcapture 2>&1 | grep -E '^[^ ]+:[0-9]+: ' | judge cppcheck
}

run_gcc() {
    cmake -G Ninja -S . -B build-analyze -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=gcc -DPT_TESTS=OFF -DPT_BENCH=OFF \
        -DPT_EXAMPLES=OFF '-DCMAKE_C_FLAGS=-fanalyzer -Wno-error' >/dev/null || exit 1
    ninja -C build-analyze -t clean >/dev/null
    # Warnings are errors: what fails to compile has been analysed.
    nice ninja -k 0 -C build-analyze >"$work/log" 2>&1
    grep -E '^[^ ]+:[0-9]+:[0-9]+: (warning|error):.*-W(error=)?analyzer' "$work/log" |
        sed -E 's/^([^:]+:[0-9]+):[0-9]+: (warning|error): (.*) \[(CWE-[0-9]+\] \[)?-W(error=)?analyzer-([a-z-]+)\]$/\1: \6: \3/' | judge gcc
}

run_clang() {
    if script/check-tidy --all >"$work/log" 2>&1; then
        echo "clang: 0 findings, 0 unexplained"
    else
        cat "$work/log"
        failed=1
    fi
}

# grind NAME COMMAND...: no error, nothing lost.
grind() {
    local name=$1
    shift
    valgrind -q --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect,possible \
        --errors-for-leak-kinds=definite,indirect,possible \
        --trace-children=no "$@" >"$work/out" 2>"$work/err"
    if [ $? -eq 99 ] || grep -q '^==' "$work/err"; then
        echo "valgrind: $name: $(head -12 "$work/err")"
        failed=1
    else
        ground=$((ground + 1))
    fi
}

run_valgrind() {
    command -v valgrind >/dev/null || { echo "valgrind: not installed"; return; }
    cmake --preset release >/dev/null && cmake --build build --target ptdump ptxed ptcapture helper_perfdata >/dev/null || exit 1
    local bin=$PWD/build/bin data=$work/run.data code=$work/code raw=$work/raw-aux-idx0.bin ground=0
    "$bin/test/helper_perfdata" "$code" two >"$data"
    "$bin/test/helper_perfdata" "$code" pipe >"$work/pipe.data"
    "$bin/ptdump" --extract-aux "$work/raw" "$data"
    grind 'ptdump, raw' "$bin/ptdump" "$raw"
    grind 'ptdump, recording' "$bin/ptdump" "$data"
    grind 'ptxed, raw' "$bin/ptxed" --raw "$code:0x401000" --pt "$raw"
    grind 'ptxed, recording' "$bin/ptxed" "$data"
    if "$bin/ptcapture" -q --backend step -o "$work/true.data" -- /bin/true 2>/dev/null; then
        grind 'ptcapture' "$bin/ptcapture" -q --backend step -o "$work/again.data" -- /bin/true
        [ -n "$quick" ] || data=$work/true.data
    fi
    if [ -z "$quick" ]; then
        grind 'ptdump, JSON' "$bin/ptdump" --json "$data"
        grind 'ptdump, pipe' "$bin/ptdump" "$work/pipe.data"
        grind 'ptdump, sideband' "$bin/ptdump" --sb:verbose "$data"
        grind 'ptxed, threads' "$bin/ptxed" -j2 --segment-size 512 "$data"
        grind 'ptxed, JSON' "$bin/ptxed" --json "$data"
        grind 'ptxed, coverage' "$bin/ptxed" --coverage "$data"
        grind 'ptxed, counts' "$bin/ptxed" --quiet --stat "$data"
        grind 'ptxed, functions' "$bin/ptxed" --quiet --stat:functions --symbols "$data"
        grind 'ptxed, proven' "$bin/ptxed" --proven "$data"
        grind 'ptxed, by time' "$bin/ptxed" --merge "$data"
        grind 'ptxed, pipe' "$bin/ptxed" "$work/pipe.data"
        grind 'ptcapture, compressed' "$bin/ptcapture" -q --backend step -z -o "$work/z.data" -- /bin/true
        grind 'ptcapture, check' "$bin/ptcapture" --check
    fi
    echo "valgrind: $ground runs clean"
}

# race COMMAND...: however it ends, no two threads meet. Eight threads print what one prints.
race() {
    local status one=()
    TSAN_OPTIONS=exitcode=66 "$@" >"$work/out" 2>"$work/err"
    status=$?
    if [ $status -gt 2 ] || grep -q ThreadSanitizer "$work/err"; then
        echo "tsan: $*: status $status: $(head -20 "$work/err")"
        failed=1
        return
    fi
    raced=$((raced + 1))
    [[ " $* " == *" -j 8 "* ]] || return
    for word; do one+=("${word/#8/1}"); done
    "${one[@]}" >"$work/out1" 2>/dev/null
    [ $? -eq $status ] && cmp -s "$work/out" "$work/out1" && return
    echo "tsan: $*: another status or output than with one thread"
    failed=1
}

# race_all FILE OPTIONS...: raw trace with --pt as the last of the options, or a recording
race_all() {
    local file=$1 ways way
    shift
    ways=('' '--stat --quiet' '--coverage' '--coverage=edges' '--json' '--json=blocks' '--quiet --stat:functions --symbols' '--proven'
        '--resync-on-error' '--shard 2/3' '--event:time --time')
    [[ " $* " == *" --pt "* ]] || ways+=('--merge' '--merge --json' '--select:cpu 0-3' '--select:time 20%,70%' '--select:aux 0')
    for way in "${ways[@]}"; do
        # shellcheck disable=SC2086
        race "$bin/ptxed" -j 8 --segment-size 4096 $way "$@" "$file"
    done
    race "$bin/ptxed" -j 8 --segment-size 256 --quiet --stat "$@" "$file"
    race "$bin/ptxed" -j 8 "$@" "$file"
    for way in '' '--json --time' '--tail 20' '--quiet'; do
        # shellcheck disable=SC2086
        race "$bin/ptdump" $way "$file"
    done
}

# damage FROM TO: every 8 KiB a byte is another one, and the last 100 are missing
damage() {
    head -c -100 "$1" >"$2"
    for ((i = 5000; i < $(stat -c %s "$2"); i += 8192)); do
        printf '\125' | dd of="$2" bs=1 seek=$i conv=notrunc status=none
    done
}

run_tsan() {
    cmake --preset tsan >/dev/null && cmake --build --preset tsan --target ptdump ptxed ptcapture helper_perfdata >"$work/log" 2>&1 ||
        { tail "$work/log"; exit 1; }
    local bin=$PWD/build-tsan/bin raced=0 real=${PT_SHARED:-$PWD/../shared}/real file cases
    "$bin/test/helper_perfdata" "$work/code" two >"$work/two.data"
    "$bin/test/helper_perfdata" "$work/code" pipe >"$work/pipe.data"
    race_all "$work/two.data"
    race_all "$work/pipe.data"
    if "$bin/ptcapture" -q --backend step -e intel_pt/psb_period=0/u -o "$work/true.data" -- /bin/true 2>/dev/null; then
        damage "$work/true.data" "$work/damaged.data"
        race_all "$work/true.data"
        race_all "$work/damaged.data"
    fi
    cases=$real/cases
    for file in "$real"/perfdata/*; do
        [ ! -f "$file" ] || race_all "$file"
    done
    if [ -e "$cases/mruby/trace.pt" ]; then
        damage "$cases/mruby/trace.pt" "$work/damaged.pt"
        for file in "$cases/mruby/trace.pt" "$work/damaged.pt"; do
            race "$bin/ptdump" "$file"
            race "$bin/ptdump" --tail 100 --time "$file"
            for way in '' '--quiet --stat' '--coverage' '--coverage=edges' '--resync-on-error --quiet' '--proven --quiet' '--shard 2/3 --quiet' '--quiet --stat:functions'; do
                # shellcheck disable=SC2086
                race "$bin/ptxed" -j 8 --segment-size 16384 --no-inst $way --raw "$cases/mruby/code.img:0x400000" --pt "$file"
            done
        done
    fi
    if [ -e "$cases/hello/pt.bin" ]; then
        race_all "$cases/hello/pt.bin" --elf "$cases/hello/hello" --pt
    fi
    echo "tsan: $raced runs without a race"
}

for tool; do
    case $tool in
    cppcheck | gcc | clang | valgrind | tsan) "run_$tool" ;;
    *) echo "usage: script/analyze.sh [--quick] [cppcheck|gcc|clang|valgrind|tsan...]" >&2; exit 2 ;;
    esac
done
exit $failed
