#!/usr/bin/env bash
# Install what building and testing libpt needs on Debian 12 (as root, or with sudo).
#   script/setup.sh          build and run
#   script/setup.sh --test   and everything the tests use
set -euo pipefail

build=(gcc cmake ninja-build pkg-config libelf-dev libcapstone-dev libzstd-dev liblzma-dev zlib1g-dev libc6-dev linux-libc-dev git bash gawk)
test=(clang clang-format clang-tidy libclang-rt-14-dev libcmocka-dev libipt-dev linux-perf g++ gcc-multilib
    python3-minimal python3-jsonschema parallel slurm-wlm munge binutils busybox-static shellcheck file valgrind universal-ctags
    zsh fish mandoc groff-base lintian dpkg-dev abigail-tools debootstrap)

packages=("${build[@]}")
case ${1:-} in
--test) packages+=("${test[@]}") ;;
'') ;;
*)
    echo "usage: script/setup.sh [--test]" >&2
    exit 2
    ;;
esac

missing=()
for p in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0

sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo
[ -z "$sudo" ] || command -v sudo >/dev/null || {
    echo "setup.sh: not installed: ${missing[*]}" >&2
    echo "setup.sh: neither root nor sudo: run script/setup.sh as root once, then go on as you are." >&2
    exit 1
}
echo "installing: ${missing[*]}"
$sudo apt-get update -q
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -q --no-install-recommends "${missing[@]}"
