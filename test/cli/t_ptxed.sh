#!/usr/bin/env bash
# ptxed: options, messages, exit status; what bad input gets.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 1

# gets NAME STATUS STDOUT-PATTERN STDERR-PATTERN ARGUMENTS...: patterns are of grep -E, over the whole
# text; '' is an empty text, '*' anything.
gets() {
    local name=$1 status=$2 out=$3 err=$4 got
    shift 4
    timeout 20 ptxed "$@" >out 2>all </dev/null
    got=$?
    # The account of losses is t_losses.sh's.
    grep -vE '^ptxed: [^:]*: (losses|lost): ' all >err
    [ "$got" -eq "$status" ] || fail "$name: exit status $got, not $status: $(head -3 err)"
    matches "$name: stdout" "$out" out
    matches "$name: stderr" "$err" err
    echo "done: $name"
}
matches() {
    case $2 in
    '*') ;;
    '') [ ! -s "$3" ] || fail "$1: $(head -2 "$3")" ;;
    *) tr '\n' '~' <"$3" | grep -qE -- "$2" || fail "$1: $(head -3 "$3")" ;;
    esac
}

# --- the inputs ------------------------------------------------------------------
head='psb
mode.exec  cs.l
fup        3: 1000
psbend'
trace() { printf '%s\n' "$head" "${@:2}" | helper_trace >"$1"; }
printf '\x90\x90\xf4' >code
trace good 'fup 1: 1002' 'tip.pgd 0:'
raw=(--raw code:0x1000)
: >empty
mkdir dir
mkfifo fifo
printf 'nothing here' >garbage
head -c 15 good >short
printf 'psb\nmode.exec cs.l\nfup 3: 1000\n' | helper_trace >open

# --- usage -----------------------------------------------------------------------
gets help 0 '^usage: ptxed .*--resync-on-error' '' --help
gets -h 0 '^usage: ptxed ' '' -h
gets version 0 '^ptxed [0-9]+\.[0-9]+\.[0-9]+~$' '' --version
gets 'no trace' 2 '' '^ptxed: no pt file\.~$'
gets 'unknown option' 2 '' '^ptxed: unknown option: --no-isnt\.~ptxed: did you mean --no-inst\?~$' --no-isnt
gets 'letters that changed places' 2 '' '~ptxed: did you mean --select:from\?~$' --select:form x
gets 'no recording' 2 '' '^ptxed: good: not a perf.data file\.~$' good
gets 'stray word' 2 '' '^ptxed: unknown option: good\.~$' --pt good good
for option in '--select:time 1,2' '--select:cpu 0' '--select:aux 0' '--select:pid 1' '--select:tid 1' '--select:comm x' \
    --merge '--fields all' '--sysroot x' '--buildid-dir x' '--kcore x' '--vmlinux x' --no-trace-time; do
    # shellcheck disable=SC2086
    gets "$option of a raw trace" 2 '' "^ptxed: ${option% *}: only with a recording \(perf\.data\); good is a raw trace\.~\$" $option --pt good
done
(printf 'first line\n'; cat good) >second
(read -r _ && ptxed "${raw[@]}" --pt -) <second >out 2>err
check 'stdin behind its beginning' [ $? -eq 0 -a ! -s err ]
check 'is decoded from there' [ "$(cat out)" = "$(ptxed "${raw[@]}" --pt good)" ]
gets 'two recordings' 2 '' '^ptxed: unknown option: b\.~$' a b
for option in --pt --raw --elf --cpu --mtc-freq --filter:addr0_a; do
    gets "$option alone" 2 '' "^ptxed: $option: missing argument\.~\$" "$option"
done
for option in --pt --elf --mtc-freq --sysroot --fields --select:time --select:comm --tail; do
    gets "$option with an empty argument" 2 '' "^ptxed: $option: missing argument\.~\$" "$option" '' good
done
for shard in +1/2 ' 1/2' 0/2 3/2 1/ 1 /2 1/-2 1/99999999999999999999 1/2x; do
    gets "--shard $shard" 2 '' '^ptxed: --shard: bad argument: ' --shard "$shard" good
done
for bad in '--tail 0' '--jobs 0' '--segment-size 0' '--tail -1' '--tail 1.5' '--jobs nan' '--tail 0x'; do
    # shellcheck disable=SC2086
    gets "$bad" 2 '' "^ptxed: ${bad% *}: bad argument: ${bad#* }\.~\$" $bad good
done
for big in '--tail 18446744073709551616' '--tail 16777216T' '--jobs 1025' '--pevent:time-shift 33' '--pevent:time-mult 0x100000000'; do
    # shellcheck disable=SC2086
    gets "$big" 2 '' "^ptxed: ${big% *}: value too big: ${big#* }\.~\$" $big good
done
for bad in '-m 0' '-m ,0' '--max-size 0' '--delay -1' '--duration nan' '-p -1'; do
    # shellcheck disable=SC2086
    timeout 20 ptcapture --backend step -o nothing.data $bad true >out 2>err </dev/null
    [ $? -eq 2 ] && grep -q "bad argument: ${bad#* }" err && [ ! -e nothing.data ] || fail "ptcapture $bad: $(cat err)"
done
gets 'argument is an option' 2 '' '^ptxed: --mtc-freq: missing argument\.~$' --mtc-freq --quiet
gets 'no number' 2 '' '^ptxed: --mtc-freq: bad argument: x\.~$' --mtc-freq x
gets 'number and more' 2 '' '^ptxed: --nom-freq: bad argument: 3x\.~$' --nom-freq 3x
gets 'negative' 2 '' '^ptxed: --nom-freq: bad argument: -3\.~$' --nom-freq -3
gets 'a unit' 0 '^0000000000001000~0000000000001001~\[disabled\]~$' '*' --no-inst --raw code:4K --pt good
gets 'units of a filter' 0 '^0000000000001000~' '*' --filter:addr0_cfg 1 --filter:addr0_a 0 --filter:addr0_b 1M --no-inst --raw code:4096B --pt good
gets 'a unit too much' 2 '' 'ptxed: --filter:addr0_a: value too big: 16777217T\.~$' --filter:addr0_a 16777217T
gets 'no unit' 2 '' 'ptxed: --filter:addr0_a: bad argument: 1Kx\.~$' --filter:addr0_a 1Kx
gets 'too big' 2 '' '^ptxed: --mtc-freq: value too big: 256\.~$' --mtc-freq 256
gets 'filter too big' 2 '' '^ptxed: --filter:addr3_cfg: value too big: 16\.~$' --filter:addr3_cfg 16
gets 'no such filter' 2 '' '^ptxed: unknown option: --filter:addr4_cfg\.' --filter:addr4_cfg 1
gets 'bad cpu' 2 '' '^ptxed: cpu must be specified as f/m\[/s\]~$' --cpu six
gets 'bad model' 2 '' '^ptxed: cpu must be specified as f/m\[/s\]~$' --cpu 6/256
gets 'cpu too late' 2 '' '^ptxed: please specify cpu before the pt source file\.~$' --pt good --cpu 6/85
gets 'filter too late' 2 '' '^ptxed: please specify --filter:addr0_cfg before --pt\.~$' --pt good --filter:addr0_cfg 1
gets 'decoder too late' 2 '' '^--insn-decoder: please specify ptxed before the pt source file\.~$' --pt good --insn-decoder
gets 'two traces' 2 '' '^ptxed: duplicate pt sources: empty\.~$' --pt good --pt empty

# --- what may come later -----------------------------------------------------------
gets 'code after the trace' 0 '^0{12}1000~0{12}1001~\[disabled\]~$' '' --pt good "${raw[@]}" --no-inst
gets 'printing options after the trace' 0 '^insn: 2\.~blocks:.1\.~$' '' "${raw[@]}" --pt good --quiet --stat

# --- the trace ---------------------------------------------------------------------
gets 'missing trace' 2 '' '^ptxed: failed to open nowhere: No such file or directory\.~$' --pt nowhere
gets 'empty trace' 2 '' '^ptxed: empty: nothing to read: the input is empty\.~$' --pt empty
gets 'directory' 2 '' '^ptxed: failed to open dir: Is a directory\.~$' --pt dir
gets 'FIFO without writer' 2 '' '^ptxed: fifo: nothing to read: the input is empty\.~$' --pt fifo
if [ "$(id -u)" != 0 ]; then
    cp good secret && chmod 000 secret
    gets 'unreadable' 2 '' '^ptxed: failed to open secret: Permission denied\.~$' --pt secret
fi
gets 'from beyond the end' 2 '' '^ptxed: good: the range begins at 0x1000, behind the last of 0x[0-9a-f]* bytes\.~$' --pt good:0x1000
gets 'to beyond the end' 2 '' '^ptxed: bad range 0x1000 in good\.~$' --pt good:0-0x1000
gets 'to before from' 2 '' '^ptxed: bad file good:5-5: invalid argument\.~$' --pt good:5-5
gets 'garbage' 2 '' '^ptxed: garbage: no PSB packet in 12 bytes from offset 0x0: nothing to decode\.~$' --pt garbage
gets 'cut PSB' 2 '' '^ptxed: short: no PSB packet in 15 bytes' --pt short
gets 'PSB without PSBEND' 2 '' '^ptxed: open: no whole PSB\+' --pt open
cat good good >twice
gets 'second half' 0 '^0{12}1000~0{12}1001~\[disabled\]~$' '' "${raw[@]}" --no-inst --pt twice:31
gets 'from a pipe' 0 '^0{12}1000~0{12}1001~\[disabled\]~$' '' "${raw[@]}" --no-inst --pt <(cat good)

# --- packets that cannot be ----------------------------------------------------------
cut() { # NAME BYTES: after two instructions that ran
    trace "$1" 'fup 1: 1002' 'tip.pgd 0:' "hex $2"
}
bad() { # NAME TEXT BYTES
    cut bad "$3"
    gets "$1" 1 "^0{12}1000~0{12}1001~\\[disabled\\]~\\[[0-9a-f]+, [0-9a-f]+: error: $2\\]~\$" "^ptxed: bad: 1 decode error, the first at offset 0x[0-9a-f]+: $2" \
        "${raw[@]}" --no-inst --pt bad
}
bad 'unknown opcode' 'unknown opcode' '02 ff'
bad 'reserved IPBytes' 'unknown packet' 'b1 00 00 00 00'
bad 'reserved leaf of MODE' 'unknown packet' '99 40'
bad 'CYC too long' 'unknown packet' '07 ff ff ff ff ff ff ff ff ff ff'
bad 'TIP while tracing is off' 'unexpected packet context' '0d'
for bytes in '02' '19 00 00' '02 82 02 82'; do
    cut cut "$bytes"
    gets "cut inside a packet ($bytes)" 1 '\[disabled\]~$' '^ptxed: cut: cut inside the packet at offset 0x1f\.~$' "${raw[@]}" --no-inst --pt cut
done

# --- code ----------------------------------------------------------------------------
gets 'no code' 2 '^\[1e, 1000: error: no memory mapped at this address\]~$' \
    'no memory mapped.*~ptxed: name the code at 0x1000 with --elf or --raw\.~$' --pt good
gets 'raw without base' 2 '' "^ptxed: failed to parse base addressfrom 'code'\\.~ptxed: --raw: failed to load 'code'\\.~\$" --raw code
gets 'raw: missing' 2 '' "^ptxed: nowhere: No such file or directory\\.~ptxed: failed to add nowhere at 0x1000: bad file\\.~ptxed: --raw: failed to load 'nowhere:0x1000'\\.~\$" --raw nowhere:0x1000
gets 'raw: empty' 2 '' 'ptxed: failed to add empty at 0x1000: invalid argument\.~' --raw empty:0x1000
gets 'raw: directory' 2 '' 'ptxed: failed to add dir at 0x1000: bad file\.~' --raw dir:0x1000
gets 'raw: from beyond the end' 2 '' 'ptxed: failed to add code:9 at 0x1000: invalid argument\.~' --raw code:9:0x1000
gets 'raw: to beyond the end' 0 '*' '^ptxed: warning: code ends at 0x3, before 0x9\.~$' --raw code:0-9:0x1000 --pt good
gets 'raw: wraps around' 2 '' 'ptxed: failed to add code at 0xffffffffffffffff: invalid argument\.~' --raw code:0xffffffffffffffff
gets 'elf: missing' 2 '' '^ptxed: warning: failed to open nowhere: No such file or directory\.~$' --elf nowhere
gets 'elf: other file' 2 '' '^ptxed: warning: ignoring code: not an ELF file\.~$' --elf code
gets 'elf: empty' 2 '' '^ptxed: warning: ignoring empty: not an ELF file\.~$' --elf empty
gets 'elf: directory' 2 '' '^ptxed: warning: ignoring dir: not an ELF file\.~$' --elf dir
self=$(command -v ptxed)
head -c 40 "$self" >elf.head
gets 'elf: cut in its header' 2 '' '^ptxed: warning: ignoring elf\.head: bad image\.~$' --elf elf.head
{ head -c 32 "$self"; printf '\xff\xff\xff\xff\xff\xff\xff\x7f'; tail -c +41 "$self"; } >elf.wild
gets 'elf: headers beyond the file' 2 '' '^ptxed: warning: ignoring elf\.wild: bad image\.~$' --elf elf.wild
gets 'elf: segments' 0 "^$self: offset=0x[0-9a-f]+ size=0x[0-9a-f]+ vaddr=0x[0-9a-f]+\\.~" '' --verbose --elf "$self" "${raw[@]}" --pt good
gets 'elf: moved' 0 '^0{12}1000~' '' --elf "$self:0x7f0000000000" "${raw[@]}" --no-inst --pt good

# --- the output -----------------------------------------------------------------------
printf '\x90\xff\xe0' >round # nop; jmp rax
trace round.pt 'tip 1: 1000'
for ((i = 0; i < 20000; i++)); do echo round.pt; done | xargs cat >long
ptxed --raw round:0x1000 --pt long 2>err | head -1 >/dev/null
[ "${PIPESTATUS[0]}" -eq 141 ] && [ ! -s err ] || fail "a reader that has had enough: $(cat err)"
(trap '' PIPE; ptxed --raw round:0x1000 --pt long 2>err; echo $? >status) | head -1 >/dev/null
[ "$(cat status)" -eq 1 ] && grep -qx 'ptxed: cannot write: Broken pipe\.' err || fail "the same without SIGPIPE: $(cat err)"
ptxed "${raw[@]}" --pt good >/dev/full 2>err
[ $? -eq 1 ] && grep -q 'ptxed: cannot write: No space left on device' err || fail "a full disk: $(cat err)"
for tool in ptxed ptdump ptcapture; do
    for option in --help --version; do
        $tool $option >/dev/full 2>err
        [ $? -eq 1 ] && grep -qx "$tool: cannot write: No space left on device\." err || fail "$tool $option, a full disk: $(cat err)"
    done
done
check 'all lines' [ "$(ptxed --raw round:0x1000 --no-inst --pt long | wc -l)" -eq 40001 ]
# What is no recording is refused with its reason, and a device is never read.
refused() { # NAME FILE TEXT
    timeout 20 ptxed "$2" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && grep -q "$3" "$tmp/err" && [ ! -s "$tmp/out" ] || fail "$1"
}
refused "a missing recording" "$tmp/nowhere" "nowhere: .*No such file or directory"
mkdir "$tmp/plain"
refused "a directory that is no recording" "$tmp/plain" 'plain: a directory without a file "data"'
refused "a device" /dev/zero "not a file or pipe"
done_testing
