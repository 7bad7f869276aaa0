#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Extract the sideband records of a recording: one file per processor, one for the others.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
[ -e "$here/common.sh" ] || here=$here/../share/libpt
# shellcheck source=/dev/null
. "$here/common.sh"

usage() {
    cat <<EOF
usage: $PROG [<options>] [<perf.data>]

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
extract --extract-sideband '' "$@"
