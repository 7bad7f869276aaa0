#!/usr/bin/env bash
# pt-slurm.bash with a cluster of one node, which this test starts for itself.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"

for tool in slurmctld slurmd sbatch munged; do
    command -v $tool >/dev/null || skip "no $tool (slurm-wlm, munge)"
done
[ "$(id -u)" -eq 0 ] || skip "Slurm's daemons want root"

# --- a cluster ------------------------------------------------------------------------------
pids=()
stop() {
    for pid in ${pids[@]+"${pids[@]}"}; do kill "$pid" 2>/dev/null; done
    wait
    rm -rf "$tmp"
}
trap stop EXIT
chmod 755 "$tmp"
node=$(hostname -s)
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
mkdir "$tmp/munge" "$tmp/state" "$tmp/spool"
head -c 1024 /dev/urandom >"$tmp/munge/key"
chmod 700 "$tmp/munge"
chmod 600 "$tmp/munge/key"
munged --foreground --force --key-file="$tmp/munge/key" --socket="$tmp/munge.socket" --pid-file="$tmp/munge/pid" \
    --seed-file="$tmp/munge/seed" --log-file="$tmp/munge/log" >/dev/null 2>&1 &
pids+=($!)
cat >"$tmp/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
AuthType=auth/munge
AuthInfo=socket=$tmp/munge.socket
CredType=cred/munge
SlurmUser=root
StateSaveLocation=$tmp/state
SlurmdSpoolDir=$tmp/spool
SlurmctldPidFile=$tmp/ctld.pid
SlurmdPidFile=$tmp/slurmd.pid
SlurmctldLogFile=$tmp/ctld.log
SlurmdLogFile=$tmp/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP
CONF
export SLURM_CONF=$tmp/slurm.conf
slurmctld -D -f "$SLURM_CONF" >/dev/null 2>&1 &
pids+=($!)
slurmd -D -f "$SLURM_CONF" -N "$node" >/dev/null 2>&1 &
pids+=($!)
for ((i = 0; i < 60; i++)); do
    sinfo -h -o %t 2>/dev/null | grep -q idle && break
    sleep 0.5
done
sinfo -h -o %t 2>/dev/null | grep -q idle || {
    tail -5 "$tmp/ctld.log" "$tmp/slurmd.log" 2>/dev/null
    skip "Slurm's daemons do not start here"
}

# --- the script -------------------------------------------------------------------------------
cd "$tmp" || exit 1
script=$PT_SOURCE/script/pt-slurm.bash
printf '\x90\x74\xfd\x90\xeb\xfa' >code
python3 - >text <<'PY'
import random
rnd = random.Random(1)
for i in range(400):
    print('psb\nmode.exec cs.l\nfup 6: 1000\npsbend')
    for _ in range(rnd.randrange(1, 20)):
        print('tnt.8 %s' % ''.join(rnd.choice('!.') for _ in range(5)))
PY
helper_trace <text >trace.pt
helper_wrap trace.pt "$tmp/code" 0x1000 timeless=1 piece=1000 buffer=3000 >'re cording.data'
ptxed 're cording.data' >expected 2>/dev/null
want=$?
check "the text is long" [ "$(wc -l <expected)" -gt 10000 ]
"$script" -n 5 -o 'to gether.txt' -- 're cording.data' 2>err
check "status $want" [ $? -eq $want ] || cat err
same "five parts of a recording" expected 'to gether.txt'
check "nothing is left" [ "$(find . -name '*.parts.*' | wc -l)" -eq 0 ]
ptxed --raw code:0x1000 --pt trace.pt >expected 2>/dev/null
"$script" -n 3 -s --cpus-per-task=1 -o out -- --raw code:0x1000 --pt trace.pt 2>err || cat err
same "three parts of a raw trace" expected out
"$script" -n 2 -o out -- --raw code:0x1000 --pt nowhere 2>err
check "parts that fail" [ $? -eq 2 ]
done_testing
