#!/usr/bin/env bash
# Text into a pipe is handed over, not copied: it is what a file gets, whoever reads and however, and
# a reader who goes away, or a pipe that does not wait, is met as with write().
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"

printf '\x90\x74\xfd\x90\xeb\xfa' >"$tmp/code" # 1: nop; je 1; nop; jmp 1
python3 - <<'PY' | helper_trace >"$tmp/trace.pt"
import random
rnd = random.Random(1)
for i in range(400):
    print('psb\nmode.exec cs.l\nfup 6: 1000\npsbend')
    for _ in range(100):
        print('tnt.8 %s' % ''.join(rnd.choice('!.') for _ in range(6)))
PY
raw=(--raw "$tmp/code:0x1000" --pt "$tmp/trace.pt")
for _ in 1 2 3 4 5; do cat "$tmp/trace.pt"; done >"$tmp/dump.pt"

# through NAME WORD...: one after the other into a file and into pipes of several readers.
through() {
    local name=$1
    shift
    "$@" >"$tmp/file" 2>/dev/null
    check "$name: is long" [ "$(stat -c %s "$tmp/file")" -gt 4000000 ]
    "$@" 2>/dev/null | cat >"$tmp/got"
    check "$name: a reader" cmp "$tmp/file" "$tmp/got"
    "$@" 2>/dev/null | helper_splice >"$tmp/got"
    check "$name: a reader who keeps the pages" cmp "$tmp/file" "$tmp/got"
    "$@" 2>/dev/null | dd ibs=4000 obs=1M iflag=fullblock status=none >"$tmp/got"
    check "$name: a reader of little pieces" cmp "$tmp/file" "$tmp/got"
    "$@" 2>/dev/null | head -c 3000001 >"$tmp/got"
    check "$name: a reader goes away" [ "${PIPESTATUS[0]}" = 141 ]
    check "$name: what it has got" cmp -n 3000001 "$tmp/file" "$tmp/got"
}
for jobs in 1 2; do
    through "-j$jobs" ptxed -j$jobs "${raw[@]}"
    through "-j$jobs --no-inst" ptxed -j$jobs --no-inst "${raw[@]}"
    through "-j$jobs, lines of several kinds" ptxed -j$jobs --event:tick --event:ip --stat --offset --att "${raw[@]}"
    through "-j$jobs --json" ptxed -j$jobs --json "${raw[@]}"
done
through "ptdump" ptdump "$tmp/dump.pt"
through "ptdump --json" ptdump --json "$tmp/dump.pt"

cat >"$tmp/ends.py" <<'PY'
"""nowait: a pipe that nobody reads and that does not wait; ignored: a reader who goes away, SIGPIPE
ignored. Prints the exit status and what stderr said about writing."""
import fcntl, os, signal, subprocess, sys
read, write = os.pipe()
if sys.argv[1] == "nowait":
    fcntl.fcntl(write, fcntl.F_SETFL, fcntl.fcntl(write, fcntl.F_GETFL) | os.O_NONBLOCK)
child = subprocess.Popen(sys.argv[2:], stdout=write, stderr=subprocess.PIPE, restore_signals=False,
                         preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN))
os.close(write)
if sys.argv[1] == "ignored":
    left = 3000000
    while left > 0:
        left -= len(os.read(read, left))
    os.close(read)
said = child.communicate()[1].decode()
print(child.returncode, *[line.split(": ", 1)[1] for line in said.splitlines() if "write" in line and ": lost: " not in line])
PY
for jobs in 1 2; do
    got=$(python3 "$tmp/ends.py" nowait ptxed -j$jobs "${raw[@]}")
    check "-j$jobs: a pipe that does not wait: $got" [ "$got" = "1 cannot write: Resource temporarily unavailable." ]
    got=$(python3 "$tmp/ends.py" ignored ptxed -j$jobs "${raw[@]}")
    check "-j$jobs: a reader goes away, no signal: $got" [ "$got" = "1 cannot write: Broken pipe." ]
done
got=$(python3 "$tmp/ends.py" nowait ptdump "$tmp/dump.pt")
check "ptdump: a pipe that does not wait: $got" [ "$got" = "1 cannot write: Resource temporarily unavailable." ]
got=$(python3 "$tmp/ends.py" ignored ptdump "$tmp/dump.pt")
check "ptdump: a reader goes away, no signal: $got" [ "$got" = "1 cannot write: Broken pipe." ]
done_testing
