#!/usr/bin/env bash
# Texts of the reference tools for small traces.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=test/conformance/cases.sh
. "$(dirname "$0")/cases.sh"
need_shared conformance/cases
run_cases
done_testing
