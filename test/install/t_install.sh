#!/usr/bin/env bash
# Install into a prefix with a blank in it, compare with the manifest, and build consumers:
# by pkg-config, by find_package, in C and C++, shared and static; each header alone.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
grep -q '^PT_SANITIZE:.*=.\+' "$PT_BUILD/CMakeCache.txt" && skip "a build with sanitizers"
cache() { sed -n "s/^$1:[^=]*=//p" "$PT_BUILD/CMakeCache.txt"; }
cc=$(cache CMAKE_C_COMPILER)
libdir=$(cache CMAKE_INSTALL_LIBDIR)
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$PT_BUILD/CMakeCache.txt")
prefix="$tmp/a blank/usr"
warnings=(-Wall -Wextra -Wpedantic -Werror)

# listing DIR: files and links below it
listing() { (cd "$1" && find . ! -type d | sed 's,^\./,,' | LC_ALL=C sort); }

cmake --install "$PT_BUILD" --prefix "$prefix" >"$tmp/log" 2>&1 || fail "install into a prefix"
{
    sed "/^#/d; s,LIBDIR,$libdir,; s,SOVERSION,${version%%.*},; s,VERSION,$version," "$here/manifest" |
        sed "s,Targets-release,Targets-$(cache CMAKE_BUILD_TYPE | tr '[:upper:]' '[:lower:]')," |
        while read -r path tool; do
            tool=${tool//[\[\]]/}
            [ -z "$tool" ] || [ -x "$PT_BUILD/bin/$tool" ] || continue
            echo "$path"
        done
    (cd "$PT_SOURCE/libpt" && find include/pt -name '*.h')
    (cd "$PT_SOURCE/doc/examples" && ls -- *.c) | sed 's,^,share/doc/libpt/examples/,'
    (cd "$PT_SOURCE/doc" && ls -- *.md) | sed 's,^,share/doc/libpt/,'
    (cd "$PT_SOURCE/script" && ls -- *.bash) | sed 's,.*,bin/&\nshare/man/man1/&.1,'
    (cd "$PT_SOURCE/libpt/include/pt" && ls -- *.h) | sed 's,\(.*\)[.]h,share/man/man3/pt_\1.3,'
    nm -D --defined-only "$PT_BUILD/lib/libpt.so" | awk '$2 == "T" { print $3 }' | sed 's,@.*,,; s,.*,share/man/man3/&.3,'
} | LC_ALL=C sort >"$tmp/want"
listing "$prefix" >"$tmp/got"
same "manifest" "$tmp/want" "$tmp/got"

DESTDIR="$tmp/stage dir" cmake --install "$PT_BUILD" --prefix /usr >"$tmp/log" 2>&1 || fail "install with DESTDIR"
listing "$tmp/stage dir/usr" >"$tmp/got"
same "manifest with DESTDIR" "$tmp/want" "$tmp/got"
check "no build paths in what is installed" \
    bash -c '! grep -rlF -e "$1" -e "$2" "$3" --include="*.cmake" --include="*.pc" --include="*.h"' - \
    "$PT_BUILD" "$PT_SOURCE" "$prefix"

# The shared library needs libc and libelf only, and shows nothing but ptl_ names of one version.
so=$prefix/$libdir/libpt.so
readelf -d "$so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libelf|ld-linux.*)\.so' >"$tmp/needed"
check "shared library needs libc and libelf only" test ! -s "$tmp/needed"
nm -D --defined-only "$so" | awk '$2 != "A" { print $3 }' | grep -v '^ptl_[a-z][a-z0-9_]*@@PTL_0$' >"$tmp/names"
check "only ptl_ symbols are exported" test ! -s "$tmp/names"

want="$version c3 2" # 0x0c is a TNT packet of two bits
runs() { # NAME COMMAND...: prints what a consumer must print
    local name=$1 got
    shift
    got=$("$@" 2>&1)
    [ "$got" = "$want" ] && echo "ok: $name" || fail "$name: $got"
}
export PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig"
flags() { # pkg-config quotes for the shell
    eval "set -- $(pkg-config "$@" libpt)"
    printf '%s\n' "$@"
}
[ "$(pkg-config --modversion libpt)" = "$version" ] || fail "pkg-config --modversion"
mapfile -t shared_flags < <(flags --cflags --libs)
mapfile -t static_flags < <(flags --static --cflags --libs)
if check "pkg-config, shared" "$cc" "${warnings[@]}" -std=c11 -o "$tmp/shared" "$here/consumer/consumer.c" "${shared_flags[@]}"; then
    runs "shared consumer runs" env LD_LIBRARY_PATH="$prefix/$libdir" "$tmp/shared"
fi
if check "pkg-config, static" "$cc" "${warnings[@]}" -std=c11 -static -o "$tmp/static" "$here/consumer/consumer.c" "${static_flags[@]}"; then
    runs "static consumer runs" "$tmp/static"
fi

cmake_consumer() { # DIR WANTED-VERSION
    cmake -S "$here/consumer" -B "$1" -DCMAKE_PREFIX_PATH="$prefix" -DWANT="$2" >"$tmp/log" 2>&1 &&
        cmake --build "$1" >>"$tmp/log" 2>&1
}
if command -v c++ >/dev/null; then
    check "find_package" cmake_consumer "$tmp/build c" "${version%.*}" || cat "$tmp/log"
    for program in c_shared c_static cxx_shared cxx_static; do
        runs "find_package: $program" "$tmp/build c/$program"
    done
    cmake -S "$here/consumer" -B "$tmp/build 9" -DCMAKE_PREFIX_PATH="$prefix" -DWANT=9.0 >"$tmp/log" 2>&1 &&
        fail "find_package finds version 9.0"
    check "find_package of another version fails" grep -q 'requested version "9\.0"' "$tmp/log"
else
    echo "no C++ compiler: find_package not tried"
fi

# As part of another project: the library alone, without tools, tests and their dependencies.
mkdir "$tmp/parent"
cat >"$tmp/parent/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES C)
add_subdirectory("$PT_SOURCE" libpt)
add_executable(consumer "$here/consumer/consumer.c")
target_link_libraries(consumer PRIVATE libpt::static)
END
# Objects of ours that are there serve: that the sources compile is known.
if cmake -S "$tmp/parent" -B "$tmp/parent/build" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_COMPILER_LAUNCHER="$here/reuse.sh;$PT_BUILD" >"$tmp/log" 2>&1 &&
    cmake --build "$tmp/parent/build" --target help | grep -qE 'ptdump|test_|example_'; then
    fail "as a subproject: more than the library"
fi
cmake --build "$tmp/parent/build" --target consumer >>"$tmp/log" 2>&1 || cat "$tmp/log"
runs "as a subproject" "$tmp/parent/build/consumer"

# alone STANDARD COMPILER...: each header is all that a file includes, twice.
alone() {
    local standard=$1
    shift
    "$@" -std="$standard" "${warnings[@]}" -I"$prefix/include" -fsyntax-only "$tmp"/alone/*.src || fail "headers alone: $* -std=$standard"
}
mkdir "$tmp/alone"
for header in "$prefix"/include/pt/*.h; do
    header=$(basename "$header")
    printf '#include <pt/%s>\n#include <pt/%s>\nextern int not_empty;\n' "$header" "$header" >"$tmp/alone/$header.src"
done
for compiler in gcc clang; do
    command -v $compiler >/dev/null || continue
    for std in c99 c11; do alone $std $compiler -x c; done
done
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || continue
    for std in c++11 c++17; do alone $std $compiler -x c++; done
done
done_testing
