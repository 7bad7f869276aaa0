#!/usr/bin/env bash
# A recording and its bundle in an empty root: ptxed says the same as where it was recorded.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 1
[ -x "$PT_BUILD/bin/ptcapture" ] && [ -x "$PT_BUILD/bin/ptxed" ] || exit 77

into_root() { # PROGRAM...: with the libraries they need, to root/bin
    local program
    for program; do
        program=$(command -v "$program") || return 1
        cp -L "$program" root/bin/
        ldd "$program" 2>/dev/null | grep -o '/[^ ]*' | while IFS= read -r library; do
            mkdir -p "root$(dirname "$library")"
            cp -L "$library" "root$library"
        done
    done
}
mkdir -p root/bin root/tmp root/dev
into_root bash tar gzip sha256sum sort sed grep find xargs awk mktemp readlink dirname basename rm mkdir cat ptxed ptdump || exit 77
mknod root/dev/null c 1 3 2>/dev/null || : >root/dev/null
enter=(env -u TMPDIR chroot) # what there is here is not in there
[ "$(id -u)" -eq 0 ] || enter=(env -u TMPDIR unshare -r chroot)
if ! "${enter[@]}" root /bin/bash -c : 2>err; then
    echo "skipped: no way into another root: $(cat err)"
    exit 77
fi
cp "$PT_SOURCE"/script/*.bash "$PT_SOURCE"/script/common.sh root/bin/

ptcapture -q --backend step -o one.data -- true 2>err || { cat err; exit 77; }
ptcapture -q --backend step --per-cpu -o two.data -- sh -c 'echo a | while read -r x; do exit $?; done' 2>err || exit 77
for name in one two; do
    ptxed "$name.data" >here.txt 2>err
    check "$name: here" test $? -eq 0
    check "$name: pack" "$PT_SOURCE/script/pt-bundle.bash" pack -o "root/$name.tar.gz" "$name.data" >/dev/null
    "${enter[@]}" root /bin/bash -c "cd /tmp && PATH=/bin && bash /bin/pt-bundle.bash decode /$name.tar.gz" >there.txt 2>err
    check "$name: there, exit status" test $? -eq 0 || cat err
    check "$name: there is something" test "$(grep -cE '^[0-9a-f]{16}' there.txt)" -gt 1000
    same "$name: the same text" here.txt there.txt
    "${enter[@]}" root /bin/bash -c "PATH=/bin; bash /bin/pt-bundle.bash unpack -C /b /$name.tar.gz && ptdump --no-timing /b/perf.data" >there.txt 2>err
    ptdump --no-timing "$name.data" >here.txt 2>err
    same "$name: the same packets" here.txt there.txt
    # Without the bundle nothing of the kind is there: the root is empty indeed.
    "${enter[@]}" root /bin/ptxed /b/perf.data >there.txt 2>err
    check "$name: without the files" test $? -ne 0
    rm -rf root/b
done
done_testing
