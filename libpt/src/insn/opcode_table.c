/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opcode_table.c - the opcode maps.
 *
 * Sources: Intel SDM vol. 2, appendix "Opcode Map" (one- and two-byte maps, and "Opcode
 * Extensions" for the groups); "Intel Advanced Performance Extensions" for REX2 and EVEX
 * map 4; AMD64 manual vol. 3 for XOP and SSE4a. Opcodes that are undefined have the length
 * that hardware's pre-decoder gives them, so that a walker can step over them.
 */
#include "insn/opcode.h"

#include <pt/insn.h>

/* clang-format off */

/* Cells of the maps: the attribute words by short names. */
#define __   0
#define M_   ATTR_MODRM
#define B_   IMM_8
#define W_   IMM_16
#define Z_   IMM_Z
#define V_   IMM_V
#define N_   IMM_ENTER
#define C_   IMM_8 /* a ModRM byte that never has SIB or displacement */
#define MB   (M_ | B_)
#define MZ   (M_ | Z_)
#define X_   ATTR_ESC
#define MX   (M_ | X_)
#define BX   (B_ | X_)
#define IS(name) (WHAT_##name << ATTR_WHAT_SHIFT)
#define JB   (IMM_REL8 | IS(JCC))
#define JZ   (IMM_RELZ | IS(JCC))
#define CL   (IMM_RELZ | IS(CALL))
#define JL   (IMM_RELZ | IS(JMP))
#define JS   (IMM_REL8 | IS(JMP))
#define CF   (IMM_FAR | IS(FAR_CALL) | ATTR_N64)
#define JF   (IMM_FAR | IS(FAR_JMP) | ATTR_N64)
#define RT   IS(RET)
#define RW   (W_ | IS(RET))
#define RF   IS(FAR_RET)
#define FW   (W_ | IS(FAR_RET))
#define T_   IS(INT)
#define TB   (B_ | IS(INT))
#define TO   (IS(INT) | ATTR_N64)
#define IR   IS(IRET)
#define UB   (IS(UD) | ATTR_O64)
#define U2   IS(UD)
#define UM   (M_ | IS(UD))
#define HT   IS(HLT)
#define O_   IS(MOFFS)
#define TE   (MB | IS(TEST))
#define TZ   (MZ | IS(TEST))
#define G6   (MB | IS(GROUP_C6))
#define G7   (MZ | IS(GROUP_C7))
#define GF   (M_ | IS(GROUP_FF))
#define SC   IS(SYSCALL)
#define SR   IS(SYSRET)
#define SE   IS(SYSENTER)
#define SX   IS(SYSEXIT)
#define RS   IS(RSM)
#define WR   IS(WRMSR)
#define V1   (M_ | IS(GROUP_0F01))
#define CR   (C_ | IS(GROUP_0F22))
#define AE   (M_ | IS(GROUP_0FAE))
#define CX   (M_ | IS(GROUP_0FC7))
#define SS   (M_ | IS(0F78))

const uint16_t ptl__opcode_map0[256] = {
/*       0   1   2   3   4   5   6   7   8   9   A   B   C   D   E   F */
/* 0 */ M_, M_, M_, M_, B_, Z_, __, __, M_, M_, M_, M_, B_, Z_, __, X_,
/* 1 */ M_, M_, M_, M_, B_, Z_, __, __, M_, M_, M_, M_, B_, Z_, __, __,
/* 2 */ M_, M_, M_, M_, B_, Z_, X_, __, M_, M_, M_, M_, B_, Z_, X_, __,
/* 3 */ M_, M_, M_, M_, B_, Z_, X_, __, M_, M_, M_, M_, B_, Z_, X_, __,
/* 4 */ X_, X_, X_, X_, X_, X_, X_, X_, X_, X_, X_, X_, X_, X_, X_, X_,
/* 5 */ __, __, __, __, __, __, __, __, __, __, __, __, __, __, __, __,
/* 6 */ __, __, MX, M_, X_, X_, X_, X_, Z_, MZ, B_, MB, __, __, __, __,
/* 7 */ JB, JB, JB, JB, JB, JB, JB, JB, JB, JB, JB, JB, JB, JB, JB, JB,
/* 8 */ MB, MZ, MB, MB, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, MX,
/* 9 */ __, __, __, __, __, __, __, __, __, __, CF, __, __, __, __, __,
/* A */ O_, O_, O_, O_, __, __, __, __, B_, Z_, __, __, __, __, __, __,
/* B */ B_, B_, B_, B_, B_, B_, B_, B_, V_, V_, V_, V_, V_, V_, V_, V_,
/* C */ MB, MB, RW, RT, MX, MX, G6, G7, N_, __, FW, RF, T_, TB, TO, IR,
/* D */ M_, M_, M_, M_, B_, BX, UB, __, M_, M_, M_, M_, M_, M_, M_, M_,
/* E */ JB, JB, JB, JB, B_, B_, B_, B_, CL, JL, JF, JS, __, __, __, __,
/* F */ X_, T_, X_, X_, HT, __, TE, TZ, __, __, __, __, __, __, M_, GF,
};

/* 0F. Undefined: 04 0A 0C 24..27 36 7A 7B have ModRM; 39 and 3B..3F are no opcodes. */
const uint16_t ptl__opcode_map1[256] = {
/*       0   1   2   3   4   5   6   7   8   9   A   B   C   D   E   F */
/* 0 */ M_, V1, M_, M_, M_, SC, __, SR, __, __, M_, U2, M_, M_, __, MB,
/* 1 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 2 */ C_, C_, CR, C_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 3 */ WR, __, __, __, SE, SX, M_, __, X_, X_, X_, X_, X_, X_, X_, X_,
/* 4 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 5 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 6 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 7 */ MB, MB, MB, MB, M_, M_, M_, __, SS, M_, M_, M_, M_, M_, M_, M_,
/* 8 */ JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ,
/* 9 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* A */ __, __, __, M_, MB, M_, C_, C_, __, __, RS, M_, MB, M_, AE, M_,
/* B */ M_, M_, M_, M_, M_, M_, M_, M_, M_, UM, MB, M_, M_, M_, M_, M_,
/* C */ M_, M_, MB, M_, MB, MB, MB, CX, __, __, __, __, __, __, __, __,
/* D */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* E */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* F */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, UM,
};

const uint16_t ptl__opcode_vex1[256] = {
/*       0   1   2   3   4   5   6   7   8   9   A   B   C   D   E   F */
/* 0 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 1 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 2 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 3 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 4 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 5 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 6 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 7 */ MB, MB, MB, MB, M_, M_, M_, __, M_, M_, M_, M_, M_, M_, M_, M_,
/* 8 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 9 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* A */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* B */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* C */ M_, M_, MB, M_, MB, MB, MB, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* D */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* E */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* F */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
};

const uint16_t ptl__opcode_evex4[256] = {
/*       0   1   2   3   4   5   6   7   8   9   A   B   C   D   E   F */
/* 0 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 1 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 2 */ M_, M_, M_, M_, MB, M_, M_, M_, M_, M_, M_, M_, MB, M_, M_, M_,
/* 3 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 4 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 5 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 6 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, MZ, M_, MB, M_, M_, M_, M_,
/* 7 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 8 */ MB, MZ, M_, MB, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* 9 */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* A */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* B */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* C */ MB, MB, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* D */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* E */ M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_, M_,
/* F */ M_, M_, M_, M_, M_, M_, TE, TZ, M_, M_, M_, M_, M_, M_, M_, M_,
};

const uint16_t ptl__opcode_uniform[16] = {
    [2] = M_, [3] = MB, [5] = M_, [6] = M_,
    [7] = M_ | IMM_32 | IS(GROUP_MAP7), /* URDMSR, UWRMSR, RDMSR, WRMSRNS */
    [8] = MB, [9] = M_, [10] = M_ | IMM_32, /* XOP */
};

const uint8_t ptl__imm_size[IMM_COUNT][OPSIZE_COUNT] = {
/* operand size    16 32  64-bit mode: 16 32 64 */
    [IMM_8]     = { 1, 1, 1, 1, 1 },
    [IMM_16]    = { 2, 2, 2, 2, 2 },
    [IMM_Z]     = { 2, 4, 2, 4, 4 },
    [IMM_V]     = { 2, 4, 2, 4, 8 },
    [IMM_32]    = { 4, 4, 4, 4, 4 },
    [IMM_REL8]  = { 1, 1, 1, 1, 1 },
    [IMM_RELZ]  = { 2, 4, 4, 4, 4 },
    [IMM_FAR]   = { 4, 6, 4, 6, 6 },
    [IMM_ENTER] = { 3, 3, 3, 3, 3 },
};

/* ModRM itself, SIB and displacement: the rows are mod 0..3, a list is one line per rm. */
#define EIGHT(...) __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, \
                   __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__
#define SB (2 | MODRM_SIB_BASE)
const uint8_t ptl__modrm_size16[256] = {
    EIGHT(1, 1, 1, 1, 1, 1, 3, 1),
    EIGHT(2, 2, 2, 2, 2, 2, 2, 2),
    EIGHT(3, 3, 3, 3, 3, 3, 3, 3),
    EIGHT(1, 1, 1, 1, 1, 1, 1, 1),
};
const uint8_t ptl__modrm_size32[256] = {
    EIGHT(1, 1, 1, 1, SB, 5, 1, 1),
    EIGHT(2, 2, 2, 2, 3, 2, 2, 2),
    EIGHT(5, 5, 5, 5, 6, 5, 5, 5),
    EIGHT(1, 1, 1, 1, 1, 1, 1, 1),
};

#define ROW(what, iclass, kind) [WHAT_##what] = { PTL_INSN_##iclass, PTL_KIND_##kind }
const struct what_row ptl__what[WHAT_ROWS] = {
    ROW(CALL,     CALL,     NONE),
    ROW(CALL_IND, CALL_IND, NONE),
    ROW(RET,      RET,      NONE),
    ROW(JMP,      JMP,      NONE),
    ROW(JMP_IND,  JMP_IND,  NONE),
    ROW(JCC,      JCC,      NONE),
    ROW(FAR_CALL, FAR_CALL, NONE),
    ROW(FAR_JMP,  FAR_JMP,  NONE),
    ROW(FAR_RET,  FAR_RET,  NONE),
    ROW(INT,      FAR_CALL, INT),
    ROW(IRET,     FAR_RET,  IRET),
    ROW(UIRET,    FAR_RET,  UIRET),
    ROW(ERET,     FAR_RET,  ERET),
    ROW(SYSCALL,  FAR_CALL, SYSCALL),
    ROW(SYSENTER, FAR_CALL, SYSENTER),
    ROW(SYSRET,   FAR_RET,  SYSRET),
    ROW(SYSEXIT,  FAR_RET,  SYSEXIT),
    ROW(VMCALL,   FAR_CALL, VMCALL),
    ROW(VMLAUNCH, FAR_RET,  VMLAUNCH),
    ROW(VMRESUME, FAR_RET,  VMRESUME),
    ROW(VMPTRLD,  OTHER,    VMPTRLD),
    ROW(RSM,      FAR_RET,  RSM),
    ROW(XBEGIN,   OTHER,    XBEGIN),
    ROW(XEND,     OTHER,    XEND),
    ROW(XABORT,   OTHER,    XABORT),
    ROW(WRMSR,    OTHER,    WRMSR),
    ROW(UD,       OTHER,    UD),
    ROW(HLT,      OTHER,    HLT),
    ROW(MWAIT,    OTHER,    MWAIT),
    ROW(MOV_CR3,  MOV_CR3,  NONE),
    ROW(PTWRITE,  PTWRITE,  NONE),
};

/* mask and value of ModRM: an opcode extension /n, or one byte exactly */
#define SLASH(n) 0x38, (n) << 3
#define BYTE(b)  0xff, (b)
static const struct group_rule group_ff[] = {
    { SLASH(2), 0,           WHAT_CALL_IND },
    { SLASH(4), 0,           WHAT_JMP_IND },
    { SLASH(3), NEED_MEMORY, WHAT_FAR_CALL },
    { SLASH(5), NEED_MEMORY, WHAT_FAR_JMP },
    { 0, 0, 0, 0 },
};
static const struct group_rule group_c6[] = {
    { BYTE(0xf8), 0, WHAT_XABORT },
    { 0, 0, 0, 0 },
};
static const struct group_rule group_c7[] = {
    { BYTE(0xf8), 0, WHAT_XBEGIN },
    { 0, 0, 0, 0 },
};
static const struct group_rule group_0f01[] = {
    { BYTE(0xc1), 0,                                 WHAT_VMCALL },
    { BYTE(0xc2), 0,                                 WHAT_VMLAUNCH },
    { BYTE(0xc3), 0,                                 WHAT_VMRESUME },
    { BYTE(0xc6), NEED_NOF2,                         WHAT_WRMSR }, /* WRMSRNS; F3: WRMSRLIST; F2: RDMSRLIST */
    { BYTE(0xc9), 0,                                 WHAT_MWAIT },
    { BYTE(0xca), NEED_F2 | NEED_MODE64,             WHAT_ERET },
    { BYTE(0xca), NEED_F3 | NEED_MODE64,             WHAT_ERET },
    { BYTE(0xd5), 0,                                 WHAT_XEND },
    { BYTE(0xec), NEED_F3 | NEED_MODE64,             WHAT_UIRET },
    { 0, 0, 0, 0 },
};
static const struct group_rule group_0f22[] = {
    { SLASH(3), NEED_NOREXR, WHAT_MOV_CR3 },
    { 0, 0, 0, 0 },
};
static const struct group_rule group_0fae[] = {
    { SLASH(4), NEED_F3 | NEED_NO66, WHAT_PTWRITE },
    { 0, 0, 0, 0 },
};
static const struct group_rule group_0fc7[] = {
    { SLASH(6), NEED_MEMORY | NEED_NO66 | NEED_NOREP, WHAT_VMPTRLD },
    { 0, 0, 0, 0 },
};
/* Reached for opcode F6 alone: see vex() in decode.c. */
static const struct group_rule group_map7[] = {
    { 0xf8, 0xc0, NEED_F3, WHAT_WRMSR }, /* WRMSRNS imm32, r64 */
    { 0, 0, 0, 0 },
};
const struct group_rule *const ptl__group[WHAT_GROUP_END - WHAT_GROUP_FF] = {
    group_ff, group_c6, group_c7, group_0f01, group_0f22, group_0fae, group_0fc7, group_map7,
};
