#!/usr/bin/env bash
# Traces recorded by hardware.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/cases.sh"
need_shared real/cases
run_cases ' --pevent:' --cases "$shared/real/cases"
done_testing
