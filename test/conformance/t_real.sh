#!/usr/bin/env bash
# Traces recorded by hardware.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=test/conformance/cases.sh
. "$(dirname "$0")/cases.sh"
need_shared real/cases
run_cases --cases "$shared/real/cases"
done_testing
