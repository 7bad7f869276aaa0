#!/usr/bin/env bash
# The software recorder and processes that already run: attached, recorded, let go unharmed; and
# recorders that end in all ways leave a readable file.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"

programs=$PT_SOURCE/test/record/programs
gcc -O1 -w -static -pthread -o "$tmp/server" "$programs/server.c" || skip "cannot build the programs"
cd "$tmp" || exit 1

mkfifo in
./server <in >out & server=$!
exec 7>in
lines() { wc -l <out; }
# wait_lines N: the server has written that many lines (30 seconds at most).
wait_lines() {
    for _ in $(seq 300); do
        [ "$(lines)" -ge "$1" ] && return 0
        sleep 0.1
    done
    return 1
}
# The instructions of a recording, thread by thread, as the truth has them.
by_thread() { awk '/^#/ { split($2, a, "/"); t = a[2]; next } { print t, $1 }' "$1" | sort -s -n -k1,1; }
decoded() { perf script -f -i "$1" --itrace=i0nse -F tid,ip 2>&1 | awk '{ print $1, $2 }' | sort -s -n -k1,1; }
compare() {
    command -v perf >/dev/null || return 0
    by_thread "$2" >expected
    decoded "$1" >got
    same "$3: perf decodes what executed ($(wc -l <expected) instructions)" expected got
}

wait_lines 1 || fail "the server starts"
timeout 60 ptcapture -q --backend step --truth truth -o attached --duration 1.5 -p $server
check "attaching to three threads ends well" [ $? -eq 0 ]
check "three threads were recorded" [ "$(grep '^#' truth | sort -u | wc -l)" -eq 3 ]
compare attached truth "attached"
check "the process lives" kill -0 $server
check "nobody traces it any more" grep -q '^TracerPid:	0$' /proc/$server/status
sleep 0.3
printf a >&7
sleep 0.3
printf b >&7
check "it answers" wait_lines 3
check "its threads go on" [ "$(tail -1 out)" = "b 1 1" ]

ptcapture -q --backend step --truth truth -o interrupted -p $server & recorder=$!
sleep 1
kill -INT $recorder
wait $recorder
check "SIGINT ends a recording well" [ $? -eq 0 ]
compare interrupted truth "interrupted"
check "the process lives after SIGINT" kill -0 $server

timeout 60 ptcapture -q --backend step -o one --duration 0.5 -t $server
check "one thread of it" [ $? -eq 0 ]
exec 7>&-
wait $server
check "it ends as if nothing had happened" [ $? -eq 0 ]

# Commands: a new recording keeps the old one; limits; failures.
timeout 60 ptcapture -q --backend step -o twice -- true
timeout 60 ptcapture -q --backend step -o twice -- true
check "an existing file is kept" [ -s twice.old ]
check "nobody else may read it" [ "$(stat -c %a twice)" = 600 ]
# perf reads it without a word.
quiet() {
    local what file=$1
    command -v perf >/dev/null || return 0
    local whats=("script -D" "script --itrace=i0nse" "evlist -v" buildid-list)
    # Killed before anything was written, it has nothing to report, which perf says.
    [ "$(ptdump --list-aux "$file" 2>/dev/null | wc -l)" -le 1 ] || whats+=("report --stdio")
    for what in "${whats[@]}"; do
        # shellcheck disable=SC2086
        perf $what -f -i "$file" >said 2>err </dev/null
        check "$file: perf $what" [ $? -eq 0 ]
        # Killed before the first block ended, there may be a trace without a sample.
        sed -i '/has no samples/d' err
        check "$file: perf $what says nothing else ($(head -c 200 err))" [ ! -s err ]
    done
    check "$file: perf knows the event" sh -c "perf evlist -f -i $file | grep -q ^intel_pt/"
}
for moment in 0.3 0.9 2.1; do
    way=$([ $moment = 0.9 ] && echo --per-cpu)
    # shellcheck disable=SC2086
    ptcapture -q --backend step $way -o killed$moment -- sh -c 'while :; do :; done' & recorder=$!
    sleep $moment
    sleep 0.$RANDOM # a moment that differs from run to run
    # The last one has written something.
    for _ in $(seq 600); do
        [ $moment = 2.1 ] && [ "$(stat -c %s killed2.1)" -lt 8192 ] || break
        sleep 0.1
    done
    kill -KILL $recorder
    wait $recorder 2>/dev/null
    check "its command does not outlive it" [ -z "$(pgrep -f 'while :; do :; done' -P $recorder)" ]
    [ -s killed$moment ] && quiet killed$moment
done
check "what a killed recorder leaves is readable" sh -c 'perf script -f -i killed2.1 --itrace=i0ns -F tid,ip 2>/dev/null | grep -q .'
ln -s /etc/passwd link
ptcapture -q --backend step -o link -- true 2>err
check "a link is not followed" [ $? -eq 1 ]
check "and it says so" grep -q 'link: it is a symbolic link, which is not followed' err
timeout 60 ptcapture -q --backend step -o limited --max-size 64K -- sh -c 'while :; do :; done'
status=$?
check "--max-size ends the command as perf record does" [ $status -eq 143 ]
check "--max-size is kept but for a buffer" [ "$(stat -c %s limited)" -lt $((64 * 1024 + 64 * 1024 + 16384)) ]
timeout 60 ptcapture -q --backend step -o none -- ./no-such-program 2>err
check "a command that does not exist: 127" [ $? -eq 127 ]
check "and is named" grep -q 'cannot execute ./no-such-program: No such file' err
ptcapture -q --backend step -p 999999999 2>err
check "a process that does not exist" grep -q 'cannot attach to 999999999' err
# A child that nobody waits for (a shell may, even for one that it does not need).
python3 -c 'import os, time
child = os.fork() or os._exit(0)
print(child, flush=True)
time.sleep(60)' >zombie 2>/dev/null & parent=$!
for _ in $(seq 300); do
    grep -q '^State:.Z' "/proc/$(cat zombie)/status" 2>/dev/null && break
    sleep 0.1
done
timeout 60 ptcapture -q --backend step -o none -p "$(cat zombie)" 2>err
check "a process that has ended already" [ $? -eq 1 ]
check "and it says so" grep -q 'nothing to record: the targets have ended' err
kill $parent
mkfifo ctl ack
exec 8<>ctl 9<>ack
ptcapture -q --backend step -o controlled --control fifo:ctl,ack -- sh -c 'while :; do :; done' & recorder=$!
sleep 0.5
echo ping >&8
check "a ping is answered" sh -c 'timeout 10 head -c 3 <&9 | grep -q ack'
echo stop >&8
wait $recorder
check "a FIFO stops the recording" [ $? -eq 143 ]
done_testing
