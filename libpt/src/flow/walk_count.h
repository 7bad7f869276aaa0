/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk_count.h - the state of the loop of PTL_FLOW_COUNT, and what its files share:
 *
 *     walk_count.c   the loop: memos and stretches
 *     walk_plain.c   block by block, where nothing has been seen before
 *     walk_switch.c  tracing switched off and on, interrupts, PSB+
 */
#ifndef LIBPT_FLOW_WALK_COUNT_H
#define LIBPT_FLOW_WALK_COUNT_H

#include "flow/memo.h"
#include "flow/unfold.h"
#include "flow/walk_bytes.h"

#include <string.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Kept in registers: never passed to a function that is not inlined. */
struct regs {
    struct ptl__node *node; /* where execution is; NULL: at count.ip */
    struct ptl__node *last; /* the last block that ran here; NULL: none */
    void *const *slots;     /* of memos */
    size_t mask;
    void *const *stretches;
    size_t stretch_mask;
    int credit;    /* of stretches: how well they have done */
    int events;    /* an event that is not told has happened */
    uint64_t bits; /* the oldest is the top bit */
    unsigned n;    /* bits left */
    uint64_t last_ip;
    uint64_t insns, blocks, runs;
    const uint8_t *p; /* the next packet */
};

/* Calls one that is not: on a copy. */
#define SPILLED(r, call)                                                                           \
    __extension__({                                                                                \
        struct regs spilled = (r);                                                                 \
        int value = (call);                                                                        \
        (r) = spilled;                                                                             \
        value;                                                                                     \
    })

#define SPILLED_VOID(r, call)                                                                      \
    do {                                                                                           \
        struct regs spilled = (r);                                                                 \
        (call);                                                                                    \
        (r) = spilled;                                                                             \
    } while (0)

struct count {
    struct ptl_flow *f;
    const uint8_t *end; /* no packet is read from here on */
    const uint8_t *end_of_stretches;
    uint64_t ip;              /* where execution is, if that is no known block */
    uint64_t offset;          /* of the bits at hand */
    uint64_t pge_runs;        /* regs.runs when TIP.PGE gave the position; UINT64_MAX: it did not */
    const uint8_t *stretches; /* 1 for each byte that one may begin with */
    int few;                  /* nobody asks when tracing is switched off and on */
    int coverage;             /* uses of memos are counted */
    int status;
    const struct ptl__view *view; /* of what follows: */
    unsigned forgotten;
    struct ptl__stretch *before; /* the one used last, or NULL */
};

/* --- between the files ------------------------------------------------------------------- */

INLINE void load_memos(struct count *s, struct regs *r)
{
    const struct ptl__view *view = s->f->view;

    r->slots = view->memos.slots;
    r->mask = view->memos.nslots - 1;
    r->stretches = view->stretches.slots;
    r->stretch_mask = view->stretches.nslots - 1;
    if (s->view == view && s->forgotten == view->forgotten)
        return;
    s->view = view;
    s->forgotten = view->forgotten;
    s->before = NULL;
}

/* The time of events that are not told, before it goes on. */
INLINE void take_tsc(struct ptl_flow *f, struct regs *r)
{
    uint64_t tsc;

    if (r->events && ptl_clock_query(&f->bind.clock, &tsc, NULL, NULL) == 0)
        f->ev_tsc = tsc;
    r->events = 0;
}

/* Hand over what ran / and the last block of it. */
void ptl__count_flush(struct count *s, struct regs *r);
void ptl__count_flush_last(struct count *s, struct regs *r);
/* A packet that is neither TNT, TIP nor time. Returns 0 if the slow path is to go on. */
int ptl__count_switch(struct count *s, struct regs *r);

/* The events of the bytes at hand happen. There is room for them. */
void ptl__count_told(struct count *s, struct regs *r, const struct ptl__told *told, unsigned n);
/* Take the TNT-8, TIP and PAD in the next `bytes` (16 at least), up to another packet. Returns 0 if
 * the slow path is to go on. */
int ptl__count_plain(struct count *s, struct regs *r, size_t bytes);

/* --- memos ----------------------------------------------------------------------------- */

/* What the packet does at the node. NULL: the slow path is to decide. */
INLINE struct ptl__memo *look(struct count *s, struct regs *r, enum ptl__memo_kind kind,
                              uint64_t key)
{
    struct ptl__memo *m = ptl__memo_look(r->slots, r->mask, r->node, kind, key);

    if (likely(m))
        return m;
    m = ptl__memo_make(s->f, r->node, kind, key);
    load_memos(s, r);
    return m;
}

INLINE int depth_after(const struct ptl__retstack *stack, const struct ptl__effect *e)
{
    int count = (int)stack->count + e->move;

    count = count < e->low ? e->low : count;
    return count > e->high ? e->high : count;
}

/* `max` entries are written, whatever their number: a count would be mispredicted. */
INLINE void apply_stack(struct ptl__retstack *stack, const struct ptl__effect *e,
                        struct ptl__node *const *push, size_t max)
{
    ptl__ret_room(stack);
    stack->count = (unsigned)depth_after(stack, e);
    stack->top += (unsigned)e->move;
    memcpy(&stack->caller[stack->top - e->npush], push, max * sizeof(struct ptl__node *));
}

INLINE void use(const struct count *s, struct regs *r, struct ptl__memo *m)
{
    r->insns += m->insns;
    r->blocks += m->blocks;
    r->runs += m->runs;
    r->last = m->last;
    r->node = m->next;
    if (s->coverage)
        m->uses++;
    apply_stack(&s->f->rets, &m->stack, m->push, MEMO_PUSH);
}

/* The memo ends with a compressed return. Returns the block it goes to, or NULL: not known. */
INLINE struct ptl__node *find_return(struct count *s)
{
    struct ptl__retstack *rets = &s->f->rets;
    uint8_t mode = s->f->mode ? s->f->mode : PTL_MODE_64;

    s->ip = ptl__mode_ip(mode, ptl__ret_ip(rets, rets->top));
    return ptl__memo_return(s->f, s->ip, rets->caller[rets->top]);
}

INLINE struct ptl__node *take_return(struct count *s, uint8_t mode)
{
    struct ptl__retstack *rets = &s->f->rets;
    struct ptl__node *caller = rets->caller[rets->top - 1];

    rets->count--;
    rets->top--;
    if (likely(caller && caller->mode == mode && caller->succ[0]))
        return caller->succ[0];
    return find_return(s);
}

#endif
