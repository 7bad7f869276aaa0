#!/usr/bin/env bash
# A file that is truncated while a tool has it mapped: what was decoded stays, what is lost is neither
# made up nor the end of the tool, and the message tells file and offset.
# The tool stands in a write to a full pipe, far before the place where the file is cut, so that it always
# comes to that place later.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 1

cat >cut.py <<'PY'
"""cut.py FILE SIZE OUT COMMAND...: read a little of its output, truncate FILE, read on. Prints the status."""
import os, subprocess, sys
child = subprocess.Popen(sys.argv[4:], stdout=subprocess.PIPE)
with open(sys.argv[3], "wb") as out:
    out.write(child.stdout.read(100000))
    os.truncate(sys.argv[1], int(sys.argv[2]))
    while text := child.stdout.read(1 << 20):
        out.write(text)
print("status", child.wait())
PY

# cut NAME FILE SIZE EXPECTED WORD...: FILE has its bytes in FILE.whole.
cut() {
    local name=$1 file=$2 size=$3 expected=$4 offset
    shift 4
    cp "$file.whole" "$file"
    python3 cut.py "$file" "$size" got "$@" >status 2>err
    check "$name: exit status 1, $(cat status)" [ "$(cat status)" = "status 1" ]
    check "$name: what comes before the cut, and no more" cmp "$expected" got
    printf -v offset 0x%x "$size"
    check "$name: the message ($(head -1 err))" [ "$(grep -c "$file: $offset: the file was truncated here" err)" = 1 ]
    check "$name: counted" grep -q "$file: losses: .*, damaged 1," err
}
# before NAME FILE SIZE WORD...: cut before what has been decoded already.
before() {
    local name=$1 file=$2 size=$3 offset
    shift 3
    cp "$file.whole" "$file"
    "$@" >want 2>/dev/null
    python3 cut.py "$file" "$size" got "$@" >status 2>err
    check "$name, early: exit status 1, $(cat status)" [ "$(cat status)" = "status 1" ]
    check "$name, early: what was decoded stays" cmp -n 100000 want got
    sed '$d' got >lines # the last one may be the end of the trace
    check "$name, early: nothing else ($(stat -c %s got lines want | xargs))" cmp -n "$(stat -c %s lines)" want lines
    printf -v offset 0x%x "$size"
    check "$name, early: the message" grep -q "$file: $offset: the file was truncated here" err
}

# --- raw traces -------------------------------------------------------------------------------
printf '\x90\x74\xfd\x90\xeb\xfa' >code # 1: nop; je 1; nop; jmp 1
python3 - <<'PY' | helper_trace >part.pt
import random
rnd = random.Random(1)
for i in range(400):
    print('psb\nmode.exec cs.l\nfup 6: 1000\npsbend')
    for _ in range(100):
        print('tnt.8 %s' % ''.join(rnd.choice('!.') for _ in range(6)))
PY
cat part.pt part.pt >raw.pt.whole # 103,200 bytes; a PSB each 129

# raw SIZE TOOL WORD...: as if the file had always been so short.
raw() {
    local size=$1 tool=$2
    shift 2
    [ "$tool" = ptdump ] || set -- "$@" --raw code:0x1000 --pt
    head -c "$size" raw.pt.whole >raw.short
    "$tool" "$@" raw.short >want 2>/dev/null
    cut "$tool $*, $size" raw.pt "$size" want "$tool" "$@" raw.pt
}
for size in 75001 77407 103005; do # in a TNT; in a PSB; in the last page, where nothing faults
    raw $size ptdump
    raw $size ptxed -j1
    raw $size ptxed -j2
done
raw 75001 ptdump --raw
raw 103005 ptdump --json
raw 75001 ptxed -j3 --offset --event:ip
raw 75001 ptxed --json
before ptdump raw.pt 8197 ptdump raw.pt
before "ptxed -j1" raw.pt 8197 ptxed -j1 --raw code:0x1000 --pt raw.pt
before "ptxed -j2" raw.pt 8197 ptxed -j2 --raw code:0x1000 --pt raw.pt

# --- recordings -------------------------------------------------------------------------------
# 160 buffers of 400 times the same 41 bytes; each time is nine packets and eight lines of ptxed, and one
# line comes once.
helper_perfdata code2 long >rec.data.whole
ptxed rec.data.whole >whole 2>/dev/null
check "the recording is as it should be" [ "$(wc -l <whole)" = $((160 * 400 * 8 + 1)) ]
ptdump --list-aux rec.data.whole | awk 'NR == 132 { print $7 }' >file
size=$(($(cat file) + 99 * 41 + 20)) # in the 100th time of the 131st buffer, in its second packet
times=$((130 * 400 + 99))
head -n $((times * 8 + 1)) whole >want
for how in -j1 -j2 "-j3 --segment-size 2000"; do
    # shellcheck disable=SC2086
    cut "ptxed $how recording" rec.data $size want ptxed $how rec.data
done
ptxed --merge rec.data.whole 2>/dev/null | head -n $((times * 8 + 1)) >want
cut "ptxed --merge" rec.data $size want ptxed --merge rec.data
ptdump rec.data.whole 2>/dev/null | head -n $((times * 9 + 1 + 131)) >want # a line for each piece
cut "ptdump recording" rec.data $size want ptdump rec.data
before "ptxed -j2 recording" rec.data 8197 ptxed -j2 rec.data
before "ptdump recording" rec.data 8197 ptdump rec.data

# --- code -------------------------------------------------------------------------------------
# After long runs at 1000 the same code at 4000, which is cut: all of it, or in its second instruction.
python3 - <<'PY' | helper_trace >end.pt
print('tip.pgd 0\npsb\nmode.exec cs.l\npsbend\ntip.pge 6: 4000')
print('tnt.8 !.!!..\n' * 40)
PY
cat raw.pt.whole end.pt >far.pt
{ cat code; head -c $((0x3000 - 6)) /dev/zero; cat code; head -c 500 /dev/zero | tr '\0' '\220'; } >image.whole
for size in $((0x2000)) $((0x3002)); do
    for how in -j1 -j2; do
        head -c $size image.whole >image.short
        ptxed $how --raw image.short:0x1000 --pt far.pt >want 2>/dev/null
        check "the code at 4000 would be reached" [ "$(tail -n1 want | grep -c error)" = 1 ]
        cp image.whole image
        python3 cut.py image $size got ptxed $how --raw image:0x1000 --pt far.pt >status 2>err
        check "code, $size, $how: $(cat status)" [ "$(cat status)" = "status 1" ]
        check "code, $size, $how: is missing" cmp want got
        check "code, $size, $how: the message" grep -q "image: 0x$(printf %x $size): the file was truncated" err
    done
done
done_testing
