#!/usr/bin/env bash
# Recorders that are killed, run out of disk or lose their target: what is there can be read, and what
# went wrong is said.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 1
for program in jumps threads forktree; do
    gcc -O1 -w -static -pthread -o $program "$PT_SOURCE/test/record/programs/$program.c" || skip "no static libc"
done
timeout 100 ptcapture -q --backend step -o probe.data -- true || skip "ptcapture cannot step here"

# partial NAME FILE: both can read it and say that it is not all.
partial() {
    local status
    for tool in ptdump ptxed; do
        timeout 100 $tool --quiet "$2" >out 2>err
        status=$?
        if [ $status -eq 1 ] || [ $status -eq 2 ]; then
            check "$1: $tool says that it is not all" grep -qE 'did not finish|nothing to decode|ends in its header|too short' err
        else
            fail "$1: $tool: status $status: $(tail -2 err)"
        fi
    done
}
# readable NAME FILE: ptdump and ptxed end with a status of theirs, and a message if it is not 0.
readable() {
    local status
    for tool in ptdump ptxed; do
        timeout 100 $tool --quiet "$2" >out 2>err
        status=$?
        if [ $status -eq 0 ] || { [ $status -le 2 ] && [ -s err ]; }; then
            echo "ok: $1: $tool reads it, status $status"
        else
            fail "$1: $tool: status $status: $(tail -2 err)"
        fi
    done
}

for _ in 1 2 3; do
    rm -f killed.data
    ptcapture -q --backend step -o killed.data -- sh -c 'while :; do :; done' >/dev/null 2>&1 &
    pid=$!
    sleep 0.$((RANDOM % 9 + 1))
    kill -9 $pid
    wait $pid 2>/dev/null
    [ -s killed.data ] && partial "killed, $(stat -c %s killed.data) bytes" killed.data
done

(ulimit -f 6 && exec timeout 100 ptcapture -q --backend step -o limit.data -- ./jumps) >out 2>err
check "a limit of file size is a failure" test $? -eq 1
check "and is said" grep -q 'cannot write limit.data: File too large' err
partial "cut by the limit" limit.data

if mkdir small && mount -t tmpfs -o size=8k none small 2>/dev/null; then
    timeout 100 ptcapture -q --backend step -o small/full.data -- ./jumps >out 2>err
    check "a full disk is a failure" test $? -eq 1
    check "and is said" grep -q 'No space left' err
    partial "disk full" small/full.data
    umount small
fi

ptcapture -q --backend step -o target.data -- sh -c 'kill -9 $$' 2>err
check "the target's end is ours" test $? -eq 137
readable "target killed" target.data
timeout 250 ptcapture --backend step -o storm.data -- ./forktree >/dev/null 2>err
check "processes that make processes" grep -q 'no loss' err
readable "processes that make processes" storm.data

# storm NAME TASKS WORDS...: all that ran is there, of all of them.
gcc -O1 -fno-stack-protector -nostdlib -static -o storm "$PT_SOURCE/test/record/programs/storm.c" || fail "storm.c"
storm() {
    local name=$1 tasks=$2 ran
    shift 2
    timeout 100 ptcapture --backend step --truth truth -o storm.data -- ./storm "$@" >/dev/null 2>err
    check "$name: ends" test $? -eq 0
    check "$name: no loss" grep -q 'no loss' err
    ran=$(grep -vc '^#' truth)
    check "$name: all $ran instructions" test "$(ptxed --quiet --stat:insn storm.data 2>err)" = "insn: $ran."
    check "$name: nothing is amiss" test ! -s err
    check "$name: $tasks threads" test "$(ptdump --list-aux storm.data | awk 'NR > 1 { print $4 }' | sort -u | wc -l)" -eq "$tasks"
}
storm "a storm of exec" 1 exec 300
storm "a tree of processes" 511 fork 8
storm "threads" 1501 threads 1500

# Up to a limit of the system: the processes that are there are recorded, the recorder lasts. The
# limit does not hold for root.
cp "$(command -v ptcapture)" recorder
chmod 755 . storm recorder
mkdir -m 777 limited
limited() (
    limit=$1
    shift
    cd limited && exec timeout 100 setpriv --reuid=54321 --regid=54321 --clear-groups prlimit --nproc="$limit" "$@"
)
if [ "$(id -u)" -eq 0 ] && limited 100 ../recorder -q --backend step -o probe.data -- ../storm exec 1 2>/dev/null; then
    limited 6 ../recorder --backend step --truth truth -o bomb.data -- ../storm bomb 8 >/dev/null 2>err
    check "a fork bomb: ends" test $? -eq 0
    check "a fork bomb: no loss" grep -q 'no loss' err
    ran=$(grep -vc '^#' limited/truth)
    check "a fork bomb: all $ran instructions" test "$(ptxed --quiet --stat:insn limited/bomb.data 2>err)" = "insn: $ran."
    tasks=$(ptdump --list-aux limited/bomb.data | awk 'NR > 1 { print $4 }' | sort -u | wc -l)
    check "a fork bomb: $tasks processes" test "$tasks" -gt 1 -a "$tasks" -lt 511
    limited 0 ../recorder -q --backend step -o none.data -- ../storm exec 1 2>err
    check "no process at all is a failure" test $? -ne 0
    check "and is said" grep -q 'temporarily unavailable' err
    check "and leaves no file" test ! -e limited/none.data
fi
done_testing
