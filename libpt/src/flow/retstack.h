/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * retstack.h - return addresses of near calls, for compressed returns.
 *
 *     call ──push──► [ ... | caller ]  ──pop──► ret
 *
 * 64 entries count: an overflow forgets the oldest. An entry keeps the calling block, which is
 * linked to the block it returns to.
 *
 * The array is longer than that, and no entry moves until one of its ends is near: so several
 * entries are written at once without a look at where the array ends.
 *
 * Source: Intel SDM vol. 3, "Intel Processor Trace", section "Indirect Transfer Compression
 * for Returns (RET)".
 */
#ifndef LIBPT_FLOW_RETSTACK_H
#define LIBPT_FLOW_RETSTACK_H

#include "flow/blocks.h"

#include <string.h>

#define RETSTACK_DEPTH 64
#define RETSTACK_SIZE  512
#define RETSTACK_ROOM  (RETSTACK_DEPTH + 16) /* at each end: what one step may take */

struct ptl__retstack {
    unsigned top, count;                     /* the youngest entry is [top - 1] */
    struct ptl__node *caller[RETSTACK_SIZE]; /* NULL: not known (any more); else the return goes
                                                behind it */
    uint64_t ip[RETSTACK_SIZE];              /* if there is no caller */
};

/* Move to the middle. */
static inline void ptl__ret_center(struct ptl__retstack *s)
{
    unsigned from = s->top - s->count, to = RETSTACK_SIZE / 2;

    memmove(&s->caller[to], &s->caller[from], s->count * sizeof(struct ptl__node *));
    memmove(&s->ip[to], &s->ip[from], s->count * sizeof(s->ip[0]));
    s->top = to + s->count;
}

/* To be asked before each step. */
static inline void ptl__ret_room(struct ptl__retstack *s)
{
    if (__builtin_expect(s->top - RETSTACK_ROOM > RETSTACK_SIZE - 2 * RETSTACK_ROOM, 0))
        ptl__ret_center(s);
}

/* The address at [at]. */
static inline uint64_t ptl__ret_ip(const struct ptl__retstack *s, unsigned at)
{
    const struct ptl__node *caller = s->caller[at];

    return caller ? ptl__mode_ip(caller->mode, ptl__node_end(caller)) : s->ip[at];
}

static inline void ptl__ret_push(struct ptl__retstack *s, uint64_t ip, struct ptl__node *caller)
{
    ptl__ret_room(s);
    s->ip[s->top] = ip;
    s->caller[s->top++] = caller;
    s->count += s->count < RETSTACK_DEPTH;
}

/* Forget the youngest. Returns 0 if there was none. */
static inline int ptl__ret_drop(struct ptl__retstack *s)
{
    if (!s->count)
        return 0;
    s->count--;
    s->top--;
    return 1;
}

static inline int ptl__ret_pop(struct ptl__retstack *s, uint64_t *ip)
{
    if (!ptl__ret_drop(s))
        return 0;
    *ip = ptl__ret_ip(s, s->top);
    return 1;
}

static inline void ptl__ret_clear(struct ptl__retstack *s)
{
    s->top = RETSTACK_SIZE / 2;
    s->count = 0;
}

/* The blocks are going: keep the addresses only. */
static inline void ptl__ret_unlink(struct ptl__retstack *s)
{
    for (unsigned i = s->top - s->count; i < s->top; i++) {
        s->ip[i] = ptl__ret_ip(s, i);
        s->caller[i] = NULL;
    }
}

#endif
