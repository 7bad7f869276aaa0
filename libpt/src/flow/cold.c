/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cold.c - the record of instructions walked.
 */
#include "flow/cold.h"

#include "base/alloc.h"

#define MIN_KEYS 1024

static size_t slot_of(const struct ptl__cold *cold, uint64_t key)
{
    return (size_t)(key * 0x9e3779b97f4a7c15u >> 32) & (cold->nkeys - 1);
}

static int has(const struct ptl__cold *cold, uint64_t key)
{
    if (!cold->nkeys)
        return 0;
    for (size_t i = slot_of(cold, key); cold->keys[i]; i = (i + 1) & (cold->nkeys - 1))
        if (cold->keys[i] == key)
            return 1;
    return 0;
}

static void put(struct ptl__cold *cold, uint64_t key)
{
    size_t i = slot_of(cold, key);

    while (cold->keys[i])
        i = (i + 1) & (cold->nkeys - 1);
    cold->keys[i] = key;
    cold->used++;
}

static int grow(struct ptl__cold *cold)
{
    struct ptl__cold bigger = {.nkeys = cold->nkeys ? cold->nkeys * 2 : MIN_KEYS};

    if (cold->used * 2 < cold->nkeys)
        return 0;
    bigger.keys = ptl__calloc(bigger.nkeys, sizeof(*bigger.keys));
    if (!bigger.keys)
        return PTL_NOMEM;
    for (size_t i = 0; i < cold->nkeys; i++)
        if (cold->keys[i])
            put(&bigger, cold->keys[i]);
    bigger.filling = cold->filling;
    ptl__free(cold->keys);
    *cold = bigger;
    return 0;
}

/* Sections hold the code, so the same address in another one is another instruction. */
static uint64_t key_of(const struct ptl__node *node, uint64_t ip)
{
    return (ip ^ (uint64_t)(uintptr_t)node->block->section << 16) | UINT64_C(1) << 63;
}

void ptl__cold_free(struct ptl__cold *cold)
{
    ptl__free(cold->keys);
}

int ptl__cold_block(struct ptl__cold *cold, struct ptl__node *node, int tip, uint16_t *cut)
{
    const struct ptl_block *block = node->block;
    uint32_t size = 0;
    uint16_t i;

    *cut = 0;
    if (node->warm)
        cold->filling = 0;
    for (i = 0; !node->warm && i < block->ninsn; i++) {
        uint64_t key = key_of(node, block->ip + size);
        struct ptl_insn insn;

        if (has(cold, key)) {
            if (i && cold->filling && tip) {
                *cut = i;
                return 0;
            }
            cold->filling = 0;
        } else {
            if (grow(cold) < 0)
                return PTL_NOMEM;
            put(cold, key);
            cold->filling = 1;
        }
        if (ptl_insn_decode(&insn, block->bytes + size, block->size - size,
                            (enum ptl_exec_mode)block->mode) < 0)
            break;
        size += insn.size;
    }
    node->warm = 1;
    return 0;
}

int ptl__cold_ends(const struct ptl__cold *cold, const struct ptl__node *node)
{
    if (!cold->filling)
        return 0;
    return node->iclass == PTL_INSN_CALL ||
           (node->iclass == PTL_INSN_JMP && node->target < ptl__node_end(node));
}
