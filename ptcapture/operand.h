/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * operand.h - the value that a PTWRITE instruction is about to write: its operand is a register
 * or memory (SDM vol. 2, "PTWRITE" and "ModR/M and SIB bytes").
 */
#ifndef PTCAPTURE_OPERAND_H
#define PTCAPTURE_OPERAND_H

#include <pt/insn.h>
#include <sys/user.h>

struct operand {
    uint64_t value;   /* a register's */
    uint64_t address; /* memory's */
    uint8_t memory;   /* which of the two */
    uint8_t size;     /* 4 or 8 bytes */
};

/* `bytes`: of the instruction. Returns 0, or -1 if it is no PTWRITE that can be read. */
int operand_ptwrite(struct operand *operand, const uint8_t *bytes, const struct ptl_insn *insn,
                    const struct user_regs_struct *regs);

#endif
