#!/usr/bin/env bash
# Our TSC estimate and that of Debian's libipt agree over random timing packets.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
command -v ipt_clock >/dev/null || skip 'no libipt-dev'
for seed in 1 2 3; do
    check "seed $seed" ipt_clock 1500 $seed
done
done_testing
