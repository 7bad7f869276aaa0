/* SPDX-License-Identifier: BSD-3-Clause */
/* block.c - see block.h. */
#include "block.h"

static int is_indirect(const struct ptl_insn *insn)
{
    return insn->iclass == PTL_INSN_RET || insn->iclass == PTL_INSN_JMP_IND ||
           insn->iclass == PTL_INSN_CALL_IND;
}

static int is_direct(const struct ptl_insn *insn)
{
    return insn->iclass == PTL_INSN_JMP || insn->iclass == PTL_INSN_CALL;
}

int block_alone(const struct code_insn *insn)
{
    if (!insn->settled || (insn->traits & (CODE_PUSHF | CODE_POPF | CODE_SYSCALL)))
        return 1;
    switch (insn->insn.iclass) {
    case PTL_INSN_FAR_CALL:
    case PTL_INSN_FAR_RET:
    case PTL_INSN_FAR_JMP:
    case PTL_INSN_PTWRITE:
        return 1;
    default:
        return insn->insn.kind == PTL_KIND_XBEGIN || insn->insn.kind == PTL_KIND_XABORT ||
               insn->insn.kind == PTL_KIND_XEND;
    }
}

int block_holds(const struct block *block, uint64_t rip)
{
    for (unsigned i = 0; i < block->count; i++) {
        if (block->insn[i].ip == rip)
            return 1;
    }
    return 0;
}

static int jumps_to(const struct code_insn *insn, uint64_t rip)
{
    if (insn->insn.iclass != PTL_INSN_JCC && !is_direct(&insn->insn))
        return 0;
    return ptl_insn_target(&insn->insn, insn->ip) == rip;
}

/* Does only one way lead to each place? The beginning is an exception: nobody stops there because
 * of a branch without having branched. */
static int is_clear(const struct block *block)
{
    const struct code_insn *last = &block->insn[block->count - 1];
    unsigned branches = 0;

    for (unsigned i = 0; i < block->count; i++) {
        const struct code_insn *insn = &block->insn[i];
        uint64_t target;

        if (insn->insn.iclass != PTL_INSN_JCC && !is_direct(&insn->insn))
            continue;
        branches++;
        target = ptl_insn_target(&insn->insn, insn->ip);
        if (target != block->insn[0].ip && block_holds(block, target))
            return 0;
        for (unsigned k = 0; k < i; k++) {
            if (jumps_to(&block->insn[k], target))
                return 0;
        }
    }
    return !is_indirect(&last->insn) || !branches;
}

int block_plan(struct block *block, uint64_t ip, block_fetch *fetch, void *context)
{
    block->count = 0;
    while (block->count < BLOCK_MAX) {
        struct code_insn *insn = &block->insn[block->count];

        if (fetch(context, ip, insn) || block_alone(insn))
            break;
        block->count++;
        ip += insn->insn.size;
        if (is_direct(&insn->insn) || is_indirect(&insn->insn)) {
            if (is_clear(block))
                return 1;
            break;
        }
    }
    block->count = 0;
    return 0;
}

int block_ran(const struct block *block, uint64_t rip, int branched)
{
    for (unsigned i = 0; i < block->count; i++) {
        const struct code_insn *insn = &block->insn[i];

        if (branched ? jumps_to(insn, rip) || is_indirect(&insn->insn) : insn->ip == rip)
            return (int)(branched ? i + 1 : i);
    }
    return -1;
}
