#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# reuse.sh BUILD COMPILER...: the object that BUILD made by the same command in place of compiling it once more.
# A compiler launcher of CMake's. Part of another project, ours lies one directory lower there.
build=$1 last=
shift
for word; do
    case $last in
    -o) object=$word ;;
    -MF) makefile=$word ;;
    -c) source=$word ;;
    esac
    last=$word
done
made=$build/$object
[ -e "$made" ] || made=$build/${object#*/}
[ -n "${makefile:-}" ] && [ -e "$made" ] || exec "$@"
echo "$object: $source" >"$makefile"
exec cp "$made" "$object"
