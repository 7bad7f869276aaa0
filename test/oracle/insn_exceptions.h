/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * insn_exceptions.h - where an oracle is wrong or too old, and the manual's rule.
 *
 * An entry excuses a difference if everything matches: the oracle, the mode, the differing
 * properties, the prefixes, and up to six bytes from the opcode on (after legacy prefixes
 * and REX). doc/internals/insn.md lists the same entries.
 */
#ifndef TEST_ORACLE_INSN_EXCEPTIONS_H
#define TEST_ORACLE_INSN_EXCEPTIONS_H

#include <stddef.h>
#include <stdint.h>

enum { CAPSTONE = 1, OBJDUMP = 2, BOTH = 3 };
enum { IN16 = 1, IN32 = 2, IN64 = 4, IN_LEGACY = 3, IN_ANY = 7 };
enum {
    DIFF_REFUSED = 1, /* the oracle knows no instruction here */
    DIFF_SIZE = 2,
    DIFF_CLASS = 4,
    DIFF_TARGET = 8,
    DIFF_OURS_BAD = 16, /* we know no instruction here */
};
enum {
    P_66 = 1,
    P_67 = 2,
    P_F2 = 4,
    P_F3 = 8,
    P_LOCK = 16,
    P_SEGMENT = 32,
    P_REX = 64, /* directly before the opcode */
    P_CANCELLED_REX = 128,
};

struct exception {
    unsigned oracles, modes, diffs;
    unsigned with; /* any of these prefixes; 0: do not care */
    uint8_t mask[6], value[6];
    const char *why;
};

/* clang-format off */
static const struct exception exceptions[] = {
    /* Undefined opcodes, met in data and in generated code: we step over them. */
    {OBJDUMP, IN64, DIFF_REFUSED, 0, {0xe7}, {0x06}, "06 0E 16 1E: undefined in 64-bit mode"},
    {OBJDUMP, IN64, DIFF_REFUSED, 0, {0xff}, {0x07}, "07: undefined in 64-bit mode"},
    {OBJDUMP, IN64, DIFF_REFUSED, 0, {0xf7}, {0x17}, "17 1F: undefined in 64-bit mode"},
    {OBJDUMP, IN64, DIFF_REFUSED, 0, {0xe7}, {0x27}, "27 2F 37 3F: undefined in 64-bit mode"},
    {OBJDUMP, IN64, DIFF_REFUSED, 0, {0xfe}, {0x60}, "60 61: undefined in 64-bit mode"},
    {OBJDUMP, IN64, DIFF_REFUSED, 0, {0xff}, {0x82}, "82: undefined in 64-bit mode"},
    {OBJDUMP, IN64, DIFF_REFUSED, 0, {0xff}, {0x9a}, "9A: undefined in 64-bit mode"},
    {OBJDUMP, IN64, DIFF_REFUSED, 0, {0xff}, {0xea}, "EA: undefined in 64-bit mode"},
    {OBJDUMP, IN64, DIFF_REFUSED, 0, {0xff}, {0xce}, "CE: undefined in 64-bit mode"},
    {OBJDUMP, IN64, DIFF_REFUSED, 0, {0xff}, {0xd4}, "D4: undefined in 64-bit mode"},
    {OBJDUMP, IN64, DIFF_REFUSED, 0, {0xff}, {0xd5}, "D5: REX2 (APX), newer than binutils 2.40"},
    {OBJDUMP, IN_ANY, DIFF_REFUSED, 0, {0xff}, {0xd6}, "D6: UDB; SALC outside 64-bit mode"},
    {OBJDUMP, IN_ANY, DIFF_REFUSED, 0, {0xff, 0xc0}, {0x8d, 0xc0}, "LEA of a register"},
    {OBJDUMP, IN_ANY, DIFF_REFUSED, 0, {0xfe}, {0xc6}, "group 11: undefined members"},
    {OBJDUMP, IN_ANY, DIFF_REFUSED, 0, {0xfe}, {0xfe}, "groups 4 and 5: undefined members"},
    {OBJDUMP, IN_ANY, DIFF_REFUSED, 0, {0xff}, {0x8f}, "8F: undefined POP /n or XOP opcode"},
    {OBJDUMP, IN_ANY, DIFF_REFUSED, 0, {0xf8}, {0xd8}, "x87: undefined members"},
    {OBJDUMP, IN_ANY, DIFF_REFUSED, 0, {0xff}, {0x0f}, "0F: undefined opcodes and groups"},
    {OBJDUMP, IN_ANY, DIFF_REFUSED, 0, {0xfe}, {0xc4}, "VEX: undefined or newer opcodes"},
    {OBJDUMP, IN_ANY, DIFF_REFUSED, 0, {0xff}, {0x62}, "EVEX: undefined or newer opcodes"},
    {CAPSTONE, IN_ANY, DIFF_REFUSED, 0, {0}, {0}, "not known to capstone 4: objdump judges"},

    {BOTH, IN64, DIFF_CLASS, P_F2 | P_F3, {0xff, 0xff, 0xff}, {0x0f, 0x01, 0xca},
     "ERETS and ERETU (FRED), newer than both; CLAC has no prefix"},

    /* objdump (binutils 2.40) */
    {OBJDUMP, IN_ANY, DIFF_REFUSED | DIFF_SIZE | DIFF_CLASS, 0, {0xff}, {0x9b},
     "FWAIT is an instruction; objdump shows it as part of the one that follows"},
    {OBJDUMP, IN_LEGACY, DIFF_SIZE, 0, {0xff, 0xfd}, {0x0f, 0x24},
     "0F 24, 0F 26: MOV TR of the 80486, undefined since: ModRM as usual"},
    {OBJDUMP, IN64, DIFF_SIZE, P_CANCELLED_REX, {0}, {0},
     "a prefix after REX voids REX alone (SDM: REX Prefixes); objdump forgets 66 and 67 too"},
    {OBJDUMP, IN_LEGACY, DIFF_CLASS, P_LOCK, {0xff, 0xff, 0x38}, {0x0f, 0x22, 0x18},
     "LOCK does not turn CR3 into CR11: it is undefined (SDM: MOV to/from control registers)"},
    {OBJDUMP, IN_ANY, DIFF_CLASS, P_66, {0xff, 0xff, 0x38}, {0x0f, 0xae, 0x20},
     "PTWRITE with 66 is undefined (SDM: PTWRITE)"},

    /* capstone 4.0.2 */
    {CAPSTONE, IN64, DIFF_SIZE | DIFF_TARGET, P_66 | P_67, {0xfe}, {0xe8},
     "66 and 67 do not shorten near branches in 64-bit mode (SDM: CALL, JMP)"},
    {CAPSTONE, IN64, DIFF_SIZE | DIFF_TARGET, P_66, {0xff, 0xf0}, {0x0f, 0x80},
     "66 does not shorten near branches in 64-bit mode (SDM: Jcc)"},
    {CAPSTONE, IN64, DIFF_SIZE, P_66 | P_67, {0xff}, {0xc2},
     "RET has a 16-bit immediate whatever the prefixes (SDM: RET)"},
    {CAPSTONE, IN64, DIFF_SIZE, P_66, {0xff}, {0x68},
     "66 makes the immediate 16 bits, with F2 and F3 too (SDM: PUSH)"},
    {CAPSTONE, IN_ANY, DIFF_SIZE | DIFF_CLASS, 0, {0xff, 0xff}, {0x0f, 0xb9},
     "UD1 has ModRM (SDM: UD)"},
    {CAPSTONE, IN_ANY, DIFF_SIZE, 0, {0xff, 0xff}, {0x0f, 0xff}, "UD0 has ModRM (SDM: UD)"},
    {CAPSTONE, IN_ANY, DIFF_SIZE, P_66 | P_67 | P_F2, {0xff, 0xff}, {0x0f, 0x78},
     "EXTRQ, INSERTQ have two immediate bytes, VMREAD none (AMD64 vol. 4; SDM: VMREAD)"},
    {CAPSTONE, IN_ANY, DIFF_CLASS, P_66 | P_67 | P_F2 | P_F3, {0xff, 0xff, 0x38},
     {0x0f, 0xc7, 0x30}, "VMPTRLD: 66 makes it VMCLEAR, F3 VMXON; 67 is not 66 (SDM)"},
    {CAPSTONE, IN_ANY, DIFF_CLASS, P_F3, {0xff, 0xff, 0x38}, {0x0f, 0xae, 0x20},
     "F3 0F AE /4 is PTWRITE (SDM: PTWRITE)"},
    {CAPSTONE, IN_ANY, DIFF_SIZE, 0, {0xff, 0, 0, 0, 0, 0xc0}, {0x62, 0, 0, 0, 0, 0xc0},
     "EVEX with a register operand has no displacement (SDM: Static Rounding Support)"},
    {CAPSTONE, IN16, DIFF_SIZE, 0, {0xff, 0x1f}, {0x8f, 0x0a},
     "XOP map A has a 32-bit immediate in every mode (AMD64 vol. 6)"},
    {CAPSTONE, IN_LEGACY, DIFF_SIZE | DIFF_TARGET, P_66, {0xfe}, {0xe8},
     "the operand size gives the displacement's, with F2 and F3 too (SDM: CALL, JMP)"},
    {CAPSTONE, IN_LEGACY, DIFF_TARGET, P_66 | P_67, {0xf0}, {0x70},
     "the operand size alone decides whether a target is cut to 16 bits (SDM: Jcc)"},
    {CAPSTONE, IN_LEGACY, DIFF_TARGET, P_66 | P_67, {0xf0}, {0xe0},
     "the operand size alone decides whether a target is cut to 16 bits (SDM: JMP, LOOP)"},
    {CAPSTONE, IN_LEGACY, DIFF_TARGET, P_66 | P_67, {0xff, 0xf0}, {0x0f, 0x80},
     "the operand size alone decides whether a target is cut to 16 bits (SDM: Jcc)"},
};
/* clang-format on */

#endif
