#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Decode one trace or recording in parts, on several processors or machines.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
[ -e "$here/common.sh" ] || here=$here/../share/libpt
# shellcheck source=/dev/null
. "$here/common.sh"

usage() {
    cat <<EOF
usage: $PROG [<options>] -- <options of ptxed>... <perf.data> | --pt <trace>

Run ptxed --shard 1/N ... N/N with GNU parallel and print what they print, in order: the text of
the whole. pt-slurm.bash does the same with an array of Slurm jobs.

options:
  -h, --help        print this text and leave
  -n, --shards <n>  so many parts (default: one per processor)
  -j, --jobs <n>    so many at a time on each machine (default: one per processor)
  -S, --sshlogin <hosts>
                    spread over these machines, as parallel does; they see the same files

Exit status: the highest of the parts: 0 all decoded, 1 not everything, 2 nothing or wrong usage.
EOF
}

shards=$(nproc) jobs='' logins=''
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage && exit 0 ;;
    -n | --shards)
        need_argument "$1" $#
        shards=$2
        shift
        ;;
    -j | --jobs)
        need_argument "$1" $#
        jobs=$2
        shift
        ;;
    -S | --sshlogin)
        need_argument "$1" $#
        logins=$2
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
[[ $shards =~ ^[1-9][0-9]*$ ]] || fail "--shards: bad argument: $shards"
command -v parallel >/dev/null || fail "GNU parallel is not installed"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
options=(--keep-order --will-cite --quote -I @SHARD@ --joblog "$log")
[ -z "$jobs" ] || options+=(--jobs "$jobs")
[ -z "$logins" ] || options+=(--sshlogin "$logins" --workdir "$PWD")

seq "$shards" | parallel "${options[@]}" ptxed --jobs 1 --shard "@SHARD@/$shards" "$@" || true
# The column of exit values; a part that was killed or never ran is a failure.
awk -v n="$shards" 'NR > 1 { runs++; s = $8 ? 2 : $7; if (s > max) max = s }
    END { exit runs < n ? 2 : max > 2 ? 2 : max + 0 }' "$log"
