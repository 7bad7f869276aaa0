# shellcheck shell=bash disable=SC2154
# run_cases [--cases DIR]: run the checks of reference texts against our build; each failing one
# fails.
run_cases() {
    local list
    list=$("$shared/conformance/run" --bin "$PT_BUILD/bin" --timeout 100 --list "$@")
    echo "${list##*$'\n'}"
    case ${list##*$'\n'} in
    [1-9]*' passed, '*) ;;
    *) fail "the checks did not run" ;;
    esac
    while IFS= read -r line; do
        fail "$line"
    done < <(sed '$d' <<<"$list")
}
