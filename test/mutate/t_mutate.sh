#!/usr/bin/env bash
# Damaged versions of real files: they end, in time and memory that their size allows, and what is cut
# is told. A sample here; MUTATE=full for all of them, or every MUTATE_EVERY-th (script/mutate.sh,
# under ASan and UBSan).
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 1
full=${MUTATE:-} every=${MUTATE_EVERY:-1}
total=0

# mutate KIND FILE SAMPLE [CODE]: every byte with MUTATE=full, else every SAMPLE-th
mutate() {
    local kind=$1 file=$2 step=$3 out size
    if [ "$full" = full ]; then
        # Of large files a part: each version is written and read whole.
        size=$(stat -c %s "$file") step=$every
        [ "$size" -gt 262144 ] && case $kind in
        prefix) step=$(((size / 20000 + 1) * every)) ;;
        bytes) step=$((5 * every)) ;;
        esac
    fi
    shift 3
    if out=$(timeout 7200 helper_mutate "$kind" "$file" "$step" "$@" 2>err); then
        echo "ok: $kind $(basename "$file"), step $step: $out"
        # shellcheck disable=SC2086
        set -- $out
        total=$((total + $2))
    else
        fail "$kind $file: $(tail -5 err)"
    fi
}

helper_perfdata code >small.data
helper_perfdata code lost >lost.data
helper_perfdata code two >two.data
helper_perfdata code pipe >pipe.data
for file in small.data lost.data two.data pipe.data; do
    mutate prefix $file 3
    mutate bytes $file 5
    mutate swaps $file 10
done
mutate bytes "$(command -v helper_perfdata)" 499
mutate prefix "$(command -v helper_perfdata)" 20011
if echo 'int main(void) { return 0; }' | gcc -x c -o small.elf -; then
    mutate prefix small.elf 401
    mutate bytes small.elf 1999
    mutate swaps small.elf 50
fi
if ptcapture -q --backend step -e intel_pt/psb_period=0/u -o real.data -- /bin/true; then
    mutate prefix real.data 997
    mutate bytes real.data 241
    mutate swaps real.data 50
    ptdump --extract-aux real real.data
    mutate prefix real-aux-idx0.bin 997
    mutate swaps real-aux-idx0.bin 20
fi
for file in "$shared"/real/perfdata/*; do
    [ -f "$file" ] || continue
    mutate prefix "$file" $(($(stat -c %s "$file") / 40 + 1))
    mutate bytes "$file" 499
    mutate swaps "$file" 50
done
cases=$shared/real/cases
if [ -e "$cases/hello/pt.bin" ]; then
    for kind in prefix bytes swaps; do
        mutate $kind "$cases/hello/pt.bin" 7 "$cases/hello/hello"
    done
fi
if [ "$full" = full ]; then
    for kind in bytes swaps prefix; do
        for trace in "$cases"/quipper/*-aux-*.bin; do
            [ -e "$trace" ] && mutate $kind "$trace" 1
        done
        [ -e "$cases/mruby/trace.pt" ] && mutate $kind "$cases/mruby/trace.pt" 1 "$cases/mruby/code.img"
    done
fi

# The tools: every cut of a recording has a status that is not 0, and says why.
silent=0 n=0 step=97
[ "$full" = full ] && step=$every
size=$(stat -c %s small.data)
for ((i = 0; i < size; i += step)); do
    head -c $i small.data >cut.data
    for tool in ptdump 'ptxed --raw code:0x401000'; do
        n=$((n + 1))
        # shellcheck disable=SC2086
        timeout 60 $tool cut.data >/dev/null 2>err
        status=$?
        [ $status -eq 1 ] || [ $status -eq 2 ] && [ -s err ] || {
            silent=$((silent + 1))
            echo "note: $tool: $i bytes: status $status"
        }
    done
done
check "tools: $n cuts are all reported" test $silent -eq 0
echo "$total versions"
done_testing
