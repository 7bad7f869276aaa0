#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# reuse.sh BUILD COMPILER...: the object that BUILD made by the same command in place of compiling it once more.
# A compiler launcher of CMake's.
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
[ -n "${makefile:-}" ] && [ -e "$build/$object" ] || exec "$@"
echo "$object: $source" >"$makefile"
exec cp "$build/$object" "$object"
