/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/insn.h - x86 instructions: length, and the class that matters to trace.
 *
 * Source: Intel SDM vol. 2, chapters "Instruction Format" and "Opcode Map";
 * APX, AMD XOP and 3DNow!: see doc/internals/insn.md.
 *
 * No operands, no text: for those use a disassembler. Pure; thread-safe.
 */
#ifndef PT_INSN_H
#define PT_INSN_H

#include <pt/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ptl_exec_mode { PTL_MODE_UNKNOWN, PTL_MODE_16, PTL_MODE_32, PTL_MODE_64 };

/* What the instruction does to the flow. */
enum ptl_insn_class {
    PTL_INSN_OTHER, /* falls through; also UD2, HLT, CPUID */
    PTL_INSN_CALL,  /* near direct */
    PTL_INSN_CALL_IND,
    PTL_INSN_RET,
    PTL_INSN_JMP,      /* near direct */
    PTL_INSN_JMP_IND,  /* and JMPABS, for which hardware sends a TIP */
    PTL_INSN_JCC,      /* and LOOPcc, JrCXZ: one TNT bit */
    PTL_INSN_FAR_CALL, /* CALLF, INT n, INT3, INT1, INTO, SYSCALL, SYSENTER, VMCALL */
    PTL_INSN_FAR_RET, /* RETF, IRET, UIRET, ERETU/ERETS, SYSRET, SYSEXIT, RSM, VMLAUNCH, VMRESUME */
    PTL_INSN_FAR_JMP,
    PTL_INSN_MOV_CR3, /* falls through; PIP binds here */
    PTL_INSN_PTWRITE, /* falls through; PTW binds here */
    PTL_INSN_MAX_VALUE = PTL_INSN_PTWRITE
};

/* Which instruction exactly, where packets bind to it; 0 for all others. */
enum ptl_insn_kind {
    PTL_KIND_NONE,
    PTL_KIND_INT, /* INT n, INT3, INT1, INTO */
    PTL_KIND_IRET,
    PTL_KIND_UIRET,
    PTL_KIND_ERET, /* ERETU, ERETS */
    PTL_KIND_SYSCALL,
    PTL_KIND_SYSENTER,
    PTL_KIND_SYSRET,
    PTL_KIND_SYSEXIT,
    PTL_KIND_VMCALL,
    PTL_KIND_VMLAUNCH,
    PTL_KIND_VMRESUME,
    PTL_KIND_VMPTRLD,
    PTL_KIND_RSM,
    PTL_KIND_XBEGIN,
    PTL_KIND_XEND,
    PTL_KIND_XABORT,
    PTL_KIND_WRMSR,
    PTL_KIND_JMPABS,
    PTL_KIND_UD, /* UD0, UD1, UD2, UDB */
    PTL_KIND_HLT,
    PTL_KIND_MWAIT,
    PTL_KIND_MAX_VALUE = PTL_KIND_MWAIT
};

struct ptl_insn {
    int64_t disp;     /* direct branches: sign-extended displacement; JMPABS: the target */
    uint8_t size;     /* bytes, 1..15 */
    uint8_t iclass;   /* enum ptl_insn_class */
    uint8_t kind;     /* enum ptl_insn_kind */
    uint8_t mode;     /* enum ptl_exec_mode it was decoded in */
    uint8_t opsize16; /* a near branch target is cut to 16 bits */
};

#define PTL_INSN_MAX_SIZE 15

/* Decode one instruction from `bytes`, reading at most `len`; 15 are always enough, and the
 * result never depends on more. Returns its size, or
 *   PTL_EOS       the bytes end inside the instruction
 *   PTL_BAD_INSN  not an instruction that can be stepped over, or longer than 15
 *   PTL_INVALID   the mode is not 16, 32 or 64 */
PTL_API int ptl_insn_decode(struct ptl_insn *insn, const uint8_t *bytes, size_t len,
                            enum ptl_exec_mode mode) PTL_MUST_CHECK;

/* Target of a direct branch at `ip` (classes CALL, JMP, JCC; also JMPABS). */
PTL_API uint64_t ptl_insn_target(const struct ptl_insn *insn, uint64_t ip);

#ifdef __cplusplus
}
#endif

#endif
