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
(printf 'first line\n'; cat perf.data) >second.data
for input in - '-:0'; do
    check "standard input behind its beginning: $input" test "$( (read -r _ && ptdump $input) <second.data)" = "$(ptdump perf.data)"
done
check 'and ptxed' test "$( (read -r _ && ptxed --no-inst -) <second.data)" = "$(ptxed --no-inst perf.data)"
(read -r -N 9 _ && ptxed -) <perf.data >out 2>err
check "the rest of a recording is none" test $? -eq 2 -a ! -s out -a -s err
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

for bad in 'cpu x' 'pid 1-' 'time 2,1' 'time 20%,10%' 'time x' 'time 1,2,3' 'time 5%%'; do
    for tool in ptdump ptxed; do
        $tool "--select:${bad% *}" "${bad#* }" two.data >out 2>err
        check "$tool $bad: refused" test $? -eq 2 -a ! -s out
        check "$tool $bad: says so" grep -qx "$tool: --select:${bad% *}: bad argument: ${bad#* }." err
    done
done
check 'the last stretch counts' test "$(pieces --select:time ,0.00009 --select:time 0.00015,)" -eq 1

# A stretch between two TSC packets, without any event: five times je, jmp *%rax (one TIP).
helper_perfdata code rounds >rounds.data
for window in '0,99999 0' '0,100999 1' '101000,101999 1' '101000,103999 3' '104000, 1' ',103999 4' '0, 5'; do
    count=${window#* } window=${window% *}
    ns() { [ -z "$1" ] || printf '0.%09d' "$1"; }
    window=$(ns "${window%,*}"),$(ns "${window#*,}")
    check "ptdump $window" test "$(ptdump --select:time "$window" rounds.data 2>/dev/null | grep -c 'tip ')" -eq "$count"
    check "ptxed $window" test "$(ptxed --no-inst --select:time "$window" rounds.data 2>/dev/null | grep -cx 0000000000401004)" -eq "$count"
    got=$(ptxed -q --stat:insn --select:time "$window" rounds.data 2>/dev/null)
    check "ptxed $window, counted" test "$got" = "$(ptxed --no-inst --select:time "$window" --stat:insn rounds.data 2>/dev/null | grep insn:)"
done
check 'ticks are not shown for it' test "$(ptxed --select:time 0, rounds.data 2>/dev/null | grep -c tick)" -eq 0
check 'unless they are asked for' test "$(ptxed --event:tick --select:time 0, rounds.data 2>/dev/null | grep -c tick)" -eq 4

# Where there is no time there is nothing to select by, and that is said.
helper_perfdata code timeless >timeless.data
helper_perfdata code untimed >untimed.data
for file in timeless untimed; do
    ptxed --select:time 50%, $file.data >out 2>err
    check "ptxed, $file: refused" test $? -eq 2 -a ! -s out
    check "ptxed, $file: says so" grep -q "^ptxed: $file.data: --select:time: .* time" err
done
ptdump --select:time 50%, untimed.data >out 2>err
check 'ptdump, untimed: refused' test $? -eq 2 -a ! -s out
check 'ptdump, untimed: says so' grep -qx 'ptdump: untimed.data: --select:time: no record in it has a time.' err
ptdump --select:time 0.0001, timeless.data >out 2>err
check 'ptdump, timeless: whole pieces' test $? -eq 0 -a "$(names <out)" = "$(ptdump timeless.data 2>/dev/null | names)"
check 'ptdump, timeless: says so' grep -q 'timeless.data: --select:time: the trace has no time .*: whole pieces' err
ptdump --select:time 0.1, timeless.data >out 2>err
check 'ptdump, timeless: none of them' test $? -eq 2 -a ! -s out
ptxed --no-trace-time --select:time 50%, two.data >out 2>err
check 'time that is to be ignored' test $? -eq 2
check 'is no time to select by' grep -qx 'ptxed: --select:time: not with --no-trace-time.' err
# Nothing selected is not the same as nothing there, and ptxed says so, too.
for none in '--select:pid 1' '--select:time 999999,'; do
    # shellcheck disable=SC2086
    ptxed $none two.data >out 2>err
    check "ptxed $none: nothing" test $? -eq 2
    check "ptxed $none: says so" grep -q 'nothing is selected' err
done

# What would have no effect is refused.
for pair in '--select:time 0%, --list-aux' '--select:pid 4711 --extract-aux x' '--select:cpu 0 --list-config' '--tail 3 --list-aux' '--json --list-aux'; do
    # shellcheck disable=SC2086
    ptdump $pair two.data >out 2>err
    check "ptdump $pair: refused" test $? -eq 2 -a ! -s out
    check "ptdump $pair: says so" grep -qE "^ptdump: ${pair%% *}: not with --[a-z-]+\.$" err
done
check 'pieces of a list are selected by queue' test "$(ptdump --select:aux 0 --list-aux two.data | wc -l)" -eq 3
for pair in '--tail 1 --merge' '--tail 1 --quick'; do
    # shellcheck disable=SC2086
    ptxed $pair two.data >out 2>err
    check "ptxed $pair: refused" test $? -eq 2 -a ! -s out
    check "ptxed $pair: says so" grep -q '^ptxed: --tail: not with' err
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

# A directory: parts that are not there, though later ones are.
mkdir "$tmp/parts"
helper_perfdata "$tmp/parts-code" >"$tmp/parts/data"
: >"$tmp/parts/data.0"
: >"$tmp/parts/data.2"
: >"$tmp/parts/data.old"
ptdump --quiet "$tmp/parts" 2>"$tmp/err"
check "a part that is missing is a loss" test $? -eq 1
check "and named" grep -q 'data\.1: cannot be found' "$tmp/err"
rm "$tmp/parts/data.2"
ptdump --quiet "$tmp/parts" 2>"$tmp/err"
check "after the last one none is" test $? -eq 0 -a ! -s "$tmp/err"
ln -s nowhere "$tmp/parts/data.1"
ptdump --quiet "$tmp/parts" 2>"$tmp/err"
check "a link that leads nowhere is a loss" test $? -eq 1
done_testing
