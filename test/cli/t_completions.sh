#!/usr/bin/env bash
# The completions as built, in the shells that are there.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
share=$PT_BUILD/share
mkdir "$tmp/dir" && cd "$tmp/dir" || exit 1
touch perf.data trace.pt
mkdir sysroot

breaks=$' \t\n"><=;|&(:' # readline's

# words LINE [BREAKS]: what bash offers at the end of the line
words() {
    local tool=${1%% *}
    bash -c '
        . "$1"
        COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDBREAKS=$3
        "_${2%% *}"
        printf "%s\n" "${COMPREPLY[@]}" | sort -u | xargs
    ' - "$share/bash-completion/completions/$tool" "$1" "${2-$breaks}"
}
offers() { # LINE WANTED
    local got
    got=$(words "$1")
    [ "$got" = "$2" ] && echo "ok: bash: $1" || fail "bash: $1: $got, not $2"
}
offers 'ptdump --no-p' '--no-pad'
offers 'ptdump --list-' '--list-aux --list-config --list-files'
offers 'ptdump --sb:f' 'filename' # the shell replaces what stands behind the colon
offers 'ptdump --pevent:vdso-' 'vdso-ia32 vdso-x32 vdso-x64'
offers 'ptdump tr' 'trace.pt'
offers 'ptdump --cpu ' ''
offers 'ptdump --no-pad --pevent:primary pe' 'perf.data'
offers 'ptxed --pt t' 'trace.pt'
offers 'ptxed --sysroot ' 'sysroot'
offers 'ptxed --stat:b' 'blocks'
offers 'ptcapture --backend ' 'auto perf step'
offers 'ptcapture --backend=s' 'step'
offers 'ptcapture -o pe' 'perf.data'
offers 'ptcapture --dur' '--duration'
offers 'ptcapture -- ./no-such' ''
[ "$(words 'ptdump --sb:f' ' ')" = --sb:filename ] || fail "bash, where : does not end a word"
words 'ptcapture -- ca' | grep -qw cat || fail "bash: a command after --"
for tool in ptdump ptxed ptcapture; do
    command -v "$tool" >/dev/null || continue
    "$tool" --help | grep -oE '^  (-[a-zA-Z], )?--[^ =[]*' | grep -oE -- '--.*' | sort -u >"$tmp/want"
    words "$tool --" ' ' | tr ' ' '\n' | sort -u >"$tmp/got"
    same "bash: all options of $tool" "$tmp/want" "$tmp/got"
    bash -n "$share/bash-completion/completions/$tool" || fail "bash: $tool: syntax"
    if command -v shellcheck >/dev/null; then
        check "bash: shellcheck $tool" shellcheck -s bash -S warning "$share/bash-completion/completions/$tool"
    fi
    if command -v zsh >/dev/null; then
        check "zsh: $tool: syntax" zsh -n "$share/zsh/site-functions/_$tool"
        # What _arguments gets: option names before [ or =, quoting undone by the shell.
        zsh -c '_arguments() { print -l -- "$@" }; . "$1"' - "$share/zsh/site-functions/_$tool" |
            sed 's/^\*//; s/\\:/:/g' | sed -n 's/^\(--[a-z][^=[]*\).*/\1/p' | sort -u >"$tmp/got"
        same "zsh: all options of $tool" "$tmp/want" "$tmp/got"
    fi
    if command -v fish >/dev/null; then
        fish --no-config -c 'source $argv[1]; complete -C "$argv[2] --"' "$share/fish/vendor_completions.d/$tool.fish" "$tool" |
            cut -f1 | sed 's/=$//' | sort -u >"$tmp/got"
        same "fish: all options of $tool" "$tmp/want" "$tmp/got"
    fi
done
if command -v fish >/dev/null; then
    fish --no-config -c 'source $argv[1]; complete -C "ptcapture --backend "' "$share/fish/vendor_completions.d/ptcapture.fish" | cut -f1 | sort | xargs >"$tmp/got"
    check "fish: words" grep -qx 'auto perf step' "$tmp/got"
fi
done_testing
