#!/usr/bin/env bash
# Static analysis and valgrind: everything they say must be explained in script/analyze.exceptions.
#   script/analyze.sh [cppcheck|gcc|clang|valgrind...]     default: all of them, half an hour
# gcc: -fanalyzer over libpt and the tools. clang: clang-tidy with its analyser everywhere (script/check-tidy --all).
# valgrind: memcheck on what ptdump, ptxed and ptcapture mostly do; without --quick also `-j 2`, JSON and coverage.
set -uo pipefail
shopt -s lastpipe # judge() at the end of a pipe says how the script ends
cd "$(dirname "$0")/.." || exit 2
quick=
[ "${1:-}" = --quick ] && { quick=1; shift; }
[ $# -gt 0 ] || set -- cppcheck gcc clang valgrind
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

for tool; do
    case $tool in
    cppcheck | gcc | clang | valgrind) "run_$tool" ;;
    *) echo "usage: script/analyze.sh [--quick] [cppcheck|gcc|clang|valgrind...]" >&2; exit 2 ;;
    esac
done
exit $failed
