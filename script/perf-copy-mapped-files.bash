#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copy the files that a recording has mapped, so that it can be decoded elsewhere.
set -euo pipefail

prog=$(basename "$0")
ptdump=${PTDUMP:-ptdump}

usage() {
    cat <<EOF
usage: $prog [<options>] [<perf.data>]

Copy the files that processes of a recording (default: perf.data) had mapped to a directory, under
their full names, and the [vdso] of this kernel as vdso-x64.so (vdso-x32.so, vdso-ia32.so where
perf's readers for them are installed). Kernel modules are left to kcore.

options:
  -h, --help     print this text and leave
  -n, --dry-run  show what would be done
  -o <dir>       the directory, default: sysroot
  -r <root>      read the files below this directory instead of /

Exit status: 0 all files were copied; 1 some could not be (they are named); 2 wrong usage or no
recording. PTDUMP names the ptdump to use.
EOF
}
fail() {
    echo "$prog: $*" >&2
    exit 2
}

dry_run=0 outdir=sysroot root='' file=''
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage && exit 0 ;;
    -n | --dry-run) dry_run=1 ;;
    -o | -r)
        [ $# -gt 1 ] || fail "$1: missing argument"
        case $1 in
        -o) outdir=${2%/} ;;
        -r) root=${2%/} ;;
        esac
        shift
        ;;
    -*) fail "unknown option: $1 (see $prog --help)" ;;
    *)
        [ -z "$file" ] || fail "one recording at a time, please"
        file=$1
        ;;
    esac
    shift
done
file=${file:-perf.data}
[ -e "$file" ] || fail "$file: no such recording"

missing=0
copy() { # FROM TO
    if [ $dry_run -eq 1 ]; then
        printf 'mkdir -p %q && cp %q %q\n' "$(dirname "$2")" "$1" "$2"
    elif [ ! -f "$1" ] || ! { mkdir -p "$(dirname "$2")" && cp -- "$1" "$2"; }; then
        echo "$prog: $1: not copied" >&2
        missing=$((missing + 1))
    fi
}

# The part of our own address space that is the [vdso], as a file.
own_vdso() { # TO
    local range begin end
    range=$(awk '$6 == "[vdso]" { print $1 }' /proc/self/maps)
    [ -n "$range" ] || return 1
    # Address space randomisation moves it: the process that is read must be the one asked.
    begin=$((16#${range%-*})) end=$((16#${range#*-}))
    # shellcheck disable=SC2016
    dd if=/dev/null of="$1" 2>/dev/null && bash -c '
        range=$(awk "\$6 == \"[vdso]\" { print \$1 }" /proc/$$/maps)
        begin=$((16#${range%-*}))
        dd if=/proc/$$/mem bs=4096 skip=$((begin / 4096)) count=$2 2>/dev/null' vdso x $(((end - begin) / 4096)) >"$1"
    [ -s "$1" ]
}

list=$(mktemp)
trap 'rm -f "$list"' EXIT
status=0
"$ptdump" --list-files "$file" >"$list" || status=$?
[ $status -lt 2 ] || exit $status
vdso=0
while IFS= read -r -d '' name; do
    case $name in
    '[vdso]') vdso=1 ;;
    //anon | /memfd:* | /dev/zero* | /SYSV* | *' (deleted)' | *.ko | *.ko.?z | *.ko.zst) ;;
    /*) copy "$root$name" "$outdir$name" ;;
    esac
done <"$list"

if [ $vdso -eq 1 ]; then
    if [ $dry_run -eq 1 ]; then
        printf 'copy the [vdso] to %q\n' "$outdir/vdso-x64.so"
    else
        mkdir -p "$outdir"
        own_vdso "$outdir/vdso-x64.so" || {
            echo "$prog: [vdso]: not copied" >&2
            missing=$((missing + 1))
            rm -f "$outdir/vdso-x64.so"
        }
    fi
    for reader in perf-read-vdso32:ia32 perf-read-vdsox32:x32; do
        command -v "${reader%:*}" >/dev/null || continue
        if [ $dry_run -eq 1 ]; then
            printf '%s >%q\n' "${reader%:*}" "$outdir/vdso-${reader#*:}.so"
        else
            "${reader%:*}" >"$outdir/vdso-${reader#*:}.so" || rm -f "$outdir/vdso-${reader#*:}.so"
        fi
    done
fi
[ $missing -eq 0 ] || exit 1
exit $status
