/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk.h - the flow object, and following steps through code.
 *
 *               ┌──────── seek ◄──────────────┐ error
 *               ▼          │ PSB found        │
 *      end ◄── (no PSB)    ▼                  │
 *       ▲               decode ──────► lost (PTL_FLOW_RESYNC) ──► decode
 *       └── end of trace ──┘
 *
 * Each unit of work writes at most a few items, so that a batch may end anywhere.
 */
#ifndef LIBPT_FLOW_WALK_H
#define LIBPT_FLOW_WALK_H

#include "flow/bind.h"
#include "flow/blocks.h"
#include "flow/cold.h"
#include "flow/hold.h"
#include "flow/tasks.h"

enum ptl__flow_state {
    FLOW_SEEK,   /* look for the next PSB from `seek` */
    FLOW_DECODE, /* follow steps */
    FLOW_LOST,   /* look for a step that tells where execution is */
    FLOW_END     /* all said */
};

#define FLOW_EVENTS    128        /* events, errors and room per batch that a unit may need */
#define FLOW_UNIT      6          /* items that one unit may write, and a last count */
#define FLOW_PROGRESS  (1u << 20) /* bytes of trace after which counts are told */
#define FLOW_MAX_INSNS (1u << 20) /* straight code without trace that is still believed */

/* The branch (or other instruction) that has run and whose continuation is not known, or to
 * which events may still bind. */
struct ptl__at {
    uint8_t valid;
    uint8_t unresolved; /* where it goes is not known yet */
    uint8_t iclass, kind;
    uint64_t bound; /* event types that have bound to it */
    uint64_t ip, end, target;
    struct ptl__node *node;
};

struct ptl_flow {
    uint32_t flags;
    uint32_t errata;
    uint8_t state;     /* enum ptl__flow_state */
    uint8_t fast;      /* the fast path may be taken */
    uint8_t nowalk;    /* no code is walked: DISTNT, NO_BRANCH */
    uint8_t have_step; /* `step` is at hand */
    uint8_t ended_in;  /* the state in which the bytes ended */
    uint8_t paused;    /* at bind.pause */
    uint8_t counts;    /* blocks are counted: PTL_FLOW_COUNT */
    uint8_t cut;       /* the file turned out to be shorter: the trace ends there */
    uint64_t seek;

    struct ptl__bind bind;
    struct ptl__mapping *file; /* of which the trace is a part; NULL: of none */
    struct ptl__step step;
    struct ptl_addr_range addr[4];
    const struct ptl_addr_range *more_addr;
    size_t more_addr_count;

    /* where execution is */
    uint64_t ip;
    uint8_t enabled, mode, speculative;
    uint8_t joined; /* what comes next continues the block of the item before */
    struct ptl__at at;
    struct ptl__retstack rets;
    struct ptl__tasks tasks; /* those of threads that do not run */
    uint64_t since;          /* instructions since the trace gave a position, for TRIG */
    uint64_t run;            /* instructions since trace was used; and to find loops: */
    uint64_t loop_ip;        /* a place passed since then */
    uint32_t loop_hops;      /* branches since then */

    /* the last block as users see it, for errors */
    uint64_t block_ip;
    uint64_t last_ip, last_next; /* last instruction, its static successor */
    uint8_t block_empty;

    /* code */
    struct ptl__cache cache;
    struct ptl__cold cold;
    struct ptl__view *view;
    const struct ptl_space *space;
    struct ptl_cursor *cursor;

    /* bytes of trace that were not decoded; those of now begin at `skip_from` */
    uint64_t skipped, skip_from;
    uint8_t skipping;

    /* output */
    uint64_t ev_tsc; /* time of the last event */
    struct ptl_item *items;
    size_t n, cap;
    unsigned nevents, nerrors;
    struct ptl_event events[FLOW_EVENTS];
    struct ptl_error errors[FLOW_EVENTS];

    struct ptl__hold *hold; /* PTL_FLOW_PROVEN, else NULL */

    /* PTL_FLOW_COUNT */
    struct ptl__memo trial;  /* one that is not kept */
    int credit;              /* of stretches, see walk_count.c */
    uint16_t *seen;          /* see memo.h */
    struct ptl_ran ran;      /* not told yet */
    const uint8_t *progress; /* where it is told at the latest */
    unsigned nrans;
    struct ptl_ran rans[2 * FLOW_EVENTS + 1];
};

/* --- output ----------------------------------------------------------------------- */

static inline int ptl__flow_full(const struct ptl_flow *f)
{
    return f->n + FLOW_UNIT > f->cap || f->nevents + FLOW_UNIT > FLOW_EVENTS ||
           f->nerrors + FLOW_UNIT > FLOW_EVENTS;
}

static inline void ptl__put_block(struct ptl_flow *f, const struct ptl__node *node, uint16_t ninsn,
                                  uint32_t size)
{
    struct ptl_item *item;

    if (f->counts) {
        f->ran.insns += ninsn;
        f->ran.blocks += !f->joined;
        f->ran.runs++;
        if (f->flags & PTL_FLOW_COVERAGE)
            ptl__code_ran(node, 1);
        return;
    }
    item = &f->items[f->n++];
    item->kind = PTL_ITEM_BLOCK;
    item->flags = (uint8_t)((f->speculative ? PTL_ITEM_SPECULATIVE : 0) |
                            (ninsn != node->ninsn ? PTL_ITEM_PARTIAL : 0) |
                            (f->joined ? PTL_ITEM_CONTINUED : 0));
    item->ninsn = ninsn;
    item->size = size;
    item->offset = f->step.offset;
    item->tsc = f->ev_tsc;
    item->u.block = node->block;
}

/* What ran so far comes before what is told next. */
void ptl__put_ran(struct ptl_flow *f);
void ptl__put_event(struct ptl_flow *f, const struct ptl_event *ev);
void ptl__put_error(struct ptl_flow *f, int status, enum ptl_error_phase phase, uint64_t offset);

/* --- state ------------------------------------------------------------------------ */

/* Take the code of this space from now on. */
int ptl__flow_view(struct ptl_flow *f, const struct ptl_space *space, uint64_t version);

/* The cursor moves to the event just told. Returns 0 or PTL_NOMEM. */
int ptl__flow_cursor(struct ptl_flow *f, const struct ptl_event *ev);

/* The step's event happens now: change the state, tell it, move the cursor. The step is
 * done. Returns 0 or PTL_NOMEM. */
int ptl__flow_apply(struct ptl_flow *f);

/* The call at hand, if it is one, is not traced any further. */
void ptl__flow_forget_call(struct ptl_flow *f);

/* Trace told where execution goes on. */
static inline void ptl__flow_goto(struct ptl_flow *f, uint64_t ip)
{
    f->ip = ip;
    f->at.valid = f->at.unresolved = 0;
    f->joined = 0;
    f->run = 0;
    f->loop_hops = 0;
}

/* The whole block ran: its last instruction is the one at hand. */
static inline void ptl__at_end(struct ptl_flow *f, struct ptl__node *node)
{
    struct ptl__at *at = &f->at;

    at->valid = 1;
    at->unresolved = 0;
    at->bound = 0;
    at->iclass = node->iclass;
    at->kind = node->block->kind;
    at->ip = ptl__node_end(node) - node->last_size;
    at->end = ptl__mode_ip(node->mode, ptl__node_end(node));
    at->target = node->target;
    at->node = node;
    f->block_empty = 0;
    f->last_ip = at->ip;
    f->last_next = node->target ? node->target : at->end;
}

/* --- pausing ---------------------------------------------------------------------- */

/* Between two steps, and the next packet lies behind the pause. */
static inline int ptl__flow_pauses(const struct ptl_flow *f)
{
    const struct ptl__bind *b = &f->bind;

    return !f->have_step && !b->count && !b->mnt && ptl__bind_offset(b, b->pos) >= b->pause;
}

/* --- walking ---------------------------------------------------------------------- */

/* One unit of work for the step at hand. Returns 0, or a negative status: what is wrong. */
int ptl__walk_step(struct ptl_flow *f);

/* Take as much trace as can be taken without any event. */
void ptl__walk_fast(struct ptl_flow *f);

/* The same for PTL_FLOW_COUNT, from where nothing has run since trace was used. Returns 0 or
 * PTL_NOMEM. */
int ptl__walk_count(struct ptl_flow *f);

/* After an error: a unit of looking for a position. Returns 0, or PTL_NOMEM. */
int ptl__flow_lost(struct ptl_flow *f);

/* From here on nothing is decoded / now it is. Twice is once. */
void ptl__flow_skip_from(struct ptl_flow *f, uint64_t offset);
void ptl__flow_skip_to(struct ptl_flow *f, uint64_t offset);

/* The bytes end. */
static inline void ptl__flow_end(struct ptl_flow *f)
{
    ptl__flow_skip_to(f, ptl__bind_offset(&f->bind, f->bind.end));
    f->ended_in = f->state;
    f->state = FLOW_END;
}
/* Look for the next PSB, after something went wrong at `offset`. */
void ptl__flow_seek(struct ptl_flow *f, uint64_t offset);
/* A walk or a packet went wrong. */
void ptl__flow_fail(struct ptl_flow *f, int status, int in_packet);

/* An IP is traced: not in a TraceStop range, and in a filter range if there is any. */
int ptl__flow_filter(const struct ptl_flow *f, uint64_t ip);

#endif
