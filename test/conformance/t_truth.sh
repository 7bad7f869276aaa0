#!/usr/bin/env bash
# Emulated programs: the addresses are those that really ran.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/cases.sh"
need_shared truth/cases
run_cases '^$' --cases "$shared/truth/cases"
done_testing
