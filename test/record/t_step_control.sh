#!/usr/bin/env bash
# The software recorder: filters, snapshots, and the commands of --control; perf and ptxed decode
# exactly what was traced.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"

command -v perf >/dev/null || skip "no perf"
gcc -O1 -w -static -no-pie -o "$tmp/filtered" "$PT_SOURCE/test/record/programs/filtered.c" || skip "no compiler"
cd "$tmp" || exit 1
step() { timeout 120 ptcapture -q --backend step --truth truth -o "$@"; }
executed() { grep -v '^#' truth; }
by_perf() { perf script -f -i "$1" --itrace=i0nse -F ip 2>&1 | tr -d ' '; }
by_ptxed() { ptxed --fields tid "$1" 2>/dev/null | awk 'length($2) == 16 { sub(/^0+/, "", $2); print $2 }'; }
# What perf and ptxed make of the recording is what the truth has.
compare() {
    executed >expected
    by_perf "$1" >perf
    by_ptxed "$1" >ptxed
    same "$2: perf ($(wc -l <expected) instructions)" expected perf
    same "$2: ptxed" expected ptxed
    ptdump --quiet "$1" >said 2>&1 || fail "$2: ptdump"
}
# inside FUNCTION: the instructions of the truth that are in it (the program is not relocated).
inside() {
    local start size
    read -r start size <<<"$(nm -S filtered | awk -v name="$1" '$4 == name { print $1, $2 }')"
    executed | while read -r ip; do
        ((16#$ip >= 16#$start && 16#$ip < 16#$start + 16#$size)) && echo "$ip"
    done
}

step all -- ./filtered >said
inside hot | wc -l >hot
for filter in 'filter hot @ ./filtered' 'filter hot @ ./filtered, filter leaf @ ./filtered' \
    'filter hot / cold @ ./filtered' 'tracestop cold @ ./filtered' \
    'start hot @ ./filtered, stop cold @ ./filtered'; do
    step filtered.data --filter "$filter" -- ./filtered >said
    check "$filter: ends well" [ $? -eq 0 ]
    compare filtered.data "$filter"
    check "$filter: something is traced" [ -s expected ]
    case $filter in
    'filter hot @ ./filtered')
        check "only that function, all of it" [ "$(inside hot | wc -l)/$(executed | wc -l)" = "$(cat hot)/$(cat hot)" ]
        perf script -f -D -i filtered.data 2>/dev/null | grep -q 'Filter string  *filter 0x.*/0x.*@/.*/filtered' || fail "the filter is in the file"
        ;;
    esac
done
step filtered.data --filter 'filter schedule' -- ./filtered 2>err
check "kernel code cannot be filtered" [ $? -eq 1 ]
check "and it says so" grep -q 'user code only: name a file' err
step filtered.data --filter 'filter hot @ ./filtered' --per-cpu -- sh -c './filtered; ./filtered' >said
compare filtered.data "two processes on a virtual CPU"
check "both are traced" [ "$(inside hot | wc -l)" -eq $((2 * $(cat hot))) ]

mkfifo ctl ack
exec 8<>ctl 9<>ack
tell() {
    echo "$1" >&8
    timeout 60 head -c 4 <&9 | grep -q ack || fail "no answer to $1"
}
controlled() { # OPTIONS...: begin to record an endless loop
    ptcapture --backend step --truth truth -o controlled --control fifo:ctl,ack "$@" -- \
        sh -c 'i=0; while :; do i=$((i + 1)); done' 2>err & recorder=$!
    tell ping
    sleep 2
}
# 1 MiB holds all: each instruction is in one of the snapshots.
controlled -S
tell snapshot
sleep 0.3
kill -USR2 $recorder
sleep 0.3
tell snapshot
tell stop
wait $recorder
check "four snapshots" grep -q '4 snapshots' err
compare controlled "snapshots by FIFO, by signal, at the end"
# 4 KiB do not: the newest instructions are there.
controlled -S4K -e intel_pt/psb_period=0,cyc/u
tell snapshot
tell bogus
tell stop
wait $recorder
by_perf controlled >perf
by_ptxed controlled >ptxed
same "small snapshots: perf and ptxed agree" perf ptxed
check "small snapshots: the oldest are gone" [ "$(wc -l <perf)" -lt "$(executed | wc -l)" ]
executed | tail -n 100 >expected
tail -n 100 perf >got
same "small snapshots: the newest are there" expected got
check "a wrong command is named" grep -q '"bogus" is no command' err
perf report --stdio -f -i controlled >said 2>said.err
check "perf report says nothing" [ ! -s said.err ]
step small -S4K -- true 2>err
check "a snapshot smaller than two PSB periods" [ $? -eq 1 ]
check "is refused with the least size" grep -q 'at least 32768' err

controlled
tell disable
tell ping
executed >before
sleep 0.5
tell enable
tell stop
wait $recorder
compare controlled "disable and enable"

for option in --kcore "--aux-sample -e intel_pt//u -e cpu-clock:u" -a; do
    # shellcheck disable=SC2086
    ptcapture --backend step -o refused $option -- true 2>err
    check "$option: not with the software recorder" [ $? -eq 3 ]
    check "$option: says why" grep -q 'cannot be used: the software recorder ' err
done
done_testing
