#!/usr/bin/env bash
# Emulated programs: the addresses are those that really ran.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=test/conformance/cases.sh
. "$(dirname "$0")/cases.sh"
need_shared truth/cases
run_cases --cases "$shared/truth/cases"
done_testing
