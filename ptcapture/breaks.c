/* SPDX-License-Identifier: BSD-3-Clause */
/* breaks.c - see breaks.h. */
#include "breaks.h"

#define INT3 0xccu

/* --- a way ---------------------------------------------------------------------------- */

/* Does an instruction of the way hold one of the bytes [addr, addr + size)? */
static int covers(const struct block *block, uint64_t addr, unsigned size)
{
    for (unsigned i = 0; i < block->count; i++) {
        const struct code_insn *insn = &block->insn[i];

        if (addr < insn->ip + insn->insn.size && insn->ip < addr + size)
            return 1;
    }
    return 0;
}

static int has(const struct breaks *breaks, uint64_t addr, unsigned size)
{
    for (unsigned i = 0; i < breaks->count; i++) {
        if (breaks->at[i].addr - addr < size)
            return 1;
    }
    return 0;
}

/* A breakpoint must not change an instruction of the way, and must tell which way the thread has
 * come. The byte that is there must be known. */
static int add_break(struct breaks *breaks, const struct block *block, const struct code *code,
                     uint64_t addr)
{
    if (covers(block, addr, 1) || has(breaks, addr, 1) ||
        code_byte(code, addr, &breaks->at[breaks->count].byte))
        return -1;
    breaks->at[breaks->count].addr = addr;
    breaks->at[breaks->count].ran = (uint8_t)block->count;
    breaks->count++;
    return 0;
}

static void drop_last(struct breaks *breaks, struct block *block)
{
    if (breaks->count && breaks->at[breaks->count - 1].ran == block->count)
        breaks->count--;
    block->count--;
}

/* Take the instruction at `ip` onto the way. Returns 0 and what follows, or -1. */
static int extend(struct breaks *breaks, struct block *block, const struct code *code, uint64_t ip,
                  block_fetch *fetch, void *context, uint64_t *next)
{
    struct code_insn *insn = &block->insn[block->count];
    uint64_t follows = ip;
    int jcc;

    if (fetch(context, ip, insn) || block_alone(insn) || covers(block, ip, insn->insn.size) ||
        has(breaks, ip, insn->insn.size))
        return -1;
    jcc = insn->insn.iclass == PTL_INSN_JCC;
    if (jcc && breaks->count == BREAKS_MAX - 1) /* the last is for the end */
        return -1;
    switch (insn->insn.iclass) {
    case PTL_INSN_RET:
    case PTL_INSN_JMP_IND:
    case PTL_INSN_CALL_IND:
        return -1;
    case PTL_INSN_JMP:
    case PTL_INSN_CALL:
        follows = ptl_insn_target(&insn->insn, ip);
        break;
    default:
        follows = ip + insn->insn.size;
        break;
    }
    block->count++;
    if (jcc && add_break(breaks, block, code, ptl_insn_target(&insn->insn, ip))) {
        block->count--;
        return -1;
    }
    *next = follows;
    return 0;
}

int breaks_plan(struct breaks *breaks, struct block *block, const struct code *code, uint64_t ip,
                block_fetch *fetch, void *context)
{
    uint64_t end = ip;

    block->count = breaks->count = 0;
    while (block->count < BLOCK_MAX && !extend(breaks, block, code, end, fetch, context, &end))
        ;
    while (block->count >= 2) {
        if (!add_break(breaks, block, code, end))
            return 1;
        end = block->insn[block->count - 1].ip;
        drop_last(breaks, block);
    }
    block->count = breaks->count = 0;
    return 0;
}

/* --- the code ------------------------------------------------------------------------- */

static void lift(const struct breaks *breaks, unsigned count, struct code *code)
{
    for (unsigned i = 0; i < count; i++)
        (void)code_poke(code, breaks->at[i].addr, breaks->at[i].byte); /* fails if it has ended */
}

int breaks_set(struct breaks *breaks, struct code *code)
{
    for (unsigned i = 0; i < breaks->count; i++) {
        if (code_poke(code, breaks->at[i].addr, INT3)) {
            lift(breaks, i, code);
            breaks->count = 0;
            return -1;
        }
    }
    return 0;
}

void breaks_lift(const struct breaks *breaks, struct code *code)
{
    lift(breaks, breaks->count, code);
}

/* --- what has executed ------------------------------------------------------------------ */

uint64_t breaks_hit(const struct breaks *breaks, uint64_t rip)
{
    return has(breaks, rip - 1, 1) ? rip - 1 : 0;
}

int breaks_ran(const struct breaks *breaks, const struct block *block, uint64_t rip)
{
    for (unsigned i = 0; i < breaks->count; i++) {
        if (breaks->at[i].addr == rip)
            return breaks->at[i].ran;
    }
    return block_ran(block, rip, 0);
}
