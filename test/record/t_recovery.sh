#!/usr/bin/env bash
# Damage: with one flipped bit in every four PSB periods (64 KiB where a PSB comes every 16), nine
# of ten instructions still come out, and none that did not run - but for those that the flipped bit
# itself tells of, until the trace contradicts it, at the next PSB at the latest. With --proven not even
# those, unless nothing contradicts it: then the bytes are what the processor writes for another run.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 1
seeds=${RECOVERY_SEEDS:-12}

# damaged NAME PERIOD LEAST TRACE CODE...: over all seeds, with and without --resync-on-error, and
# with --proven, when LEAST of the instructions have to come out.
damaged() {
    local name=$1 period=$2 proven=$3 trace=$4 flags seed
    shift 4
    for flags in 0 1 2; do
        for ((seed = 1; seed <= seeds; seed++)); do
            helper_recovery "$trace" "$period" "$seed" "$flags" "$@" || fail "$name: helper_recovery"
        done >numbers
        # ran N flips N right N wrong N astray N errors N denied N
        awk -v name="$name, flags $flags" -v flags=$flags -v proven="$proven" '
            { ran += $2; flips += $4; right += $6; wrong += $8; astray += $10; errors += $12; denied += $14 }
            END {
                printf "%s: %d flips, %d instructions ran, %.2f%% came out right, %d wrong (all %d before the next PSB, %d contradicted), %d errors\n",
                    name, flips, ran, 100 * right / ran, wrong, astray, denied, errors
                least = flags == 2 ? proven : 0.9
                exit !(flips && right >= least * ran && wrong == astray && (flags != 2 || !denied))
            }' numbers && echo "ok: $name" || fail "$name, flags $flags"
    done
}

for program in jumps strings signals; do
    gcc -O1 -w -static -pthread -o $program "$PT_SOURCE/test/record/programs/$program.c" || skip "no static libc"
    ptcapture -q --backend step -e intel_pt/psb_period=0/u -o $program.data -- ./$program >/dev/null || skip "ptcapture cannot step here"
    ptdump --extract-aux $program $program.data
    size=$(stat -c %s $program-aux-idx0.bin)
    [ "$size" -gt 8192 ] || { echo "note: $program: only $size bytes of trace"; continue; }
    damaged $program 8192 0.6 $program-aux-idx0.bin $program
done
mruby=$shared/real/cases/mruby
if [ -e "$mruby/trace.pt" ]; then
    seeds=2
    damaged "recorded by hardware" 65536 0.9 "$mruby/trace.pt" "$mruby/code.img:0x400000"
fi
done_testing
