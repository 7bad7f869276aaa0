#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Pack a recording with the files it has mapped into one archive, to decode it on another machine.
set -euo pipefail

scripts=$(dirname "$(readlink -f "$0")")
here=$scripts
[ -e "$here/common.sh" ] || here=$here/../share/libpt
# shellcheck source=/dev/null
. "$here/common.sh"
ptxed=${PTXED:-ptxed}

usage() {
    cat <<EOF
usage: $PROG pack [-o <bundle>] [-r <root>] [-k <vmlinux>] [<perf.data>]
       $PROG list <bundle>
       $PROG unpack [-C <dir>] <bundle>
       $PROG dump|decode <bundle> [<options of ptdump or ptxed>...]

pack    write the recording (default: perf.data; a file or a directory) and the files it has
        mapped to <bundle> (default: <perf.data>.bundle.tar.gz; .tar, .tar.zst and .tar.xz work, too)
list    what is in a bundle
unpack  to <dir> (new or empty; default: the bundle's name without suffix): <dir>/perf.data,
        <dir>/sysroot
dump    unpack to a temporary directory and run ptdump there
decode  the same with ptxed, with the files of the bundle and no others

options:
  -h, --help   print this text and leave
  -r <root>    mapped files are below this directory instead of /
  -k <file>    the kernel's vmlinux, if its code was recorded without kcore, and its modules

Exit status: 0; 1 something is missing in the bundle (it is named), or that of ptdump or ptxed;
2 wrong usage or no such file. PTDUMP and PTXED name the tools to use.
EOF
}

# The suffix decides the compression; what is half written does not get the bundle's name.
archive() { # BUNDLE DIR
    local part
    part=$(mktemp -p "$(dirname -- "$1")" --suffix="-$(basename -- "$1")" .part-XXXXXX) || fail "$1: cannot be written"
    if is_foreign "$1" || ! tar -C "$2" --auto-compress -cf "$part" . || ! mv -T -- "$part" "$1"; then
        rm -f "$part"
        fail "$1: cannot be written"
    fi
}

manifest() { # DIR: size, sha256 and name of each file
    (cd "$1" && find . -type f ! -name MANIFEST -print0 | sort -z | xargs -0 -r sha256sum)
}

pack() {
    local bundle='' root='' kernel='' file='' status=0 modules=()
    while [ $# -gt 0 ]; do
        case $1 in
        -o | -r | -k)
            need_argument "$1" $#
            case $1 in
            -o) bundle=$2 ;;
            -r) root=$2 ;;
            -k) kernel=$2 modules=(-k) ;;
            esac
            shift
            ;;
        -*) unknown_option "$1" ;;
        *) file=$1 ;;
        esac
        shift
    done
    file=${file:-perf.data}
    file=${file%/}
    [ -f "$file" ] || [ -d "$file" ] || fail "$file: no such recording"
    [ -z "$kernel" ] || [ -f "$kernel" ] || fail "$kernel: no such file"
    bundle=${bundle:-$file.bundle.tar.gz}
    cp -aH -- "$file" "$tmp/perf.data"
    mkdir "$tmp/sysroot"
    PTDUMP=$PTDUMP bash "$scripts/perf-copy-mapped-files.bash" ${modules[@]+"${modules[@]}"} -r "$root" -o "$tmp/sysroot" "$file" || status=$?
    [ $status -lt 2 ] || exit $status
    [ -z "$kernel" ] || cp -- "$kernel" "$tmp/vmlinux"
    manifest "$tmp" >"$tmp/MANIFEST"
    archive "$bundle" "$tmp"
    echo "$bundle: $(wc -l <"$tmp/MANIFEST") files, $(wc -c <"$bundle") bytes"
    exit $status
}

# A bundle may come from anybody: nothing but files and directories, none above DIR (tar sees to
# that), none of other users or with their privileges.
unpack_to() { # BUNDLE DIR
    local other
    [ -f "$1" ] || fail "$1: no such bundle"
    ! is_foreign "$2" || fail "$2: belongs to another user"
    mkdir -p -- "$2"
    [ -z "$(ls -A -- "$2")" ] || fail "$2: is not empty"
    tar -C "$2" --no-same-owner --no-same-permissions -xf "$1" || fail "$1: cannot be unpacked"
    other=$(find "$2" ! -type f ! -type d -printf '%P, ' -delete)
    [ -z "$other" ] || fail "$1: holds what is neither file nor directory: $(printf '%q' "${other%, }")"
    if [ -e "$2/MANIFEST" ] && grep -qvE '^[\\]?[0-9a-f]{64}  \./' "$2/MANIFEST" || grep -qE '/\.\.(/|$)' "$2/MANIFEST" 2>/dev/null; then
        fail "$1: its MANIFEST names files elsewhere"
    fi
    [ -e "$2/perf.data" ] || fail "$1: holds no recording"
    if [ -e "$2/MANIFEST" ] && ! (cd "$2" && sha256sum --quiet -c MANIFEST 2>&1 | plain_lines >&2); then
        fail "$1: damaged"
    fi
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
[ $# -gt 0 ] || fail "what to do? (see $PROG --help)"
command=$1
shift
case $command in
-h | --help) usage ;;
pack) pack "$@" ;;
list)
    [ $# -eq 1 ] || fail "list: one bundle, please"
    [ -f "$1" ] || fail "$1: no such bundle"
    tar -tf "$1" | sed -n 's,^\./,,; /[^/]$/p'
    ;;
unpack)
    dir=''
    if [ "${1:-}" = -C ] && [ $# -gt 1 ]; then
        dir=$2
        shift 2
    fi
    [ $# -eq 1 ] || fail "unpack: one bundle, please"
    unpack_to "$1" "${dir:-${1%.tar*}}"
    ;;
dump | decode)
    [ $# -gt 0 ] || fail "$command: which bundle?"
    unpack_to "$1" "$tmp"
    shift
    if [ "$command" = dump ]; then
        "$PTDUMP" "$@" "$tmp/perf.data"
    else
        options=(--pevent:sysroot "$tmp/sysroot")
        for abi in x64 x32 ia32; do
            [ ! -e "$tmp/sysroot/vdso-$abi.so" ] ||
                options+=("--pevent:vdso-$abi" "$tmp/sysroot/vdso-$abi.so")
        done
        [ ! -e "$tmp/vmlinux" ] || options+=(--vmlinux "$tmp/vmlinux")
        "$ptxed" "${options[@]}" "$@" "$tmp/perf.data"
    fi
    ;;
-*) unknown_option "$command" ;;
*) unknown_command "$command" 'pack|list|unpack|dump|decode' ;;
esac
