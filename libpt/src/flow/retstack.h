/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * retstack.h - return addresses of near calls, for compressed returns.
 *
 *     call ──push──► [ ... | caller ]  ──pop──► ret
 *
 * A ring of 64: an overflow drops the oldest. An entry keeps the calling block, which is
 * linked to the block it returns to.
 *
 * Source: Intel SDM vol. 3, "Intel Processor Trace", section "Indirect Transfer Compression
 * for Returns (RET)".
 */
#ifndef LIBPT_FLOW_RETSTACK_H
#define LIBPT_FLOW_RETSTACK_H

#include <stddef.h>
#include <stdint.h>

#define RETSTACK_DEPTH 64

struct ptl__node;

struct ptl__retstack {
    unsigned top, count; /* the youngest entry is [(top - 1) % DEPTH] */
    struct {
        uint64_t ip;
        struct ptl__node *caller; /* NULL: not known (any more) */
    } entry[RETSTACK_DEPTH];
};

static inline void ptl__ret_push(struct ptl__retstack *s, uint64_t ip, struct ptl__node *caller)
{
    unsigned at = s->top % RETSTACK_DEPTH;

    s->entry[at].ip = ip;
    s->entry[at].caller = caller;
    s->top = at + 1;
    s->count += s->count < RETSTACK_DEPTH;
}

/* Forget the youngest. Returns 0 if there was none. */
static inline int ptl__ret_drop(struct ptl__retstack *s)
{
    if (!s->count)
        return 0;
    s->count--;
    s->top = (s->top - 1) % RETSTACK_DEPTH;
    return 1;
}

static inline int ptl__ret_pop(struct ptl__retstack *s, uint64_t *ip)
{
    if (!ptl__ret_drop(s))
        return 0;
    *ip = s->entry[s->top].ip;
    return 1;
}

static inline void ptl__ret_clear(struct ptl__retstack *s)
{
    s->top = s->count = 0;
}

/* The blocks are going: keep the addresses only. */
static inline void ptl__ret_unlink(struct ptl__retstack *s)
{
    for (unsigned i = 0; i < RETSTACK_DEPTH; i++)
        s->entry[i].caller = NULL;
}

#endif
