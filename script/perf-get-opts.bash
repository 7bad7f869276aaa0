#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Print the options with which ptdump and ptxed decode what was extracted from a recording.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
[ -e "$here/common.sh" ] || here=$here/../share/libpt
# shellcheck source=/dev/null
. "$here/common.sh"

usage() {
    cat <<EOF
usage: $PROG [<options>] [<perf.data>]

Print the options that ptdump and ptxed need for the files which perf-read-aux.bash and
perf-read-sideband.bash have extracted from a recording (default: perf.data): processor, timing,
layouts of records, sideband files.

options:
  -h, --help      print this text and leave
  -m <sideband>   this sideband file is the one of the traced processor (primary)
  -k <kcore_dir>  use kernel code and symbols from there (kcore, kallsyms)
  -s <sysroot>    look for mapped files below this directory; also for vdso-x64.so, vdso-x32.so
                  and vdso-ia32.so in it
  -0              end each word with a zero byte, for names with blanks:
                      $PROG -0 | xargs -0 sh -c 'ptdump "\$@" trace.bin' sh

Exit status: 0, 1 the recording is damaged, or 2 wrong usage or no recording. PTDUMP names the
ptdump to use.
EOF
}
primary='' kcore='' sysroot='' zero=0
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage && exit 0 ;;
    -0) zero=1 ;;
    -m | -k | -s)
        need_argument "$1" $#
        case $1 in
        -m) primary=$2 ;;
        -k) kcore=${2%/} ;;
        -s) sysroot=${2%/} ;;
        esac
        shift
        ;;
    *) take_recording "$1" ;;
    esac
    shift
done
need_recording
base=${RECORDING%/}
[ -z "$primary" ] || [ -e "$primary" ] || fail "$primary: no such sideband file"
[ -z "$kcore" ] || [ -d "$kcore" ] || fail "$kcore: no such directory"
[ -z "$sysroot" ] || [ -d "$sysroot" ] || fail "$sysroot: no such directory"

status=0
config=$("$PTDUMP" --list-config "$RECORDING") || status=$?
[ $status -lt 2 ] || exit $status

words=()
while IFS= read -r word; do
    words+=("$word")
done < <(awk -F '\t' '
    BEGIN {
        split("cpu time-shift time-mult time-zero cpuid-0x15.ebx cpuid-0x15.eax nom-freq", order, " ")
        for (i = 2; i <= 4; i++)
            prefix[order[i]] = "pevent:"
    }
    $1 == "sample-config" { samples[++count] = $2; next }
    { value[$1] = $2 }
    END {
        for (i = 1; i <= 7; i++)
            if (order[i] in value)
                printf "--%s%s\n%s\n", prefix[order[i]], order[i], value[order[i]]
        for (i = 1; i <= count; i++)
            printf "--pevent:sample-config\n%s\n", samples[i]
        if ("mtc-freq" in value)
            printf "--mtc-freq\n%s\n", value["mtc-freq"]
    }' <<<"$config")

kernel_start=''
if [ -n "$kcore" ]; then
    if [ -r "$kcore/kallsyms" ]; then
        kernel_start=$(awk '$1 !~ /^0+$/ && ($3 == "_text" || $3 == "_stext") {
            if (!start || $1 < start) start = $1 } END { if (start) print "0x" start }' "$kcore/kallsyms")
    fi
    [ ! -e "$kcore/kcore" ] || words+=(--pevent:kcore "$kcore/kcore")
fi
[ -n "$kernel_start" ] || kernel_start=$(awk -F '\t' '$1 == "kernel-start" { print $2 }' <<<"$config")
[ -z "$kernel_start" ] || words+=(--pevent:kernel-start "$kernel_start")
if [ -n "$sysroot" ]; then
    words+=(--pevent:sysroot "$sysroot")
    for abi in x64 x32 ia32; do
        [ ! -e "$sysroot/vdso-$abi.so" ] || words+=("--pevent:vdso-$abi" "$sysroot/vdso-$abi.so")
    done
fi

shopt -s nullglob
sidebands=("$base"-sideband-cpu*.pevent "$base"-sideband.pevent)
found=0
for sideband in "${sidebands[@]}"; do
    [ -e "$sideband" ] || continue
    if [ -n "$primary" ] && [ "$sideband" -ef "$primary" ]; then
        words+=(--pevent:primary "$sideband")
        found=1
    else
        words+=(--pevent:secondary "$sideband")
    fi
done
[ -z "$primary" ] || [ $found -eq 1 ] || words+=(--pevent:primary "$primary")

[ ${#words[@]} -gt 0 ] || exit $status
if [ $zero -eq 1 ]; then
    printf '%s\0' "${words[@]}"
else
    for word in "${words[@]}"; do
        case $word in
        *[[:space:]]*) echo "$PROG: $word: has a blank; use -0" >&2 && exit 2 ;;
        esac
    done
    echo "${words[*]}"
fi
exit $status
