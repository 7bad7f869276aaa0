#!/usr/bin/env bash
# The examples of the manual pages, run as they stand there, in a directory that has the files they
# name. Each must succeed; what is known of the output (28 instructions: test/cli/t_examples.sh) is compared.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
man=$PT_BUILD/share/man/man1
for tool in ptdump ptxed ptcapture cc; do command -v "$tool" >/dev/null || skip "no $tool"; done
export PATH="$PT_SOURCE/script:$PATH"

mkdir "$tmp/files" && cd "$tmp/files" || exit 1
example_make_trace . || fail "make_trace"
mv sum.pt trace.pt
mv sum.elf a.out
{ head -c 4096 /dev/zero; cat sum.bin; } >code.img
printf 'void finish(void) {}\nint main(void) { finish(); return 0; }\n' >prog.c
cc -O0 -o prog prog.c
# One of them names the sideband of CPU 0.
taskset -c 0 ptcapture -q -- ./prog 2>err || skip "nothing can be recorded here: $(head -1 err)"
cp perf.data one.data

# What needs other processes, other hosts, other programs, or hardware.
elsewhere() {
    case $1 in
    *4711* | *host1* | *slurm* | 'perf '* | *' jq '* | *intel_pt/cyc*) return 0 ;;
    esac
    return 1
}
run=0
for page in "$man"/*.1; do
    name=$(basename "$page" .1)
    awk '/^[.]SH/ { on = /EXAMPLES/ } on && /^[.](nf|EX)/ { code = 1; next } /^[.](fi|EE)/ { code = 0 } code && !/^[.]/' "$page" |
        sed 's/\\-/-/g; s/\\e/\\/g; s/\\(aq/'"'"'/g; s/\\&//g; s/^\$ //' | sed -e ':a' -e '/\\$/N; s/\\\n *//; ta' >"$tmp/$name.sh"
    cp one.data perf.data
    check "$name: has examples" test -s "$tmp/$name.sh"
    while IFS= read -r command; do
        [ -n "$command" ] || continue
        if elsewhere "$command"; then
            echo "not here: $name: $command"
            continue
        fi
        run=$((run + 1))
        bash -c "$command" >"$tmp/out" 2>"$tmp/err" </dev/null || fail "$name: $command: exit status $?: $(tail -2 "$tmp/err")"
        case $command in
        *'--quiet --stat --raw'*) check "$name: 28 instructions" grep -qx 'insn: 28.' "$tmp/out" ;;
        *'--elf a.out --symbols'*) check "$name: symbols" test "$(grep -c '<square+0x0>' "$tmp/out")" -eq 3 ;;
        *'echo fine') check "$name: fine" grep -qx fine "$tmp/out" ;;
        *'--lastip'*) check "$name: the address" grep -q 'tip  *2: .* ip  *0000000000401030$\|tip  *1: .*ip *0000000000401030$' "$tmp/out" ;;
        *'--select:from main'*) check "$name: main" grep -qE '^ +[0-9]+ .* 1  main \(' "$tmp/out" ;;
        esac
    done <"$tmp/$name.sh"
done
check "many were run ($run)" test "$run" -ge 12
done_testing
