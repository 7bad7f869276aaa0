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
# The guest's kernel runs 32-bit programs, and INT 0x80 from 64-bit ones; this machine's may not.
programs=()
gcc -m32 -DSTAY32 -O1 -w -static -o "$tmp/small32" "$here/programs/small32.c" && programs+=(-i "$tmp/small32")
gcc -O1 -w -static -o "$tmp/int80" "$here/programs/int80.c" && programs+=(-i "$tmp/int80")
# boot NAME ARGUMENT PARAMETERS
boot() {
    bash "$guest" -p -t 600 -o "$tmp/$1" -m "$3" -i "$PT_BUILD/bin/ptcapture" \
        -i "$PT_BUILD/bin/test/helper_busy" -i "$PT_BUILD/bin/test/helper_bpf" -i "$here/fake_pt_guest.sh" \
        "${programs[@]}" \
        -s "sh ./fake_pt_guest.sh $2" >"$tmp/$1.log" 2>&1
    local status=$?
    [ $status -ne 125 ] || skip "the guest does not work here: $(tail -n 1 "$tmp/$1.log")"
    check "the guest ($2) ends in time" [ $status -eq 0 ]
    check "its kernel does not complain" [ -z "$(grep 'guest kernel:' "$tmp/$1.log")" ]
}
boot pt pt ''
python3 "$here/fake_pt_check.py" pt "$tmp/pt" || fail "recordings with the PMU"
boot none none none
python3 "$here/fake_pt_check.py" none "$tmp/none" || fail "recordings without a PMU"
done_testing
