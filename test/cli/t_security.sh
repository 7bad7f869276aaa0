#!/usr/bin/env bash
# What SECURITY.md promises: names in recordings lead nowhere else, special files are not opened, no
# shell is run on names, recordings are private, privileges are given up.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
scripts=$PT_SOURCE/script
cd "$tmp" || exit 1
have() { command -v "$1" >/dev/null; }

# --- names below a sysroot: what a link or ".." leads to (all ways: unit/test_below) ----------
mkdir -p root/dir root/real outside
# A recording of one mapping, whose name is then another: blanks of the old one become slashes.
long=$tmp/$(printf '%0120d' 0)
helper_perfdata "$long" >long.data
mv "$long" plain
mapped() { # NAME: named.data maps NAME
    python3 - "$long" "$1" <<'P'
import sys
old, new = (a.encode() for a in sys.argv[1:])
new = b"/" * (len(old) - len(new)) + new
open("named.data", "wb").write(open("long.data", "rb").read().replace(old, new))
P
}
reads() { # the recording decodes with code from the sysroot
    timeout 20 ptxed --sysroot "$tmp/root" named.data >out 2>err
    grep -q '^0000000000401000  ' out
}
ln -s ../../outside root/dir/up     # climbs, but not above the root
ln -s "$tmp/outside" root/dir/away  # absolute: below the root there is no such thing
ln -s /real root/dir/inside         # absolute, below the root: /real is root/real
ln -s loop root/dir/loop
cp plain outside/code
cp plain root/real/code
mapped /real/code
check "the file is found at all" reads
mapped /dir/inside/code
check "an absolute link is followed below the sysroot" reads
for name in dir/up/code dir/away/code dir/loop/code ../outside/code "../../../../../../../..$tmp/outside/code"; do
    mapped "/$name"
    if reads; then fail "$name leads out of the sysroot"; else echo "ok: $name stays below the sysroot"; fi
done

# --- names on terminals: no escape sequences, no lines of their own -----------------------------
escapes=$(printf '\033\\|\302\233')
plain() { # NAME COMMAND...
    local name=$1
    shift
    timeout 20 "$@" >out 2>err
    if cat out err | LC_ALL=C grep -qa "$escapes\|^ptxed: all is well"; then
        fail "$name prints control characters"
    else
        check "$name: names are plain" test -s out -o -s err
    fi
}
mapped "/evil/$(printf '\033[2J\302\233x\nptxed: all is well')"
plain 'ptxed' ptxed named.data
plain 'ptxed, records' ptxed --sb:compact named.data
plain 'ptdump, records' ptdump --sb:verbose named.data
ptdump --extract-aux named named.data
printf '.globl _start\n_start: .incbin "plain"\n' >symbol.s
gcc -w -static -nostdlib -Wl,-Ttext=0x401000 -o symbol.elf symbol.s || fail "symbol.s"
LC_ALL=C sed 's/_start/_\x1b\xc2\x9b2t/g' symbol.elf >evil.elf
plain 'symbols' ptxed --symbols --elf evil.elf --pt named-aux-idx0.bin
check "symbols are there" grep -q '<_' out
plain 'functions' ptxed --quiet --stat:functions --elf evil.elf --pt named-aux-idx0.bin
plain 'coverage' ptxed --symbols --coverage --elf evil.elf --pt named-aux-idx0.bin

plain 'copying' "$scripts/perf-copy-mapped-files.bash" -o copied named.data
python3 - <<'P'
data = open("long.data", "rb").read()
text = b"h\ncpu\t1/2/3\n\x1b[2J\xc2\x9bx"
old = b"host" + bytes(len(text) - 4)
open("host.data", "wb").write(data.replace(old, text))
P
plain 'configuration' ptdump --list-config host.data
check "a host's name is one line" grep -q '^hostname.h?cpu' out
check "and says nothing else" test "$(grep -cP "^cpu\t" out)" -eq 1

ptxed --symbols --json --elf evil.elf --pt named-aux-idx0.bin >out 2>err
check "JSON escapes them" test -s out -a "$(LC_ALL=C grep -ca "$escapes" out)" -eq 0

# --- special files ----------------------------------------------------------------------------
mkdir root/special
mapped /special/code
mkfifo root/special/code
timeout 20 ptxed --sysroot "$tmp/root" named.data >out 2>err
check "a FIFO in the place of a file is not opened" test $? -ne 124
rm root/special/code
[ "$(id -u)" -ne 0 ] || {
    mknod root/special/code c 1 5 2>/dev/null # /dev/zero: endless
    timeout 20 ptxed --sysroot "$tmp/root" named.data >out 2>err
    check "a device in the place of a file is not opened" test $? -ne 124
}

# --- scripts: names are words, not commands, and lead nowhere else ----------------------------------
bad="$tmp/evil \$(touch $tmp/run1) \`touch $tmp/run2\`; touch $tmp/run3 #' \" *"
mkdir -p "$(dirname "$bad")"
helper_perfdata "$bad" >evil.data
for script in perf-read-aux perf-read-sideband perf-get-opts perf-copy-mapped-files; do
    (mkdir -p work && cd work && cp ../evil.data "a;touch run4;\$(touch run5)" && timeout 60 "$scripts/$script.bash" "a;touch run4;\$(touch run5)" >out 2>err)
done
(cd work && timeout 60 "$scripts/pt-bundle.bash" pack -o b.tar "a;touch run4;\$(touch run5)" >out 2>err && timeout 60 "$scripts/pt-bundle.bash" decode b.tar >out 2>err)
check "no shell is run on names" test -z "$(find "$tmp" -name 'run[0-9]')"
mkdir -p copies/in deep/er
name="$tmp/deep/er/../../../..$tmp/target"
helper_perfdata "$name" >climb.data
rm -f "$tmp/target"
helper_perfdata "$name" >climb.data
"$scripts/perf-copy-mapped-files.bash" -o copies/in climb.data >out 2>err
check "copying: a name with .. is refused" test $? -eq 1
check "copying: and named" grep -q 'leads out of the directory' err
check "copying: nothing is written elsewhere" test -z "$(find copies -name target)"
mkdir -p small
ln -s / small/link
helper_perfdata "$tmp/link-code" >link.data
ln -s "$tmp" "small/tmp" 2>/dev/null
mkdir -p "small$(dirname "$tmp")"
ln -s "$tmp" "small$tmp"
"$scripts/perf-copy-mapped-files.bash" -r small -o copies/in link.data >out 2>err
check "copying: a link out of the root is not followed" test $? -eq 1

mkdir evil && cp long.data evil/perf.data && ln -s /etc evil/sysroot
tar -cf evil.tar -C evil .
"$scripts/pt-bundle.bash" unpack -C unpacked evil.tar >out 2>err
check "a bundle with a link is refused" test $? -eq 2
check "and the link is gone" test ! -L unpacked/sysroot
rm evil/sysroot && printf '%064d  /dev/zero\n' 0 >evil/MANIFEST
tar -cf evil.tar -C evil .
timeout 20 "$scripts/pt-bundle.bash" unpack -C unpacked2 evil.tar >out 2>err
check "a MANIFEST that names files elsewhere is refused" test $? -eq 2

# What is copied goes below the directory, also if there are links in it.
mkdir -p trap "linked$(dirname "$tmp")"
ln -s "$tmp/trap" "linked$tmp"
helper_perfdata "$tmp/trapped" >trapped.data
"$scripts/perf-copy-mapped-files.bash" -o linked trapped.data >out 2>err
check "copying: a link in the directory is not followed out" test $? -eq 1 -a ! -e trap/trapped
# Bundles are private, hold the recording that a link names, and change nothing that was there before.
ln -s plain-copy.data by-link.data
helper_perfdata "$tmp/plain-code" >plain-copy.data
"$scripts/pt-bundle.bash" pack -o private.tar by-link.data >out 2>err
check "bundles: private" test "$(stat -c %a private.tar)" = 600
check "bundles: nothing half written stays" test -z "$(find . -maxdepth 1 -name '.part*')"
check "bundles: of a link" "$scripts/pt-bundle.bash" unpack -C fresh private.tar
check "bundles: the recording is in it" cmp -s fresh/perf.data plain-copy.data
mkdir full && ln -s /nowhere full/link
"$scripts/pt-bundle.bash" unpack -C full private.tar >out 2>err
check "bundles: not among other files" test $? -eq 2 -a -L full/link
mkfifo fifo.data
timeout 20 "$scripts/pt-bundle.bash" pack -o fifo.tar fifo.data >out 2>err
check "bundles: no FIFO is packed" test $? -eq 2 -a ! -e fifo.tar
if have parallel; then
    mkdir batch && ln -s "$tmp/precious-batch" batch/plain-copy.data.txt && echo precious >precious-batch
    "$scripts/pt-batch.bash" -o batch plain-copy.data >out 2>err
    check "batches write through no link" test "$(cat precious-batch)" = precious -a ! -L batch/plain-copy.data.txt
fi

# --- files of tools ---------------------------------------------------------------------------------
ptdump --extract-aux private --extract-sideband private plain-copy.data 2>err
check "what is extracted is private" test "$(stat -c %a private-aux-idx0.bin private-sideband-cpu0.pevent | sort -u)" = 600
for to in /dev/null /dev/stdout own.json own.json; do
    ptdump --quiet --losses=json:$to plain-copy.data >out 2>err
    check "losses to $to" test $? -eq 0 -a ! -s err
done
cp plain-copy.data input.data && ln input.data hard.data
ptdump --quiet --losses=json:hard.data input.data >out 2>err
check "losses: not into the input" test $? -eq 1 -a -s err
check "which is as it was" cmp -s plain-copy.data input.data
check "an own file is written again" test "$(wc -l <own.json)" -eq 1
if [ "$(id -u)" -eq 0 ] && have setpriv; then
    # Traps of another user where all may write; the kernel's protected_* may be off.
    chmod 755 "$tmp"
    mkdir -m 1777 all
    echo precious >precious-all
    somebody() { setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"; }
    for kind in link file fifo directory; do
        for name in "$kind.json" "$kind-aux-idx0.bin" "$kind-aux-idx0.0.bin" "$kind-sideband-cpu0.pevent"; do
            case $kind in
            link) somebody ln -s "$tmp/precious-all" "all/$name" ;;
            file) somebody sh -c "umask 0; echo theirs >all/$name" ;;
            fifo) somebody mkfifo "all/$name" ;;
            *) somebody mkdir "all/$name" ;;
            esac
        done
        timeout 20 ptdump --quiet "--losses=json:all/$kind.json" plain-copy.data >out 2>err
        check "losses: another's $kind" test $? -eq 1 -a -s err
        for what in aux pieces sideband; do
            timeout 20 ptdump --extract-$what "all/$kind" plain-copy.data >out 2>err
            check "extracted $what: another's $kind" test $? -eq 2 -a -s err
        done
    done
    check "what links named is as it was" test "$(cat precious-all)" = precious
    check "what was there is as it was" test "$(cat all/file.json all/file-*.bin all/file-*.pevent | sort -u)" = theirs
    somebody mkdir all/copies all/unpacked
    "$scripts/perf-copy-mapped-files.bash" -o all/copies trapped.data >out 2>err
    check "copying: not into another's directory" test $? -eq 2
    "$scripts/pt-bundle.bash" unpack -C all/unpacked private.tar >out 2>err
    check "bundles: nor there" test $? -eq 2
    somebody ln -s "$tmp/precious-all" all/slurm.txt
    "$scripts/pt-slurm.bash" -o all/slurm.txt -- plain-copy.data >out 2>err
    check "slurm: nor through another's link" grep -q 'another user' err
    somebody sh -c 'echo theirs >all/b.tar'
    "$scripts/pt-bundle.bash" pack -o all/b.tar plain-copy.data >out 2>err
    check "bundles: nor over another's" test $? -eq 2 -a "$(cat all/b.tar)" = theirs
fi

# --- recordings ---------------------------------------------------------------------------------------
# Programs of a few instructions, for the software recorder: its exit status is theirs.
cat >small.c <<'C'
#include <linux/capability.h>
#include <sys/syscall.h>
static long sys(long n, long a, long b)
{
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b) : "rcx", "r11", "memory");
    return r;
}
void _start(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, ASKED};
    struct __user_cap_data_struct data[2];
    long status = 0;
    if (sys(SYS_geteuid, 0, 0) == 0)
        status |= 1; /* root's rights */
    if (ASKED)
        header.pid = (int)sys(SYS_getppid, 0, 0);
    sys(SYS_capget, (long)&header, (long)data);
    if (data[0].permitted || data[1].permitted)
        status |= 2; /* capabilities, of the parent if ASKED */
    sys(SYS_exit_group, status, 0);
}
C
for asked in 0 1; do
    gcc -O1 -w -static -nostdlib -fno-stack-protector -DASKED=$asked -o small$asked small.c || fail "small.c"
done
rec() { timeout 100 ptcapture -q --backend step "$@"; }
rec -o "$tmp/x.data" -- ./small0 2>err
[ -s x.data ] || { echo "note: the software recorder cannot be used here"; done_testing; }
echo 'a secret' >secret
for control in "$tmp/secret" /dev/zero /dev/null; do
    rec --control "fifo:$control" -o c.data -- ./small0 2>err
    check "commands come from a FIFO only, not from $control" test $? -ne 0 -a "$(grep -c '"a secret"' err)" -eq 0
    check "that is said" grep -q 'not a FIFO' err
done
mkfifo flood
cat /dev/zero >flood &
flooder=$!
rec --control fifo:flood -o c.data -- ./small0 2>err
check "commands without end do not end a recording, nor keep it" test $? -le 3 -a -s c.data
kill -KILL $flooder 2>/dev/null
check "recordings are private" test "$(stat -c %a x.data)" = 600
mkdir shared_dir && chmod 1777 shared_dir
echo precious >precious
for what in "$tmp/precious" "$tmp/nowhere" /dev/null; do
    ln -sf "$what" shared_dir/perf.data
    rec -o shared_dir/perf.data -- ./small0 2>err
    check "a link to $what in the way: refused" test $? -eq 1
done
check "what the link named is as it was" test "$(cat precious)" = precious -a ! -e nowhere
rm shared_dir/perf.data
ln -s "$tmp/precious" shared_dir/t
rec --truth shared_dir/t -o x.data -- ./small0 2>err
check "--truth follows no link, and that ends it" test $? -eq 1
check "and the file is as it was" test "$(cat precious)" = precious

if [ "$(id -u)" -eq 0 ] && have setpriv; then
    chmod 755 "$tmp"
    mkdir mine && chown 65534:65534 mine
    cp "$(command -v ptcapture)" recorder && cp small0 suid && chmod 4755 suid && chmod 755 recorder small0 small1
    as_nobody() { timeout 100 setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"; }
    step() { as_nobody "$1" -q --backend step -o mine/s.data "${@:2}" >out 2>err; }
    mkdir -m 1777 all_recordings
    as_nobody sh -c 'umask 0; cd all_recordings && echo theirs >perf.data && echo theirs >truth && mkfifo fifo'
    rec -o all_recordings/perf.data -- ./small0 2>err
    check "another's file in the way of a recording: refused, not moved" test $? -eq 1 -a "$(cat all_recordings/perf.data)" = theirs
    for truth in truth fifo; do
        rec --truth all_recordings/$truth -o x.data -- ./small0 2>err
        check "another's file for --truth ($truth): refused" test $? -eq 1
    done
    check "and not written to" test "$(cat all_recordings/truth)" = theirs
    as_nobody ./suid
    check "a set-user-ID program has its owner's rights" test $(($? & 1)) -eq 1
    step ./recorder -- ./suid
    check "traced it has not" test $? -eq 0
    sleep 60 &
    step ./recorder -p $!
    check "a process of another user is refused" test $? -eq 1
    check "and that is said" grep -qiE 'permi|not allowed' err
    kill $!
    # Capabilities of the program's file: the recorder keeps few, its command gets none.
    cp recorder capable
    if have setcap && setcap cap_sys_ptrace,cap_dac_override,cap_net_admin,cap_perfmon=ep capable 2>/dev/null; then
        step ./capable -- ./small0
        check "the command gets no capabilities" test $? -eq 0
        step ./capable -- ./small1
        check "the recorder has given up its own by then" test $? -eq 0
        step ./capable -- ./suid
        check "a set-user-ID program has no rights under CAP_SYS_PTRACE either" test $? -eq 0
    fi
fi
done_testing
