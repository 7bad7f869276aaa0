#!/usr/bin/env bash
# All benchmarks: medians of processor time, and ratios to libipt's block decoder in the same run.
#
#     bench/run.sh [--rounds N] [--out FILE] [BUILD]
#
# Needs a release build (cmake --preset release). The input is the recorded trace of the test
# material beside the repository, or a made-up one. The table goes to FILE (bench/results.md).
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=5 out=bench/results.md build=build
while [ $# -gt 0 ]; do
    case $1 in
    --rounds) rounds=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    *) build=$1; shift ;;
    esac
done
bin=$(cd "$build/bin" && pwd)
shared=${PT_SHARED:-../shared}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# --- the input ------------------------------------------------------------------
case_dir=$shared/real/cases/mruby
base=0x400000
if [ -e "$case_dir/trace.pt" ]; then
    input="mruby, recorded by hardware"
    cp "$case_dir/trace.pt" "$tmp/1.pt"
    cp "$case_dir/code.img" "$tmp/code"
else
    input="made up by bench_trace"
    "$bin/bench/bench_trace" "$tmp/1.pt" "$tmp/code" 700000
fi
repeat() { # N: the trace N times, one after the other (PSB+ at its begin makes that valid)
    for ((i = 0; i < $1; i++)); do cat "$tmp/1.pt"; done >"$tmp/$1.pt"
}
for n in 10 40 100; do repeat "$n"; done
chmod u+w "$tmp"/*
size=$(stat -c %s "$tmp/1.pt")
read -r blocks _ insns _ < <("$bin/bench/bench_flow" items "$tmp/1.pt" "$tmp/code" "$base")
read -r packets _ < <("$bin/bench/bench_packets" "$tmp/1.pt")

# --- measuring ------------------------------------------------------------------
flow=$bin/bench/bench_flow ipt_flow=("$bin/bench/bench_ipt_flow")
ptxed=("$bin/ptxed" -j1 --raw "$tmp/code:$base")
# What both tools print, in bytes: a pipe cannot be faster than to write() as much of one buffer into it.
text_bytes=$(($("${ptxed[@]}" --pt "$tmp/1.pt" 2>/dev/null | wc -c) * 40))
dump_bytes=$(($("$bin/ptdump" "$tmp/1.pt" 2>/dev/null | wc -c) * 40))
piped() { printf "%q " "$@"; echo "| cat >/dev/null"; }
have_ipt=0
[ -x "$bin/bench/bench_ipt_flow" ] && have_ipt=1

declare -A time rss
# measure NAME COMMAND... [-- NAME COMMAND...]...: in turns; fills time[] and rss[].
measure() {
    local names=() command=() i=0 line
    local expect=1 word
    for word in "$@"; do
        if [ "$expect" = 1 ]; then
            names+=("$word") command+=(--) expect=0
        elif [ "$word" = -- ]; then
            expect=1
        else
            command+=("$word")
        fi
    done
    while read -r line; do
        time[${names[i]}]=${line% *}
        rss[${names[i]}]=${line#* }
        i=$((i + 1))
    done < <("$bin/bench/bench_run" "$rounds" "${command[@]}")
    [ "$i" = "${#names[@]}" ] || { echo "a benchmark failed" >&2; exit 1; }
}

calc() { awk "BEGIN { printf \"$1\", $2 }"; }
ratio() { # of B to A in time: how many times faster is A
    if [ -n "${time[$2]:-}" ]; then calc '%.1f' "${time[$2]} / (${time[$1]} + 1e-9)"; else echo -; fi
}
row() { # NAME WHAT RATE-UNIT AMOUNT OTHER
    printf '| %s | %.4f | %s %s | %s |\n' "$2" "${time[$1]}" \
        "$(calc '%.1f' "$4 / (${time[$1]} + 1e-9) / 1e6")" "$3" "$(ratio "$1" "$5")"
}

echo "measuring ($rounds rounds) ..." >&2
# -t: decoding alone, its input read before; -w: from main() to its end; without: the whole process.
runs=(flow40 "$flow" -t count "$tmp/40.pt" "$tmp/code" "$base"
    -- coverage40 "$flow" -t coverage "$tmp/40.pt" "$tmp/code" "$base"
    -- items40 "$flow" -t items "$tmp/40.pt" "$tmp/code" "$base"
    -- flow1 "$flow" count "$tmp/1.pt" "$tmp/code" "$base"
    -- main1 "$flow" -w count "$tmp/1.pt" "$tmp/code" "$base"
    -- cold1 "$flow" -t count "$tmp/1.pt" "$tmp/code" "$base"
    -- packets40 "$bin/bench/bench_packets" "$tmp/40.pt"
    -- text1 "${ptxed[@]}" --pt "$tmp/1.pt"
    -- addr1 "${ptxed[@]}" --no-inst --pt "$tmp/1.pt"
    -- text40 "${ptxed[@]}" --pt "$tmp/40.pt"
    -- addr40 "${ptxed[@]}" --no-inst --pt "$tmp/40.pt"
    -- quiet40 "${ptxed[@]}" --quiet --pt "$tmp/40.pt"
    -- dump40 "$bin/ptdump" "$tmp/40.pt"
    -- textpipe40 bash -c "$(piped "${ptxed[@]}" --pt "$tmp/40.pt")"
    -- addrpipe40 bash -c "$(piped "${ptxed[@]}" --no-inst --pt "$tmp/40.pt")"
    -- floorpipe40 bash -c "$(piped "$bin/bench/bench_write" "$text_bytes")"
    -- floordump40 bash -c "$(piped "$bin/bench/bench_write" "$dump_bytes")"
    -- dumppipe40 bash -c "$(piped "$bin/ptdump" "$tmp/40.pt")"
    -- insn "$bin/bench/bench_insn" "$tmp/code" 100)
if [ $have_ipt = 1 ]; then
    runs+=(-- ipt40 "${ipt_flow[@]}" -t "$tmp/40.pt" "$tmp/code" "$base"
        -- ipt1 "${ipt_flow[@]}" "$tmp/1.pt" "$tmp/code" "$base"
        -- iptmain1 "${ipt_flow[@]}" -w "$tmp/1.pt" "$tmp/code" "$base"
        -- iptcold1 "${ipt_flow[@]}" -t "$tmp/1.pt" "$tmp/code" "$base"
        -- iptpackets40 "$bin/bench/bench_ipt_packets" "$tmp/40.pt")
fi
measure "${runs[@]}"
measure slow1 "$flow" slow "$tmp/1.pt" "$tmp/code" "$base"
measure m1 "${ptxed[@]}" --no-inst --pt "$tmp/1.pt" \
    -- m10 "${ptxed[@]}" --no-inst --pt "$tmp/10.pt" \
    -- m100 "${ptxed[@]}" --no-inst --pt "$tmp/100.pt"
read -r swept _ < <("$bin/bench/bench_insn" "$tmp/code" 100)
# The instruction decoder beside capstone, over the C library's code (capstone once, ours 50 times).
libc=/lib/x86_64-linux-gnu/libc.so.6
objcopy -O binary -j .text "$libc" "$tmp/libc" 2>/dev/null || cp "$tmp/code" "$tmp/libc"
measure libc50 "$bin/bench/bench_insn" "$tmp/libc" 50 \
    -- capstone1 "$bin/bench/bench_insn_capstone" "$tmp/libc" 1
read -r libc_insns _ < <("$bin/bench/bench_insn" "$tmp/libc" 1)

# Seconds that pass, with one thread and with one a processor: the least of the rounds.
elapsed() {
    local best=999999999 i begin took
    for ((i = 0; i < rounds; i++)); do
        begin=${EPOCHREALTIME/./}
        "$@" >/dev/null
        took=$((${EPOCHREALTIME/./} - begin))
        [ "$took" -ge "$best" ] || best=$took
    done
    calc '%.3f' "$best / 1e6"
}
# The seconds that a harness tells of itself, likewise.
told() {
    local i
    for ((i = 0; i < rounds; i++)); do "$@"; done | sed -n 's/.* \([0-9.]*\) seconds.*/\1/p' | sort -n | head -1
}
# One process a processor, each with one thread and the whole trace: what the machine has to give.
at_once() {
    local i pids=()
    for ((i = 0; i < $(nproc); i++)); do
        "$@" &
        pids+=($!)
    done
    wait "${pids[@]}"
}
# Seconds that pass until the reader of a pipe has all of it, and how many times libipt's walk that is.
pipe_row() { # WHAT COMMAND...
    local what=$1 took walk=-
    shift
    took=$(elapsed bash -c "$(piped "$@")")
    [ -z "$walked" ] || walk=$(calc '%.2f' "$took / $walked")
    printf '| %s | %s | %s |\n' "$what" "$took" "$walk"
}
jobs_row() { # WHAT WORD...
    local what=$1 one all both
    shift
    one=$(elapsed "$bin/ptxed" -j1 "$@")
    all=$(elapsed "$bin/ptxed" -j"$(nproc)" "$@")
    both=$(elapsed at_once "$bin/ptxed" -j1 "$@")
    printf '| %s | %s | %s | %s | %s |\n' "$what" "$one" "$all" "$(calc '%.2f' "$one / $all")" \
        "$(calc '%.2f' "$(nproc) * $one / $both")"
}
# A recording, with time and sideband, of an emulated program: its trace N times in a row.
hash=$shared/truth/cases/hash-O2-cycthr
record_hash() { # FILE N
    local i
    [ -e "$shared/facts/mkperf.py" ] && [ -e "$hash" ] || return 1
    cp "$hash/hash-O2" "$tmp/hash"
    chmod u+w "$tmp/hash"
    for ((i = 0; i < $2; i++)); do cat "$hash"/*.pt; done >"$tmp/hash.pt"
    python3 "$shared/facts/mkperf.py" -o "$1" --pt "$tmp/hash.pt" --image "$tmp/hash" >/dev/null
}
# Emulated programs with timing, compressed returns, filters, interrupts: each trace repeated to
# 1.5 MB. clock: as bench_code.h has it.
emulated=(prt-O2-long prt-O2-mtc prt-O3-cyc hash-O2-cycthr fptr-O0-mtc-only recur-O0 coro-O2 sig-O2 m32-O1
    filter-deep filter-all strops-O3-irq sysc-O2-cbr)
emulated_rows() {
    local name dir args trace elf clock times
    for name in "${emulated[@]}"; do
        dir=$shared/truth/cases/$name
        [ $have_ipt = 1 ] && [ -e "$dir/cmds" ] || continue
        args=$(awk '$2 == "ptxed" { print; exit }' "$dir/cmds")
        arg() { awk -v name="$1" '{ for (i = 1; i < NF; i++) if ($i == name) print $(i + 1) }' <<<"$args"; }
        trace=$dir/$(arg --pt) elf=$dir/$(arg --elf)
        clock=$(arg --mtc-freq),$(arg --nom-freq),$(arg --cpuid-0x15.eax),$(arg --cpuid-0x15.ebx)
        clock=$(sed 's/^,/0,/; s/,,/,0,/g; s/,,/,0,/g; s/,$/,0/' <<<"$clock")
        times=$((1500000 / $(stat -c %s "$trace") + 1))
        for ((i = 0; i < times; i++)); do cat "$trace"; done >"$tmp/emulated.pt"
        measure "count-$name" "$flow" -t count "$tmp/emulated.pt" "$elf" elf "$clock" \
            -- "coverage-$name" "$flow" -t coverage "$tmp/emulated.pt" "$elf" elf "$clock" \
            -- "ipt-$name" "${ipt_flow[@]}" -t "$tmp/emulated.pt" "$elf" elf "$clock"
        printf '| %s | %.4f | %s | %s |\n' "$name" "${time[ipt-$name]}" "$(ratio "count-$name" "ipt-$name")" \
            "$(ratio "coverage-$name" "ipt-$name")"
    done
}
# Quiet decoding of the trace 1 to 1000 times in a row.
linear_rows() {
    local n
    for n in 1 10 100 1000; do
        [ -e "$tmp/$n.pt" ] || repeat "$n"
        measure "q$n" "${ptxed[@]}" --quiet --pt "$tmp/$n.pt"
        printf '| %d | %.3f | %s | %d |\n' "$n" "${time[q$n]}" "$(calc '%.5f' "${time[q$n]} / $n")" "${rss[q$n]}"
    done
    rm -f "$tmp/1000.pt"
}

# A recording that is nothing but switches, two processors, 1.2 million records: reading it into the timeline.
records_rows() {
    local data=$tmp/switches.data
    [ -x "$bin/test/helper_wrap" ] || return 0
    printf '%s\n' psb 'tsc 1000' 'cbr 10' 'mode.exec cs.l' 'fup 6: 400000' psbend 'pad 4000' psb 'tsc 600000' 'cbr 10' \
        'mode.exec cs.l' 'fup 6: 400000' psbend 'tnt.8 !!' | "$bin/test/helper_trace" >"$tmp/switches.pt"
    "$bin/test/helper_wrap" "$tmp/switches.pt" "$tmp/code" "$base" cpus=2 tasks=5 switch=10 >"$data"
    measure switches "$bin/ptxed" -j1 --quiet "$data" -- nothing "$bin/ptxed" --version
    echo "A recording of nothing but switches ($(stat -c %s "$data") bytes, start-up left out):" \
        "$(calc '%.0f' "$(stat -c %s "$data") / (${time[switches]} - ${time[nothing]}) / 1e6") MB/s."
    echo
}
# The same recording for perf and for ptxed; first: do both print the same?
perf_rows() {
    local data=$tmp/perf.data lines
    command -v perf >/dev/null && record_hash "$data" 100 || return 0
    perf script -f -i "$data" --itrace=i1i -F ip 2>/dev/null | sed 's/ *//' >"$tmp/perf.ip"
    "$bin/ptxed" -j1 --no-inst "$data" 2>/dev/null | sed '/^\[/d; s/^0*//' | cmp -s - "$tmp/perf.ip" || return 0
    lines=$(wc -l <"$tmp/perf.ip")
    rm "$tmp/perf.ip"
    measure perf perf script -f -i "$data" --itrace=i1i -F ip -- perfaddr "$bin/ptxed" -j1 --no-inst "$data" \
        -- perftext "$bin/ptxed" -j1 "$data"
    echo "\`perf script --itrace=i1i -F ip\` and ptxed on the same recording, hash-O2-cycthr a hundred times in a row"
    echo "($lines instructions, the same addresses from both), to /dev/null, one thread:"
    echo
    echo "| what | s | rate | x perf |"
    echo "| --- | ---: | ---: | ---: |"
    row perf "perf script, addresses" "M lines/s" "$lines" perf
    row perfaddr "ptxed --no-inst: addresses" "M lines/s" "$lines" perf
    row perftext "ptxed: full disassembly" "M lines/s" "$lines" perf
    echo
}

# --- the table ------------------------------------------------------------------
{
    echo "# Measured"
    echo
    echo "By \`bench/run.sh\`: medians of $rounds runs, processor time of one thread, output to"
    echo "/dev/null. $(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo), $(nproc) cores."
    echo
    echo "Trace: $input; $size bytes, $packets packets, $insns instructions, $blocks blocks; x40 is"
    echo "the same forty times in a row. The last column: how many times the time of libipt-dev for"
    echo "the same step (packets: its packet decoder; else its block decoder, which prints nothing)."
    echo
    echo "| what | s | rate | x libipt |"
    echo "| --- | ---: | ---: | ---: |"
    row packets40 "packets, x40" "M packets/s" "40 * $packets" iptpackets40
    row packets40 "- in bytes" "MB/s" "40 * $size" iptpackets40
    row flow40 "flow, counting, with events, x40" "M insns/s" "40 * $insns" ipt40
    row flow40 "- in blocks" "M blocks/s" "40 * $blocks" ipt40
    row coverage40 "flow, coverage: each block's count, x40" "M insns/s" "40 * $insns" ipt40
    row items40 "flow, block by block, x40" "M insns/s" "40 * $insns" ipt40
    row flow1 "flow, counting, x1, cold, whole process" "M insns/s" "$insns" ipt1
    row main1 "- from mapping the file to the end, without starting the process" "M insns/s" "$insns" iptmain1
    row cold1 "- decoding alone, nothing known" "M insns/s" "$insns" iptcold1
    row slow1 "flow, instruction by instruction, x1" "M insns/s" "$insns" ipt1
    row quiet40 "ptxed --quiet, x40" "M insns/s" "40 * $insns" ipt40
    row text1 "ptxed, x1, cold" "M lines/s" "$insns" ipt1
    row addr1 "ptxed --no-inst, x1, cold" "M lines/s" "$insns" ipt1
    row text40 "ptxed, x40" "M lines/s" "40 * $insns" ipt40
    row addr40 "ptxed --no-inst, x40" "M lines/s" "40 * $insns" ipt40
    row dump40 "ptdump, x40" "M lines/s" "40 * $packets" ipt40
    row textpipe40 "ptxed, x40, into a pipe, its reader included" "M lines/s" "40 * $insns" ipt40
    row addrpipe40 "ptxed --no-inst, x40, into a pipe, likewise" "M lines/s" "40 * $insns" ipt40
    row dumppipe40 "ptdump, x40, into a pipe, likewise" "M lines/s" "40 * $packets" ipt40
    row floorpipe40 "- as many bytes as ptxed's of one buffer into a pipe: what the kernel leaves" "M lines/s" "40 * $insns" ipt40
    row floordump40 "- as many bytes as ptdump's, likewise" "M lines/s" "40 * $packets" ipt40
    row insn "instruction decoder" "M insns/s" "$swept" -
    if [ $have_ipt = 1 ]; then
        row ipt40 "libipt block decoder, x40" "M insns/s" "40 * $insns" ipt40
        row ipt1 "libipt block decoder, x1" "M insns/s" "$insns" ipt1
        row iptpackets40 "libipt packet decoder, x40" "M packets/s" "40 * $packets" iptpackets40
    fi
    echo
    echo "The instruction decoder over libc's .text: $(calc '%.0f' "50 * $libc_insns / ${time[libc50]} / 1e6") M insns/s," \
        "$(calc '%.0f' "50 * ${time[capstone1]} / ${time[libc50]}") times as fast as capstone without details."
    echo
    walked=
    [ $have_ipt = 0 ] || walked=$(told "${ipt_flow[@]}" -t "$tmp/40.pt" "$tmp/code" "$base")
    echo "Seconds that pass, x40, into a pipe (\`| cat >/dev/null\`), with one thread; and how many times as long that is as"
    echo "libipt's block decoder takes to walk the same trace (${walked:-not installed}):"
    echo
    echo "| what | s | times libipt's walk |"
    echo "| --- | ---: | ---: |"
    pipe_row "ptxed" "${ptxed[@]}" --pt "$tmp/40.pt"
    pipe_row "ptxed --no-inst" "${ptxed[@]}" --no-inst --pt "$tmp/40.pt"
    pipe_row "ptdump" "$bin/ptdump" "$tmp/40.pt"
    pipe_row "write() of as many bytes as ptxed's" "$bin/bench/bench_write" "$text_bytes"
    echo
    echo "Seconds that pass, x100, with one thread and with $(nproc). The last column: how much more $(nproc) processes"
    echo "with one thread each do together than one alone, which is what this machine has to give."
    echo
    echo "| what | -j1 | -j$(nproc) | times | machine |"
    echo "| --- | ---: | ---: | ---: | ---: |"
    raw_trace=(--raw "$tmp/code:$base" --pt "$tmp/100.pt")
    jobs_row "--quiet" --quiet "${raw_trace[@]}"
    jobs_row "text" --event:ip "${raw_trace[@]}"
    jobs_row "--no-inst" --no-inst "${raw_trace[@]}"
    if record_hash "$tmp/long.data" 2000; then
        jobs_row "a recording, --quiet" --quiet "$tmp/long.data"
        jobs_row "a recording, text" "$tmp/long.data"
        rm "$tmp/long.data"
    fi
    echo
    records_rows
    perf_rows
    echo
    if [ -e "$shared/truth/cases" ]; then
        echo "Emulated programs with timing packets, compressed returns, filters and interrupts, each trace"
        echo "repeated to 1.5 MB; decoding alone:"
        echo
        echo "| trace | libipt, s | x counting, with events | x coverage |"
        echo "| --- | ---: | ---: | ---: |"
        emulated_rows
        echo
    fi
    echo "Cost and memory while the trace is repeated (ptxed -j1 --quiet, whole process):"
    echo
    echo "| times | s | s / time | peak memory, KiB |"
    echo "| ---: | ---: | ---: | ---: |"
    linear_rows
    echo
    echo "Cost and memory while the trace is repeated (ptxed --no-inst):"
    echo
    echo "| times | s | s / time | peak memory, KiB |"
    echo "| ---: | ---: | ---: | ---: |"
    for n in 1 10 100; do
        printf '| %d | %.3f | %s | %d |\n' $n "${time[m$n]}" "$(calc '%.4f' "${time[m$n]} / $n")" "${rss[m$n]}"
    done
} >"$tmp/results.md"
cp "$tmp/results.md" "$out"
cat "$out"
