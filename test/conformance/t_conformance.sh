#!/usr/bin/env bash
# Texts of the reference tools for small traces.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/cases.sh"
need_shared conformance/cases
run_cases '^pevent-'
done_testing
