/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cold.h - where the reference's block decoder ends blocks (PTL_FLOW_COLD_BLOCKS).
 *
 * That decoder fills a cache of instructions while it walks to TNT bits and TIPs, and a block
 * that fills it ends earlier than later, when the cache is warm. Its numbers of blocks, which
 * users compare, can only be had by keeping the same record.
 */
#ifndef LIBPT_FLOW_COLD_H
#define LIBPT_FLOW_COLD_H

#include "flow/blocks.h"

/* The instructions walked so far. All zero is empty. */
struct ptl__cold {
    uint64_t *keys; /* 0: free */
    size_t nkeys, used;
    uint8_t filling; /* the block at hand is new */
};

void ptl__cold_free(struct ptl__cold *cold);

/* A walk comes to the block; `tip`: on its way to a TIP. *cut: the instructions after which
 * the user's block ends, 0: none. Returns 0 or PTL_NOMEM. */
int ptl__cold_block(struct ptl__cold *cold, struct ptl__node *node, int tip, uint16_t *cut);

/* Does a user's block end at the direct branch that ends the block? */
int ptl__cold_ends(const struct ptl__cold *cold, const struct ptl__node *node);

#endif
