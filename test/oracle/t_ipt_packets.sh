#!/usr/bin/env bash
# Our packet decoder and Debian's libipt agree at every offset of real, damaged and random bytes.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
command -v ipt_packets >/dev/null || skip 'no libipt-dev'
check 'random packets' ipt_packets 3000
files=()
for file in "$shared"/real/cases/*/*.bin "$shared"/real/cases/*/*.pt "$shared"/truth/cases/*/*.pt; do
    [ -e "$file" ] && files+=("$file")
done
if [ "${#files[@]}" -gt 0 ]; then
    check "${#files[@]} traces, whole and damaged" ipt_packets 150 "${files[@]}"
fi
done_testing
