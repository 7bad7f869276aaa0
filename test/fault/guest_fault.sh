#!/bin/sh
# Runs as root in a guest with the fake intel_pt PMU, with busybox: each call of ptcapture that
# records with hardware fails once (helper_fault.c).
#   FAULT_MOST=N  about N calls of each kind and command, evenly spread (default: all; each takes seconds)
#   FAULT_ONLY=X  only commands whose names match
cd /in || exit 1
most=${FAULT_MOST:-0}
numbered=intel_pt/ptw,fup_on_ptw/u # every cell of the fake trace carries its number
mkdir -p /tmp/work
echo 128 >/sys/module/fake_intel_pt/parameters/tick_bytes # a few cells in a millisecond
failed=0

# fault [option of helper_fault...] -- NAME ARGUMENTS...
fault() {
    options=
    while [ "$1" != -- ]; do
        options="$options '$1'"
        shift
    done
    name="ptcapture with hardware, $2"
    echo "$name" | grep -qE "${FAULT_ONLY:-}" || return
    shift 2
    eval "taskset 1 ./helper_fault -p /in/fault_preload.so -d /tmp/work -k memory,io,space,eintr,short,event -m $most -1 \
        -c '$holds' $options '$name'" '/in/ptcapture -q --strict --backend perf "$@"' 2>&1 || failed=1
}
look() { echo "sh /in/guest_look.sh $1 ${2:-made.data}"; }

# Nothing is left of a command; who ran before runs still, and nobody has it by the collar.
/in/helper_busy 100000000 1 &
victim=$! # its first thread only waits for the other
holds='n=0; for s in /proc/[0-9]*/status; do
    case $(sed -n "s/^Name:\t//p" $s 2>/dev/null) in helper_busy) n=$((n + 1)); grep -q "^State:.[RS]" $s || exit 1; grep -q "^TracerPid:.0" $s || exit 1 ;; esac
done; [ $n -eq 1 ]'

set -- -e $numbered
fault -l "$(look command)" -- 'command' -o made.data "$@" -- /in/helper_busy 20 1
fault -l "$(look command)" -- 'compressed' -z -o made.data "$@" -- /in/helper_busy 20 1
fault -P -l "$(look command out)" -- 'pipe' -o - "$@" -- /in/helper_busy 20 1
fault -l "$(look running)" -- 'all' -a --duration 0.05 -o made.data "$@"
fault -l "$(look running)" -- 'attached' -p $victim --duration 0.05 -o made.data "$@"
fault -l "$(look running)" -- 'thread' -t "$(ls "/proc/$victim/task" | tail -n 1)" --duration 0.05 -o made.data "$@"
fault -l "$(look command)" -- 'per thread' --per-thread -o made.data "$@" -- /in/helper_busy 20 2
fault -l "$(look snapshot)" -- 'snapshot' -S -m ,16K -o made.data "$@" -- /in/helper_busy 40 1
fault -l "$(look command)" -- 'late' -D 10 -o made.data "$@" -- /in/helper_busy 500 1
kill $victim
exit $failed
