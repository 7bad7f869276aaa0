#!/usr/bin/env bash
# Every call of the tools into libc fails once: no crash, no hang, no leak (LSan, if it is there); a
# status that is not 0 and a message - or the same result as ever - and nothing left that passes for
# whole and is not. Interrupted calls and short ones change nothing. helper_fault.c has how.
#   FAULT_MOST=N  about N calls of each kind and command, evenly spread (default: 1)
#   FAULT_ONLY=X  only commands whose names have X, a regular expression
#   FAULT=full    all of them, and a program with its libraries (script/fault.sh)
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 1
preload=$PT_BUILD/lib/fault_preload.so
[ -e "$preload" ] || skip "no $preload"
most=${FAULT_MOST:-1}
[ "${FAULT:-}" = full ] && most=${FAULT_MOST:-0} # 0: all
export ASAN_OPTIONS=verify_asan_link_order=0:allocator_may_return_null=1:detect_leaks=1
export UBSAN_OPTIONS=print_stacktrace=1
mkdir work
: >log

# fault [option of helper_fault...] -- NAME COMMAND...
fault() {
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    [[ $2 =~ ${FAULT_ONLY:-} ]] || return
    helper_fault -p "$preload" -d "$tmp/work" -k memory,io,space,eintr,short -m "$most" \
        "${options[@]}" "${@:2}" >one 2>&1 || fail "$2"
    cat one
    cat one >>log
}

# --- inputs: the directory of each command is another one, so all names are whole
r=$tmp/run.data two=$tmp/two.data raw=$tmp/plain-aux-idx0.bin code=$tmp/code
helper_perfdata "$code" >run.data
for how in pipe two samples snapshots lost; do
    helper_perfdata "$code" $how >$how.data
done
ptdump --extract-aux plain run.data
ptdump --extract-sideband sb run.data
sb=$(ls "$tmp"/sb-sideband*)
inputs=$PT_SOURCE/test/fault/inputs.py
mkdir in dir.data && "$inputs" in || fail 'inputs'
kcore=$tmp/in/kcore_dir
cp run.data dir.data/data && cp -r "$kcore" dir.data || fail 'a directory'
helper_perfdata "$tmp/jit-4711.dump" >jit.data && cp in/jit-4711.dump . || fail 'jitted code'
mkdir -p "root$tmp" && cp code "root$tmp/real" && ln -s real "root$tmp/code" || fail 'a sysroot'
gcc -O1 -w -g -static -o hello "$PT_SOURCE/test/record/programs/jumps.c" || fail 'no static libc'
cat >tiny.c <<'C'
void _start(void) { __asm__ volatile("mov $60, %eax; xor %edi, %edi; syscall"); }
C
cat >twins.c <<'C'
/* fork(); the parent waits: wait4(-1, 0, 0, 0); exit(0) */
void _start(void)
{
    __asm__ volatile("mov $57, %eax; syscall; test %eax, %eax; jz 1f; mov $61, %eax; mov $-1, %rdi;"
                     "xor %esi, %esi; xor %edx, %edx; xor %r10d, %r10d; syscall;"
                     "1: mov $60, %eax; xor %edi, %edi; syscall");
}
C
cat >nap.c <<'C'
/* A few instructions and a nap, for ever. */
void _start(void)
{
    __asm__ volatile("push $1000000; push $0; 1: mov $3, %ecx; 2: dec %ecx; jnz 2b; mov $35, %eax;"
                     "mov %rsp, %rdi; xor %esi, %esi; syscall; jmp 1b");
}
C
gcc -O1 -w -static -nostdlib -o nap nap.c && gcc -O1 -w -static -nostdlib -o tiny tiny.c && gcc -O1 -w -static -nostdlib -o twins twins.c || fail 'no compiler'
tiny=$tmp/tiny
recorder=1
timeout 240 ptcapture -q --backend step -z -o tiny.data -- ./tiny &&
    timeout 240 ptcapture -q --backend step -z -o small.data -- /bin/true || recorder=
[ "$recorder" ] || echo "note: nothing can be recorded here"

# --- the judge: it finds what is planted, in children and in processes of their own
compiler=(gcc -O1 -w)
ldd "$(type -P ptdump)" | grep -q libasan && compiler+=(-fsanitize=address)
"${compiler[@]}" -o planted "$PT_SOURCE/test/fault/planted.c" || fail 'planted.c'
planted() { helper_fault -p "$preload" -d "$tmp/work" "${@:3}" planted "$tmp/planted" "$1" 2>&1 | grep -q "$2"; }
if [[ 'the judge' =~ ${FAULT_ONLY:-} ]]; then
    for way in '' -1; do
        check "nothing is planted $way" planted good ', 0 wrong' $way -k memory,io,space,short
        check "memory is not looked at $way" planted crash 'crashed\|Sanitizer' $way -k memory
        check "no message $way" planted silent 'no message' $way -k memory
        check "a file is cut $way" planted partial 'without an error' $way -k space
        check "a short write $way" planted partial 'another result' $way -k short
        check "what is left looks whole $way" planted whole 'passes for whole' $way -k io -l 'cat made.txt'
        [[ ${compiler[*]} != *sanitize* ]] || check "a leak $way" planted leak 'LeakSanitizer' $way -k memory
    done
    for way in '' -1; do
        helper_fault -p "$preload" -d "$tmp/work" $way -v -k memory,io,space,eintr,short \
            same ptdump --extract-aux made "$two" >verdicts$way 2>&1
    done
    check 'there are verdicts' [ "$(grep -c '^same: memory [0-9]' verdicts)" -gt 10 ]
    same 'children fail as processes of their own' verdicts-1 verdicts
fi

# Here calls were found that nobody looked at: each of them, also in a sample.
found=(-m 0)

# --- ptdump
fault -- 'ptdump, recording' ptdump "$r"
fault -- 'ptdump, raw' ptdump "$raw"
fault -- 'ptdump, the pipe format' ptdump "$tmp/pipe.data"
fault -- 'ptdump, two buffers' ptdump "$two"
fault -- 'ptdump, samples' ptdump "$tmp/samples.data"
fault -- 'ptdump, snapshots' ptdump "$tmp/snapshots.data"
fault -- 'ptdump, a directory' ptdump "$tmp/dir.data"
fault -- 'ptdump, extract' ptdump --extract-aux made "$two"
fault -- 'ptdump, extract pieces' ptdump --extract-pieces made "$tmp/snapshots.data"
fault "${found[@]}" -- 'ptdump, extract sideband' ptdump --extract-sideband made "$two"
fault -- 'ptdump, losses' ptdump --quiet --losses=json:made.json "$tmp/lost.data"
fault -i "$tmp/pipe.data" -- 'ptdump, standard input' ptdump -
fault -P -i "$tmp/pipe.data" -- 'ptdump, pipes' ptdump -
fault -P -i "$r" -- 'ptdump, a file through a pipe' ptdump -
fault -P -i "$raw" -- 'ptdump, raw through a pipe' ptdump -
fault -- 'ptdump, JSON and sideband' ptdump --json --sb:compact "$two"
fault "${found[@]}" -- 'ptdump, sideband files' ptdump --sb:compact --pevent:sample-type 0x10087 --pevent:primary "$sb" "$raw"
fault -- 'ptdump, lists' ptdump --list-config --list-files --list-aux "$two"
fault -- 'ptdump, the end' ptdump --tail 3 "$two"
fault -- 'ptdump, a selection' ptdump --select:comm 'demo prog' --select:time 0%,50% "$two"

# --- ptxed
fault -- 'ptxed, recording' ptxed "$r"
fault -- 'ptxed, raw' ptxed --raw "$code:0x401000" --pt "$raw"
fault -- 'ptxed, the pipe format' ptxed "$tmp/pipe.data"
fault -- 'ptxed, samples' ptxed "$tmp/samples.data"
fault -- 'ptxed, snapshots' ptxed "$tmp/snapshots.data"
fault -- 'ptxed, losses' ptxed --losses=json:made.json "$tmp/lost.data"
fault -i "$tmp/pipe.data" -- 'ptxed, standard input' ptxed -
fault -P -i "$tmp/pipe.data" -- 'ptxed, pipes' ptxed -
fault -P -i "$r" -- 'ptxed, a file through a pipe' ptxed -
fault -- 'ptxed, JSON' ptxed --json "$two"
fault -- 'ptxed, JSON of blocks' ptxed --json=blocks "$two"
fault -- 'ptxed, coverage' ptxed --coverage "$two"
fault -- 'ptxed, coverage of edges' ptxed --coverage=edges "$two"
fault -- 'ptxed, proven' ptxed --proven "$two"
fault -- 'ptxed, by time' ptxed --merge --fields all "$two"
fault -- 'ptxed, addresses of packets' ptxed --quick "$two"
fault -- 'ptxed, between marks' ptxed --select:from 0x401002 --select:to 0x401004 "$two"
fault -- 'ptxed, the end' ptxed --tail 2 "$two"
fault -- 'ptxed, a shard' ptxed --shard 1/2 "$two"
fault -- 'ptxed, checked' ptxed --check --raw-insn --att "$two"
fault -- 'ptxed, numbers' ptxed --quiet --stat --stat:decoded "$two"
fault "${found[@]}" -- 'ptxed, an ELF file' ptxed --symbols --elf "$tmp/hello" --raw "$code:0x401000" --pt "$raw"
fault "${found[@]}" -- 'ptxed, sideband files' ptxed --sb:compact --pevent:sample-type 0x10087 --pevent:primary "$sb" --pt "$raw"
fault -- 'ptxed, kernel memory, raw' ptxed --pevent:kcore "$kcore/kcore" --pt "$raw"
fault -- 'ptxed, kernel memory' ptxed --symbols --kcore "$kcore/kcore" "$r"
fault -- 'ptxed, a directory with kernel memory' ptxed --symbols "$tmp/dir.data"
fault -- 'ptxed, a kernel' ptxed --vmlinux "$tmp/hello" "$r"
fault "${found[@]}" -- 'ptxed, jitted code' ptxed --symbols "$tmp/jit.data"
fault -- 'ptxed, a sysroot' ptxed --sysroot "$tmp/root" "$r"
fault -1 -- 'ptxed, two threads' ptxed -j2 --segment-size 64 "$two"
fault -1 -- 'ptxed, eight threads, raw' ptxed -j8 --segment-size 16 --raw "$code:0x401000" --pt "$raw"
fault -1 -P -- 'ptxed, two threads to a pipe' ptxed -j2 --segment-size 64 "$two"
if [ "$recorder" ]; then
    fault -- 'ptdump, compressed' ptdump "$tmp/tiny.data"
    fault -- 'ptxed, compressed' ptxed "$tmp/tiny.data"
    fault -- 'ptxed, functions' ptxed --quiet --stat:functions "$tmp/tiny.data"
    if [ "${FAULT:-}" = full ]; then
        # 7,000 names of functions have memory each: not one by one.
        fault -m 500 -- 'ptdump, a program' ptdump "$tmp/small.data"
        fault -m 500 -- 'ptxed, a program' ptxed --symbols "$tmp/small.data"
        fault -m 500 -- 'ptxed, functions of a program' ptxed --quiet --stat:functions "$tmp/small.data"
        fault -m 100 -P -- 'ptxed, a program to a pipe' ptxed "$tmp/small.data"
        fault -m 100 -1 -- 'ptxed, a program, two threads' ptxed -j2 --segment-size 1K "$tmp/small.data"
    fi

    # --- ptcapture, on a program of three instructions: what is recorded is decoded
    whole='ptxed made.data 2>&1'
    piped='ptxed - <out 2>&1'
    record=(ptcapture -q --strict --backend step)
    truth='ptxed --no-inst made.data >ips; sed -n "s/^0*\([0-9a-f]*\)$/\1/p" ips | cmp - made.json' # what the decoder says
    fault -1 "${found[@]}" -l "$whole" -- 'ptcapture' "${record[@]}" -o made.data -- "$tiny"
    fault -1 -l "$whole" -- 'ptcapture, compressed' "${record[@]}" -z -o made.data -- "$tiny"
    fault -1 -l "sed -i '/^#/d' made.json && $truth && $whole" -- 'ptcapture, truth' \
        "${record[@]}" --truth made.json -o made.data -- "$tiny"
    fault -1 -l "$piped" -- 'ptcapture, to a file as if it were a pipe' "${record[@]}" -o - -- "$tiny"
    fault -1 -P -l "$piped" -- 'ptcapture, to a pipe' "${record[@]}" -o - -- "$tiny"
    fault -1 -l "$whole" -- 'ptcapture, one processor' "${record[@]}" --per-cpu -o made.data -- "$tiny"
    fault -1 -l "$whole" -- 'ptcapture, single steps' "${record[@]}" --single-step -o made.data -- "$tiny"
    fault -1 -l "$whole" -- 'ptcapture, snapshots' "${record[@]}" -S -o made.data -- "$tiny"
    # The two take turns in any order, and it matters which stops first.
    forks=()
    [ "$most" -eq 0 ] || forks=("${found[@]}" -k memory)
    fault -1 "${forks[@]}" -l 'ptxed --no-inst made.data >ips; s=$?; grep -xE "[0-9a-f]{16}" ips | sort; exit $s' -- \
        'ptcapture, a fork' "${record[@]}" -o made.data -- "$tmp/twins"
    fault -1 -l "$whole && grep '}\$' made.json" -- 'ptcapture, losses' \
        "${record[@]}" --losses=json:made.json -o made.data -- "$tiny"
    # One that runs already goes on, and nobody has it by the collar.
    "$tmp/nap" &
    victim=$!
    holds="grep -q '^State:.[RS]' /proc/$victim/status && grep -q '^TracerPid:.0' /proc/$victim/status"
    ran='ptxed --no-inst made.data >ips 2>told; s=$?; sort -u ips | grep ^0; [ $s = 0 ] || cat told; exit $s'
    for what in -p -t; do
        fault -1 -c "$holds" -l "$ran" -- "ptcapture, attached $what" \
            "${record[@]}" $what $victim --duration 0.05 -o made.data
    done
    kill -KILL $victim # the shell, if it has not become the program yet, would clean up for us
    wait $victim 2>/dev/null
    # What it cannot read it takes for not there.
    fault -1 "${found[@]}" -k space,eintr,short -- 'ptcapture, what can be recorded' ptcapture --check --json
fi
awk '/calls, .* failed once/ { n[$(NF - 7)] += $(NF - 6); f += $(NF - 4) }
    END { for (k in n) printf "%s %d calls; ", k, n[k]; print f " faults" }' log
done_testing
