#!/usr/bin/env bash
# The commands of the guides: each ```sh block is run, from top to bottom, in a directory for each
# guide; every line must succeed.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
for tool in ptdump ptxed ptcapture gcc; do command -v "$tool" >/dev/null || skip "no $tool"; done
ptcapture -o "$tmp/probe" -- /bin/true >"$tmp/log" 2>&1 || skip "nothing can be recorded here: $(head -1 "$tmp/log")"
export PATH="$PT_SOURCE/script:$PATH"

for guide in "$PT_SOURCE"/README.md "$PT_SOURCE"/doc/*.md; do
    name=$(basename "$guide" .md)
    awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$guide" >"$tmp/$name.sh"
    [ -s "$tmp/$name.sh" ] || continue
    mkdir "$tmp/$name"
    if [ "$name" = README ]; then # "your program"
        (cd "$tmp/$name" && echo 'int main(void) { return 0; }' | gcc -o prog -x c - && ptcapture -q -- ./prog)
    fi
    (cd "$tmp/$name" && bash -e -x "$tmp/$name.sh") >"$tmp/out" 2>"$tmp/err"
    if [ $? -eq 0 ]; then echo "ok: $name"; else
        fail "$name"
        tail -15 "$tmp/out" "$tmp/err"
    fi
    case $name in
    getting-started)
        check "$name: ten squares" test "$(grep -c '<square+0x0>' "$tmp/$name/run.txt")" -eq 10
        check "$name: nothing is missing" grep -qx complete "$tmp/out"
        ;;
    decoding-elsewhere) # bundle, unpacked, sysroot, raw: the same instructions
        check "$name: the same instructions each time" test "$(grep '^insn:' "$tmp/out" | sort | uniq -c | awk '{ print $1 }' | xargs)" = 4
        ;;
    losses)
        check "$name: the cut is named" grep -q 'cut.data: .*the file is cut' "$tmp/err"
        check "$name: the missing file is named" grep -q 'no code .* the file cannot be used' "$tmp/err"
        ;;
    esac
    # Files that a guide names with .md exist.
    grep -oE '`[a-z-]+\.md`' "$guide" | tr -d '`' | while read -r other; do
        [ -e "$PT_SOURCE/doc/$other" ] || [ -e "$PT_SOURCE/doc/internals/$other" ] || echo "$other"
    done >"$tmp/lost"
    check "$name: other guides exist" test ! -s "$tmp/lost"
done
# Code in library.md is code of the examples.
awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$PT_SOURCE/doc/library.md" | grep -v '^ *$' | while IFS= read -r line; do
    grep -qxF -- "$line" "$PT_SOURCE"/doc/examples/*.c || echo "$line"
done >"$tmp/lost"
check "library: its code is of the examples ($(head -1 "$tmp/lost"))" test ! -s "$tmp/lost"
# Options that moving.md names are options.
for tool in ptdump ptxed ptcapture; do
    grep -oE "\`$tool [^\`]*\`" "$PT_SOURCE/doc/moving.md" | grep -oE -- ' --[a-z][a-z0-9.:-]*' | tr -d ' ' | sort -u | while read -r option; do
        "$tool" --help | grep -qE -- "^  (-., )?$option( |=|\$)" || echo "$option"
    done >"$tmp/lost"
    check "moving: options of $tool ($(xargs <"$tmp/lost"))" test ! -s "$tmp/lost"
done
done_testing
