#!/usr/bin/env bash
# Every instruction and event of recorded and emulated traces as Debian's libipt has them.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
command -v ipt_blocks >/dev/null || skip "no libipt"
need_shared real/cases
need_shared truth/cases

# agree NAME EXPECTED-PATTERN ARGUMENTS...
agree() {
    local name=$1 pattern=$2 out
    shift 2
    if out=$(timeout 100 ipt_blocks "$@") && grep -qE "$pattern" <<<"$out"; then
        echo "ok: $name: $out"
    else
        fail "$name: $out"
    fi
}

mruby=$shared/real/cases/mruby
agree mruby '^insns 6334131 events [0-9]+ errors 0 ' raw "$mruby/code.img:0x400000" "$mruby/trace.pt"
agree 'mruby, by instructions' '^insns 6334131 events [0-9]+ errors 0 ' slow 1 raw "$mruby/code.img:0x400000" "$mruby/trace.pt"

# The options of ptxed in a case's list of commands, as ipt_blocks has them.
declare -A option=([--elf]=elf [--mtc-freq]=mtc [--nom-freq]=nom [--cpuid-0x15.eax]=eax [--cpuid-0x15.ebx]=ebx)
for dir in "$shared"/truth/cases/*/; do
    cd "$dir" || exit 1
    read -r -a words < <(grep -h ' ptxed ' cmds | head -1)
    args=() from='' trace=''
    for ((i = 2; i < ${#words[@]}; i++)); do
        case ${words[i]} in
        --pt) trace=${words[i + 1]} ;;
        --filter:addr0_a) from=${words[i + 1]} ;;
        --filter:addr0_b) args+=(filter "$from-${words[i + 1]}") ;;
        *) [ -z "${option[${words[i]}]:-}" ] || args+=("${option[${words[i]}]}" "${words[i + 1]}") ;;
        esac
    done
    agree "$(basename "$dir")" '^insns [1-9][0-9]* ' "${args[@]}" "$trace"
done
done_testing
