#!/usr/bin/env bash
# Damaged versions of real files: they end, in time and memory that their size allows, and what is cut
# is told. A sample here; MUTATE=full for all of them, or every MUTATE_EVERY-th (script/mutate.sh,
# under ASan and UBSan). MUTATE_ONLY: a pattern (grep -E) for "KIND FILE COMMAND", of what is to run.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 1
full=${MUTATE:-} every=${MUTATE_EVERY:-1} only=${MUTATE_ONLY:-.}
total=0
export ASAN_OPTIONS=quarantine_size_mb=8:max_malloc_fill_size=0:exitcode=99:verify_asan_link_order=0
export UBSAN_OPTIONS=exitcode=99 # another status than what the tools end with

# step SAMPLE FULL: of how many versions one is taken
step() {
    if [ "$full" = full ]; then echo $(($2 * every)); else echo "$1"; fi
}

# ended STATUS NAME: what a program said of its versions is in `out` and `err`
ended() {
    local status=$1
    shift
    if [ "$status" -eq 0 ]; then
        echo "ok: $*: $(cat out)"
        total=$((total + $(sed 's/^versions \([0-9]*\) .*/\1/' out)))
    else
        fail "$*: status $status: $(tail -30 err)"
    fi
}

# mutate KINDS FILE SAMPLE FULL [CODE [ADDRESS]]: with the library. Every SAMPLE-th version, or every
# FULL-th.
mutate() {
    local kinds=$1 file=$2 n kind
    n=$(step "$3" "$4")
    shift 4
    for kind in $kinds; do
        grep -qE "$only" <<<"$kind ${file##*/} library" || continue
        timeout 14400 helper_mutate "$kind" "$file" "$n" "$@" >out 2>err
        ended $? "$kind ${file##*/}, step $n"
    done
}

preload=$PT_BUILD/lib/mutate_preload.so
if ldd "$(command -v ptdump)" | grep -q libasan; then
    preload="$(gcc -print-file-name=libasan.so) $preload" # has to be the first
fi

# tool KINDS FILE SAMPLE FULL COMMAND...: with a tool, whose arguments name the file at.data
tool() {
    local kinds=$1 file=$2 n kind
    n=$(step "$3" "$4")
    shift 4
    for kind in $kinds; do
        grep -qE "$only" <<<"$kind ${file##*/} $*" || continue
        # Leaks are looked for by the library's part, once for all versions.
        timeout 14400 env ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" LD_PRELOAD="$preload" MUTATE_FILE="$file" \
            MUTATE_AT=at.data MUTATE_KIND="$kind" MUTATE_STEP="$n" "$@" >out 2>err
        ended $? "$kind ${file##*/}, step $n: $*"
    done
}

# judged WHAT SCRIPT: of a program that does this with changed versions it is told
judged() {
    local what=$1 kind=$2
    shift 2
    env ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" LD_PRELOAD="$preload" MUTATE_FILE=small.data MUTATE_AT=at.data \
        MUTATE_KIND="$kind" MUTATE_STEP=211 bash -c "read -r -N 8 x <at.data; [ \"\$x\" = PERFILE2 ] || { $*; }" 2>err >out
    check "judged: $what" grep -q "small.data: $what: $kind at" err
}

# recording FILE SAMPLE FULL OPTIONS-FOR-CODE...: with all that the tools do
recording() {
    local file=$1 sample=$2 all=$3 command
    local -a commands=('ptdump --tail 5' 'ptdump --select:time 50%,70% --tail 3 --time' 'ptdump --select:time 50%,70%')
    local -a coded=('ptxed -j 2 --segment-size 512' 'ptxed --select:time ,70% --resync-on-error')
    shift 3
    if [ "$full" = full ]; then
        commands+=('ptdump --json --sb:verbose' 'ptdump --list-aux')
        coded+=('ptxed --merge --json' 'ptxed --coverage' 'ptxed -j 2 --quiet --stat --proven' 'ptxed --quiet --stat:functions')
    fi
    tool prefix "$file" $((sample / 4 + 1)) $((all / 4 + 1)) ptdump at.data
    tool prefix "$file" $((sample / 4 + 1)) $((all / 4 + 1)) ptxed "$@" at.data
    for command in "${commands[@]}"; do
        # shellcheck disable=SC2086
        tool 'prefix bytes swaps' "$file" "$sample" "$all" $command at.data
        # shellcheck disable=SC2086
        tool values "$file" $((20 * sample)) $((20 * all)) $command at.data
    done
    for command in "${coded[@]}"; do
        # shellcheck disable=SC2086
        tool 'prefix bytes swaps' "$file" "$sample" "$all" $command "$@" at.data
        # shellcheck disable=SC2086
        tool values "$file" $((20 * sample)) $((20 * all)) $command "$@" at.data
    done
}

all='prefix bytes values swaps'
for how in small lost two pipe samples snapshots; do
    helper_perfdata code $how >$how.data
    mutate prefix $how.data 7 1 code 0x401000
    mutate bytes $how.data 29 1 code 0x401000
    mutate values $how.data 997 3 code 0x401000
    mutate swaps $how.data 10 1 code 0x401000
done
mutate bytes "$(command -v helper_perfdata)" 4999 97
mutate prefix "$(command -v helper_perfdata)" 20011 1009
if echo 'int main(void) { return 0; }' | gcc -x c -o small.elf -; then
    mutate prefix small.elf 401 1
    mutate bytes small.elf 1999 1
    mutate values small.elf 1999 1
    mutate swaps small.elf 50 1
fi
if ptcapture -q --backend step -e intel_pt/psb_period=0/u -o real.data -- /bin/true; then
    mutate prefix real.data 997 1
    mutate bytes real.data 1201 1
    mutate swaps real.data 50 1
    ptdump --extract-aux real real.data
    mutate prefix real-aux-idx0.bin 997 1
    mutate swaps real-aux-idx0.bin 20 1
fi
cases=$shared/real/cases hello=$shared/real/cases/hello
for file in "$shared"/real/perfdata/*; do
    [ -f "$file" ] || continue
    mutate prefix "$file" $(($(stat -c %s "$file") / 40 + 1)) 1
    mutate bytes "$file" 1999 3
    mutate values "$file" 9973 11
    mutate swaps "$file" 50 1
done
[ -e "$hello/pt.bin" ] && mutate "$all" "$hello/pt.bin" 37 1 "$hello/hello"
if [ "$full" = full ]; then
    for trace in "$cases"/quipper/*-aux-*.bin; do
        [ -e "$trace" ] || continue
        mutate "prefix swaps" "$trace" 1 1
        mutate "bytes values" "$trace" 1 $(($(stat -c %s "$trace") / 16384 + 1))
    done
    [ -e "$hello/hello" ] && mutate "$all" "$hello/hello" 1 1
    if [ -e "$cases/mruby/trace.pt" ]; then
        # Decoding all of it takes its time: the ends by themselves, too.
        head -c 65536 "$cases/mruby/trace.pt" >head.pt
        tail -c 65536 "$cases/mruby/trace.pt" >tail.pt
        for part in head.pt tail.pt; do
            mutate prefix $part 1 3 "$cases/mruby/code.img"
            mutate bytes $part 1 101 "$cases/mruby/code.img"
            mutate swaps $part 1 1 "$cases/mruby/code.img"
        done
        mutate prefix "$cases/mruby/trace.pt" 1 61 "$cases/mruby/code.img"
        mutate "bytes swaps" "$cases/mruby/trace.pt" 1 311 "$cases/mruby/code.img"
    fi
fi

# The tools; but first, that something would be found.
judged 'cut without a word' prefix ':'
judged fails bytes "exit 1"
judged fails bytes "echo >&2; exit 3"
# shellcheck disable=SC2016
judged fails bytes 'kill -SEGV $$'
judged 'too slow' bytes 'for ((i = 0; i < 300000; i++)); do :; done'
judged 'too much memory' bytes "printf -v y '%070000000d' 0"
recording small.data 997 13 --raw code:0x401000
recording two.data 997 17 --raw code:0x401000
recording pipe.data 997 17 --raw code:0x401000
if [ "$full" = full ]; then
    for how in lost samples snapshots; do
        recording $how.data 997 31 --raw code:0x401000
    done
    for file in "$shared"/real/perfdata/*; do
        [ -f "$file" ] && recording "$file" 9973 997
    done
    [ -e real.data ] && recording real.data 9973 997
fi
if [ -e "$hello/pt.bin" ]; then
    tool "prefix bytes swaps" "$hello/pt.bin" 997 5 ptdump --tail 5 --time at.data
    tool "prefix bytes swaps" "$hello/pt.bin" 997 5 ptxed -j 2 --segment-size 128 --resync-on-error --elf "$hello/hello" --pt at.data
    timing='--mtc-freq 3 --nom-freq 37 --cpuid-0x15.eax 2 --cpuid-0x15.ebx 308 --pevent:sample-type 0x10086
        --pevent:time-shift 31 --pevent:time-mult 581029125 --pevent:time-zero 18444502336406842448'
    for way in 'primary secondary' 'secondary primary'; do
        read -r mine other <<<"$way"
        # shellcheck disable=SC2086
        tool 'prefix bytes swaps' "$hello/$mine.sideband.pevent" 199 1 ptxed --no-inst --sb:compact $timing --pevent:sysroot "$hello" \
            --pevent:"$mine" at.data --pevent:"$other" "$hello/$other.sideband.pevent" --elf "$hello/hello" --pt "$hello/pt.bin"
    done
fi
if [ "$full" = full ] && [ -e "$cases/mruby/trace.pt" ]; then
    for options in '--tail 5' '--tail 5 --time --lastip'; do
        # shellcheck disable=SC2086
        tool "prefix bytes swaps" "$cases/mruby/trace.pt" 1 97 ptdump $options at.data
    done
    tool "prefix bytes swaps" tail.pt 1 197 ptxed -j 2 --segment-size 4096 --resync-on-error --raw "$cases/mruby/code.img:0x400000" --pt at.data
    tool "prefix bytes swaps" tail.pt 1 197 ptxed --coverage --raw "$cases/mruby/code.img:0x400000" --pt at.data
fi
echo "$total versions"
done_testing
