#!/usr/bin/env bash
# The kernel backend in a real kernel, against a fake intel_pt PMU that numbers what it writes: a
# guest makes the recordings (fake_pt_guest.sh), perf and the numbers judge them (fake_pt_check.py).
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"

need_shared fake-pt/run.sh
guest=$shared/fake-pt/run.sh
command -v python3 >/dev/null || skip "no python3"
# Installs what it needs; without root or network it cannot.
bash "$guest" -b -p >"$tmp/install" 2>&1 || skip "no guest here: $(tail -n 1 "$tmp/install")"
command -v perf >/dev/null || skip "no perf"

here=$PT_SOURCE/test/record
umask 022 # what is packed for the guest is for its other users, too
# A PMU that knows AUX sampling, too: its own cache beside the installed one, built when it is new.
cache=${FAKE_PT_CACHE:-/var/tmp/fake-pt}
kernel=$(cat "$cache/kver")
own=$cache/libpt
mkdir -p "$own/source" "$own/$kernel"
# Another test may be using it: what is right already stays.
copy() { cmp -s "$1" "$2" || cp -p "$1" "$2"; }
for file in vmlinuz kernel perf.cpio; do
    [ -e "$own/$kernel/$file" ] || ln -sf "$cache/$kernel/$file" "$own/$kernel/"
done
copy "$cache/kver" "$own/kver"
for file in Kbuild init run.sh; do copy "$shared/fake-pt/$file" "$own/source/$file"; done
sed -e "/^static int __init fpt_init/e cat '$here/fake_pt_sampling.h'" \
    -e '/return perf_pmu_register(/i if (sampling_init(&fpt_pmu)) return -EINVAL;' \
    "$shared/fake-pt/fake_intel_pt.c" >"$tmp/fake_intel_pt.c"
copy "$tmp/fake_intel_pt.c" "$own/source/fake_intel_pt.c"
export FAKE_PT_CACHE=$own
guest=$own/source/run.sh

# The guest's kernel runs 32-bit programs, and INT 0x80 from 64-bit ones; this machine's may not.
programs=()
gcc -m32 -DSTAY32 -O1 -w -static -o "$tmp/small32" "$here/programs/small32.c" && programs+=(-i "$tmp/small32")
gcc -O1 -w -static -o "$tmp/int80" "$here/programs/int80.c" && programs+=(-i "$tmp/int80")
bash "$guest" -p -t 600 -o "$tmp/pt" -i "$PT_BUILD/bin/ptcapture" \
    -i "$PT_BUILD/bin/test/helper_busy" -i "$PT_BUILD/bin/test/helper_bpf" -i "$here/fake_pt_guest.sh" \
    "${programs[@]}" \
    -s "sh ./fake_pt_guest.sh" >"$tmp/pt.log" 2>&1
status=$?
[ $status -ne 125 ] || skip "the guest does not work here: $(tail -n 1 "$tmp/pt.log")"
check "the guest ends in time" [ $status -eq 0 ]
check "its kernel does not complain" [ -z "$(grep 'guest kernel:' "$tmp/pt.log")" ]
python3 "$here/fake_pt_check.py" pt "$tmp/pt" || fail "recordings with the PMU"
python3 "$here/fake_pt_check.py" none "$tmp/pt/none" || fail "recordings without a PMU"
done_testing
