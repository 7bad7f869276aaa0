#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Extract the sideband records of a recording: one file per processor, one for the others.
set -euo pipefail

prog=$(basename "$0")
ptdump=${PTDUMP:-ptdump}

usage() {
    cat <<EOF
usage: $prog [<options>] [<perf.data>]

Write the perf_event records of a recording (default: perf.data) to
<perf.data>-sideband-cpu<n>.pevent, a file per processor, and those that tell no processor to
<perf.data>-sideband.pevent.

options:
  -h, --help     print this text and leave
  -n, --dry-run  show what would be done
  -o <prefix>    begin file names with this instead of <perf.data>

Exit status: 0 all records were written; 1 the recording is damaged, what there is was written;
2 wrong usage, no recording, or a file could not be written. PTDUMP names the ptdump to use.
EOF
}
fail() {
    echo "$prog: $*" >&2
    exit 2
}

dry_run=0 file='' prefix=''
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage && exit 0 ;;
    -n | --dry-run) dry_run=1 ;;
    -o)
        [ $# -gt 1 ] || fail "-o: missing argument"
        prefix=$2
        shift
        ;;
    --)
        shift
        break
        ;;
    -*) fail "unknown option: $1 (see $prog --help)" ;;
    *)
        [ -z "$file" ] || fail "one recording at a time, please"
        file=$1
        ;;
    esac
    shift
done
if [ $# -gt 0 ]; then
    { [ -z "$file" ] && [ $# -eq 1 ]; } || fail "one recording at a time, please"
    file=$1
fi
file=${file:-perf.data}
prefix=${prefix:-${file%/}}
[ -e "$file" ] || fail "$file: no such recording"

if [ $dry_run -eq 1 ]; then
    printf '%q --extract-sideband %q %q\n' "$ptdump" "$prefix" "$file"
    exit 0
fi
exec "$ptdump" --extract-sideband "$prefix" "$file"
