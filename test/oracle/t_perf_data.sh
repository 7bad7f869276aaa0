#!/usr/bin/env bash
# Recordings that our writer makes, read by perf: no warning, all records, the right branches.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
command -v perf >/dev/null || skip "no perf"
cd "$tmp" || exit 1
export PERF_CONFIG=/dev/null HOME=$tmp
code="$tmp/code file"

# perf_quiet NAME ARGUMENTS...: perf succeeds and says nothing on stderr; its output is in `out`.
perf_quiet() {
    local name=$1
    shift
    if ! perf "$@" >out 2>err </dev/null; then
        fail "$name: exit status"
        head -5 err
    elif [ -s err ]; then
        fail "$name: messages"
        head -5 err
    else
        echo "ok: $name"
    fi
}
# has NAME REGEX: `out` has such a line.
has() {
    grep -qE "$2" out || { fail "$1: no $2"; head -20 out; }
}

helper_perfdata "$code" >perf.data || fail "the helper"
perf_quiet 'script -D' script -D -f
for record in TIME_CONV ID_INDEX AUXTRACE_INFO COMM MMAP2 ITRACE_START SWITCH 'AUX ' AUXTRACE FINISHED_ROUND; do
    has "script -D" "PERF_RECORD_$record"
done
has 'packets' 'TIP.PGE 0x401000'
has 'time conversion' 'Time Muliplier +1024'
perf_quiet 'evlist -v' evlist -v -f
has 'evlist' '^intel_pt//u: type: 8'
has 'evlist' '^dummy:u: type: 1'
perf_quiet 'script --itrace=be' script -f --itrace=be -F comm,tid,cpu,time,ip,addr
# je taken; jmp *rax; je not taken is no branch; jmp *rax leaves the trace
awk '{ print $(NF-2), $NF }' out >got
printf '%s\n' '401000 401004' '401004 401000' >want
grep -E '401000 401004|401004 401000' got >seen
same 'branches' want seen
has 'comm' '^ *demo prog +4711 \[000\]'
perf_quiet 'buildid-list' buildid-list -f
has 'build id' '^303132333435363738396162636465666768696a .*/code file$'
perf_quiet 'report --header-only' report --header-only -f
for line in 'hostname : host' 'os release : 6.1.0' 'arch : x86_64' 'nrcpus online : 1' 'cpuid : GenuineIntel,6,85,4' 'cmdline : helper with blank' 'pmu mappings: .*intel_pt = 8' 'contains AUX area data'; do
    has header "# $line"
done
perf_quiet 'report --stdio' report --stdio -f --itrace=i0ns
has report 'demo prog'

helper_perfdata "$code" two >perf.data
perf_quiet 'two buffers' script -f --itrace=be -F ip,addr
[ "$(grep -c '401000 => *401004\|401000.*401004' out)" -eq 2 ] || fail "two buffers: not every branch twice"

# perf reads a pipe only through a pipe.
if helper_perfdata "$code" pipe | perf script -i - --itrace=be -F ip,addr >out 2>err &&
    ! grep -vE 'pipe mode is not recommended|The output cannot relied upon|timestamps and the order|^$' err; then
    echo "ok: pipe"
else
    fail "pipe"
fi
[ "$(grep -c '401000.*401004' out)" -eq 1 ] || fail "pipe: branches"

# Killed before the end: what has been flushed is a valid file (without features perf does not
# offer the target of a branch).
helper_perfdata "$code" kill >perf.data
perf_quiet 'killed' script -f --itrace=be -F ip
[ "$(grep -c '401000' out)" -ge 1 ] || fail "killed: branches"
perf_quiet 'killed: evlist' evlist -f
has 'killed: evlist' '^intel_pt//u$'

# Trace in the samples of another event (AUX sampling): an empty one, and two that overlap.
helper_perfdata "$code" samples >perf.data
perf_quiet 'samples: evlist -v' evlist -v -f
has 'samples' 'sample_type: .*AUX'
perf_quiet 'samples: -D' script -D -f
has 'samples: -D' 'TIP.PGE 0x401000'
perf_quiet 'samples: branches' script -f --itrace=be
[ "$(grep -cE 'branches.* 40100[04]' out)" -ge 4 ] || fail "samples: branches: $(head -5 out)"

# Ours reads what perf writes: the same records, whatever the container.
for kind in "" "-z" "--threads" "-z --threads"; do
    rm -rf p.data
    # shellcheck disable=SC2086
    perf record $kind -q -e dummy:u -o p.data true >/dev/null 2>&1 || continue
    perf script -D -i p.data 2>/dev/null | grep -aoE 'PERF_RECORD_(MMAP2|COMM|EXIT|FORK)' | sort | uniq -c >want
    ptdump --extract-sideband s p.data 2>err || fail "ptdump on perf record $kind: $(cat err)"
    [ -s s-sideband.pevent ] || [ -s s-sideband-cpu0.pevent ] || fail "no sideband from perf record $kind"
    python3 - s-sideband*.pevent >got <<'P'
import struct, sys, collections
names = {10: 'MMAP2', 3: 'COMM', 4: 'EXIT', 7: 'FORK'}
count = collections.Counter()
for name in sys.argv[1:]:
    data, at = open(name, 'rb').read(), 0
    while at < len(data):
        kind, _, size = struct.unpack_from('<IHH', data, at)
        if kind in names: count['PERF_RECORD_' + names[kind]] += 1
        at += size
for name in sorted(count): print('%7d %s' % (count[name], name))
P
    same "records of perf record $kind" want got
    rm -f s-sideband*
done
perf record -q -e dummy:u -o - true 2>/dev/null >pipe.data && {
    cat pipe.data | ptdump --extract-sideband s - 2>err || fail "pipe of perf: $(cat err)"
    [ -s s-sideband.pevent ] || [ -s s-sideband-cpu0.pevent ] || fail "no sideband from a pipe"
}
# Without trace: that is said, and the records can be read all the same.
for event in 'dummy:u --switch-events' cpu-clock; do
    # shellcheck disable=SC2086
    perf record -q -e $event -o p.data true >/dev/null 2>&1 || continue
    for tool in ptdump ptxed 'ptdump --extract-aux x'; do
        $tool p.data >out 2>err
        [ $? -eq 2 ] && [ ! -s out ] && grep -q 'no Intel PT' err || fail "$tool on $event: $(cat err)"
    done
    names='PERF_RECORD_(MMAP2|COMM|EXIT|FORK|SWITCH|LOST)'
    perf script -f -D -i p.data 2>/dev/null | grep -aoE "$names" | sort | uniq -c >want
    ptdump --sb:compact p.data 2>err | grep -oE "^$names" | sort | uniq -c >got
    same "records of $event" want got
    grep -q 'no Intel PT' err || fail "records of $event: nothing is said"
done
done_testing
