#!/usr/bin/env bash
# Traces recorded by hardware.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=test/conformance/cases.sh
. "$(dirname "$0")/cases.sh"
need_shared real/cases
# Not compared: the number of blocks of mruby. In the reference it depends on what its cache of code
# has seen before (the first time through new code it ends a block at calls and backward jumps).
run_cases ' --pevent:|^mruby: .* --stat ' --cases "$shared/real/cases"
done_testing
