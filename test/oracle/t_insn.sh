#!/usr/bin/env bash
# Our instruction decoder beside objdump and capstone: the executable sections of large
# programs, 16-bit code from gcc, and generated code in the three modes.
#   t_insn.sh            a bounded selection (about half a minute)
#   t_insn.sh --full     cc1 and more, and 25 times the generated code
# shellcheck source=test/lib.sh
. "$(dirname "$0")/../lib.sh"

command -v objdump >/dev/null || skip "no objdump"
full=0
[ "${1:-}" = --full ] && full=1
count=$((full ? 1000000 : 40000)) # times 32 bytes, three modes
seed=${PT_SEED:-1}
objdump_options=(-M intel64 -w -z --insn-width=15)

# show LOG PATTERN NAME: the summary; all of the log if it lacks the pattern.
show() {
    if grep -q "$2" "$1"; then
        echo "ok: $(grep ' unexplained' "$1")"
        [ $full = 0 ] || grep '^ *[0-9]* ' "$1" || true
    else
        fail "$3"
        head -60 "$1"
    fi
}
# elf FILE [data]: objdump must know every instruction unless there is data among them.
elf() {
    local pattern=' 0 refused, 0 unexplained'
    [ -e "$1" ] || { echo "no $1"; return 0; }
    [ "${2:-}" = data ] && pattern=' 0 unexplained'
    objdump -d "${objdump_options[@]}" "$1" | insn_check objdump "$1" >"$tmp/log"
    show "$tmp/log" "$pattern" "objdump $1"
    insn_check capstone "$1" >"$tmp/log"
    show "$tmp/log" ' 0 unexplained' "capstone $1"
}
# raw FILE BITS MACHINE
raw() {
    objdump -D -b binary -m "$3" "${objdump_options[@]}" "$1" | insn_check objdump "$1" "$2" >"$tmp/log"
    show "$tmp/log" ' 0 unexplained' "objdump, $2-bit code"
    insn_check capstone "$1" "$2" >"$tmp/log"
    show "$tmp/log" ' 0 unexplained' "capstone, $2-bit code"
}

elf /lib/x86_64-linux-gnu/libc.so.6
elf /lib64/ld-linux-x86-64.so.2
elf /bin/busybox
elf /lib/x86_64-linux-gnu/libcrypto.so.3 data
elf /usr/lib32/libc.so.6
elf "$PT_BUILD/bin/ptxed"
if [ $full = 1 ]; then
    elf "$(gcc -print-prog-name=cc1)"
    elf /usr/bin/python3.11
    elf /usr/lib/x86_64-linux-gnu/libLLVM-14.so.1 data
    elf /usr/lib32/ld-linux.so.2
fi
# 32-bit and 16-bit code from the compiler.
for bits in 32 16; do
    if gcc "-m$bits" -O2 -ffreestanding -fno-pic -I "$PT_SOURCE/libpt/include" -I "$PT_SOURCE/libpt/src" \
        -c "$PT_SOURCE/libpt/src/insn/decode.c" -o "$tmp/code.o" 2>"$tmp/errors"; then
        objcopy -O binary -j .text "$tmp/code.o" "$tmp/code.bin"
        raw "$tmp/code.bin" "$bits" "$([ $bits = 32 ] && echo i386 || echo i8086)"
    else
        echo "no gcc -m$bits: $(head -1 "$tmp/errors")"
    fi
done
for mode in 64:i386:x86-64 32:i386 16:i8086; do
    insn_check generate "${mode%%:*}" "$seed" "$count" >"$tmp/code.bin" || fail "generate"
    raw "$tmp/code.bin" "${mode%%:*}" "${mode#*:}"
done
done_testing
