#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Dump or decode many recordings in parallel.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
[ -e "$here/common.sh" ] || here=$here/../share/libpt
# shellcheck source=/dev/null
. "$here/common.sh"

usage() {
    cat <<EOF
usage: $PROG [<options>] <recording>... [-- <options of the tool>...]

Run ptdump (or ptxed) over many recordings at once with GNU parallel. The output of F goes to
F.txt, its messages to F.log, below the output directory if one is given. What has been done
already is not done again unless the recording is newer.

options:
  -h, --help        print this text and leave
  -n, --dry-run     show what would be done
  -j, --jobs <n>    so many at a time (default: one per processor)
  -t, --tool <tool>  ptdump (default) or ptxed
  -o, --output <d>  directory for the output
  -S, --sshlogin <hosts>
                    spread over these machines, as parallel does; they see the same files
  -f, --force       do all again

Exit status: 0 if all runs ended with 0, 1 if some did not, 2 wrong usage. A list of how each
ended is printed.
EOF
}

dry_run=0 jobs='' tool=ptdump outdir='' logins='' force=0 files=()
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage && exit 0 ;;
    -n | --dry-run) dry_run=1 ;;
    -f | --force) force=1 ;;
    -j | --jobs | -t | --tool | -o | --output | -S | --sshlogin)
        need_argument "$1" $#
        case $1 in
        -j | --jobs) jobs=$2 ;;
        -t | --tool) tool=$2 ;;
        -o | --output) outdir=${2%/} ;;
        *) logins=$2 ;;
        esac
        shift
        ;;
    --)
        shift
        break
        ;;
    -*) unknown_option "$1" ;;
    *) files+=("$1") ;;
    esac
    shift
done
[ ${#files[@]} -gt 0 ] || fail "no recordings given"
command -v parallel >/dev/null || fail "GNU parallel is not installed"
for file in "${files[@]}"; do
    [ -e "$file" ] || fail "$file: no such recording"
done

target() { # FILE: where its output goes
    local name=${1%/}
    if [ -n "$outdir" ]; then
        name=${name#./}
        name=$outdir/${name//\//_}
    fi
    printf '%s' "$name"
}

todo=()
declare -A whose
for file in "${files[@]}"; do
    out=$(target "$file")
    if [ -n "${whose[$out]:-}" ]; then
        [ "${whose[$out]}" != "$file" ] || continue
        fail "$file: would write to $out.txt as ${whose[$out]} does"
    fi
    whose[$out]=$file
    [ $force -eq 0 ] && [ "$out.txt" -nt "$file" ] && [ -e "$out.ok" ] && continue
    todo+=("$file" "$out")
done
if [ ${#todo[@]} -eq 0 ]; then
    echo "$PROG: all done already"
    exit 0
fi
[ -z "$outdir" ] || [ $dry_run -eq 1 ] || mkdir -p "$outdir"

# One run; parallel calls it with the recording and where the output goes.
# shellcheck disable=SC2016
# Nothing is written to that stands there already: it may be a link.
one='f=$1 o=$2; shift 2; set -C; rm -f "$o.ok" "$o.txt" "$o.log"; "$@" "$f" >"$o.txt" 2>"$o.log"; s=$?; [ $s -ne 0 ] || : >"$o.ok"; echo "$s $f"; exit $s'
options=(-0 -N 2 --will-cite)
[ -z "$jobs" ] || options+=(--jobs "$jobs")
[ -z "$logins" ] || options+=(--sshlogin "$logins" --workdir "$PWD")
[ $dry_run -eq 0 ] || options+=(--dry-run)

status=0
printf '%s\0' "${todo[@]}" |
    parallel "${options[@]}" --quote bash -c "$one" pt-batch '{1}' '{2}' "$tool" "$@" || status=$?
[ $status -eq 0 ] || exit 1
