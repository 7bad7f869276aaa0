/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk_fast.c - the loop that nearly all of a trace goes through: blocks linked to blocks,
 * TNT bits in a register.
 *
 *     bytes ──► [bits | n] ──► node ──► succ[bit] ──► node ──► ...
 *                                └─► item
 *
 * Anything that is not TNT, TIP, PAD or time, and any block that is not known yet or would be
 * an error, is left to the slow path, before anything of it has been written. Both write the
 * same items.
 *
 * This is the one place that reads foreign bytes without a cursor: the bounds are at `end`.
 */
#include "flow/walk.h"

#include "base/bytes.h"

#include <string.h>

#define TNT64_SECOND 0xa3
#define TIP_BITS     0x0d /* low five bits of TIP */
#define TIP_MAX      9    /* bytes */

/* What the loop keeps in registers. */
struct fast {
    struct ptl_flow *f;
    const uint8_t *p, *end; /* the trace */
    struct ptl_item *item, *full;
    struct ptl__node *node; /* at `ip`; NULL: not looked up */
    struct ptl__node *last; /* of the item before; NULL: none here */
    uint64_t ip;
    uint64_t bits; /* the oldest is the top bit */
    unsigned n;    /* bits left */
    uint64_t offset, tsc;
    uint64_t last_ip; /* IP compression */
    uint64_t since, run;
    uint64_t loop_ip, prev_loop_ip;
    uint32_t hops;
    uint8_t checked; /* the loop check of `node` has been done */
    uint8_t flags;   /* of the next item: PTL_ITEM_* */
    uint8_t speculative, mode;
};

/* --- in and out ---------------------------------------------------------------------- */

static void enter(struct fast *s, struct ptl_flow *f)
{
    memset(s, 0, sizeof(*s));
    s->f = f;
    s->p = f->bind.pos;
    s->end = f->bind.end;
    s->item = f->items + f->n;
    s->full = f->items + f->cap - FLOW_UNIT;
    s->ip = f->ip;
    s->mode = f->mode ? f->mode : PTL_MODE_64;
    s->speculative = f->speculative ? PTL_ITEM_SPECULATIVE : 0;
    s->flags = (uint8_t)(s->speculative | (f->joined ? PTL_ITEM_CONTINUED : 0));
    s->tsc = f->ev_tsc;
    s->last_ip = f->bind.last.ip;
    s->since = f->since;
    s->run = f->run;
    s->loop_ip = f->loop_ip;
    s->hops = f->loop_hops;
    if (f->have_step) {
        s->n = f->step.count;
        s->bits = f->step.bits << (64 - s->n);
        s->offset = f->step.offset;
    }
}

static void leave(struct fast *s)
{
    struct ptl_flow *f = s->f;

    if (s->checked) {
        s->hops--;
        s->loop_ip = s->prev_loop_ip;
    }
    f->n = (size_t)(s->item - f->items);
    f->bind.pos = s->p;
    f->bind.last.ip = s->last_ip;
    f->ip = s->ip;
    f->joined = (s->flags & PTL_ITEM_CONTINUED) != 0;
    f->since = s->since;
    f->run = s->run;
    f->loop_ip = s->loop_ip;
    f->loop_hops = s->hops;
    if (s->last) {
        uint64_t end = ptl__node_end(s->last);
        f->at.valid = 0;
        f->block_empty = 0;
        f->last_ip = end - s->last->last_size;
        f->last_next = s->last->target ? s->last->target : ptl__mode_ip(s->mode, end);
    }
    f->have_step = s->n != 0;
    if (s->n) {
        f->step.kind = STEP_TNT;
        f->step.used = 1;
        f->step.count = (uint16_t)s->n;
        f->step.bits = s->bits >> (64 - s->n);
        f->step.offset = s->offset;
    }
}

/* --- bytes ----------------------------------------------------------------------------- */

static void skip_pad(struct fast *s)
{
    while (s->end - s->p >= 8 && !ptl__load64(s->p))
        s->p += 8;
    while (s->p < s->end && !*s->p)
        s->p++;
}

static uint64_t offset_of(const struct fast *s)
{
    return ptl__bind_offset(&s->f->bind, s->p);
}

/* The bits of a TNT packet, their stop bit on top of them. */
static void take_tnt(struct fast *s, uint64_t bits, unsigned size)
{
    s->n = 63 - (unsigned)__builtin_clzll(bits);
    s->bits = bits << (64 - s->n);
    s->p += size;
    s->f->bind.after_pge = 0;
    skip_pad(s);
    s->offset = offset_of(s);
}

/* Packets of time, by the usual way. Among them is BBP, after which bytes mean something else. */
static int take_time(struct fast *s)
{
    int did;

    s->f->bind.pos = s->p;
    did = ptl__bind_time(&s->f->bind);
    s->p = s->f->bind.pos;
    return did && ptl__bind_idle(&s->f->bind);
}

/* The target of the TIP at `p`, not taken yet. Returns its size, or 0. */
static unsigned peek_tip(const struct fast *s, uint64_t *ip)
{
    const uint64_t mask48 = (UINT64_C(1) << 48) - 1;
    uint64_t v;

    if (s->end - s->p < TIP_MAX || (*s->p & 0x1f) != TIP_BITS)
        return 0;
    v = ptl__load64(s->p + 1);
    switch (*s->p >> 5) {
    case PTL_IPC_UPDATE_16:
        *ip = (s->last_ip & ~UINT64_C(0xffff)) | (v & 0xffff);
        return 3;
    case PTL_IPC_UPDATE_32:
        *ip = (s->last_ip & ~UINT64_C(0xffffffff)) | (v & 0xffffffff);
        return 5;
    case PTL_IPC_SEXT_48:
        *ip = (uint64_t)((int64_t)(v << 16) >> 16);
        return 7;
    case PTL_IPC_UPDATE_48:
        *ip = (s->last_ip & ~mask48) | (v & mask48);
        return 7;
    case PTL_IPC_FULL:
        *ip = v;
        return 9;
    default:
        return 0;
    }
}

/* What comes next? 1: bits are there; 2: a TIP is next; 0: something else. */
static int refill(struct fast *s)
{
    uint64_t ip;
    uint8_t op;

    for (;;) {
        skip_pad(s);
        if (s->end - s->p < TIP_MAX)
            return 0;
        op = *s->p;
        if (!(op & 1) && op != 2) {
            take_tnt(s, op >> 1, 1);
            return 1;
        }
        if ((op & 0x1f) == TIP_BITS) {
            s->offset = offset_of(s);
            return peek_tip(s, &ip) ? 2 : 0;
        }
        if (op == 2 && s->p[1] == TNT64_SECOND) {
            uint64_t bits = ptl__load64(s->p) >> 16;
            if (bits < 2)
                return 0;
            take_tnt(s, bits, 8);
            return 1;
        }
        if (!take_time(s))
            return 0;
    }
}

/* --- blocks ----------------------------------------------------------------------------- */

/* Write the block as an item. */
static inline void put(struct fast *s)
{
    struct ptl_item *item = s->item++;

    memcpy(item, s->node, 8); /* kind, flags, ninsn, size */
    item->flags = s->flags;
    item->offset = s->offset;
    item->tsc = s->tsc;
    item->u.block = s->node->block;
    s->last = s->node;
}

/* Go to the block at the other end of link `i`, which is at `ip`. */
static inline void follow(struct fast *s, int i, uint64_t ip)
{
    struct ptl__node *next = s->node->succ[i];

    s->ip = ip;
    if (!next) {
        if (ptl__view_node(&s->f->cache, s->f->view, ip, s->mode, &next) < 0 || !next->warm)
            next = NULL;
        s->node->succ[i] = next;
    }
    s->node = next;
}

/* Trace was used: a user's block ends. */
static inline void used(struct fast *s)
{
    s->flags = s->speculative;
    s->since = s->run = 0;
    s->hops = 0;
    s->checked = 0;
}

/* The slow path's check_loop() for the block at `ip`. Returns 0 if that finds a loop. */
static int check_loop(struct fast *s, uint64_t ip)
{
    if (ip == s->loop_ip || s->run > FLOW_MAX_INSNS)
        return 0;
    s->prev_loop_ip = s->loop_ip;
    s->checked = 1;
    if (!(s->hops & (s->hops + 1)))
        s->loop_ip = ip;
    s->hops++;
    return 1;
}

/* On through code alone, to link `i`. Returns 0 where the slow path must decide: a loop. */
static int go_on(struct fast *s, int i, uint64_t ip, uint32_t end_flag)
{
    if (!s->hops) {
        s->loop_ip = s->node->ip;
        s->hops = 1;
    }
    s->checked = 0;
    s->since += s->node->ninsn;
    s->run += s->node->ninsn;
    s->flags = (uint8_t)(s->speculative | (s->f->flags & end_flag ? 0 : PTL_ITEM_CONTINUED));
    follow(s, i, ip);
    return check_loop(s, ip);
}

static uint64_t end_of(const struct fast *s)
{
    return ptl__mode_ip(s->mode, ptl__node_end(s->node));
}

/* An indirect branch or uncompressed return: to the TIP at `p`. */
static int take_tip(struct fast *s)
{
    struct ptl__node *next;
    uint64_t ip;
    unsigned size;

    skip_pad(s);
    size = peek_tip(s, &ip);
    if (!size)
        return 0;
    put(s);
    s->p += size;
    s->last_ip = ip;
    s->f->bind.last.have_ip = 1;
    s->f->bind.last.suppressed = 0;
    s->f->bind.after_pge = 0;
    if (s->node->iclass == PTL_INSN_CALL_IND)
        ptl__ret_push(&s->f->rets, end_of(s), s->node);
    else if (s->node->iclass == PTL_INSN_RET)
        ptl__ret_drop(&s->f->rets);
    used(s);
    next = s->node->succ[1];
    if (next && next->ip != ip)
        s->node->succ[1] = NULL;
    follow(s, 1, ip);
    return 1;
}

/* A compressed return. */
static int take_return(struct fast *s)
{
    struct ptl__retstack *rets = &s->f->rets;
    struct ptl__node *caller;
    uint64_t ip;

    if (!(s->bits >> 63) || !rets->count)
        return 0;
    put(s);
    ptl__ret_drop(rets);
    ip = ptl__mode_ip(s->mode, rets->entry[rets->top].ip);
    caller = rets->entry[rets->top].caller;
    s->bits <<= 1;
    s->n--;
    used(s);
    if (caller && caller->mode == s->mode) {
        s->node = caller;
        follow(s, 0, ip);
    } else {
        s->ip = ip;
        s->node = NULL;
    }
    return 1;
}

static int take_call(struct fast *s)
{
    uint64_t end = end_of(s);

    put(s);
    if (s->node->target != end)
        ptl__ret_push(&s->f->rets, end, s->node);
    return go_on(s, 1, s->node->target, PTL_FLOW_END_ON_CALL);
}

/* Branches other than JCC. Returns 0 if the slow path is to go on. */
static int take_other(struct fast *s)
{
    switch (s->node->iclass) {
    case PTL_INSN_CALL:
        return take_call(s);
    case PTL_INSN_JMP:
        put(s);
        return go_on(s, 1, s->node->target, PTL_FLOW_END_ON_JUMP);
    case PTL_INSN_OTHER:
    case PTL_INSN_MOV_CR3:
    case PTL_INSN_PTWRITE:
        put(s);
        return go_on(s, 0, end_of(s), 0);
    case PTL_INSN_RET:
        if (s->n && !(s->f->flags & PTL_FLOW_NORETCOMP))
            return take_return(s);
        return take_tip(s);
    default:
        return take_tip(s);
    }
}

/* --- the loop ---------------------------------------------------------------------------- */

static int find_node(struct fast *s)
{
    return s->node || (ptl__view_node(&s->f->cache, s->f->view, s->ip, s->mode, &s->node) == 0 &&
                       s->node->warm);
}

/* Use all bits, as far as known blocks and room go. */
static int use_bits(struct fast *s)
{
    while (s->n) {
        if (s->item >= s->full || !find_node(s))
            return 0;
        if (s->node->iclass == PTL_INSN_JCC) {
            int taken = (int)(s->bits >> 63);
            put(s);
            s->bits <<= 1;
            s->n--;
            used(s);
            follow(s, taken, taken ? s->node->target : end_of(s));
        } else if (!take_other(s)) {
            return 0;
        }
    }
    return 1;
}

/* Walk to the branch that the TIP at `p` belongs to. */
static int use_tip(struct fast *s)
{
    const uint8_t *p = s->p;

    while (s->p == p) {
        if (s->item >= s->full || !find_node(s) || s->node->iclass == PTL_INSN_JCC ||
            !take_other(s))
            return 0;
    }
    return 1;
}

void ptl__walk_fast(struct ptl_flow *f)
{
    struct fast s;
    int more;

    enter(&s, f);
    if (s.hops && !check_loop(&s, s.ip))
        return;
    do {
        more = s.n ? 1 : refill(&s);
        if (more == 1)
            more = use_bits(&s);
        else if (more == 2)
            more = use_tip(&s);
    } while (more);
    leave(&s);
}
