#!/usr/bin/env bash
# ptdump on recordings: containers, selection, lists, losses, cut files.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 1

helper_perfdata code >perf.data
packets=$'psb\ntsc\npsbend\nmode.exec\ntip.pge\ntnt.8\ntip\ntnt.8\ntip.pgd\npad'
names() { grep -v '^\[' | awk '{ print $2 }' | uniq; }

# --- containers ----------------------------------------------------------------------
check 'a file' test "$(ptdump --no-pad perf.data | names)" = "${packets%$'\n'pad}"
check 'standard input' test "$(ptdump - <perf.data)" = "$(ptdump perf.data)"
check 'a pipe' test "$(ptdump - < <(cat perf.data))" = "$(ptdump perf.data)"
helper_perfdata code pipe >pipe.data
check 'the pipe format' test "$(ptdump pipe.data)" = "$(ptdump perf.data)"
mkdir dir
cp perf.data dir/data
check 'a directory' test "$(ptdump dir)" = "$(ptdump perf.data)"
helper_perfdata code kill >killed.data
check 'a killed recorder' test "$(ptdump --no-pad killed.data 2>/dev/null | names)" = "${packets%$'\n'pad}"

# --- what is no recording of PT ----------------------------------------------------------
refused() { # NAME MESSAGE FILE
    ptdump "$3" >out 2>err
    [ $? -eq 2 ] || fail "$1: exit status"
    [ ! -s out ] || fail "$1: output"
    grep -qF "$2" err || { fail "$1"; cat err; }
    echo "done: $1"
}
printf '2ELIFREP\0\0\0\0\0\0\0\150' >big
refused 'big endian' 'big-endian' big
printf 'PERFFILE\150\0\0\0\0\0\0\0' >old
refused 'version 1' 'version 1 of perf.data' old
head -c 60 perf.data >short
refused 'cut header' 'ends in its header' short

# --- selection -----------------------------------------------------------------------------
helper_perfdata code two >two.data
pieces() { ptdump "$@" two.data 2>/dev/null | grep -c '^\[aux'; }
check 'all pieces' test "$(pieces)" -eq 2
check 'by processor' test "$(pieces --select:cpu 0-3)" -eq 2
check 'by buffer' test "$(pieces --select:aux 0)" -eq 2
check 'by process' test "$(pieces --select:pid 4711)" -eq 2
check 'by name' test "$(pieces --select:comm 'demo prog')" -eq 2
check 'the first' test "$(pieces --select:time ,0.00015)" -eq 2 # the second begins where it ends
check 'the second' test "$(pieces --select:time 0.00015,)" -eq 1
check 'before the second' test "$(pieces --select:time ,0.0001)" -eq 1
for none in '--select:cpu 1' '--select:aux 9' '--select:pid 1' '--select:tid 1' '--select:comm nobody'; do
    # shellcheck disable=SC2086
    ptdump $none two.data >out 2>err
    check "$none: nothing" test $? -eq 2
    check "$none: says so" grep -q 'nothing is selected' err
done

for bad in '--select:cpu x' '--select:pid 1-' '--select:time 2,1' '--select:time 20%,10%'; do
    # shellcheck disable=SC2086
    ptdump $bad two.data >out 2>err
    check "$bad: refused" test $? -eq 2 -a ! -s out
    check "$bad: says so" grep -q "^ptdump: ${bad% *}: bad argument: ${bad#* }" err
done
# Nothing selected is not the same as nothing there, and ptxed says so, too.
for none in '--select:pid 1' '--select:time 999999,'; do
    # shellcheck disable=SC2086
    ptxed $none two.data >out 2>err
    check "ptxed $none: nothing" test $? -eq 2
    check "ptxed $none: says so" grep -q 'nothing is selected' err
done

# In the order of time, one queue or more.
[ ! -x "$PT_BUILD/bin/ptxed" ] ||
    check 'merged' test "$(ptxed --merge --no-inst two.data 2>/dev/null | grep -c ' 0000000000401000$')" -eq 4

# --- sideband between packets ------------------------------------------------------------
ptdump --sb:compact perf.data >out
check 'records come before the packet of their time' \
    awk '/PERF_RECORD_ITRACE_START/ { a = NR } / tsc / { b = NR } /PERF_RECORD_AUX/ { c = NR } END { exit !(a && a < b && b < c) }' out

# --- losses ---------------------------------------------------------------------------------
helper_perfdata code lost >lost.data
ptdump lost.data >out 2>err
check 'lost trace is told where it happened' test "$(tail -1 out | grep -c TRUNCATED)" -eq 1
check 'lost trace is summed up' grep -q 'lost: 1 x TRUNCATED: .*remedy: ' err
check 'lost records are summed up' grep -q 'lost: 5 records LOST: .*remedy: ' err

# --- overlapping copies ---------------------------------------------------------------------
# Each time the trace leads to 401000 (taken), 401004, 401000 (not), 401002, 401003, 401004.
if [ -x "$PT_BUILD/bin/ptxed" ]; then
    for how in samples snapshots; do
        helper_perfdata code $how >$how.data
        ptxed --no-inst $how.data 2>err | grep -E '^[0-9a-f]{16}$' | sed 's/^0*//' >got
        for _ in 1 2 3; do printf '401000\n401004\n401000\n401002\n401003\n401004\n'; done >want
        same "$how: each branch once" want got
        if command -v perf >/dev/null; then
            perf script -f -i $how.data --itrace=i0ns -F event,ip 2>/dev/null | awk '/instructions/ { print $2 }' >got
            same "$how: as perf has them" want got
        fi
    done
fi
ptdump samples.data 2>/dev/null >out
check 'samples: a sample without new trace loses nothing of the next' test "$(grep -c tnt.8 out)" -eq 6

# --- cut and damaged ---------------------------------------------------------------------------
size=$(stat -c %s perf.data)
silent=0 crashed=0
for ((i = 8; i < size; i += 61)); do
    head -c $i perf.data >cut.data
    ptdump cut.data >/dev/null 2>err
    status=$?
    [ $status -le 2 ] || crashed=$((crashed + 1))
    [ -s err ] && [ $status -ne 0 ] || silent=$((silent + 1))
done
check 'a cut file crashes nothing' test $crashed -eq 0
check 'a cut file is reported' test $silent -eq 0

# --- hardware -------------------------------------------------------------------------------------
real=$shared/real/perfdata/intel_pt-4.14.perf.data
[ -e "$real" ] || done_testing
ptdump "$real" | grep -v '^\[' | awk '{ n[$2]++ } END { for (k in n) print k, n[k] }' | sort >got
# As perf script -D prints them.
for count in 'psb 10' 'tnt.8 69516' 'tip 12039' 'fup 149' 'pip 441' 'tsc 24' 'tma 24' 'cbr 24' 'mtc 2802' 'tip.pge 10' 'tip.pgd 10'; do
    check "hardware: $count" grep -qx "$count" got
done
size=$(stat -c %s "$real")
for ((i = 4096; i < size; i += 4096)); do
    head -c $i "$real" >cut.data
    ptdump --quiet cut.data >/dev/null 2>err
    status=$?
    [ $status -eq 1 ] || [ $status -eq 2 ] || fail "hardware, cut at $i: exit status $status"
    grep -qE 'cut|there' err || fail "hardware, cut at $i: silent"
done
done_testing
