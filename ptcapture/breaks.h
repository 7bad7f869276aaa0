/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * breaks.h - a way through the code that a thread runs at once, with breakpoints (INT3) wherever it
 * can leave it.
 *
 * Needs nothing of the CPU, but writes to the code: only where nobody else executes it.
 */
#ifndef PTCAPTURE_BREAKS_H
#define PTCAPTURE_BREAKS_H

#include "block.h"

#define BREAKS_MAX 4

struct breaks {
    unsigned count; /* 0: none are set */
    struct {
        uint64_t addr;
        uint8_t ran; /* instructions of the way that have executed when the thread comes there */
        uint8_t byte;
    } at[BREAKS_MAX];
};

/* Plan a way from `ip` on: straight on behind conditional branches, along direct jumps and calls,
 * up to what is indirect or wants to be stepped alone. `block` holds its instructions. Only code
 * that readers have been told of is taken. Returns 0 if that is less than two instructions. */
int breaks_plan(struct breaks *breaks, struct block *block, const struct code *code, uint64_t ip,
                block_fetch *fetch, void *context);

/* Write them into the code, or the code that was there. breaks_set() returns 0, or -1 if the code
 * cannot be written (and none is set). */
int breaks_set(struct breaks *breaks, struct code *code);
void breaks_lift(const struct breaks *breaks, struct code *code);

/* Is `rip` behind a breakpoint? Returns its address, 0 if not. */
uint64_t breaks_hit(const struct breaks *breaks, uint64_t rip);

/* How many instructions have executed when the thread stands before the one at `rip`: at a
 * breakpoint, or on the way. -1: it has not come here on this way. */
int breaks_ran(const struct breaks *breaks, const struct block *block, uint64_t rip);

#endif
