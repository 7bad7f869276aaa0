#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Decode one trace or recording in parts, as an array of Slurm jobs.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
[ -e "$here/common.sh" ] || here=$here/../share/libpt
# shellcheck source=/dev/null
. "$here/common.sh"

usage() {
    cat <<TEXT
usage: $PROG [<options>] -o <file> -- <options of ptxed>... <perf.data> | --pt <trace>

Submit an array of jobs, each of which runs ptxed --shard K/N, wait for them, and put their texts
together in order: <file> is the text of the whole. All nodes see the same files.

options:
  -h, --help          print this text and leave
  -n, --shards <n>    so many parts (default: 16)
  -o, --output <file> the text; parts lie beside it while they are made
  -s, --sbatch <option>
                      one more option for sbatch, e.g. --partition=long; may be repeated

Exit status: the highest of the parts: 0 all decoded, 1 not everything, 2 nothing or wrong usage.
TEXT
}

shards=16 output='' options=()
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage && exit 0 ;;
    -n | --shards)
        need_argument "$1" $#
        shards=$2
        shift
        ;;
    -o | --output)
        need_argument "$1" $#
        output=$2
        shift
        ;;
    -s | --sbatch)
        need_argument "$1" $#
        options+=("$2")
        shift
        ;;
    --)
        shift
        break
        ;;
    *) unknown_option "$1" ;;
    esac
    shift
done
[ $# -gt 0 ] || fail "no options for ptxed"
[ -n "$output" ] || fail "no --output"
refuse_foreign() {
    if is_foreign "$output"; then fail "$output: another user has put it there"; fi
}
refuse_foreign
[[ $shards =~ ^[1-9][0-9]*$ ]] || fail "--shards: bad argument: $shards"
command -v sbatch >/dev/null || fail "Slurm is not installed"
ptxed=$(command -v ptxed) || fail "ptxed is not installed"

parts=$(mktemp -d -p "$(dirname "$output")" "$(basename "$output").parts.XXXXXX")
parts=$(cd "$parts" && pwd)
trap 'rm -rf "$parts"' EXIT

# The job: one part. A part that is not there at the end is a failure.
# shellcheck disable=SC2016 # expanded by the job
{
    echo '#!/usr/bin/env bash'
    printf 'cd %q || exit 2\n' "$PWD"
    printf 'part=%q/$SLURM_ARRAY_TASK_ID\n' "$parts"
    printf '%q --jobs "${SLURM_CPUS_PER_TASK:-1}" --shard "$SLURM_ARRAY_TASK_ID/%s"' "$ptxed" "$shards"
    printf ' %q' "$@"
    echo ' >"$part.out" 2>"$part.err"; echo $? >"$part.status"'
} >"$parts/job"
sbatch --quiet --wait --array="1-$shards" --output=/dev/null ${options[@]+"${options[@]}"} \
    "$parts/job" >&2 || fail "sbatch failed"

highest=0
refuse_foreign
: >"$output"
for ((k = 1; k <= shards; k++)); do
    [ -e "$parts/$k.out" ] && cat "$parts/$k.out" >>"$output"
    [ -e "$parts/$k.err" ] && cat "$parts/$k.err" >&2
    status=2
    [ -e "$parts/$k.status" ] && status=$(cat "$parts/$k.status")
    [ "$status" -le "$highest" ] || highest=$status
done
[ "$highest" -le 2 ] || highest=2
exit "$highest"
