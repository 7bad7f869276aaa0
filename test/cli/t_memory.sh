#!/usr/bin/env bash
# Memory does not grow with the trace, and the first line does not wait for it.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
case $(file -b "$(command -v ptxed)" 2>/dev/null; ldd "$(command -v ptxed)" 2>/dev/null) in
*libasan* | *libtsan*) skip "sanitizers have memory of their own" ;;
esac

printf '\x90\x74\xfd\x90\xeb\xfa' >"$tmp/code"
python3 - >"$tmp/text" <<'PY'
import random
rnd = random.Random(1)
for i in range(2000):
    print('psb\nmode.exec cs.l\nfup 6: 1000\npsbend\npad 4000')
    for _ in range(rnd.randrange(1, 20)):
        print('tnt.8 %s' % ''.join(rnd.choice('!.') for _ in range(5)))
PY
helper_trace <"$tmp/text" >"$tmp/trace.pt" || fail "the trace was made"
helper_wrap "$tmp/trace.pt" "$tmp/code" 0x1000 timeless=1 repeat=40 piece=4194304 buffer=4194304 >"$tmp/long.data"
for _ in $(seq 40); do cat "$tmp/trace.pt"; done >"$tmp/long.pt"
check "they are long" [ "$(stat -c %s "$tmp/long.data")" -gt 300000000 ]

# peak NAME TOOL WORD...: in KiB, at most 64 MiB.
peak() {
    local name=$1 kib
    shift
    kib=$(python3 -c '
import os, sys
null = os.open("/dev/null", os.O_WRONLY)
pid = os.fork()
if not pid:
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.execvp(sys.argv[1], sys.argv[1:])
print(os.wait4(pid, 0)[2].ru_maxrss)' "$@")
    check "$name: $kib KiB" [ "${kib:-999999}" -le 65536 ]
}
peak "recording" ptxed -j1 "$tmp/long.data"
peak "recording, two threads" ptxed -j2 "$tmp/long.data"
peak "recording, the end" ptxed --tail 10 "$tmp/long.data"
# Pieces that go on from one buffer into the next: what is copied is little.
helper_wrap "$tmp/trace.pt" "$tmp/code" 0x1000 timeless=1 repeat=40 piece=4194304 buffer=3000000 across=1 >"$tmp/across.data"
insns() { ptxed -j1 --quiet --stat:insn "$@" 2>/dev/null; }
check "pieces across buffers: all is there" [ "$(insns "$tmp/across.data")" = "$(insns "$tmp/long.data")" ]
peak "pieces across buffers" ptxed -j1 --quiet "$tmp/across.data"
peak "pieces across buffers, two threads" ptxed -j2 --quiet "$tmp/across.data"
rm "$tmp/across.data"
peak "raw trace" ptxed -j1 --raw "$tmp/code:0x1000" --pt "$tmp/long.pt"
peak "raw trace, two threads" ptxed -j2 --raw "$tmp/code:0x1000" --pt "$tmp/long.pt"
peak "ptdump, recording" ptdump "$tmp/long.data"
peak "ptdump, raw trace" ptdump "$tmp/long.pt"
done_testing
