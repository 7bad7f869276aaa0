#!/bin/sh
# Runs as root in the guest of t_fake_pt.sh, with busybox. Each recording leaves NAME.data, NAME.err
# (messages) and NAME.rc (exit status) in $OUT; fake_pt_check.py looks at them.
# First with the fake intel_pt PMU; then, below $OUT/none, without one.
cd /in || exit 1
chmod 777 "$OUT" /in
numbered=intel_pt/ptw,fup_on_ptw/u # every cell of the fake trace carries its number
knobs=/sys/module/fake_intel_pt/parameters

# run NAME ARGUMENTS...: to the end, 60 seconds at most.
run() {
    name=$1
    shift
    timeout 60 ./ptcapture -o "$OUT/$name.data" "$@" >"$OUT/$name.out" 2>"$OUT/$name.err"
    echo $? >"$OUT/$name.rc"
}
# The same as user nobody.
run_nobody() {
    name=$1
    shift
    su nobody -s /bin/sh -c "cd /in; timeout 60 ./ptcapture -o $OUT/$name.data $*" \
        >"$OUT/$name.out" 2>"$OUT/$name.err"
    echo $? >"$OUT/$name.rc"
}
# start NAME ARGUMENTS...: in the background, controlled by FIFOs; returns when it records.
start() {
    started=$1
    shift
    rm -f ctl ack
    mkfifo ctl ack
    exec 9<>ack # what a recorder says that ends at once is still there to be read
    ./ptcapture --control fifo:ctl,ack -o "$OUT/$started.data" "$@" 2>"$OUT/$started.err" &
    recorder=$!
    tell ping
}
# Give a command; returns when it has been obeyed.
tell() {
    timeout 30 sh -c "echo $1 >ctl && head -n 1 ack" >>"$OUT/$started.acks" ||
        echo "no answer to $1" >>"$OUT/$started.err"
}
finish() {
    (sleep 60 && kill -KILL $recorder) 2>/dev/null &
    watchdog=$!
    wait $recorder
    echo $? >"$OUT/$started.rc"
    kill $watchdog
}
rate() { echo "$1" >$knobs/tick_bytes; }

full_traces() {
    run full -e $numbered -- ./helper_busy 300 4 7
    run plain -e intel_pt//u -- ./helper_busy 50 2
    run compressed -z -e $numbered -- ./helper_busy 50 2
    run per_thread --per-thread -e $numbered -- ./helper_busy 100 1
    run no_inherit -i -e $numbered -- ./helper_busy 100 2
    run delay -D 50 -e $numbered -- ./helper_busy 200 1
    run all -a --duration 0.3 -e $numbered
    run one_cpu -C 1 --duration 0.3 -e $numbered
    run kernel -e intel_pt/ptw,fup_on_ptw/k -- ./helper_busy 50 1
    run max_size --max-size 100K -e $numbered -- ./helper_busy 20000 1
    rate 65536
    run truncated -m ,16K -e $numbered -- ./helper_busy 200 4
    run truncated_all -a -m ,16K --duration 0.3 -e $numbered
    rate 4096
}
attached() {
    ./helper_busy 60000 4 &
    victim=$!
    usleep 300000
    ls /proc/$victim/task >"$OUT/attached.tids"
    run attached --duration 0.5 -e $numbered -p $victim
    echo $victim >"$OUT/thread.tids"
    run thread --duration 0.3 -e $numbered -t $victim
    kill -0 $victim && echo alive >"$OUT/attached.alive"
    kill $victim
}
snapshots() {
    start snap_signal -S -m ,32K -e $numbered -- ./helper_busy 60000 2
    for _ in 1 2 3; do
        usleep 200000
        kill -USR2 $recorder
        tell ping
        tell ping # the first may have been read before the signal was seen
    done
    tell stop
    finish
    start snap_fifo -S -m ,32K -e $numbered -- ./helper_busy 60000 2
    usleep 500000 # the buffers go round
    rate 32       # now slowly: snapshots overlap
    for _ in 1 2 3 4; do tell snapshot; done
    rate 4096
    tell bogus
    tell stop
    finish
    run snap_exit -S -m ,16K -e $numbered -- ./helper_busy 300 2
}
filters() {
    run filter --filter 'filter hot @ ./helper_busy' -e $numbered -- ./helper_busy 100 1
    run filter_kernel --filter 'filter schedule' -e intel_pt//k -- ./helper_busy 50 1
    run bad_symbol --filter 'filter nosuch @ ./helper_busy' -- ./helper_busy 10 1
    run bad_action --filter 'filtr hot @ ./helper_busy' -- ./helper_busy 10 1
    run bad_many --filter 'filter hot @ ./helper_busy, filter main @ ./helper_busy, filter 0/1 @ ./helper_busy' -- ./helper_busy 10 1
}
# Trace in the samples of other events.
samples() {
    run samples --aux-sample -m 4M -e $numbered -e cpu-clock/freq=2000/u -- ./helper_busy 200 2
    run samples_thread --per-thread --aux-sample=8K -m 4M -e $numbered -e page-faults:u -- ./helper_busy 100 1
}
# What the kernel tells beside tasks and maps: name spaces, cgroups, BPF programs, patched code.
kernel_records() {
    mkdir -p /tmp/cgroup
    mount -t cgroup2 none /tmp/cgroup 2>"$OUT/records.skip"
    echo +pids >/tmp/cgroup/cgroup.subtree_control # else the kernel tells nothing of groups
    start records -a -e intel_pt/ptw,fup_on_ptw/
    unshare -u true
    mkdir /tmp/cgroup/helper
    ./helper_bpf 2>>"$OUT/records.skip"
    for on in 1 0; do echo $on >/sys/kernel/tracing/events/sched/sched_switch/enable; done
    usleep 300000
    tell stop
    finish
}
refusals() {
    run bad_period -e intel_pt/psb_period=9/u -- ./helper_busy 10 1
    run bad_term -e intel_pt/foo/u -- ./helper_busy 10 1
    run bad_cpu -C 9 -- ./helper_busy 10 1
    run bad_pid -p 99999
    run no_command -- ./nosuch
    run crash -- sh -c 'kill -SEGV $$'
    start first -e $numbered -- ./helper_busy 60000 1
    run busy -a --duration 0.1
    tell stop
    finish
    mkdir /tmp/small
    mount -t tmpfs -o size=600k tmpfs /tmp/small
    timeout 60 ./ptcapture -o /tmp/small/data -e $numbered -- ./helper_busy 60000 1 2>"$OUT/disk_full.err"
    echo $? >"$OUT/disk_full.rc"
    cp /tmp/small/data "$OUT/disk_full.data"
}
signals() {
    for signal in INT TERM KILL; do
        start sig$signal -e $numbered -- ./helper_busy 60000 2
        # Something is in the file; then a moment that differs from run to run.
        for _ in $(seq 600); do
            [ "$(stat -c %s "$OUT/sig$signal.data")" -lt 200000 ] || break
            usleep 50000
        done
        usleep "$(tr -dc 0-9 </dev/urandom | head -c 5 | sed 's/^0*//')"
        kill -$signal $recorder
        finish
        killall -q helper_busy
    done
}
nobody() {
    run_nobody paranoid3 --backend perf -- ./helper_busy 10 1
    echo 2 >/proc/sys/kernel/perf_event_paranoid
    run_nobody user -e $numbered -- ./helper_busy 200 3
    run_nobody user_kernel -e intel_pt//k -- ./helper_busy 10 1
    run_nobody user_all -a -- ./helper_busy 10 1
    run_nobody user_big -m 1M,64M -- ./helper_busy 10 1
    su nobody -s /bin/sh -c "cd /in; ulimit -l 64; timeout 60 ./ptcapture -v -o $OUT/user_small.data -e $numbered -- ./helper_busy 50 1" 2>"$OUT/user_small.err"
    echo $? >"$OUT/user_small.rc"
    ./helper_busy 20000 1 &
    victim=$!
    run_nobody user_other -p $victim
    kill $victim
}

full_traces
attached
snapshots
filters
samples
kernel_records
refusals
signals
run kcore --kcore -- ./helper_busy 50 1
run check --check
nobody
for name in plain kcore user; do
    perf script -f --itrace=e -i "$OUT/$name.data" >"$OUT/$name.errors" 2>&1
    perf script -f --itrace=b -i "$OUT/$name.data" 2>&1 | head -n 2000 >"$OUT/$name.branches"
done
cp helper_busy "$OUT"

# A PMU that cannot sample, then none.
rmmod fake_intel_pt
insmod /mod/fake_intel_pt.ko sampling=0
run aux_sample --aux-sample -e intel_pt//u -e cpu-clock:u -- ./helper_busy 10 1
rmmod fake_intel_pt
umount /proc/cpuinfo # says that there is one
OUT=$OUT/none
mkdir "$OUT"
run no_pmu --backend perf -- ./helper_busy 10 1
run auto -- /bin/true
for program in small32 int80; do
    [ -e $program ] || continue
    run $program --backend step --truth "$OUT/$program.truth" -- ./$program
    run ${program}_cpu --backend step --per-cpu --truth "$OUT/${program}_cpu.truth" -- ./$program
    cp $program "$OUT"
done
run check --check
exit 0
