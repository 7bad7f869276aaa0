#!/usr/bin/env bash
# The scripts around recordings: extract, options, mapped files, batches, bundles.
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"
scripts=$PT_SOURCE/script
cd "$tmp" || exit 1

if command -v shellcheck >/dev/null; then
    check shellcheck shellcheck "$scripts"/*.bash
fi

# --- every script: help, wrong usage, nothing there -----------------------------------
for script in perf-read-aux perf-read-sideband perf-get-opts perf-copy-mapped-files pt-batch pt-bundle pt-shards pt-slurm; do
    "$scripts/$script.bash" --help >out 2>err
    check "$script --help" test $? -eq 0 -a -s out -a ! -s err
    "$scripts/$script.bash" --no-such-option >out 2>err
    check "$script: unknown option" test $? -eq 2 -a ! -s out -a -s err
    "$scripts/$script.bash" nowhere >out 2>err
    check "$script: nothing there" test $? -eq 2 -a ! -s out -a -s err
done

# suggests SCRIPT WORD NEAREST (empty: none)
suggests() {
    "$scripts/$1.bash" "$2" >out 2>err
    check "$1 $2: suggests ${3:-nothing}" test $? -eq 2 -a "$(grep -o 'did you mean [^ ?]*' err)" = "${3:+did you mean $3}"
}
suggests pt-batch --outptu --output
suggests pt-batch --jops --jobs
suggests pt-batch --xyzzyx ''
suggests pt-shards --shrads --shards
suggests pt-slurm --sbtach --sbatch
suggests perf-read-aux --dryrun --dry-run
suggests perf-read-sideband --hepl --help
suggests perf-copy-mapped-files --dry-rn --dry-run
suggests perf-get-opts -x ''
suggests pt-bundle unpakc unpack
suggests pt-bundle xyzzyx ''

# --- extract and decode; names with blanks -----------------------------------------------
mkdir 'my dir'
cd 'my dir' || exit 1
helper_perfdata "$tmp/my dir/co de" >perf.data
check 'dry run' test "$("$scripts/perf-read-aux.bash" -n)" = 'ptdump --extract-aux perf.data perf.data'
check 'dry run writes nothing' test ! -e perf.data-aux-idx0.bin
check 'read aux' "$scripts/perf-read-aux.bash"
check 'read sideband' "$scripts/perf-read-sideband.bash" perf.data
check 'aux file' test "$(stat -c %s perf.data-aux-idx0.bin)" -eq 41
check 'sideband file' test -s perf.data-sideband-cpu0.pevent
opts=$("$scripts/perf-get-opts.bash" -m perf.data-sideband-cpu0.pevent)
want='--cpu 6/85/4 --pevent:time-shift 10 --pevent:time-mult 1024 --pevent:time-zero 0 --cpuid-0x15.ebx 84 --cpuid-0x15.eax 2 --nom-freq 21 --pevent:sample-config 0:0x10087 --pevent:sample-config 100:0x10087 --pevent:sample-config 200:0x10087 --pevent:primary perf.data-sideband-cpu0.pevent'
check "options ($opts)" test "$opts" = "$want"
# shellcheck disable=SC2086
ptdump $opts --sb:compact perf.data-aux-idx0.bin >extracted
check 'extracted: records' grep -q PERF_RECORD_ITRACE_START extracted
check 'extracted: packets as from the recording' test \
    "$(grep -vE 'PERF_RECORD|UNKNOWN' extracted)" = "$(ptdump perf.data | grep -v '^\[')"
cp perf.data 'a b.data'
"$scripts/perf-read-sideband.bash" 'a b.data'
check 'blank: file' test -s 'a b.data-sideband-cpu0.pevent'
"$scripts/perf-get-opts.bash" 'a b.data' >out 2>err
check 'blank: refused in one line' test $? -eq 2
check 'blank: -0' test "$("$scripts/perf-get-opts.bash" -0 'a b.data' | xargs -0 sh -c 'ptdump "$@" perf.data-aux-idx0.bin' sh | wc -l)" -eq "$(ptdump perf.data-aux-idx0.bin | wc -l)"
check 'snapshots' "$scripts/perf-read-aux.bash" -S -o snap perf.data
check 'snapshot file' cmp snap-aux-idx0.0.bin perf.data-aux-idx0.bin
mkdir kcore_dir
printf '%s\n' 'ffffffff81000000 T _stext' 'ffffffff80ffff00 T _text' 'ffffffff82000000 T other' >kcore_dir/kallsyms
: >kcore_dir/kcore
check 'kernel start' grep -q -- '--pevent:kcore kcore_dir/kcore --pevent:kernel-start 0xffffffff80ffff00' <("$scripts/perf-get-opts.bash" -k kcore_dir)

# --- mapped files ----------------------------------------------------------------------------
"$scripts/perf-copy-mapped-files.bash" -n -o root >out
check 'copy: dry run' test -s out -a ! -e root
check 'copy' "$scripts/perf-copy-mapped-files.bash" -o root
check 'copy: file' cmp "co de" "root$tmp/my dir/co de"
check 'copy: vdso' test "$(head -c 4 root/vdso-x64.so | tail -c 3)" = ELF
check 'options with sysroot' grep -q -- '--pevent:sysroot root --pevent:vdso-x64 root/vdso-x64.so' <("$scripts/perf-get-opts.bash" -s root)
echo saved >vdso-x64.so
echo too >vdso-ia32.so
check 'copy: a saved vdso' "$scripts/perf-copy-mapped-files.bash" -o root4
check 'copy: a saved vdso: x64' cmp vdso-x64.so root4/vdso-x64.so
check 'copy: a saved vdso: ia32' cmp vdso-ia32.so root4/vdso-ia32.so
rm vdso-x64.so vdso-ia32.so
mkdir hidden_dir
printf '%s\n' '0000000000000000 T _stext' '0000000000000000 T _text' >hidden_dir/kallsyms
check 'kernel start: hidden addresses' test "$("$scripts/perf-get-opts.bash" -k hidden_dir | grep -c kernel-start)" -eq 0
mv 'co de' hidden
"$scripts/perf-copy-mapped-files.bash" -o root2 2>err
check 'copy: missing file' test $? -eq 1
check 'copy: missing file is named' grep -q 'co de: not copied' err
mv hidden 'co de'

# Names that are hard on scripts, and one that would lead elsewhere.
mkdir -p odd/in
for odd in $'new\nline' ' leading and trailing ' "quote'd \"name\" \$HOME *" '-dash' '[x] (y)'; do
    helper_perfdata "$PWD/odd/$odd" >odd/odd.data
    rm -rf root3
    check "copy: $odd" "$scripts/perf-copy-mapped-files.bash" -o root3 odd/odd.data
    check "copy: $odd: the file" cmp "odd/$odd" "root3$PWD/odd/$odd"
    "$scripts/pt-bundle.bash" pack -o odd/odd.tar odd/odd.data >/dev/null
    ptxed odd/odd.data >here.txt 2>err
    mv "odd/$odd" odd/in/hidden
    "$scripts/pt-bundle.bash" decode odd/odd.tar >there.txt 2>err
    check "bundle: $odd" grep -q 401000 there.txt
    same "bundle: $odd: the same" here.txt there.txt
done
helper_perfdata "$PWD/odd/in/../gone (deleted)" >odd/odd.data
rm -f odd/gone*
"$scripts/perf-copy-mapped-files.bash" -o root3 odd/odd.data 2>err
check 'copy: out of the directory' test $? -eq 1
check 'copy: out of the directory: why' grep -q 'leads out of the directory' err
helper_perfdata "$PWD/odd/gone (deleted)" >odd/odd.data
rm -f odd/gone*
"$scripts/perf-copy-mapped-files.bash" -o root3 odd/odd.data 2>err
check 'copy: deleted' test $? -eq 1
check 'copy: deleted: named' grep -q 'gone (deleted): not copied' err
mkdir -p "odd/lib/modules"
for pack in 'xz' 'gzip' 'zstd -q'; do
    command -v "${pack%% *}" >/dev/null || continue
    helper_perfdata "$PWD/odd/lib/modules/m-1.ko" >/dev/null
    case $pack in gzip) end=gz ;; xz) end=xz ;; *) end=zst ;; esac
    helper_perfdata "$PWD/odd/lib/modules/m-1.ko.$end" >odd/odd.data
    $pack -c <odd/lib/modules/m-1.ko >"odd/lib/modules/m-1.ko.$end"
    rm -rf root3
    check "copy: module, $end: left to kcore" "$scripts/perf-copy-mapped-files.bash" -o root3 odd/odd.data
    check "copy: module, $end: not there" test ! -e "root3$PWD/odd"
    check "copy: module, $end: asked for" "$scripts/perf-copy-mapped-files.bash" -k -o root3 odd/odd.data
    check "copy: module, $end: unpacked" cmp odd/lib/modules/m-1.ko "root3$PWD/odd/lib/modules/m-1.ko"
done
# Beside a program of its own, as installed.
mkdir -p prefix/bin prefix/share/libpt
cp "$scripts"/*.bash prefix/bin/
cp "$scripts/common.sh" prefix/share/libpt/
ln -s "$PWD/prefix/bin/perf-read-aux.bash" prefix/link
check 'installed, by a link' test "$(prefix/link -n)" = 'ptdump --extract-aux perf.data perf.data'
"$scripts/perf-read-aux.bash" -n -- -x >out 2>err
check 'a name like an option: not there' grep -q 'x: no such recording' err
cp perf.data ./-x.data
check 'a name like an option' "$scripts/perf-read-aux.bash" -o dash -- -x.data
check 'a name like an option: trace' cmp dash-aux-idx0.bin perf.data-aux-idx0.bin

# --- bundles ------------------------------------------------------------------------------------
for suffix in tar tar.gz tar.xz; do
    check "pack $suffix" "$scripts/pt-bundle.bash" pack -o "b.$suffix" perf.data >/dev/null
done
"$scripts/pt-bundle.bash" list b.tar.gz >out
check 'bundle: recording' grep -qx 'perf.data' out
check 'bundle: code' grep -qF "sysroot$tmp/my dir/co de" out
check 'bundle: dump' test "$("$scripts/pt-bundle.bash" dump b.tar.xz)" = "$(ptdump perf.data)"
check 'unpack' "$scripts/pt-bundle.bash" unpack -C there b.tar.gz
check 'unpack: the same recording' cmp perf.data there/perf.data
printf 'x' | dd of=there/perf.data bs=1 seek=200 conv=notrunc 2>/dev/null
tar -C there -cf damaged.tar .
"$scripts/pt-bundle.bash" dump damaged.tar >out 2>err
check 'damaged bundle' test $? -eq 2
if ptxed --help | grep -q -- '--pevent:sysroot'; then
    ptxed perf.data >here.txt 2>/dev/null
    mv 'co de' hidden # as on another machine
    "$scripts/pt-bundle.bash" decode b.tar >elsewhere.txt 2>/dev/null
    mv hidden 'co de'
    check 'bundle: decodes to something' grep -q '401000' here.txt
    same 'bundle: decodes the same elsewhere' here.txt elsewhere.txt
fi

# --- batches ---------------------------------------------------------------------------------------
if command -v parallel >/dev/null; then
    cp perf.data 2.data
    head -c 700 perf.data >'cut 3.data'
    "$scripts/pt-batch.bash" -o out.d perf.data 2.data 'cut 3.data' -- --no-pad >report 2>err
    check 'batch: one of three is damaged' test $? -eq 1
    check 'batch: report' test "$(sort report | cut -c1-1 | tr -d '\n')" = 001 -o "$(sort report | cut -c1-1 | tr -d '\n')" = 002
    check 'batch: output' test "$(cat out.d/2.data.txt)" = "$(ptdump --no-pad 2.data)"
    check 'batch: messages' test -s 'out.d/cut 3.data.log'
    "$scripts/pt-batch.bash" -o out.d perf.data 2.data >report
    check 'batch: done already' grep -q 'all done' report
    mkdir -p x
    cp perf.data x/y.data
    cp perf.data x_y.data
    "$scripts/pt-batch.bash" -o out.d x/y.data x_y.data >report 2>err
    check 'batch: two that would write to one file' test $? -eq 2
    check 'batch: why' grep -q 'x_y.data: would write to out.d/x_y.data.txt as x/y.data does' err
    cp perf.data $'new\nline.data'
    "$scripts/pt-batch.bash" -o out.e -t ptxed x/y.data x/y.data $'new\nline.data' -- --no-inst --select:comm 'demo prog' >report 2>err
    check 'batch: a name twice, a newline, a blank in an option' test $? -eq 0
    check 'batch: once' test "$(find out.e -name '*.txt' | tr '\n' ' ' | wc -w)" -eq 3 # one has a newline
    check 'batch: output of both' cmp out.e/x_y.data.txt $'out.e/new\nline.data.txt'
    check 'batch: again' test "$("$scripts/pt-batch.bash" -f -j 1 -o out.d perf.data 2.data | wc -l)" -eq 2
fi

# --- hardware ---------------------------------------------------------------------------------------
real=$shared/real/perfdata/intel_pt-4.14.perf.data
cases=$shared/real/cases/quipper
[ -e "$real" ] || done_testing
cd "$tmp" || exit 1
cp "$real" perf.data
"$scripts/perf-read-aux.bash" && "$scripts/perf-read-sideband.bash" || fail 'hardware: extract'
for file in "$cases"/perf.data-*; do
    same "hardware: ${file##*/}" "$file" "${file##*/}"
done
# The options of the reference's script; its awk rounds time-zero to 53 bits.
"$scripts/perf-get-opts.bash" -m perf.data-sideband-cpu3.pevent | xargs -n 1 |
    sed 's/^18446744041015200657$/18446744041015199744/' |
    grep -vE '^(--pevent:(primary|secondary|kernel-start)|perf.data.*|0xffffffffb9600000)$' >got
sed -n 's/.* ptdump \(.* --mtc-freq 0x3\) --sb:compact --sb:time --sb:offset .*/\1/p' "$cases/cmds" | xargs -n 1 >want
same 'hardware: options' want got
done_testing
