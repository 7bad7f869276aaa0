/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * block.h - stepping whole blocks: what has executed between two taken branches.
 *
 * With PTRACE_SINGLEBLOCK a CPU whose branch step works (SDM, "Single-Stepping on Branches", BTF)
 * stops a thread behind the next branch that is taken. Which instructions have executed follows
 * from where it began, where it stopped, and the code, if only one way leads there.
 */
#ifndef PTCAPTURE_BLOCK_H
#define PTCAPTURE_BLOCK_H

#include "code.h"

#define BLOCK_MAX 64

/* Straight code up to and with the first branch that is always taken. */
struct block {
    struct code_insn insn[BLOCK_MAX];
    unsigned count;
};

/* The instruction at `ip`; not 0 if it cannot be had. `context` is the caller's. */
typedef int block_fetch(void *context, uint64_t ip, struct code_insn *insn);

/* Does the instruction want to be stepped alone? Where it enters the kernel, shows or changes the
 * trap flag, or can change before it executes. */
int block_alone(const struct code_insn *insn);

/* Can the code from `ip` on be stepped as a block? Not where an instruction wants to be stepped
 * alone, and not where two ways lead to the same place. Else `block` holds the code. */
int block_plan(struct block *block, uint64_t ip, block_fetch *fetch, void *context);

/* How many instructions have executed when the thread stopped at `rip`. `branched`: it stopped
 * because of a branch, the last of them; else before the instruction at `rip`. -1: that cannot be.
 */
int block_ran(const struct block *block, uint64_t rip, int branched);

/* Is `rip` in the block? (Then a trap there may have been sent by somebody.) */
int block_holds(const struct block *block, uint64_t rip);

/* Does the branch step of this machine work? Runs a small child. */
int block_probe(void);

#endif
