#!/usr/bin/env bash
# The Debian packages: what is in them, what they depend on, and - as root - that they install
# into an empty root, run there, and leave nothing behind when they are purged. With PT_TEST_ROOT also in a
# fresh Debian 12: 1 makes one with debootstrap (two minutes and the network), FILE.tar.zst is one, made if it
# is not there.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
grep -q '^PT_SANITIZE:.*=.\+' "$PT_BUILD/CMakeCache.txt" && skip "a build with sanitizers"
for command in cpack dpkg-deb dpkg-shlibdeps; do
    command -v $command >/dev/null || skip "no $command"
done
[ -x "$PT_BUILD/bin/ptdump" ] || skip "no tools in this build"
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$PT_BUILD/CMakeCache.txt")

# Packages have a build of their own: tools that share the library. What would be compiled as it was for this
# build already is copied from there.
contact='A Packager <packager@debian.org>' # whoever builds them
pkg=$tmp/build
configure() { cmake -S "$PT_SOURCE" -B "$pkg" --preset package -DCMAKE_C_COMPILER="$(cache CMAKE_C_COMPILER)" -DCPACK_PACKAGE_CONTACT="$contact" "$@"; }
cache() { sed -n "s/^$1:[^=]*=//p" "$PT_BUILD/CMakeCache.txt"; }
# The commands that make objects: those of the packages are among this build's.
same_commands() {
    python3 - "$PT_BUILD" "$pkg" <<'PY'
import json, sys
made, wanted = ({c["command"].replace(c["directory"], "BUILD").replace("ccache ", "")
                 for c in json.load(open(d + "/compile_commands.json"))} for d in sys.argv[1:])
sys.exit(not wanted <= made)
PY
}
(cd "$PT_SOURCE" && configure) >"$tmp/log" 2>&1 || { tail -30 "$tmp/log"; fail configure; done_testing; }
if same_commands; then
    configure -DCMAKE_C_COMPILER_LAUNCHER="$PT_SOURCE/test/install/reuse.sh;$PT_BUILD" >"$tmp/log" 2>&1
else
    echo "note: objects are compiled once more"
fi
(cmake --build "$pkg" && cpack -G DEB --config "$pkg/CPackConfig.cmake" -B "$tmp/deb") >"$tmp/log" 2>&1 || {
    tail -30 "$tmp/log"
    fail "build and cpack"
    done_testing
}
release=1~upstream1
libdir=$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[^=]*=//p' "$pkg/CMakeCache.txt")
arch=$(dpkg --print-architecture)
deb() { echo "$tmp/deb/$1_$version-${release}_$arch.deb"; }
for package in libpt0 libpt-dev libpt-tools; do
    check "$package" test -s "$(deb $package)"
    dpkg-deb -c "$(deb $package)" | sed -n 's,^[^d].* \./\([^ ]*\).*,\1,p' | sort >"$tmp/$package"
    check "$package: belongs to root" bash -c '! dpkg-deb -c "$1" | grep -v " root/root "' - "$(deb $package)"
    check "$package: copyright" grep -qx "usr/share/doc/$package/copyright" "$tmp/$package"
    check "$package: version" test "$(dpkg-deb -f "$(deb $package)" Version)" = "$version-$release"
done
depends() { dpkg-deb -f "$(deb "$1")" Depends; }

# Each installed file is in exactly one package.
sort "$tmp"/libpt* >"$tmp/all"
check "no file is in two packages ($(uniq -d "$tmp/all" | xargs))" test -z "$(uniq -d "$tmp/all")"
DESTDIR="$tmp/stage" cmake --install "$pkg" --prefix /usr >/dev/null 2>&1
(cd "$tmp/stage" && find . ! -type d) | sed 's,^\./,,' | sort >"$tmp/want"
sed 's,[.]gz$,,' "$tmp/all" | grep -vE '^usr/share/doc/libpt(0|-dev|-tools)/(copyright|changelog.Debian)$' >"$tmp/got"
same "the packages hold what cmake --install does" "$tmp/want" "$tmp/got"
check "libpt0: the library alone" test "$(grep -vc /doc/ "$tmp/libpt0")" -eq 2
check "libpt-dev: headers" grep -qx usr/include/pt/packet.h "$tmp/libpt-dev"
check "libpt-dev: link" grep -qx "usr/$libdir/libpt.so" "$tmp/libpt-dev"
check "libpt-tools: tools and scripts only" bash -c '! grep -E "/lib/|/include/|man3" "$1"' - "$tmp/libpt-tools"

# Dependencies: what the binaries need, by package; the library by its exact version for -dev.
case $(depends libpt0) in *libc6*) ;; *) fail "libpt0 depends on: $(depends libpt0)" ;; esac
case $(depends libpt-dev) in "libpt0 (= $version-$release)"*) ;; *) fail "libpt-dev depends on: $(depends libpt-dev)" ;; esac
for wanted in libc6 libcapstone libzstd "libpt0 (= $version-$release)"; do
    case $(depends libpt-tools) in *"$wanted"*) ;; *) fail "libpt-tools depends on: $(depends libpt-tools)" ;; esac
done
check "shlibs" test "$(dpkg-deb -I "$(deb libpt0)" shlibs)" = "libpt ${version%%.*} libpt0 (>= $version-$release)"

if command -v lintian >/dev/null; then
    lintian --fail-on error,warning --allow-root "$tmp"/deb/*.deb >"$tmp/log" 2>&1
    status=$?
    check "lintian has neither errors nor warnings ($(grep -E "^[EW]:" "$tmp/log" | head -3))" test $status -eq 0
fi
check "no maintainer scripts" bash -c '! dpkg-deb -I "$1" | grep -E "postinst|postrm"' - "$(deb libpt0)"

# --- an empty root, with a shell and the libraries that the packages depend on -------------------
[ "$(id -u)" -eq 0 ] && chroot / true 2>/dev/null && command -v busybox >/dev/null ||
    { echo "not installed into a root: neither root nor busybox"; done_testing; }
root=$tmp/root
mkdir -p "$root"/{bin,sbin,etc,tmp,usr/bin,usr/lib,var/lib/dpkg/updates,var/lib/dpkg/info}
: >"$root/var/lib/dpkg/status"
cp "$(command -v busybox)" "$root/bin/busybox"
ln -s busybox "$root/bin/sh"
cp -L /sbin/ldconfig "$root/sbin/"
for file in "$pkg"/bin/pt{dump,xed,capture} "$pkg/lib/libpt.so"; do ldd "$file"; done |
    grep -oE '/[^ ]*\.so[^ ]*' | grep -v "^$pkg" | sort -u | while read -r lib; do cp --parents -L "$lib" "$root"; done
(cd "$root" && find . ! -type d | sort) >"$tmp/before"
dpkg_root() { dpkg --root="$root" --log=/dev/null --force-depends "$@" >"$tmp/log" 2>&1; }
dpkg_root -i "$tmp"/deb/*.deb || { cat "$tmp/log"; fail "install"; }
check "all are installed" test "$(grep -c '^Status: install ok installed' "$root/var/lib/dpkg/status")" -eq 3
for tool in ptdump ptxed ptcapture; do
    got=$(chroot "$root" "/usr/bin/$tool" --version 2>&1)
    [ "$got" = "$tool $version" ] && echo "ok: $tool runs" || fail "$tool: $got"
done
cp "$PT_BUILD/bin/example_count_packets" "$root/tmp/" 2>/dev/null
example_make_trace "$root/tmp" && got=$(LD_LIBRARY_PATH='' chroot "$root" /tmp/example_count_packets /tmp/sum.pt | grep '^tip.pge')
check "a program finds the library" test "$got" = 'tip.pge    1'
got=$(chroot "$root" /usr/bin/ptdump --no-offset /tmp/sum.pt | head -1)
check "ptdump prints packets" test "$got" = psb
dpkg_root --purge libpt-dev libpt-tools libpt0 || { cat "$tmp/log"; fail "purge"; }
rm -rf "${root:?}"/tmp/* "$root"/etc/ld.so.cache "$root"/var/cache "$root"/var/lib/dpkg/*-old
(cd "$root" && find . ! -type d ! -path './var/lib/dpkg/*' | sort) >"$tmp/after"
grep -v '^./var/lib/dpkg/' "$tmp/before" >"$tmp/want"
same "nothing is left behind" "$tmp/want" "$tmp/after"
check "no package is left" test -z "$(grep '^Package' "$root/var/lib/dpkg/status")"

# --- a fresh Debian 12, its own packages for what they depend on -----------------------------------
[ -n "${PT_TEST_ROOT:-}" ] && command -v debootstrap >/dev/null || { echo "no fresh Debian 12 (PT_TEST_ROOT)"; done_testing; }
root=$tmp/debian
mkdir "$root"
if [ -s "$PT_TEST_ROOT" ]; then
    tar -C "$root" --auto-compress -xf "$PT_TEST_ROOT" || fail "$PT_TEST_ROOT"
else
    debootstrap --variant=minbase bookworm "$root" http://deb.debian.org/debian >"$tmp/log" 2>&1 || { tail -5 "$tmp/log"; fail debootstrap; done_testing; }
    case $PT_TEST_ROOT in *.tar*) tar -C "$root" --auto-compress -cf "$PT_TEST_ROOT" . ;; esac
fi
cp /etc/resolv.conf "$root/etc/"
cp "$tmp"/deb/*.deb "$root/root/"
# Mounts are seen, and last, only in there.
cat >"$tmp/inside" <<'END'
set -e
mount -t proc proc "$1/proc"
mount --bind /dev "$1/dev"
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp DEBIAN_FRONTEND=noninteractive chroot --userspec="$2" "$1" /bin/bash -ec "cd ~; $3"
END
inside() { unshare -m bash "$tmp/inside" "$root" "$1" "$2" >"$tmp/log" 2>&1 </dev/null || { tail -5 "$tmp/log"; return 1; }; }
files() { (cd "$root" && find . -xdev ! -type d ! -path './var/lib/apt/*' ! -path './var/lib/dpkg/*' ! -path './var/cache/*' ! -path './var/log/*' ! -path './root/*' ! -path './tmp/*' ! -path './etc/ld.so.cache' ! -path './dev/*' | sort); }
check "Debian 12: dependencies" inside root:root 'apt-get update -q && apt-get install -y -q --no-install-recommends libcapstone4 libelf1 libzstd1 libelf-dev'
files >"$tmp/before"
check "Debian 12: install" inside root:root 'apt-get install -y -q --no-install-recommends /root/libpt*.deb'
check "Debian 12: record and decode as nobody" inside nobody:nogroup \
    'ptcapture -o true.data -- /bin/true && ptxed --quiet --strict --stat true.data && ptdump true.data >packets && grep -q psb packets'
check "Debian 12: it decoded something" grep -qE '^insn: [0-9]{4,}\.$' "$tmp/log"
check "Debian 12: purge" inside root:root 'apt-get purge -y -q libpt0 libpt-dev libpt-tools'
files >"$tmp/after"
same "Debian 12: nothing is left behind" "$tmp/before" "$tmp/after"
done_testing
