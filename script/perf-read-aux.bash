#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Extract the Intel PT trace of a recording: one file per AUX buffer.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
[ -e "$here/common.sh" ] || here=$here/../share/libpt
# shellcheck source=/dev/null
. "$here/common.sh"

usage() {
    cat <<EOF
usage: $PROG [<options>] [<perf.data>]

Write the trace of a recording (default: perf.data) to <perf.data>-aux-idx<n>.bin, a file per
AUX buffer, i.e. per traced processor or thread.

options:
  -h, --help     print this text and leave
  -n, --dry-run  show what would be done
  -S             snapshots: a file per snapshot, <perf.data>-aux-idx<n>.<m>.bin
  -o <prefix>    begin file names with this instead of <perf.data>

Exit status: 0 all trace was written; 1 the recording is damaged, what there is was written;
2 wrong usage, no recording, or a file could not be written. PTDUMP names the ptdump to use.
EOF
}
extract --extract-aux --extract-pieces "$@"
