#!/usr/bin/env bash
# ptdump: exit status, messages and what is printed of bad input; its options.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 1

PSB=02820282028202820282028202820282
# bytes HEX...: to stdout
bytes() { printf '%b' "$(printf '%s' "$@" | sed 's/ //g; s/../\\x&/g')"; }

# dump NAME STATUS OUT-REGEX ERR-REGEX ARGUMENTS...: run ptdump; the whole of stdout (and of
# stderr) must match the extended regular expression, newlines written as |.
dump() {
    local name=$1 status=$2 out="^$3\$" err="^$4\$" got
    shift 4
    ptdump "$@" >out 2>all </dev/null
    got=$?
    # The account of losses is t_losses.sh's.
    grep -vE '^ptdump: [^:]*: (losses|lost): ' all >err
    [ "$got" -eq "$status" ] || fail "$name: exit status $got, not $status"
    [[ $(tr '\n' '|' <out) =~ $out ]] || { fail "$name: stdout"; head -5 out; }
    [[ $(tr '\n' '|' <err) =~ $err ]] || { fail "$name: stderr"; head -5 err; }
    echo "done: $name"
}

bytes $PSB 0223 >good
good='0000000000000000  psb[|]0000000000000010  psbend[|]'

# --- what can be read ---------------------------------------------------------------
dump good 0 "$good" '' good
dump range 0 "$good" '' good:0
dump 'range with an end' 0 "$good" '' good:0-18
dump 'offsets count from the range' 0 '0000000000000000  psbend[|]' '' --no-sync good:16
cp good 'a:b'
dump 'colon in a name' 0 "$good" '' a:b
check stdin test "$(ptdump - <good | tr '\n' '|')" = "$(ptdump good | tr '\n' '|')"
# From where it is: what was read before does not belong to it, nor does it count in offsets.
(printf 'first line\n'; cat good) >second
after_line() { # COMMAND...: its standard input is behind the first line
    (read -r _ && "$@") <second
}
check 'stdin behind its beginning' test "$(after_line ptdump - | tr '\n' '|')" = "$(ptdump good | tr '\n' '|')"
check 'a range of that' test "$(after_line ptdump --no-sync -:16-18 | tr '\n' '|')" = '0000000000000000  psbend|'
check 'a range of stdin' test "$(ptdump -:0-18 <good | tr '\n' '|')" = "$(ptdump good | tr '\n' '|')"
after_line ptdump -:16-19 >out 2>err
check 'a range behind its end' test $? -eq 2
check 'is told' grep -qx 'ptdump: bad range 0x13 in -.' err
(cat >/dev/null && ptdump -) <good >out 2>err
check 'stdin at its end' test $? -eq 2
check 'is told, too' grep -qx 'ptdump: -: nothing to read: the input is empty.' err
check 'pipe on stdin' test "$(ptdump - < <(cat good) | tr '\n' '|')" = "$(ptdump good | tr '\n' '|')"
mkfifo fifo
(sleep 0.2; cat good >fifo) &
dump FIFO 0 "$good" '' fifo
wait
dump 'FIFO without writer' 2 '' 'ptdump: fifo: nothing to read: the input is empty.[|]' fifo

# --- what cannot ----------------------------------------------------------------------
dump missing 2 '' 'ptdump: failed to open nowhere: No such file or directory.[|]' nowhere
mkdir -p hollow closed
dump directory 2 '' 'ptdump: hollow: a directory without a file "data".[|]' hollow
: >empty
dump device 2 '' 'ptdump: failed to open /dev/zero: Operation not supported.[|]' /dev/zero
dump empty 2 '' 'ptdump: empty: nothing to read: the input is empty.[|]' empty
ptdump - </dev/null 2>err
check 'the null device is empty, too' test $? -eq 2 -a "$(cat err)" = 'ptdump: -: nothing to read: the input is empty.'
if [ "$(id -u)" -ne 0 ]; then
    cp good unreadable
    chmod 0 unreadable
    dump unreadable 2 '' 'ptdump: failed to open unreadable: Permission denied.[|]' unreadable
    chmod 0 closed
    dump 'unreadable directory' 2 '' 'ptdump: closed: cannot open: Permission denied.[|]' closed
fi
dump 'offset behind the end' 2 '' 'ptdump: good: the range begins at 0x12, behind the last of 0x12 bytes.[|]' good:18
dump 'range behind the end' 2 '' 'ptdump: bad range 0x13 in good.[|]' good:0-19
dump 'empty range' 2 '' 'ptdump: bad file good:5-5: invalid argument.[|]' good:5-5
dump 'reversed range' 2 '' 'ptdump: bad file good:5-4: invalid argument.[|]' good:5-4

# --- traces that are damaged -----------------------------------------------------------
bytes 000102030405 >garbage
dump 'no PSB' 1 '' 'ptdump: garbage: no PSB found[|]' garbage
bytes ${PSB:0:30} >half
dump 'PSB cut' 1 '' 'ptdump: half: no PSB found[|]' half
bytes 0000 $PSB 0223 >late
dump 'PSB later' 0 '0000000000000002  psb[|]0000000000000012  psbend[|]' '' late
bytes $PSB 1901020304 >'cut'
dump 'packet cut' 1 '0000000000000000  psb[|]' \
    'ptdump: cut: 0x10: packet cut by the end of the trace[|]' cut

# bad NAME HEX TEXT: a packet that is none, then a PSB
bad() {
    bytes $PSB "$2" $PSB >bad
    dump "$1" 1 "0000000000000000  psb[|]\[10: error decoding packet: $3\][|][0-9a-f]*  psb[|]" \
        'ptdump: bad: 1 decode error[|]' bad
}
bad 'unknown opcode' 05 'unknown opcode'
bad 'unknown extended opcode' 0200 'unknown opcode'
bad 'unknown third byte' 02c300 'unknown opcode'
bad 'reserved IP compression 5' ad000000000000000000 'unknown packet'
bad 'reserved IP compression 7' fd000000000000000000 'unknown packet'
bad 'TNT without result' 02a3010000000000 'unknown packet'
bad 'MODE leaf' 9940 'unknown packet'
bad 'TMA reserved' 02730000010000 'unknown packet'
bad 'PTW reserved' 0252000000000000 'unknown packet'
bad 'CYC too long' ffffffffffffffffffff 'unknown packet'
bytes $PSB 0505 $PSB 05 $PSB >bad
dump 'two errors' 1 '.*\[10: .*\[22: .*' 'ptdump: bad: 2 decode errors[|]' bad
# A PSB that a broken packet swallowed in part is found.
bytes $PSB 02c388 $PSB 0223 0000000000000000 >swallowed
dump 'PSB swallowed' 1 '0000000000000000  psb[|]0000000000000010  mnt        8202820282028202[|]\[1b: .*\][|]0000000000000013  psb[|]0000000000000023  psbend[|]' '.*' --no-pad swallowed

# --- time ---------------------------------------------------------------------------------
bytes $PSB 02030000 0223 >cbr0
dump 'CBR 0' 0 '0000000000000000  psb[|]\[10: error calibrating time: unknown packet\][|]0000000000000010  cbr        0[|]0000000000000014  psbend[|]' '' --time cbr0
dump 'CBR 0, no time wanted' 0 '0000000000000000  psb[|]0000000000000010  cbr        0[|]0000000000000014  psbend[|]' '' cbr0
bytes $PSB 0223 5901 5902 >mtc
dump 'MTC without ratio' 0 '.*\[14: error updating time: bad configuration\][|]\[14: error printing time: no timing information\][|]0000000000000014  mtc        2                         tsc  <unavailable>[|]' '' --time mtc
dump 'relative time' 0 '.*  mtc        1                         tsc  0000000000000000[|].*  mtc        2                         tsc  0000000000000003[|]' '' --time --no-wall-clock --cpuid-0x15.eax 1 --cpuid-0x15.ebx 3 mtc
dump 'unknown CPU is a warning' 0 "\[0: failed to determine errata: unknown cpu\][|]$good" '' --cpu 1/1 good

# --- options ------------------------------------------------------------------------------
dump 'no file' 2 '' 'ptdump: No processor trace file specified.[|]'
dump 'two files' 2 '' 'ptdump: \[<options>\] <ptfile>.  Use --help or -h for help.[|]' good good
dump 'unknown option' 2 '' 'ptdump: unknown option: --wat.[|].*' --wat good
dump 'number missing' 2 '' 'ptdump: --mtc-freq: missing argument.[|]' --mtc-freq
dump 'number missing before an option' 2 '' 'ptdump: --mtc-freq: missing argument.[|]' --mtc-freq --raw good
dump 'bad number' 2 '' 'ptdump: --nom-freq: bad argument: 1x.[|]' --nom-freq 1x good
dump 'number too big' 2 '' 'ptdump: --nom-freq: value too big: 256.[|]' --nom-freq 256 good
dump 'MTC frequency has four bits' 2 '' 'ptdump: --mtc-freq: value too big: 16.[|]' --mtc-freq 16 good
dump 'word too big' 2 '' 'ptdump: --cpuid-0x15.eax: value too big: 0x100000000.[|]' --cpuid-0x15.eax 0x100000000 good
for cpu in 6 6/256 6/1/256 x; do
    dump "bad CPU $cpu" 2 '' 'ptdump: cpu must be specified as f/m\[/s\][|]' --cpu $cpu good
done
dump 'CPU none' 0 "$good" '' --cpu none good
dump 'time and calibration' 2 '' 'ptdump: specify either --time or --tcal.[|]' --time --tcal good
dump help 0 'usage: ptdump .*--no-sync.*' '' --help
dump 'short help' 0 'usage: ptdump .*' '' -h
dump version 0 'ptdump [0-9.]*[|]' '' --version
dump quiet 0 '' '' --quiet good
bytes $PSB 05 >quiet
dump 'quiet shows errors' 1 '\[10: error decoding packet: unknown opcode\][|]' '.*' --quiet quiet

# --- output that fails -----------------------------------------------------------------------
if [ -e /dev/full ]; then
    ptdump good >/dev/full 2>err
    check 'full disk: exit status' test $? -eq 1
    check 'full disk: message' grep -q '^ptdump: cannot write: No space left on device' err
fi
for ((i = 0; i < 100000; i++)); do echo good; done | xargs cat >long # more text than a pipe holds
ptdump long 2>err | head -1 >/dev/null
check 'a reader that has had enough' test "${PIPESTATUS[0]}" -eq 141 -a ! -s err
(trap '' PIPE; ptdump long 2>err; echo $? >status) | head -1 >/dev/null
check 'the same without SIGPIPE: exit status' test "$(cat status)" -eq 1
check 'the same without SIGPIPE: message' grep -qx 'ptdump: cannot write: Broken pipe.' err

# --- what only recordings have ---------------------------------------------------------------
for option in '--select:time 1,2' '--select:cpu 0' '--select:aux 0' '--select:pid 1' '--select:tid 1' \
    '--select:comm x' --list-aux --list-config --list-files '--extract-aux x' '--extract-pieces x' '--extract-sideband x'; do
    # shellcheck disable=SC2086
    dump "$option of a raw trace" 2 '' "ptdump: ${option% *}: only with a recording .perf.data.; good is a raw trace.[|]" $option good
done

# --- the fast loop and the other agree ---------------------------------------------------------
# Random bytes between PSBs. With --lastip every IP packet takes the slow path, with --raw every
# packet; what these options add is stripped.
awk -v psb=$PSB 'BEGIN {
    srand(1)
    for (i = 0; i < 400; i++) {
        printf "%s", psb
        for (n = int(rand() * 400); n > 0; n--) printf "%02x", int(rand() * 256)
    } }' >random.hex
bytes "$(cat random.hex)" >random
ptdump random >fast 2>/dev/null
check 'enough packets' test "$(wc -l <fast)" -gt 1500
ptdump --lastip random 2>/dev/null | sed 's/  *ip   [0-9a-f<].*//' >slow
same 'IP packets' fast slow
ptdump --raw random 2>/dev/null | sed 's/^\([0-9a-f]\{16\}  \)[0-9a-f]* */\1/' >slow
same 'all packets' fast slow
ptdump --no-offset random 2>/dev/null >slow
sed 's/^[0-9a-f]\{16\}  //' fast >bare
same 'without offset' bare slow
for hide in pad timing cyc; do
    case $hide in
    pad) names=pad ;;
    cyc) names=cyc ;;
    *) names='tsc|tma|mtc|cyc|cbr' ;;
    esac
    ptdump --no-$hide random 2>/dev/null >hidden
    grep -vE "^[0-9a-f]{16}  ($names)( |$)" fast >left
    same "--no-$hide" left hidden
done
# The bytes shown are those of the file.
ptdump --raw random 2>/dev/null | awk '/^\[/ { next } { print $1, $2 }' >shown
awk 'NR == FNR { hex = $0; next } {
    at = 0
    for (i = 1; i <= 16; i++) at = at * 16 + index("0123456789abcdef", substr($1, i, 1)) - 1
    if (substr(hex, 2 * at + 1, length($2)) != $2) { print "differs at", $1; exit 1 } }' random.hex shown
check 'raw bytes' test $? -eq 0
done_testing
