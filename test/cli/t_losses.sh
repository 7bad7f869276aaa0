#!/usr/bin/env bash
# The account of losses: each kind, by a file made to have it; the line, the table, the JSON; the
# exit status with and without --strict.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 1
PSB=02820282028202820282028202820282
bytes() { printf '%b' "$(printf '%s' "$@" | sed 's/ //g; s/../\\x&/g')"; }
kinds='OVF TRUNCATED PARTIAL COLLISION LOST LOST_SAMPLES missing damaged cut no-PSB skipped errors no-code images'

# counts TOOL ARGUMENTS...: the JSON as "kind count" lines in `counts`, the status in $status.
counts() {
    "$@" --losses=json:losses.json >out 2>err
    status=$?
    python3 - >counts <<'P' || fail "$*: not JSON"
import json
losses = json.loads(open("losses.json").read())
assert losses["type"] == "losses"
for kind in losses["kinds"]:
    assert isinstance(kind["recoverable"], bool) and kind["what"] and kind["remedy"]
    print(kind["kind"], kind["count"])
print("insns", losses["insns"])
print("rate", losses.get("errors_per_million", "none"))
P
}
# count NAME KIND N: what the JSON says; all other kinds must be 0 unless named in $besides.
count() {
    local got
    got=$(awk -v k="$2" '$1 == k { print $2 }' counts)
    [ "$got" = "$3" ] && echo "ok: $1: $2 $3" || fail "$1: $2 is $got, not $3"
    grep -vE "^($2|insns|rate${besides:+|${besides// /|}}) | 0$" counts && fail "$1: more than $2"
    besides=
}
# ends NAME STATUS
ends() { [ "$status" -eq "$2" ] && echo "ok: $1: status $2" || fail "$1: status $status, not $2"; }

# --- nothing lost ---------------------------------------------------------------------------
helper_perfdata code >good.data
for tool in ptdump 'ptxed --raw code:0x401000'; do
    # shellcheck disable=SC2086
    counts $tool good.data
    count "$tool: nothing" none ''
    ends "$tool: nothing" 0
    check "$tool: every kind is there" test "$(cut -d' ' -f1 counts | head -14 | xargs)" = "$kinds"
    # shellcheck disable=SC2086
    $tool good.data >out 2>err
    check "$tool: one line, though all is 0" test "$(grep -c ': losses: OVF 0, .*0 errors per million' err)" -eq 1
    # shellcheck disable=SC2086
    $tool --quiet good.data >out 2>err
    check "$tool: --quiet and nothing lost: silence" test ! -s err
    # shellcheck disable=SC2086
    $tool --strict good.data >out 2>err
    status=$?
    ends "$tool: --strict" 0
    # shellcheck disable=SC2086
    $tool --losses good.data >out 2>err
    check "$tool: the table has every kind" test "$(awk '/^  [A-Za-z]/ { print $1 }' err | tail -n +2 | xargs)" = "$kinds"
    # shellcheck disable=SC2086
    $tool --losses=json good.data >out 2>err
    check "$tool: JSON on stderr" python3 -c 'import json; json.loads(open("err").read())'
done
for bad in xml json: jsonx; do
    ptdump --losses=$bad good.data >out 2>err
    check "--losses=$bad is refused" test $? -eq 2
done
ptxed --losses=json:/nowhere/losses good.data >out 2>err
check "JSON that cannot be written is a failure" test $? -ne 0
check "and is said" grep -q 'cannot write /nowhere/losses' err

# --- lost while recording ---------------------------------------------------------------------
helper_perfdata code lost >lost.data
for tool in ptdump 'ptxed --raw code:0x401000'; do
    # shellcheck disable=SC2086
    counts $tool lost.data
    besides=LOST
    count "$tool: AUX record" TRUNCATED 1
    besides=TRUNCATED
    count "$tool: LOST record" LOST 5
    ends "$tool: TRUNCATED" 1
    # shellcheck disable=SC2086
    $tool --quiet lost.data >out 2>err
    check "$tool: --quiet does not hide losses" grep -q 'lost: 1 x TRUNCATED: .*remedy: ' err
done

# All at once; helper_perfdata says where what is. However it is decoded, the account is the same.
helper_perfdata code losses >losses.data
helper_perfdata code losses-pipe >losses.pipe
all='OVF 1 TRUNCATED 3 PARTIAL 1 COLLISION 1 LOST 5 LOST_SAMPLES 7 missing 64 damaged 0 cut 1 no-PSB 1 skipped 29 errors 1 no-code 0 images 0'
account() { # TOOL ARGUMENTS...
    local want=$all
    counts "$@"
    case $1 in
    ptxed) want+=" insns 31 rate $((1000000 / 31 + 1))" ;;
    *) want+=' insns 0 rate none' ;;
    esac
    check "all: $*" test "$(xargs <counts)" = "$want"
    ends "all: $*" 1
}
for options in '' --quiet --json '--tail 1000' '--select:time 0%,' '--select:cpu 0' --raw --sb:compact; do
    # shellcheck disable=SC2086
    account ptdump $options losses.data
done
for options in '' --quiet --json --json=blocks '-j1' '-j4 --segment-size 1' '-j4 --segment-size 1 --quiet' --merge --coverage \
    --coverage=edges --no-fast-path --insn-decoder --event:tick '--tail 1000' '--shard 1/1' '--select:time 0%,' '--select:pid 4711' \
    '--quiet --stat' --no-trace-time --check --stat:functions --sb:compact; do
    # shellcheck disable=SC2086
    account ptxed $options losses.data
done
for tool in ptdump ptxed; do
    account $tool losses.pipe
    account $tool - < <(cat losses.data)
    account $tool - < <(cat losses.pipe)
    $tool losses.data >out 2>err
    for kind in OVF TRUNCATED PARTIAL COLLISION LOST LOST_SAMPLES missing cut no-PSB skipped errors; do
        check "$tool: what helps against $kind" test "$(grep -cE ": lost: [0-9]+ [a-z]+ $kind: .*; remedy: " err)" -eq 1
    done
done
# Parts: what decoding finds is found once.
for n in 2 3; do
    : >parts
    for ((k = 1; k <= n; k++)); do
        counts ptxed --shard $k/$n losses.data
        cat counts >>parts
    done
    got=$(awk '$1 != "rate" { n[$1] += $2 } END { print n["OVF"], n["cut"], n["no-PSB"], n["skipped"], n["errors"], n["insns"] }' parts)
    check "$n shards: $got" test "$got" = '1 1 1 29 1 31'
done
# A stretch of time: the last but one piece has no PSB, also if nothing else is in it.
counts ptdump --select:time 0.00027,0.00028 losses.data
check "a window without a PSB" grep -qx 'no-PSB 1' counts
counts ptxed --quick losses.data
ends "only addresses: not nothing" 1
# What is extracted is not decoded, but what is not there is missing.
for what in --list-aux '--extract-aux x' '--extract-sideband x'; do
    # shellcheck disable=SC2086
    counts ptdump $what losses.data
    check "$what: losses" test "$(head -9 counts | xargs)" = 'OVF 0 TRUNCATED 3 PARTIAL 1 COLLISION 1 LOST 5 LOST_SAMPLES 7 missing 64 damaged 0 cut 0'
    want=0
    [ "$what" != '--extract-aux x' ] || want=1
    ends "$what" $want
    # shellcheck disable=SC2086
    ptdump --strict $what losses.data >out 2>err
    status=$?
    ends "$what, --strict" 1
done
# A mark that is not passed hides nothing.
ptxed --select:from 0x999 losses.data >out 2>err
check "marks: nothing" test $? -eq 2
check "marks: losses are told" grep -q 'lost: 3 x TRUNCATED' err

# --- raw traces ---------------------------------------------------------------------------------
# 1000: jmp 1000
bytes ebfe >loop
sync="$PSB 9901 7d001000000000 0223"
bytes "$sync" 02f3 7d001000000000 >ovf
for tool in ptdump 'ptxed --raw loop:0x1000 --pt'; do
    # shellcheck disable=SC2086
    counts $tool ovf
    count "$tool: overflow" OVF 1
    ends "$tool: overflow" 0
done
ptdump --strict ovf >out 2>err
check "--strict: an overflow is a failure" test $? -eq 1
ptxed --strict --raw loop:0x1000 --pt ovf >out 2>err
check "--strict: an overflow is a failure (ptxed)" test $? -eq 1
check "an overflow is said" grep -q 'lost: 1 x OVF: ' err

bytes 000000 "$sync" >late
counts ptdump late
count "before the first PSB" skipped 3
ends "before the first PSB" 0
counts ptxed --raw loop:0x1000 --pt late
count "before the first PSB (ptxed)" skipped 3

# Damage (an unknown opcode), ten bytes of it, then a PSB: those ten are skipped.
bytes "$sync" 02ff0000000000000000 "$sync" >bad
counts ptdump bad
besides=skipped
count "damage" errors 1
besides=errors
count "damage" skipped 10
ends "damage" 1
counts ptxed --raw loop:0x1000 --pt bad
besides=skipped
count "damage (ptxed)" errors 1
besides=errors
count "damage (ptxed)" skipped 10

bytes "$sync" 7d0010 >cut.pt
counts ptdump cut.pt
count "cut" cut 1
ends "cut" 1
counts ptxed --raw loop:0x1000 --pt cut.pt
count "cut (ptxed)" cut 1
ends "cut (ptxed)" 1

bytes 0000 >none
counts ptdump none
besides=skipped
count "no PSB" no-PSB 1
counts ptxed --raw loop:0x1000 --pt none
besides=skipped
count "no PSB (ptxed)" no-PSB 1
ends "no PSB (ptxed)" 2

# A return into nowhere: code is missing.
bytes c3 >ret
bytes "$sync" 6d002000000000 06 >away
counts ptxed --raw ret:0x1000 --pt away
besides=skipped
count "missing code" no-code 1
check "errors per million are told" grep -qx 'rate [1-9][0-9]*' counts
ends "missing code" 1

# --- files -------------------------------------------------------------------------------------
size=$(stat -c %s good.data)
head -c $((size * 2 / 3)) good.data >half.data # amid its records
counts ptdump half.data
check "a file that is cut is damaged" grep -qE '^(damaged|missing) [1-9]' counts
check "and no success" test "$status" -ne 0

# Records in a file of their own: cut, or with a record of 4 bytes. Zeros behind them are none.
ptdump --extract-sideband sb good.data && ptdump --extract-aux raw good.data || fail 'extraction'
records=sb-sideband-cpu0.pevent
for tool in 'ptdump --pevent:primary' 'ptxed --raw code:0x401000 --pevent:primary'; do
    pt=raw-aux-idx0.bin
    [[ $tool == ptdump* ]] || pt="--pt $pt"
    # shellcheck disable=SC2086
    counts $tool $records $pt
    count "$tool: whole" damaged 0
    ends "$tool: whole" 0
    { cat $records && head -c 16 /dev/zero; } >padded.pevent
    # shellcheck disable=SC2086
    counts $tool padded.pevent $pt
    ends "$tool: zeros behind the records" 0
    for change in 'head -c -5' 'head -c 3' "sed s/^......../\\x01\\x00\\x00\\x00\\x00\\x00\\x04\\x00/"; do
        # shellcheck disable=SC2086
        LC_ALL=C $change $records >cut.pevent
        # shellcheck disable=SC2086
        counts $tool cut.pevent $pt
        besides='no-code errors images skipped'
        count "$tool: $change" damaged 1
        ends "$tool: $change" 1
        check "$tool: $change: where" grep -qE 'cut.pevent: 0x[0-9a-f]+: what comes here' err
    done
done
done_testing
