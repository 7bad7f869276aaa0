#!/usr/bin/env bash
# --coverage of recordings, of parts of them, and as JSON: awk counts the same in the text.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"

# A loop of calls, by hand. Blocks end at 1000 (call), 1005 (jz), 100a (jmp) and 1011 (ret).
printf '\xe8\x0b\x00\x00\x00\x74\x03\x90\x90\x90\xeb\xf4\x90\x90\x90\x90\x90\xc3' >"$tmp/code"
make() { # SEED ROUNDS
    python3 - "$@" <<'PY'
import random, sys
rnd = random.Random(int(sys.argv[1]))
tsc, on = 0x1000, True
def psb():
    global tsc
    tsc += 100 + rnd.randrange(50)
    print('psb\ntsc %x\ncbr 10\nmode.exec cs.l' % tsc)
    if on: print('fup 6: 1000')
    print('psbend')
psb()
for i in range(int(sys.argv[2])):
    if not on:
        tsc += 20
        print('tsc %x\ntip.pge 6: 1000' % tsc)
        on = True
    for _ in range(rnd.randrange(1, 8)):
        print('tnt.8 !%s' % rnd.choice('!.'))
    what = rnd.randrange(10)
    if what < 3: # in the middle of the loop, or in the middle of a block
        print('fup 6: %s\ntip.pgd 0: 0' % rnd.choice(['1000', '1011']))
        on = False
    elif what == 3:
        print('ovf\nfup 6: 1000')
    elif what < 8:
        psb()
PY
}
make 1 400 | helper_trace >"$tmp/made.pt" || fail "the trace was made"
helper_wrap "$tmp/made.pt" "$tmp/code" 0x1000 piece=900 buffer=2500 cpus=2 tasks=3 switch=700 >"$tmp/made.data"

# From the text: a block begins behind the end of one, and behind what comes between instructions;
# an edge leads from the end of one to the next, unless that moves execution.
count() { # WORD...
    ptxed --no-inst "${shown[@]}" "$@" >"$tmp/text" 2>/dev/null
    awk -v blocks="$tmp/blocks" -v edges="$tmp/edges" '
        BEGIN { begins = 1 }
        !/^[0-9a-f]+$/ { begins = 1; if (!/^\[(cbr|psb|exec mode)/) last = ""; next }
        { if (begins || last != "") block[$0]++
          if (last != "") edge[last " " $0]++
          begins = 0; last = $0 ~ /(1000|1005|100a|1011)$/ ? $0 : "" }
        END { for (b in block) print b, block[b] >blocks
              for (e in edge) print e, edge[e] >edges }' "$tmp/text"
    sort -o "$tmp/blocks" "$tmp/blocks"
    sort -o "$tmp/edges" "$tmp/edges"
}
compare() { # NAME WORD...
    local name=$1
    shift
    rm -f "$tmp/blocks" "$tmp/edges"
    count "$@"
    check "$name: something ran" [ "$(wc -l <"$tmp/blocks")" -gt 3 ]
    ptxed --coverage "$@" 2>/dev/null | awk '!/^\[/ { n[$1] += $2 } END { for (b in n) print b, n[b] }' |
        sort >"$tmp/got"
    same "$name: blocks" "$tmp/blocks" "$tmp/got"
    ptxed --coverage=edges "$@" 2>/dev/null | awk '!/^\[/ { print $1, $2, $3 }' >"$tmp/got"
    same "$name: edges" "$tmp/edges" "$tmp/got"
}
shown=()
compare "a raw trace" --raw "$tmp/code:0x1000" --pt "$tmp/made.pt"
shown=(--sb:switch) # no edge leads from one task to another
compare "a recording" "$tmp/made.data"
compare "a processor" --select:cpu 1 "$tmp/made.data"
compare "a task" --select:tid 4712 "$tmp/made.data"
compare "a stretch of time" --select:time 20%,40% "$tmp/made.data"
compare "a task, for some time" --select:tid 4713 --select:time 10%,70% "$tmp/made.data"

for what in blocks edges; do
    ptxed --coverage=$what "$tmp/made.data" 2>/dev/null | grep -v '^\[' >"$tmp/want"
    ptxed --coverage=$what --merge "$tmp/made.data" 2>/dev/null | grep -E '^[0-9a-f]{16} ' >"$tmp/got"
    same "by time: $what" "$tmp/want" "$tmp/got"
done

# JSON says what the text does.
for what in blocks edges; do
    ptxed --coverage=$what "$tmp/made.data" 2>/dev/null | grep -v '^\[' >"$tmp/want"
    ptxed --coverage=$what --json "$tmp/made.data" 2>/dev/null | python3 -c '
import json, sys
for line in sys.stdin:
    o = json.loads(line)
    if o["type"] == "coverage":
        print("%016x %12d %5d %5d" % (int(o["ip"], 16), o["count"], o["ninsn"], o["size"]))
    elif o["type"] == "edge":
        print("%016x %016x %12d" % (int(o["from"], 16), int(o["to"], 16), o["count"]))
' >"$tmp/got"
    check "JSON: $what" [ -s "$tmp/want" ]
    same "JSON: $what: the same" "$tmp/want" "$tmp/got"
done
check "a kind that there is not" [ "$(ptxed --coverage=lines "$tmp/made.data" 2>&1 | grep -c 'not blocks or edges')" = 1 ]
done_testing
