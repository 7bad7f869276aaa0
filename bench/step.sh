#!/usr/bin/env bash
# The software recorder beside a plain PTRACE_SINGLESTEP loop over the same program, in turns.
#
#     bench/step.sh [ROUNDS] [BUILD]
#
# Needs a release build and a quiet machine. Prints steps a second (medians) and their ratio.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-5}
bin=$(cd "${2:-build}/bin" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
program=(true)
# The recorder's line says how many instructions there were.
recorder() {
    local start
    start=$(date +%s.%N)
    "$bin/ptcapture" --backend step "$@" -o "$tmp/perf.data" -- "${program[@]}" 2>"$tmp/line"
    sed -n 's/.* \([0-9]*\) instructions.*/\1/p' "$tmp/line" |
        awk -v t="$(awk "BEGIN { print $(date +%s.%N) - $start }")" '{ print $1 / t }'
}
for ((i = 0; i < rounds; i++)); do
    "$bin/bench/bench_step_plain" "${program[@]}" | awk '{ print $1 / $2 }' >>"$tmp/plain"
    recorder --single-step >>"$tmp/single"
    recorder >>"$tmp/step"
done
median() { sort -n "$1" | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }
plain=$(median "$tmp/plain") single=$(median "$tmp/single") step=$(median "$tmp/step")
echo "| what | steps/s | x plain |"
echo "| --- | ---: | ---: |"
awk "BEGIN { printf \"| PTRACE_SINGLESTEP and waitpid | %.0f | 1.00 |\n\", $plain
             printf \"| ptcapture --backend step --single-step | %.0f | %.2f |\n\", $single, $single / $plain
             printf \"| ptcapture --backend step | %.0f | %.2f |\n\", $step, $step / $plain }"
