/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * insn_rows.h - instruction rows: bytes, modes, size (or status), class, kind, displacement.
 *
 * The expected values come from the manuals ("Opcode Map", "Instruction Format", "Intel APX",
 * AMD64 vol. 3).
 */
#ifndef TEST_UNIT_INSN_ROWS_H
#define TEST_UNIT_INSN_ROWS_H

#include <pt/insn.h>

enum { M16 = 1, M32 = 2, M64 = 4, LEGACY = M16 | M32, WIDE = M32 | M64, ALL = LEGACY | M64 };

struct row {
    const char *hex;
    unsigned modes;
    int size; /* or a status */
    int iclass, kind;
    int64_t disp;
};

#define OTHER    PTL_INSN_OTHER
#define CALL     PTL_INSN_CALL
#define CALL_IND PTL_INSN_CALL_IND
#define RET      PTL_INSN_RET
#define JMP      PTL_INSN_JMP
#define JMP_IND  PTL_INSN_JMP_IND
#define JCC      PTL_INSN_JCC
#define FAR_CALL PTL_INSN_FAR_CALL
#define FAR_RET  PTL_INSN_FAR_RET
#define FAR_JMP  PTL_INSN_FAR_JMP
#define CR3      PTL_INSN_MOV_CR3
#define PTW      PTL_INSN_PTWRITE
#define K(name)  PTL_KIND_##name
#define BAD      PTL_BAD_INSN

static const struct row branches[] = {
    /* near calls and returns */
    {"e8 10 00 00 00", WIDE, 5, CALL, 0, 0x10},
    {"e8 f0 ff ff ff", WIDE, 5, CALL, 0, -0x10},
    {"e8 00 00 00 80", M64, 5, CALL, 0, -0x80000000ll},
    {"e8 fe ff", M16, 3, CALL, 0, -2},
    {"66 e8 fe ff", M32, 4, CALL, 0, -2},
    {"66 e8 fe ff ff ff", M16 | M64, 6, CALL, 0, -2},
    {"48 e8 01 00 00 00", M64, 6, CALL, 0, 1},
    {"66 48 e8 01 00 00 00", M64, 7, CALL, 0, 1},
    {"f2 e8 01 00 00 00", WIDE, 6, CALL, 0, 1},
    {"67 e8 01 00 00 00", WIDE, 6, CALL, 0, 1},
    {"ff d0", ALL, 2, CALL_IND, 0, 0},
    {"41 ff d3", M64, 3, CALL_IND, 0, 0},
    {"ff 15 00 01 00 00", WIDE, 6, CALL_IND, 0, 0},
    {"ff 16 00 01", M16, 4, CALL_IND, 0, 0},
    {"67 ff 16 00 01", M32, 5, CALL_IND, 0, 0},
    {"67 ff 16", M64, 3, CALL_IND, 0, 0},
    {"3e ff d0", ALL, 3, CALL_IND, 0, 0},
    {"c3", ALL, 1, RET, 0, 0},
    {"f3 c3", ALL, 2, RET, 0, 0},
    {"f2 c3", ALL, 2, RET, 0, 0},
    {"66 c3", ALL, 2, RET, 0, 0},
    {"c2 10 00", ALL, 3, RET, 0, 0},
    /* near jumps */
    {"eb fe", ALL, 2, JMP, 0, -2},
    {"eb 7f", ALL, 2, JMP, 0, 127},
    {"e9 10 00 00 00", WIDE, 5, JMP, 0, 0x10},
    {"e9 00 80", M16, 3, JMP, 0, -0x8000},
    {"ff e0", ALL, 2, JMP_IND, 0, 0},
    {"3e ff e0", ALL, 3, JMP_IND, 0, 0},
    {"3e 41 ff e3", M64, 4, JMP_IND, 0, 0},
    {"f2 ff e0", ALL, 3, JMP_IND, 0, 0},
    {"ff 24 c5 00 00 40 00", WIDE, 7, JMP_IND, 0, 0},
    {"ff 64 24 08", WIDE, 4, JMP_IND, 0, 0},
    {"ff 64 24", M16, 3, JMP_IND, 0, 0},
    /* conditional */
    {"70 05", ALL, 2, JCC, 0, 5},
    {"7f 80", ALL, 2, JCC, 0, -128},
    {"2e 75 fb", ALL, 3, JCC, 0, -5},
    {"3e 75 fb", ALL, 3, JCC, 0, -5},
    {"66 75 fb", ALL, 3, JCC, 0, -5},
    {"0f 80 04 00 00 00", WIDE, 6, JCC, 0, 4},
    {"0f 8f fc ff ff ff", WIDE, 6, JCC, 0, -4},
    {"0f 8f fc ff", M16, 4, JCC, 0, -4},
    {"66 0f 8f fc ff", M32, 5, JCC, 0, -4},
    {"66 0f 8f fc ff ff ff", M16 | M64, 7, JCC, 0, -4},
    {"48 0f 84 fc ff ff ff", M64, 7, JCC, 0, -4},
    {"f2 0f 84 fc ff ff ff", WIDE, 7, JCC, 0, -4},
    {"e0 fe", ALL, 2, JCC, 0, -2},
    {"e1 fe", ALL, 2, JCC, 0, -2},
    {"e2 fe", ALL, 2, JCC, 0, -2},
    {"e3 fe", ALL, 2, JCC, 0, -2},
    {"67 e3 fe", ALL, 3, JCC, 0, -2},
    /* far */
    {"9a 01 02 03 04 05 06", M32, 7, FAR_CALL, 0, 0},
    {"9a 01 02 03 04", M16, 5, FAR_CALL, 0, 0},
    {"66 9a 01 02 03 04", M32, 6, FAR_CALL, 0, 0},
    {"66 9a 01 02 03 04 05 06", M16, 8, FAR_CALL, 0, 0},
    {"9a 01 02 03 04 05 06", M64, 7, OTHER, 0, 0},
    {"ea 01 02 03 04 05 06", M32, 7, FAR_JMP, 0, 0},
    {"ea 01 02 03 04", M16, 5, FAR_JMP, 0, 0},
    {"ea 01 02 03 04 05 06", M64, 7, OTHER, 0, 0},
    {"ff 18", ALL, 2, FAR_CALL, 0, 0},
    {"48 ff 1c 24", M64, 4, FAR_CALL, 0, 0},
    {"ff d8", ALL, 2, OTHER, 0, 0}, /* /3 with a register is undefined */
    {"ff 28", ALL, 2, FAR_JMP, 0, 0},
    {"ff e8", ALL, 2, OTHER, 0, 0},
    {"cb", ALL, 1, FAR_RET, 0, 0},
    {"48 cb", M64, 2, FAR_RET, 0, 0},
    {"ca 04 00", ALL, 3, FAR_RET, 0, 0},
    {"cd 80", ALL, 2, FAR_CALL, K(INT), 0},
    {"cc", ALL, 1, FAR_CALL, K(INT), 0},
    {"f1", ALL, 1, FAR_CALL, K(INT), 0},
    {"ce", LEGACY, 1, FAR_CALL, K(INT), 0},
    {"ce", M64, 1, OTHER, 0, 0},
    {"cf", ALL, 1, FAR_RET, K(IRET), 0},
    {"48 cf", M64, 2, FAR_RET, K(IRET), 0},
    {"66 cf", ALL, 2, FAR_RET, K(IRET), 0},
    {"0f 05", ALL, 2, FAR_CALL, K(SYSCALL), 0},
    {"0f 34", ALL, 2, FAR_CALL, K(SYSENTER), 0},
    {"0f 07", ALL, 2, FAR_RET, K(SYSRET), 0},
    {"48 0f 07", M64, 3, FAR_RET, K(SYSRET), 0},
    {"0f 35", ALL, 2, FAR_RET, K(SYSEXIT), 0},
    {"48 0f 35", M64, 3, FAR_RET, K(SYSEXIT), 0},
    {"0f aa", ALL, 2, FAR_RET, K(RSM), 0},
    {"f3 0f 01 ca", M64, 4, FAR_RET, K(ERET), 0},
    {"f2 0f 01 ca", M64, 4, FAR_RET, K(ERET), 0},
    {"0f 01 ca", ALL, 3, OTHER, 0, 0}, /* CLAC */
    {"f3 0f 01 ec", M64, 4, FAR_RET, K(UIRET), 0},
    {"0f 01 ec", ALL, 3, OTHER, 0, 0},
    {"f3 0f 01 ed", ALL, 4, OTHER, 0, 0},    /* TESTUI */
    {"f3 0f 01 ee", ALL, 4, OTHER, 0, 0},    /* CLUI */
    {"f3 0f 01 ef", ALL, 4, OTHER, 0, 0},    /* STUI */
    {"f3 41 0f c7 f0", M64, 5, OTHER, 0, 0}, /* SENDUIPI */
    {"0f 01 c1", ALL, 3, FAR_CALL, K(VMCALL), 0},
    {"0f 01 c2", ALL, 3, FAR_RET, K(VMLAUNCH), 0},
    {"0f 01 c3", ALL, 3, FAR_RET, K(VMRESUME), 0},
    {"0f 01 c4", ALL, 3, OTHER, 0, 0}, /* VMXOFF */
    {"0f 01 d4", ALL, 3, OTHER, 0, 0}, /* VMFUNC */
    {"0f 01 10", ALL, 3, OTHER, 0, 0}, /* LGDT: /2, memory */
    {"0f 01 c0", ALL, 3, OTHER, 0, 0}, /* ENCLV */
    {"0f 01 cf", ALL, 3, OTHER, 0, 0}, /* ENCLS */
    {"0f 01 d7", ALL, 3, OTHER, 0, 0}, /* ENCLU */
    {"0f 37", ALL, 2, OTHER, 0, 0},    /* GETSEC */
};

/* Instructions that packets bind to. */
static const struct row bound[] = {
    {"0f c7 30", ALL, 3, OTHER, K(VMPTRLD), 0},
    {"66 0f c7 30", ALL, 4, OTHER, 0, 0}, /* VMCLEAR */
    {"f3 0f c7 30", ALL, 4, OTHER, 0, 0}, /* VMXON */
    {"0f c7 f0", ALL, 3, OTHER, 0, 0},    /* RDRAND */
    {"0f c7 08", ALL, 3, OTHER, 0, 0},    /* CMPXCHG8B */
    {"0f 22 d8", ALL, 3, CR3, 0, 0},
    {"0f 22 18", ALL, 3, CR3, 0, 0}, /* mod is ignored ... */
    {"0f 22 5c", ALL, 3, CR3, 0, 0}, /* ... no SIB, no displacement */
    {"0f 22 9d", ALL, 3, CR3, 0, 0},
    {"0f 22 c0", ALL, 3, OTHER, 0, 0},
    {"41 0f 22 d8", M64, 4, CR3, 0, 0},
    {"44 0f 22 d8", M64, 4, OTHER, 0, 0}, /* CR11 */
    {"44 66 0f 22 d8", M64, 5, CR3, 0, 0},
    {"0f 20 05", ALL, 3, OTHER, 0, 0},
    {"0f 21 44", ALL, 3, OTHER, 0, 0},
    {"0f 23 84", ALL, 3, OTHER, 0, 0},
    {"f3 0f ae e0", ALL, 4, PTW, 0, 0},
    {"f3 48 0f ae e0", M64, 5, PTW, 0, 0},
    {"f3 0f ae 60 08", ALL, 5, PTW, 0, 0},
    {"f3 0f ae 25 01 02 03 04", WIDE, 8, PTW, 0, 0},
    {"66 f3 0f ae e0", ALL, 5, OTHER, 0, 0},
    {"0f ae e0", ALL, 3, OTHER, 0, 0},
    {"0f ae 20", ALL, 3, OTHER, 0, 0},    /* XSAVE */
    {"f3 0f ae e8", ALL, 4, OTHER, 0, 0}, /* INCSSP */
    {"c7 f8 01 00 00 00", WIDE, 6, OTHER, K(XBEGIN), 0},
    {"c7 f8 01 00", M16, 4, OTHER, K(XBEGIN), 0},
    {"66 c7 f8 01 00", WIDE, 5, OTHER, K(XBEGIN), 0},
    {"66 c7 f8 01 00 00 00", M16, 7, OTHER, K(XBEGIN), 0},
    {"c7 c0 01 00 00 00", WIDE, 6, OTHER, 0, 0},
    {"c6 f8 07", ALL, 3, OTHER, K(XABORT), 0},
    {"c6 c0 07", ALL, 3, OTHER, 0, 0},
    {"0f 01 d5", ALL, 3, OTHER, K(XEND), 0},
    {"0f 01 d6", ALL, 3, OTHER, 0, 0}, /* XTEST */
    {"0f 30", ALL, 2, OTHER, K(WRMSR), 0},
    {"0f 32", ALL, 2, OTHER, 0, 0},
    {"0f 01 c6", ALL, 3, OTHER, K(WRMSR), 0},    /* WRMSRNS */
    {"f3 0f 01 c6", ALL, 4, OTHER, K(WRMSR), 0}, /* WRMSRLIST */
    {"f2 0f 01 c6", ALL, 4, OTHER, 0, 0},        /* RDMSRLIST */
    {"f4", ALL, 1, OTHER, K(HLT), 0},
    {"0f 01 c9", ALL, 3, OTHER, K(MWAIT), 0},
    {"0f 01 c8", ALL, 3, OTHER, 0, 0}, /* MONITOR */
    {"0f 0b", ALL, 2, OTHER, K(UD), 0},
    {"0f b9 c0", ALL, 3, OTHER, K(UD), 0},
    {"0f b9 44 24 08", WIDE, 5, OTHER, K(UD), 0},
    {"0f ff c0", ALL, 3, OTHER, K(UD), 0},
    {"d6", M64, 1, OTHER, K(UD), 0},
    {"d6", LEGACY, 1, OTHER, 0, 0}, /* SALC */
    {"fa", ALL, 1, OTHER, 0, 0},
    {"fb", ALL, 1, OTHER, 0, 0},
    {"9d", ALL, 1, OTHER, 0, 0},
};

static const struct row lengths[] = {
    /* prefixes */
    {"90", ALL, 1, OTHER, 0, 0},
    {"66 66 2e 0f 1f 84 00 00 00 00 00", WIDE, 11, OTHER, 0, 0},
    {"40 90", M64, 2, OTHER, 0, 0},
    {"40", LEGACY, 1, OTHER, 0, 0},
    {"4f", LEGACY, 1, OTHER, 0, 0},
    {"40 66 b8 01 02", M64, 5, OTHER, 0, 0},
    {"48 66 b8 01 02", M64, 5, OTHER, 0, 0}, /* 66 cancels REX.W */
    {"66 48 b8 01 02 03 04 05 06 07 08", M64, 11, OTHER, 0, 0},
    {"48 40 b8 01 02 03 04", M64, 7, OTHER, 0, 0}, /* the last REX counts */
    {"40 48 b8 01 02 03 04 05 06 07 08", M64, 11, OTHER, 0, 0},
    {"66 66 66 66 66 66 66 66 66 66 66 66 66 66 90", ALL, 15, OTHER, 0, 0},
    {"66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 90", ALL, BAD, 0, 0, 0},
    {"2e 36 3e 26 64 65 f0 f2 f3 66 67 05 01 02 03 04", M16, BAD, 0, 0, 0},
    {"2e 36 3e 26 64 65 f0 f2 f3 66 67 05 01 02", WIDE, 14, OTHER, 0, 0},
    {"f3 48 a5", M64, 3, OTHER, 0, 0},
    /* ModRM, 32 and 64-bit */
    {"8b 00", ALL, 2, OTHER, 0, 0},
    {"8b 04 24", WIDE, 3, OTHER, 0, 0},
    {"8b 04 25 01 02 03 04", WIDE, 7, OTHER, 0, 0},
    {"41 8b 04 25 01 02 03 04", M64, 8, OTHER, 0, 0}, /* base 13 as well */
    {"8b 05 01 02 03 04", WIDE, 6, OTHER, 0, 0},
    {"8b 45 01", ALL, 3, OTHER, 0, 0},
    {"8b 44 24 01", WIDE, 4, OTHER, 0, 0},
    {"8b 44 25 01", WIDE, 4, OTHER, 0, 0},
    {"8b 85 01 02 03 04", WIDE, 6, OTHER, 0, 0},
    {"8b 84 24 01 02 03 04", WIDE, 7, OTHER, 0, 0},
    {"8b 84 25 01 02 03 04", WIDE, 7, OTHER, 0, 0},
    {"8b c4", ALL, 2, OTHER, 0, 0},
    {"67 8b 04 25 01 02 03 04", M16 | M64, 8, OTHER, 0, 0},
    /* ModRM, 16-bit */
    {"8b 04", M16, 2, OTHER, 0, 0},
    {"8b 05", M16, 2, OTHER, 0, 0},
    {"8b 06 01 02", M16, 4, OTHER, 0, 0},
    {"8b 44 01", M16, 3, OTHER, 0, 0},
    {"8b 46 01", M16, 3, OTHER, 0, 0},
    {"8b 84 01 02", M16, 4, OTHER, 0, 0},
    {"8b 86 01 02", M16, 4, OTHER, 0, 0},
    {"67 8b 06 01 02", M32, 5, OTHER, 0, 0},
    {"67 8b 84 01 02", M32, 5, OTHER, 0, 0},
    /* immediates, map 0 */
    {"04 01", ALL, 2, OTHER, 0, 0},
    {"05 01 02 03 04", WIDE, 5, OTHER, 0, 0},
    {"05 01 02", M16, 3, OTHER, 0, 0},
    {"66 05 01 02", WIDE, 4, OTHER, 0, 0},
    {"66 05 01 02 03 04", M16, 6, OTHER, 0, 0},
    {"66 48 05 01 02 03 04", M64, 7, OTHER, 0, 0},
    {"68 01 02 03 04", WIDE, 5, OTHER, 0, 0},
    {"6a 01", ALL, 2, OTHER, 0, 0},
    {"69 c0 01 02 03 04", WIDE, 6, OTHER, 0, 0},
    {"6b c0 01", ALL, 3, OTHER, 0, 0},
    {"80 c0 01", ALL, 3, OTHER, 0, 0},
    {"81 c0 01 02 03 04", WIDE, 6, OTHER, 0, 0},
    {"82 c0 01", ALL, 3, OTHER, 0, 0},
    {"83 c0 01", ALL, 3, OTHER, 0, 0},
    {"a8 01", ALL, 2, OTHER, 0, 0},
    {"a9 01 02 03 04", WIDE, 5, OTHER, 0, 0},
    {"b0 01", ALL, 2, OTHER, 0, 0},
    {"b8 01 02 03 04", WIDE, 5, OTHER, 0, 0},
    {"b8 01 02", M16, 3, OTHER, 0, 0},
    {"48 b8 01 02 03 04 05 06 07 08", M64, 10, OTHER, 0, 0},
    {"49 bf 01 02 03 04 05 06 07 08", M64, 10, OTHER, 0, 0},
    {"c0 e0 01", ALL, 3, OTHER, 0, 0},
    {"c1 e0 01", ALL, 3, OTHER, 0, 0},
    {"d0 e0", ALL, 2, OTHER, 0, 0},
    {"c8 01 02 03", ALL, 4, OTHER, 0, 0}, /* ENTER */
    {"c9", ALL, 1, OTHER, 0, 0},
    {"d4 0a", ALL, 2, OTHER, 0, 0},
    {"d5 0a", LEGACY, 2, OTHER, 0, 0},
    {"e4 60", ALL, 2, OTHER, 0, 0},
    {"f6 c0 01", ALL, 3, OTHER, 0, 0},
    {"f6 c8 01", ALL, 3, OTHER, 0, 0},
    {"f6 d0", ALL, 2, OTHER, 0, 0},
    {"f6 f8", ALL, 2, OTHER, 0, 0},
    {"f7 c0 01 02 03 04", WIDE, 6, OTHER, 0, 0},
    {"f7 c8 01 02", M16, 4, OTHER, 0, 0},
    {"66 f7 c0 01 02", WIDE, 5, OTHER, 0, 0},
    {"66 48 f7 c0 01 02 03 04", M64, 8, OTHER, 0, 0},
    {"f7 d8", ALL, 2, OTHER, 0, 0},
    {"f7 44 24 08 01 02 03 04", WIDE, 8, OTHER, 0, 0},
    {"f7 64 24 08", WIDE, 4, OTHER, 0, 0},
    {"a0 01 02 03 04 05 06 07 08", M64, 9, OTHER, 0, 0},
    {"48 a3 01 02 03 04 05 06 07 08", M64, 10, OTHER, 0, 0},
    {"67 a1 01 02 03 04", M16 | M64, 6, OTHER, 0, 0},
    {"a1 01 02 03 04", M32, 5, OTHER, 0, 0},
    {"67 a2 01 02", M32, 4, OTHER, 0, 0},
    {"a3 01 02", M16, 3, OTHER, 0, 0},
    {"66 a1 01 02 03 04", M32, 6, OTHER, 0, 0},
    {"9b", ALL, 1, OTHER, 0, 0},
    {"d9 3c 24", WIDE, 3, OTHER, 0, 0},
    {"62 00", LEGACY, 2, OTHER, 0, 0}, /* BOUND */
    {"63 c1", ALL, 2, OTHER, 0, 0},
    {"c4 00", LEGACY, 2, OTHER, 0, 0},    /* LES */
    {"c5 40 01", LEGACY, 3, OTHER, 0, 0}, /* LDS */
    {"8f c0", ALL, 2, OTHER, 0, 0},
    {"8f 04 24", WIDE, 3, OTHER, 0, 0},
    /* undefined in 64-bit mode, to be stepped over */
    {"06", ALL, 1, OTHER, 0, 0},
    {"07", ALL, 1, OTHER, 0, 0},
    {"0e", ALL, 1, OTHER, 0, 0},
    {"16", ALL, 1, OTHER, 0, 0},
    {"17", ALL, 1, OTHER, 0, 0},
    {"1e", ALL, 1, OTHER, 0, 0},
    {"1f", ALL, 1, OTHER, 0, 0},
    {"27", ALL, 1, OTHER, 0, 0},
    {"2f", ALL, 1, OTHER, 0, 0},
    {"37", ALL, 1, OTHER, 0, 0},
    {"3f", ALL, 1, OTHER, 0, 0},
    {"60", ALL, 1, OTHER, 0, 0},
    {"61", ALL, 1, OTHER, 0, 0},
    /* map 1 */
    {"0f 06", ALL, 2, OTHER, 0, 0},
    {"0f 09", ALL, 2, OTHER, 0, 0},
    {"0f 0d 00", ALL, 3, OTHER, 0, 0},
    {"0f 0e", ALL, 2, OTHER, 0, 0},       /* FEMMS */
    {"0f 0f c1 9e", ALL, 4, OTHER, 0, 0}, /* 3DNow! */
    {"0f 0f 44 24 08 9e", WIDE, 6, OTHER, 0, 0},
    {"0f 1e fa", ALL, 3, OTHER, 0, 0},
    {"f3 0f 1e fa", ALL, 4, OTHER, 0, 0},
    {"0f 31", ALL, 2, OTHER, 0, 0},
    {"0f 70 c1 01", ALL, 4, OTHER, 0, 0},
    {"0f 73 d1 01", ALL, 4, OTHER, 0, 0},
    {"0f 77", ALL, 2, OTHER, 0, 0},
    {"0f 78 c1", ALL, 3, OTHER, 0, 0}, /* VMREAD */
    {"66 0f 78 c1 01 02", ALL, 6, OTHER, 0, 0},
    {"f2 0f 78 c1 01 02", ALL, 6, OTHER, 0, 0},
    {"f2 0f 79 c1", ALL, 4, OTHER, 0, 0},
    {"0f a0", ALL, 2, OTHER, 0, 0},
    {"0f a2", ALL, 2, OTHER, 0, 0},
    {"0f a4 c1 01", ALL, 4, OTHER, 0, 0},
    {"0f a5 c1", ALL, 3, OTHER, 0, 0},
    {"f3 0f a6 c8", ALL, 4, OTHER, 0, 0},
    {"f3 0f a7 c0", ALL, 4, OTHER, 0, 0},
    {"0f ac c1 01", ALL, 4, OTHER, 0, 0},
    {"0f ba e0 01", ALL, 4, OTHER, 0, 0},
    {"f3 0f b8 c1", ALL, 4, OTHER, 0, 0},
    {"0f c2 c1 01", ALL, 4, OTHER, 0, 0},
    {"0f c8", ALL, 2, OTHER, 0, 0},
    {"49 0f cf", M64, 3, OTHER, 0, 0},
    /* undefined in map 1 */
    {"0f 04 c0", ALL, 3, OTHER, 0, 0},
    {"0f 0a c0", ALL, 3, OTHER, 0, 0},
    {"0f 0c c0", ALL, 3, OTHER, 0, 0},
    {"0f 24 c0", ALL, 3, OTHER, 0, 0},
    {"0f 27 c0", ALL, 3, OTHER, 0, 0},
    {"0f 36 c0", ALL, 3, OTHER, 0, 0},
    {"0f 7a c0", ALL, 3, OTHER, 0, 0},
    {"0f 7b c0", ALL, 3, OTHER, 0, 0},
    {"0f 39", ALL, BAD, 0, 0, 0},
    {"0f 3b", ALL, BAD, 0, 0, 0},
    {"0f 3c", ALL, BAD, 0, 0, 0},
    {"0f 3d", ALL, BAD, 0, 0, 0},
    {"0f 3e", ALL, BAD, 0, 0, 0},
    {"0f 3f", ALL, BAD, 0, 0, 0},
    /* maps 2 and 3 */
    {"0f 38 00 c1", ALL, 4, OTHER, 0, 0},
    {"66 0f 38 00 05 01 02 03 04", WIDE, 9, OTHER, 0, 0},
    {"f2 0f 38 f1 c1", ALL, 5, OTHER, 0, 0},
    {"66 0f 3a 0f c1 08", ALL, 6, OTHER, 0, 0},
    {"0f 3a cc c1 08", ALL, 5, OTHER, 0, 0},
    {"4c 0f 38 f0 04 25 01 02 03 04", M64, 10, OTHER, 0, 0},
};

static const struct row vectors[] = {
    /* VEX */
    {"c5 f8 77", ALL, 3, OTHER, 0, 0},
    {"c4 e1 78 77", ALL, 4, OTHER, 0, 0},
    {"c5 f8 10 00", ALL, 4, OTHER, 0, 0},
    {"c5 78 10 00", M64, 4, OTHER, 0, 0},
    {"c5 78 10", LEGACY, 3, OTHER, 0, 0}, /* LDS disp8 */
    {"c5 f9 70 c1 01", ALL, 5, OTHER, 0, 0},
    {"c5 f9 73 d9 01", ALL, 5, OTHER, 0, 0},
    {"c5 f8 c2 c1 01", ALL, 5, OTHER, 0, 0},
    {"c5 f9 c4 c1 01", ALL, 5, OTHER, 0, 0},
    {"c5 f9 c5 c1 01", ALL, 5, OTHER, 0, 0},
    {"c5 f8 c6 c1 01", ALL, 5, OTHER, 0, 0},
    {"c5 f8 a4 c1", ALL, 4, OTHER, 0, 0},
    {"c4 e2 79 18 05 01 02 03 04", WIDE, 9, OTHER, 0, 0},
    {"c4 e2 79 18 06 01 02", M16, 7, OTHER, 0, 0},
    {"c4 e2 69 90 04 25 01 02 03 04", WIDE, 10, OTHER, 0, 0}, /* VSIB */
    {"c4 e3 79 0f c1 01", ALL, 6, OTHER, 0, 0},
    {"c4 e3 71 4a c1 01", ALL, 6, OTHER, 0, 0},
    {"c4 e5 79 58 c1", ALL, 5, OTHER, 0, 0},
    {"c4 e6 79 58 c1", ALL, 5, OTHER, 0, 0},
    {"c4 e7 7b f8 c1 01 02 03 04", ALL, 9, OTHER, 0, 0},        /* URDMSR */
    {"c4 e7 7a f8 c1 01 02 03 04", ALL, 9, OTHER, 0, 0},        /* UWRMSR */
    {"c4 e7 7b f6 c1 01 02 03 04", ALL, 9, OTHER, 0, 0},        /* RDMSR imm */
    {"c4 e7 7a f6 c1 01 02 03 04", ALL, 9, OTHER, K(WRMSR), 0}, /* WRMSRNS imm */
    {"66 c5 f8 10 00", ALL, 5, OTHER, 0, 0},                    /* undefined, same length */
    {"f2 c5 f8 10 00", ALL, 5, OTHER, 0, 0},
    {"48 c5 f8 10 00", M64, 5, OTHER, 0, 0},
    {"67 c5 f8 10 06 01 02", M32, 7, OTHER, 0, 0},
    {"c4 e0 79 10 00", ALL, BAD, 0, 0, 0},
    {"c4 e4 79 10 00", ALL, BAD, 0, 0, 0},
    {"c4 e8 79 10 00", ALL, BAD, 0, 0, 0},
    {"c4 ff 79 10 00", ALL, BAD, 0, 0, 0},
    /* EVEX */
    {"62 f1 7c 48 10 00", ALL, 6, OTHER, 0, 0},
    {"62 f1 7c 48 10 40 01", ALL, 7, OTHER, 0, 0},
    {"62 f1 7c 48 10 80 01 02 03 04", WIDE, 10, OTHER, 0, 0},
    {"62 f1 7d 48 70 c1 01", ALL, 7, OTHER, 0, 0},
    {"62 f1 7d 48 72 f1 01", ALL, 7, OTHER, 0, 0},
    {"62 f1 7c 48 c2 c1 01", ALL, 7, OTHER, 0, 0},
    {"62 f1 7c 48 77 c1", ALL, 6, OTHER, 0, 0},
    {"62 f2 7d 48 18 c1", ALL, 6, OTHER, 0, 0},
    {"62 f3 7d 48 25 c1 ff", ALL, 7, OTHER, 0, 0},
    {"62 f5 7c 48 58 c1", ALL, 6, OTHER, 0, 0}, /* AVX512-FP16 */
    {"62 f6 7d 48 98 c1", ALL, 6, OTHER, 0, 0},
    {"62 71 7c 48 10 00", M64, 6, OTHER, 0, 0},
    {"62 71 7c", LEGACY, 3, OTHER, 0, 0}, /* BOUND disp8 */
    {"62 f0 7c 48 10 00", ALL, BAD, 0, 0, 0},
    /* EVEX map 4 (APX) */
    {"62 f4 7c 08 01 c1", M64, 6, OTHER, 0, 0},
    {"62 f4 7c 08 24 c1 01", M64, 7, OTHER, 0, 0},
    {"62 f4 7c 08 2c c1 01", M64, 7, OTHER, 0, 0},
    {"62 f4 7c 08 a5 c1", M64, 6, OTHER, 0, 0},
    {"62 f4 7c 08 69 c1 01 02 03 04", M64, 10, OTHER, 0, 0},
    {"62 f4 7d 08 69 c1 01 02", M64, 8, OTHER, 0, 0},
    {"62 f4 7c 08 6b c1 01", M64, 7, OTHER, 0, 0},
    {"62 f4 7c 08 80 c1 01", M64, 7, OTHER, 0, 0},
    {"62 f4 7c 08 81 c1 01 02 03 04", M64, 10, OTHER, 0, 0},
    {"62 f4 7d 08 81 c1 01 02", M64, 8, OTHER, 0, 0},
    {"62 f4 fc 08 81 c1 01 02 03 04", M64, 10, OTHER, 0, 0},
    {"62 f4 7c 08 83 c1 01", M64, 7, OTHER, 0, 0},
    {"62 f4 7c 08 c1 e1 01", M64, 7, OTHER, 0, 0},
    {"62 f4 7c 08 d1 e1", M64, 6, OTHER, 0, 0},
    {"62 f4 7c 08 f6 c1 01", M64, 7, OTHER, 0, 0},
    {"62 f4 7c 08 f6 d1", M64, 6, OTHER, 0, 0},
    {"62 f4 7c 08 f7 c1 01 02 03 04", M64, 10, OTHER, 0, 0},
    {"62 f4 7d 08 f7 c9 01 02", M64, 8, OTHER, 0, 0},
    {"62 f4 7c 08 f7 d9", M64, 6, OTHER, 0, 0},
    {"62 f4 7c 18 ff f0", M64, 6, OTHER, 0, 0}, /* PUSH2 */
    {"62 f7 7f 08 f8 c1 01 02 03 04", M64, 10, OTHER, 0, 0},
    {"62 f7 7e 08 f6 c1 01 02 03 04", M64, 10, OTHER, K(WRMSR), 0},
    /* REX2 */
    {"d5 00 a1 01 02 03 04 05 06 07 08", M64, 11, JMP_IND, K(JMPABS), 0x0807060504030201},
    {"d5 7f a1 01 02 03 04 05 06 07 08", M64, 11, OTHER, 0, 0}, /* W: not JMPABS */
    {"66 d5 00 a1 01 02 03 04 05 06 07 08", M64, 12, OTHER, 0, 0},
    {"67 d5 00 a1 01 02 03 04", M64, 8, OTHER, 0, 0},
    {"d5 10 01 c0", M64, 4, OTHER, 0, 0},
    {"d5 18 b8 01 02 03 04 05 06 07 08", M64, 11, OTHER, 0, 0},
    {"d5 10 b8 01 02 03 04", M64, 7, OTHER, 0, 0},
    {"66 d5 10 b8 01 02", M64, 6, OTHER, 0, 0},
    {"d5 10 ff d0", M64, 4, CALL_IND, 0, 0},
    {"d5 10 ff e0", M64, 4, JMP_IND, 0, 0},
    {"d5 00 c3", M64, 3, RET, 0, 0},
    {"d5 00 cc", M64, 3, FAR_CALL, K(INT), 0},
    {"d5 00 cf", M64, 3, FAR_RET, K(IRET), 0},
    {"d5 80 05", M64, 3, FAR_CALL, K(SYSCALL), 0},
    {"d5 80 22 d8", M64, 4, CR3, 0, 0},
    {"d5 c0 22 d8", M64, 4, OTHER, 0, 0}, /* R4 */
    {"d5 84 22 d8", M64, 4, OTHER, 0, 0}, /* R3 */
    {"f3 d5 80 ae e0", M64, 5, PTW, 0, 0},
    {"d5 80 af c1", M64, 4, OTHER, 0, 0},
    {"d5 80 ba e0 01", M64, 5, OTHER, 0, 0},
    {"d5 10 8f c0", M64, 4, OTHER, 0, 0}, /* POP, never XOP */
    {"d5 10 8f e8", M64, 4, OTHER, 0, 0},
    {"d5 00 e8 01 02 03 04", M64, 7, OTHER, 0, 0}, /* undefined rows branch nowhere */
    {"d5 00 75 01", M64, 4, OTHER, 0, 0},
    {"d5 80 84 01 02 03 04", M64, 7, OTHER, 0, 0},
    {"d5 80 30", M64, 3, OTHER, 0, 0},
    {"d5 00 40", M64, BAD, 0, 0, 0},
    {"d5 00 66", M64, BAD, 0, 0, 0},
    {"d5 00 0f", M64, BAD, 0, 0, 0},
    {"d5 00 d5", M64, BAD, 0, 0, 0},
    {"d5 80 38", M64, BAD, 0, 0, 0},
    /* XOP */
    {"8f e8 78 c0 c1 01", ALL, 6, OTHER, 0, 0},
    {"8f e9 78 01 c8", ALL, 5, OTHER, 0, 0},
    {"8f ea 78 10 c1 01 02 03 04", ALL, 9, OTHER, 0, 0},
    {"8f e8 78 c0 44 24 08 01", WIDE, 8, OTHER, 0, 0},
    {"8f eb 78 c0 c1", ALL, BAD, 0, 0, 0},
};

#endif
