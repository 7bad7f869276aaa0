#!/usr/bin/env bash
# Instructions by function, and between two marks: numbers by hand, and those that come of counting
# the text.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 1
command -v ptcapture >/dev/null || skip "no ptcapture"
cat >sum.c <<'END'
static volatile int v;
__attribute__((noinline)) static int square(int x) { return x * x; }
__attribute__((noinline)) int first(void) { v = 1; return v; }
__attribute__((noinline)) int second(void) { v = 2; return v; }
__attribute__((noinline)) static int sum(int n)
{
    int s = 0;
    for (int i = 1; i <= n; i++)
        s += square(i + v);
    return s;
}
int main(void)
{
    int s = sum(3);
    first();
    s += sum(10);
    second();
    s += sum(4);
    return s == 0;
}
END
cc -O1 -fno-inline -o sum sum.c || skip "no compiler"
ptcapture -q -o sum.data -- ./sum 2>err || skip "nothing can be recorded here: $(head -1 err)"
: >empty

# Names of a stripped program come from what was split off it, found by build id, below the sysroot.
cc -O1 -fno-inline -static -Wl,--build-id=sha1 -o whole sum.c 2>err || cc -O1 -fno-inline -Wl,--build-id=sha1 -o whole sum.c
id=$(readelf -n whole | sed -n 's/.*Build ID: //p')
split=root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
mkdir -p "$(dirname "$split")" "root$tmp"
objcopy --only-keep-debug whole "$split"
strip -o bare whole
cp bare "root$tmp/"
if ptcapture -q -o bare.data -- ./bare 2>err; then
    check "stripped: no name" test "$(ptxed --symbols --sysroot / bare.data 2>err | grep -c '<square+')" -eq 0
    # 17 calls: sum(3), sum(10), sum(4).
    check "stripped: names from /usr/lib/debug" test "$(ptxed --symbols --sysroot root bare.data 2>err | grep -c '<square+0x0>')" -eq 17
    cp whole "$split" # the same build, but not split: its tables will do, too
    check "stripped: names from a whole file" test "$(ptxed --symbols --sysroot root bare.data 2>err | grep -c '<square+0x0>')" -eq 17
    printf '\x7fELF rubbish' >"$split"
    check "stripped: rubbish gives no name" test "$(ptxed --symbols --sysroot root bare.data 2>err | grep -c '<square+')" -eq 0
    rm "$split"
    ptxed --symbols --sysroot root bare.data >out 2>err
    check "stripped: that no such file is there is no error" test "$? $(grep -c 'cannot read' err)" = '0 0'
    mkdir "$split"
    for how in --symbols "--symbols -j2 --segment-size 64" "--quiet --stat:functions"; do
        # shellcheck disable=SC2086
        ptxed $how --sysroot root bare.data >out 2>err
        check "stripped: one that cannot be read is: $how" test $? -eq 1 -a -s out
        check "and is named" grep -qx "ptxed: cannot read root/.*/${id:2}.debug: Is a directory. Names are missing." err
    done
    rmdir "$split"
    objcopy --only-keep-debug sum "$split"
    check "stripped: another build gives no name" test "$(ptxed --symbols --sysroot root bare.data 2>err | grep -c '<square+')" -eq 0
fi

# counts FILE: "instructions function" of text with symbols
counts() { grep -oE '^[0-9a-f]{16} <[^ ]+\+0x[0-9a-f]+>' "$1" | sed 's/^[^<]*<//; s/+0x[0-9a-f]*>$//' | sort | uniq -c | awk '{ print $1, $2 }' | sort; }
# table FILE: the same of --stat:functions, names added up over files
table() { awk 'NR > 1 && $4 != "[no" { n[$4] += $1 } END { for (f in n) print n[f], f }' "$1" | sort; }
# ran FUNCTION: "instructions entries" of the table
ran() { awk -v f="$1" '$4 == f { print $1, $3 }' table; }

ptxed --no-inst --symbols sum.data >text 2>err || fail "exit status $?: $(head -1 err)"
ptxed --quiet --stat --stat:functions sum.data >table 2>err || fail "--stat:functions: exit status $?"
counts text >want
sed -n '/insns/,$p' table >t && table t >got
same "all functions" want got
check "there are many" test "$(wc -l <got)" -gt 20
n=$(objdump -d --no-show-raw-insn sum | awk '/<square>:/ { on = 1; next } /^$/ { on = 0 } on' | grep -vcE 'nop|cs ') # without padding
set -- "$(ran square)"
check "square: 17 times $n instructions ($1)" test "$1" = "$((17 * n)) 17"
check "sum: three times" test "$(ran sum | cut -d' ' -f2)" = 3
check "sums up" test "$(awk '/^insn:/ { n = $2 + 0 } /%/ && $1 + 0 { s += $1 } END { print s - n }' table)" = 0

# The example that reads recordings counts the same.
if command -v example_read_recording >/dev/null; then
    example_read_recording sum.data >example || fail "read_recording: exit status $?"
    check "read_recording" test "$(awk '{ n += $5; e += $7 } END { print n, e }' example)" = "$(sed -n 's/^insn: \(.*\)[.]$/\1 0/p' table)"
    example_read_recording sum.c 2>err && fail "read_recording: not a recording: exit status 0"
    check "read_recording: not a recording" grep -q '^read_recording: sum.c: not a perf.data file' err
fi
# Between two functions.
ptxed --quiet --stat:functions --select:from first --select:to second sum.data >table 2>err || fail "marks: exit status $?"
check "between first and second: 10 squares ($(ran square))" test "$(ran square | cut -d' ' -f2)" = 10
check "first is in it" test "$(ran first | cut -d' ' -f2)" = 1
check "second is not" test -z "$(ran second)"
ptxed --no-inst --symbols --select:from first --select:to second sum.data >text 2>err
table table >got && counts text >want
same "between: the same as text" want got
# By address: the same.
address=$(ptxed --no-inst --symbols sum.data | sed -n 's/^\([0-9a-f]*\) <second+0x0>$/0x\1/p')
ptxed --no-inst --symbols --select:from first --select:to "$address" sum.data >text2 2>err
same "an address" text text2
# As JSON.
ptxed --quiet --json --stat:functions --select:from first --select:to second sum.data >json 2>err
check "as JSON" grep -qx "{\"type\":\"function\",\"insns\":$((10 * n)),\"entries\":10,\"function\":\"square\",\"file\":\"$tmp/sum\"}" json
# A mark that is not there.
ptxed --select:from nowhere sum.data >out 2>err
check "a mark that is not passed: exit status" test $? -eq 2
check "a mark that is not passed: is named" grep -q -- '--select:from nowhere: it was never passed' err
same "a mark that is not passed: no text" empty out
ptxed --quiet --select:to nowhere sum.data >out 2>err
check "an end that is not passed" test $? -eq 0
check "an end that is not passed: is named" grep -q -- '--select:to nowhere: it was never passed' err
for mark in '' 12x ptwrite:; do
    ptxed --select:from "$mark" sum.data >out 2>err
    check "bad mark '$mark'" test $? -eq 2
done
done_testing
