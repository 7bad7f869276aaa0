/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opcode.h - one 16-bit attribute word for each opcode of each map.
 *
 *   15       8  7   6   5   4  3     0
 *  +----------+---+---+---+---+-------+
 *  |   what   |O64|N64|ESC| M |  imm  |
 *  +----------+---+---+---+---+-------+
 *   what  the row of the class table, or a rule that looks at ModRM (opcode_table.c)
 *   O64   `what` holds in 64-bit mode only      N64  ... in 16 and 32-bit mode only
 *   ESC   a prefix, an escape to another map or no opcode at all: not for the fast path
 *   M     a ModRM byte follows                  imm  which immediate, displacement or address
 */
#ifndef LIBPT_INSN_OPCODE_H
#define LIBPT_INSN_OPCODE_H

#include <stdint.h>

enum imm {
    IMM_NONE,
    IMM_8,
    IMM_16,
    IMM_Z,     /* 2 with 16-bit operands, else 4 */
    IMM_V,     /* 2, 4 or 8: the operand size */
    IMM_32,    /* always 4 */
    IMM_REL8,  /* as IMM_8, a branch displacement */
    IMM_RELZ,  /* as IMM_Z, a branch displacement; always 4 in 64-bit mode */
    IMM_FAR,   /* offset of size Z and a selector */
    IMM_ENTER, /* 2 and 1 */
    IMM_COUNT
};

/* The operand size, and with it the columns of `ptl__imm_size`. */
enum opsize { OPSIZE_16, OPSIZE_32, OPSIZE_64_16, OPSIZE_64_32, OPSIZE_64_64, OPSIZE_COUNT };

enum what {
    WHAT_PLAIN,
    /* Rows of ptl__what. */
    WHAT_CALL,
    WHAT_CALL_IND,
    WHAT_RET,
    WHAT_JMP,
    WHAT_JMP_IND,
    WHAT_JCC,
    WHAT_FAR_CALL,
    WHAT_FAR_JMP,
    WHAT_FAR_RET,
    WHAT_INT,
    WHAT_IRET,
    WHAT_UIRET,
    WHAT_ERET,
    WHAT_SYSCALL,
    WHAT_SYSENTER,
    WHAT_SYSRET,
    WHAT_SYSEXIT,
    WHAT_VMCALL,
    WHAT_VMLAUNCH,
    WHAT_VMRESUME,
    WHAT_VMPTRLD,
    WHAT_RSM,
    WHAT_XBEGIN,
    WHAT_XEND,
    WHAT_XABORT,
    WHAT_WRMSR,
    WHAT_UD,
    WHAT_HLT,
    WHAT_MWAIT,
    WHAT_MOV_CR3,
    WHAT_PTWRITE,
    WHAT_ROWS,
    /* The class depends on ModRM and prefixes: the lists of ptl__group. */
    WHAT_GROUP_FF = WHAT_ROWS,
    WHAT_GROUP_C6,
    WHAT_GROUP_C7,
    WHAT_GROUP_0F01,
    WHAT_GROUP_0F22,
    WHAT_GROUP_0FAE,
    WHAT_GROUP_0FC7,
    WHAT_GROUP_MAP7,
    WHAT_GROUP_END,
    /* The length depends on more than ModRM and the operand size. */
    WHAT_TEST = WHAT_GROUP_END, /* F6, F7: an immediate only with /0 and /1 */
    WHAT_MOFFS,                 /* A0..A3: an address; with REX2: JMPABS */
    WHAT_0F78,                  /* VMREAD, or SSE4a with two immediate bytes */
};

#define ATTR_IMM        0x000fu
#define ATTR_MODRM      0x0010u
#define ATTR_ESC        0x0020u
#define ATTR_N64        0x0040u
#define ATTR_O64        0x0080u
#define ATTR_WHAT_SHIFT 8

/* One condition of a group: holds if (modrm & mask) == value and every need is met. */
#define NEED_MEMORY 0x01u /* ModRM is not a register */
#define NEED_NO66   0x02u
#define NEED_NOREP  0x04u
#define NEED_F2     0x08u
#define NEED_F3     0x10u
#define NEED_MODE64 0x20u
#define NEED_NOREXR 0x40u
#define NEED_NOF2   0x80u

struct group_rule {
    uint8_t mask, value, need, what; /* a `what` of 0 ends the list */
};

struct what_row {
    uint8_t iclass, kind;
};

extern const uint16_t ptl__opcode_map0[256];
extern const uint16_t ptl__opcode_map1[256];
extern const uint16_t ptl__opcode_vex1[256];  /* VEX and EVEX map 1; all EVEX have ModRM */
extern const uint16_t ptl__opcode_evex4[256]; /* APX: the promoted map 0 */
/* VEX, EVEX and XOP maps whose opcodes are all alike; 0 where the map does not exist. */
extern const uint16_t ptl__opcode_uniform[16];
extern const uint8_t ptl__imm_size[IMM_COUNT][OPSIZE_COUNT];
extern const uint8_t ptl__modrm_size16[256];
/* With 32 and 64-bit addresses; MODRM_SIB_BASE: 4 more if the base in SIB is 5. */
extern const uint8_t ptl__modrm_size32[256];
#define MODRM_SIB_BASE 0x80u
extern const struct what_row ptl__what[WHAT_ROWS];
extern const struct group_rule *const ptl__group[WHAT_GROUP_END - WHAT_GROUP_FF];

#endif
