#!/usr/bin/env bash
# Every call of the tools into libc fails once: no crash, no hang; a status that is not 0 and a
# message - or the same result as ever. Interrupted calls and short ones change nothing.
# A sample of the calls; FAULT=full for each of them (FAULT_MOST: so many), of more commands
# (script/fault.sh, with LSan: what fails leaks nothing).
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 1
preload=$PT_BUILD/lib/fault_preload.so
[ -e "$preload" ] || skip "no $preload"
most=${FAULT_MOST:-40} # calls that fail, of each command and kind
[ "${FAULT:-}" = full ] && most=${FAULT_MOST:-1000000}
export ASAN_OPTIONS=verify_asan_link_order=0:allocator_may_return_null=1:detect_leaks=1
total=0
stdin=/dev/null

# faulty KIND N COMMAND...: result in out, err, $status
faulty() {
    local kind=$1 n=$2
    shift 2
    rm -rf made*
    FAULT_KIND=$kind FAULT_AT=$n FAULT_COUNT=$tmp/count timeout 240 env LD_PRELOAD="$preload" "$@" <"$stdin" >out 2>err
    status=$?
}
# What a command leaves behind, as text.
left() {
    if [ "$(head -c 8 out | tr -d '\0')" = PERFILE2 ]; then # its times differ each time
        ptdump --quiet - <out >/dev/null 2>&1 && echo whole
    else
        cat out
    fi
    for file in made*.data made*.bin made*.json; do # code that could not be read is saved as made.data.code
        [ -f "$file" ] && echo "$file" && if [ "${file##*.}" = data ]; then ptdump --no-offset --no-timing "$file" 2>&1 | grep -c . >/dev/null && echo readable; else sed '/^# [0-9]*\/[0-9]*$/d' "$file"; fi # threads have other numbers
    done
}

# fault NAME KINDS COMMAND...
fault() {
    local name=$1 kinds=$2 kind calls step n bad=0 tried=0
    shift 2
    for kind in $kinds; do
        faulty "$kind" 0 "$@"
        [ $status -le 1 ] || { fail "$name: status $status without a fault: $(head -3 err)"; return; }
        local want_status=$status
        calls=$(cat count)
        left >want
        step=$((calls / most + 1))
        for ((n = 1; n <= calls; n += step)); do
            faulty "$kind" $n "$@"
            tried=$((tried + 1))
            left >got
            if grep -qE 'Sanitizer|runtime error' err; then
                bad=$((bad + 1))
                echo "note: $name: $kind $n of $calls: $(grep -E -m 6 'Sanitizer|runtime error|#[0-4] ' err)"
            elif [ $status -ge 124 ] && ! { [ $status -eq 127 ] && [ -s err ]; }; then
                bad=$((bad + 1))
                echo "note: $name: $kind $n of $calls: status $status: $(tail -2 err)"
            elif [ $status -eq $want_status ] && cmp -s want got; then
                : # it does not matter
            elif [ "$kind" = eintr ] || [ "$kind" = short ]; then
                bad=$((bad + 1))
                echo "note: $name: $kind $n of $calls: another result, status $status: $(tail -2 err)"
            elif [ ! -s err ] || [ $status -eq 0 ]; then
                bad=$((bad + 1))
                echo "note: $name: $kind $n of $calls: status $status, $(wc -l <err) lines of message"
            fi
        done
    done
    total=$((total + tried))
    check "$name: $tried faults" test $bad -eq 0
}

helper_perfdata "$tmp/code" >run.data
ptdump --extract-aux plain run.data
fault 'ptdump, recording' 'memory io space eintr short' ptdump run.data
fault 'ptdump, raw' 'memory io space eintr short' ptdump plain-aux-idx0.bin
fault 'ptdump, extract' 'memory io space eintr short' ptdump --extract-aux made run.data
fault 'ptdump, losses' 'io space eintr short' ptdump --quiet --losses=json:made.json run.data
fault 'ptxed, recording' 'memory io space eintr short' ptxed run.data
fault 'ptxed, raw' 'memory io space eintr short' ptxed --raw code:0x401000 --pt plain-aux-idx0.bin

if [ "${FAULT:-}" = full ]; then
    all='memory io space eintr short'
    helper_perfdata "$tmp/code" pipe >pipe.data
    helper_perfdata "$tmp/code" two >two.data
    helper_perfdata "$tmp/code" samples >samples.data
    gcc -O1 -w -g -static -o hello "$PT_SOURCE/test/record/programs/jumps.c" || fail "no static libc"
    ptcapture -q --backend step -z -o small.data -- /bin/true 2>/dev/null
    for data in pipe.data two.data samples.data small.data; do
        [ -e $data ] || continue
        fault "ptdump $data" "$all" ptdump $data
        fault "ptxed $data" "$all" ptxed --quiet --stat $data
        fault "ptxed $data, two threads" "$all" ptxed -j2 --segment-size 64 $data
    done
    stdin=pipe.data
    fault 'ptdump, standard input' "$all" ptdump -
    stdin=/dev/null
    fault 'ptdump, JSON and sideband' "$all" ptdump --json --sb:compact two.data
    fault 'ptdump, lists' "$all" ptdump --list-config --list-files --list-aux two.data
    fault 'ptxed, JSON' "$all" ptxed --json two.data
    fault 'ptxed, coverage' "$all" ptxed --coverage two.data
    fault 'ptxed, proven' "$all" ptxed --proven two.data
    fault 'ptxed, functions' "$all" ptxed --quiet --stat:functions small.data
    fault 'ptxed, an ELF file' "$all" ptxed --symbols --elf hello --pt plain-aux-idx0.bin
    fault 'ptxed, by time' "$all" ptxed --merge two.data
fi

# The recorder, on a program of two instructions.
cat >tiny.c <<'C'
void _start(void) { __asm__ volatile("mov $60, %eax; xor %edi, %edi; syscall"); }
C
if gcc -O1 -w -static -nostdlib -o tiny tiny.c && timeout 60 ptcapture -q --backend step -o probe.data -- ./tiny; then
    most=$((most < 1000 ? most / 2 : most))
    fault 'ptcapture' 'memory io space eintr short' ptcapture -q --backend step -o made.data -- ./tiny
    if [ "${FAULT:-}" = full ]; then
        fault 'ptcapture, compressed' "$all" ptcapture -q --backend step -z -o made.data -- ./tiny
        fault 'ptcapture, to a pipe' "$all" ptcapture -q --backend step -o - -- ./tiny
        fault 'ptcapture, truth' "$all" ptcapture -q --backend step --truth made.json -o made.data -- ./tiny
    fi
fi
echo "$total faults"
done_testing
