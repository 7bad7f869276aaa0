#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copy the files that a recording has mapped, so that it can be decoded elsewhere.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
[ -e "$here/common.sh" ] || here=$here/../share/libpt
# shellcheck source=/dev/null
. "$here/common.sh"

usage() {
    cat <<EOF
usage: $PROG [<options>] [<perf.data>]

Copy the files that processes of a recording (default: perf.data) had mapped to a directory, under
their full names, and as vdso-x64.so (vdso-x32.so, vdso-ia32.so) the [vdso]: from beside the
recording if the recorder has saved it there, else this kernel's (for the latter two perf's readers
of them must be installed). Kernel modules are left to kcore, unless -k asks for them.

options:
  -h, --help     print this text and leave
  -n, --dry-run  show what would be done
  -o <dir>       the directory, default: sysroot
  -k             kernel modules, too, unpacked, and where /sys says that their sections are
  -r <root>      read the files below this directory instead of /

Exit status: 0 all files were copied; 1 some could not be (they are named); 2 wrong usage or no
recording. PTDUMP names the ptdump to use.
EOF
}
dry_run=0 outdir=sysroot root='' modules=0
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage && exit 0 ;;
    -n | --dry-run) dry_run=1 ;;
    -k) modules=1 ;;
    -o | -r)
        need_argument "$1" $#
        case $1 in
        -o) outdir=${2%/} ;;
        -r) root=${2%/} ;;
        esac
        shift
        ;;
    *) take_recording "$1" ;;
    esac
    shift
done
need_recording
! is_foreign "$outdir" || fail "$outdir: belongs to another user"
below=$(realpath -m -- "$outdir") # what is written stays below this

missing=0
lack() { # NAME [WHY]
    echo "$PROG: $(plain "$1"): not copied${2:+: $2}" >&2
    missing=$((missing + 1))
}

# Names come from the recording: they may lead neither out of the directory that is written nor out
# of the one that is read.
is_inside() { # NAME
    local real
    case $1/ in */../* | */./*) return 1 ;; esac
    [[ $(realpath -m -- "$outdir$1") == "$below"/* ]] || return 1
    [ -n "$root" ] || return 0
    [ -e "$root$1" ] || return 0 # copy() says so
    real=$(realpath -e -- "$root$1" 2>/dev/null) && [[ $real/ == "$(realpath -e -- "$root")"/* ]]
}

copy() { # FROM TO
    if [ $dry_run -eq 1 ]; then
        printf 'mkdir -p %q && cp %q %q\n' "$(dirname "$2")" "$1" "$2"
    elif [ ! -f "$1" ] || ! { mkdir -p -- "$(dirname -- "$2")" && cp -- "$1" "$2"; }; then
        lack "$1"
    fi
}

# A kernel module: ptxed wants it unpacked.
copy_module() { # NAME
    local unpack plain=$1 module sections
    case $1 in
    *.ko) copy "$root$1" "$outdir$1" ;;
    *.xz) unpack='xz -dc' plain=${1%.xz} ;;
    *.gz) unpack='gzip -dc' plain=${1%.gz} ;;
    *) unpack='zstd -dcq' plain=${1%.zst} ;;
    esac
    if ! is_inside "$plain"; then
        lack "$plain" 'leads out of the directory'
    elif [ $dry_run -eq 1 ] && [ -n "${unpack:-}" ]; then
        printf 'mkdir -p %q && %s %q >%q\n' "$(dirname "$outdir$plain")" "$unpack" "$root$1" "$outdir$plain"
    elif [ -n "${unpack:-}" ]; then
        mkdir -p "$(dirname "$outdir$plain")"
        if [ ! -f "$root$1" ] || ! $unpack <"$root$1" >"$outdir$plain"; then
            lack "$root$1"
        fi
    fi
    module=$(basename "$plain" .ko)
    sections=/sys/module/${module//-/_}/sections
    [ $dry_run -eq 0 ] && [ -r "$root$sections/.text" ] || return 0
    mkdir -p "$outdir$sections"
    cp -- "$root$sections"/.text* "$outdir$sections/" 2>/dev/null || rm -rf "${outdir:?}$sections"
}

# The part of our own address space that is the [vdso], as a file.
# shellcheck disable=SC2317 # called by copy_vdso
own_vdso() {
    local range
    range=$(awk '$6 == "[vdso]" { print $1 }' /proc/self/maps)
    [ -n "$range" ] || return 1
    # Address space randomisation moves it: the process that is read must be the one asked.
    # shellcheck disable=SC2016
    bash -c '
        range=$(awk "\$6 == \"[vdso]\" { print \$1 }" /proc/$$/maps)
        begin=$((16#${range%-*}))
        dd if=/proc/$$/mem bs=4096 skip=$((begin / 4096)) count=$1 2>/dev/null' vdso $(((16#${range#*-} - 16#${range%-*}) / 4096))
}

list=$(mktemp)
trap 'rm -f "$list"' EXIT
status=0
"$PTDUMP" --list-files "$RECORDING" >"$list" || status=$?
[ $status -lt 2 ] || exit $status
vdso=0
while IFS= read -r -d '' name; do
    case $name in
    '[vdso]') vdso=1 ;;
    //anon | /memfd:* | /dev/zero* | /SYSV* | /anon_hugepage*) ;;
    /*)
        if ! is_inside "$name"; then
            lack "$name" 'leads out of the directory'
            continue
        fi
        case $name in
        *.ko | *.ko.?z | *.ko.zst) [ $modules -eq 0 ] || copy_module "$name" ;;
        *) copy "$root$name" "$outdir$name" ;;
        esac
        ;;
    esac
done <"$list"

# The [vdso] that the recorder has saved beside the recording; else that of this kernel.
beside=$RECORDING
[ -d "$beside" ] || beside=$(dirname -- "$RECORDING")
copy_vdso() { # ABI COMMAND...: which writes this kernel's
    local to=$outdir/vdso-$1.so from=$beside/vdso-$1.so
    shift
    if [ -f "$from" ]; then
        copy "$from" "$to"
    elif [ $dry_run -eq 1 ]; then
        printf '%s >%q\n' "$*" "$to"
    elif ! { mkdir -p "$outdir" && "$@" >"$to" && [ -s "$to" ]; }; then
        rm -f "$to"
        return 1
    fi
}
if [ $vdso -eq 1 ]; then
    copy_vdso x64 own_vdso || lack '[vdso]'
    for reader in ia32:perf-read-vdso32 x32:perf-read-vdsox32; do
        if [ -f "$beside/vdso-${reader%:*}.so" ] || command -v "${reader#*:}" >/dev/null; then
            copy_vdso "${reader%:*}" "${reader#*:}" || :
        fi
    done
fi
[ $missing -eq 0 ] || exit 1
exit $status
