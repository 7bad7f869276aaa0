#!/usr/bin/env bash
# Every fuzz target over its seeds, and over what fuzzing has found before.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"

python3 "$PT_SOURCE/test/fuzz/seeds.py" "$tmp" || fail "seeds.py"
for source in "$PT_SOURCE"/test/fuzz/fuzz_*.c; do
    what=$(basename "$source" .c)
    what=${what#fuzz_}
    inputs=()
    for dir in "$tmp/$what" "$PT_SOURCE/test/fuzz/corpus/$what"; do
        [ -d "$dir" ] && inputs+=("$dir")
    done
    if "replay_$what" "${inputs[@]}" >"$tmp/out" 2>"$tmp/err"; then
        echo "ok: $what: $(cat "$tmp/out")"
    else
        fail "$what: $(tail -3 "$tmp/err" | tr '\n' ' ')"
    fi
done
done_testing
