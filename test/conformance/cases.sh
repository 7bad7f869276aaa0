# shellcheck shell=bash disable=SC2154
# run_cases [PATTERN] [--cases DIR]: run the checks of reference texts against our build; fail
# on any failing check whose line (CASE: TOOL ARGUMENTS) does not match PATTERN, which names
# what is still to come.
run_cases() {
    local pending=$1 list
    shift
    list=$("$shared/conformance/run" --bin "$PT_BUILD/bin" --timeout 100 --list "$@")
    echo "${list##*$'\n'}"
    case ${list##*$'\n'} in
    [1-9]*' passed, '*) ;;
    *) fail "the checks did not run" ;;
    esac
    while IFS= read -r line; do
        fail "$line"
    done < <(sed '$d' <<<"$list" | grep -vE "$pending")
}
