/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk_fast.c - the loop that nearly all of a trace goes through: blocks linked to blocks,
 * TNT bits in a register.
 *
 *     bytes ──► [bits | n] ──► node ──► succ[bit] ──► node ──► ...
 *                                └─► item
 *
 * It takes TNT, TIP, PAD, time, and TIP.PGD/TIP.PGE pairs. Anything else, and any block that
 * would be an error, is left to the slow path before anything of it has been written. Both
 * write the same items.
 */
#include "flow/walk_bytes.h"

#include <string.h>

/* Kept in registers: never passed to a function that is not inlined. */
struct regs {
    struct ptl__node *node; /* where execution is; NULL: at fast.ip, not known */
    struct ptl_item *item;  /* the next one */
    uint64_t bits;          /* the oldest is the top bit */
    unsigned n;             /* bits left */
    unsigned direct;        /* blocks have been left without trace since trace was used: the
                               counters in `fast` are valid, else they are 0 */
    uint64_t flags;         /* of the next item */
    uint64_t offset;        /* of the next item */
    const uint8_t *p;       /* the next packet */
};

struct fast {
    struct ptl_flow *f;
    const uint8_t *end;
    struct ptl_item *full;  /* no block begins from here on */
    struct ptl__node *last; /* the one written last; NULL: none */
    uint64_t ip;
    uint64_t tsc;
    uint64_t last_ip; /* IP compression */
    uint64_t since, run, loop_ip, prev_loop_ip;
    uint32_t hops;
    uint8_t checked; /* the loop check has been done for where execution is */
    uint8_t speculative, mode;
};

/* --- in and out ---------------------------------------------------------------------- */

static void enter(struct fast *s, struct regs *r, struct ptl_flow *f)
{
    memset(s, 0, sizeof(*s));
    memset(r, 0, sizeof(*r));
    s->f = f;
    s->end = f->bind.end;
    s->full = f->items + f->cap - FLOW_UNIT;
    s->ip = f->ip;
    s->mode = f->mode ? f->mode : PTL_MODE_64;
    s->speculative = f->speculative ? PTL_ITEM_SPECULATIVE : 0;
    s->tsc = f->ev_tsc;
    s->last_ip = f->bind.last.ip;
    s->since = f->since;
    s->run = f->run;
    s->loop_ip = f->loop_ip;
    s->hops = f->loop_hops;
    r->p = f->bind.pos;
    r->item = f->items + f->n;
    r->flags = s->speculative | (f->joined ? PTL_ITEM_CONTINUED : 0u);
    r->direct = f->since || f->run || f->loop_hops;
    if (f->have_step) {
        r->n = f->step.count;
        r->bits = f->step.bits << (64 - r->n);
        r->offset = f->step.offset;
    }
}

static void leave_counters(struct fast *s, const struct regs *r)
{
    struct ptl_flow *f = s->f;

    if (r->direct && s->checked) {
        s->hops--;
        s->loop_ip = s->prev_loop_ip;
    }
    f->since = r->direct ? s->since : 0;
    f->run = r->direct ? s->run : 0;
    f->loop_hops = r->direct ? s->hops : 0;
    f->loop_ip = s->loop_ip;
}

static void leave(struct fast *s, const struct regs *r)
{
    struct ptl_flow *f = s->f;

    leave_counters(s, r);
    f->n = (size_t)(r->item - f->items);
    f->bind.pos = r->p;
    f->bind.last.ip = s->last_ip;
    f->ip = r->node ? r->node->ip : s->ip;
    f->joined = (r->flags & PTL_ITEM_CONTINUED) != 0;
    f->ev_tsc = s->tsc;
    if (s->last) {
        ptl__at_end(f, s->last);
        f->at.valid = r->direct != 0;
    }
    f->have_step = r->n != 0;
    if (r->n) {
        f->step.kind = STEP_TNT;
        f->step.used = 1;
        f->step.count = (uint16_t)r->n;
        f->step.bits = r->bits >> (64 - r->n);
        f->step.offset = r->offset;
    }
}

/* --- bytes ----------------------------------------------------------------------------- */

INLINE uint64_t offset_of(const struct fast *s, const uint8_t *p)
{
    return ptl__bind_offset(&s->f->bind, p);
}

/* The bits of a TNT packet, below their stop bit. */
INLINE void take_tnt(const struct fast *s, struct regs *r, uint64_t bits, unsigned size)
{
    r->n = 63 - (unsigned)__builtin_clzll(bits);
    r->bits = bits << (64 - r->n);
    r->p = ptl__skip_pad(r->p + size, s->end);
    r->offset = offset_of(s, r->p);
}

/* Packets of time. Returns the next packet, or NULL. */
static const uint8_t *take_time(const struct fast *s, const uint8_t *p)
{
    return s->end - p < IP_MAX ? NULL : ptl__take_time(&s->f->bind, p);
}

/* The IP of the IP packet at `p`. Returns its size, or 0: suppressed, reserved, cut. */
INLINE unsigned peek_ip(const struct fast *s, const uint8_t *p, uint64_t *ip)
{
    return s->end - p < IP_MAX ? 0 : ptl__peek_ip(p, s->last_ip, ip);
}

INLINE void take_ip(struct fast *s, struct regs *r, uint64_t ip, unsigned size)
{
    r->p += size;
    s->last_ip = ip;
    s->f->bind.last.have_ip = 1;
    s->f->bind.last.suppressed = 0;
}

/* --- blocks ----------------------------------------------------------------------------- */

/* Write the block as an item. */
INLINE void put(struct fast *s, struct regs *r)
{
    uint64_t head; /* kind, flags, ninsn, size */

    memcpy(&head, r->node, sizeof(head));
    head |= r->flags << 8;
    memcpy(r->item, &head, sizeof(head));
    r->item->offset = r->offset;
    r->item->tsc = s->tsc;
    r->item->u.block = r->node->block;
    r->item++;
    s->last = r->node;
}

/* The block at `ip`, to be linked from `from`. NULL: to be looked at by the slow path. */
static struct ptl__node *find(struct fast *s, struct ptl__node *from, int i, uint64_t ip)
{
    struct ptl__node *node;

    s->ip = ip;
    if (ptl__view_node(&s->f->cache, s->f->view, ip, s->mode, &node) < 0 || !node->warm)
        return NULL;
    if (from)
        from->succ[i] = node;
    return node;
}

/* Go to the other end of link `i`, which is at `ip`. */
INLINE void follow(struct fast *s, struct regs *r, int i, uint64_t ip)
{
    struct ptl__node *next = r->node->succ[i];
    r->node = next ? next : find(s, r->node, i, ip);
}

/* Trace was used: a user's block ends. */
INLINE void used(const struct fast *s, struct regs *r)
{
    r->flags = s->speculative;
    r->direct = 0;
}

INLINE uint64_t end_of(const struct fast *s, const struct ptl__node *node)
{
    return ptl__mode_ip(s->mode, ptl__node_end(node));
}

/* The loop check for `ip`, where execution goes on without trace; see check_loop() of the slow
 * path, which does it when it comes to the block. Returns 0 where that must decide. */
INLINE int check_loop(struct fast *s, uint64_t ip)
{
    s->checked = 0;
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
INLINE int go_on(struct fast *s, struct regs *r, int i, uint64_t ip, uint32_t end_flag)
{
    if (!r->direct) {
        s->since = s->run = 0;
        s->hops = 0;
        r->direct = 1;
    }
    if (!s->hops) {
        s->loop_ip = r->node->ip;
        s->hops = 1;
    }
    s->since += r->node->ninsn;
    s->run += r->node->ninsn;
    r->flags = s->speculative | (s->f->flags & end_flag ? 0u : PTL_ITEM_CONTINUED);
    follow(s, r, i, ip);
    return check_loop(s, ip);
}

/* Does the block go on without trace? */
INLINE int is_direct(const struct ptl__node *node)
{
    return (1u << node->iclass & (1u << PTL_INSN_CALL | 1u << PTL_INSN_JMP | 1u << PTL_INSN_OTHER |
                                  1u << PTL_INSN_MOV_CR3 | 1u << PTL_INSN_PTWRITE)) != 0;
}

INLINE int take_direct(struct fast *s, struct regs *r)
{
    uint64_t end;

    put(s, r);
    switch (r->node->iclass) {
    case PTL_INSN_JMP:
        return go_on(s, r, 1, r->node->target, PTL_FLOW_END_ON_JUMP);
    case PTL_INSN_CALL:
        end = end_of(s, r->node);
        if (r->node->target != end)
            ptl__ret_push(&s->f->rets, end, r->node);
        return go_on(s, r, 1, r->node->target, PTL_FLOW_END_ON_CALL);
    default:
        return go_on(s, r, 0, end_of(s, r->node), 0);
    }
}

/* An indirect branch or uncompressed return: to the TIP at `p`. */
INLINE int take_tip(struct fast *s, struct regs *r)
{
    struct ptl__node *next;
    uint64_t ip;
    unsigned size;

    if (r->p == s->end || IP_LOW(*r->p) != LOW_TIP || !(size = peek_ip(s, r->p, &ip)))
        return 0;
    put(s, r);
    take_ip(s, r, ip, size);
    s->f->bind.after_pge = 0;
    if (r->node->iclass == PTL_INSN_CALL_IND)
        ptl__ret_push(&s->f->rets, end_of(s, r->node), r->node);
    else if (r->node->iclass == PTL_INSN_RET)
        ptl__ret_drop(&s->f->rets);
    used(s, r);
    next = r->node->succ[1];
    r->node = next && next->ip == ip ? next : find(s, r->node, 1, ip);
    return 1;
}

/* A compressed return. */
INLINE int take_return(struct fast *s, struct regs *r)
{
    struct ptl__retstack *rets = &s->f->rets;
    struct ptl__node *caller;
    uint64_t ip;

    if (!(r->bits >> 63) || !rets->count)
        return 0;
    put(s, r);
    ptl__ret_drop(rets);
    ip = ptl__mode_ip(s->mode, ptl__ret_ip(rets, rets->top));
    caller = rets->caller[rets->top];
    r->bits <<= 1;
    r->n--;
    used(s, r);
    if (caller && caller->mode == s->mode && caller->succ[0])
        r->node = caller->succ[0];
    else
        r->node = find(s, caller && caller->mode == s->mode ? caller : NULL, 0, ip);
    return 1;
}

/* --- tracing switched off and on ----------------------------------------------------------- */

static struct ptl_event *put_event(struct fast *s, struct regs *r, enum ptl_event_type type,
                                   uint64_t ip)
{
    struct ptl_event *ev = &s->f->events[s->f->nevents++];

    ptl__bind_event(&s->f->bind, ev, type);
    ev->have_ip = 1;
    ev->ip = ip;
    ev->offset = r->offset;
    if (ev->have_tsc)
        s->tsc = ev->tsc;
    memset(r->item, 0, sizeof(*r->item));
    r->item->kind = PTL_ITEM_EVENT;
    r->item->flags = s->speculative;
    r->item->offset = ev->offset;
    r->item->tsc = ev->tsc;
    r->item->u.event = ev;
    r->item++;
    return ev;
}

/* Is there room for one more event, and nobody to be asked about it? */
static int may_put_event(const struct fast *s)
{
    return !s->f->cursor && s->f->nevents + FLOW_UNIT <= FLOW_EVENTS;
}

/* TIP.PGD at `p` with `ip`: the branch at the end of the block leaves to there. */
static void take_pgd(struct fast *s, struct regs *r, uint64_t ip, unsigned size)
{
    struct ptl_flow *f = s->f;
    uint8_t iclass = r->node->iclass;

    put(s, r);
    take_ip(s, r, ip, size);
    r->p = ptl__skip_pad(r->p, s->end);
    put_event(s, r, PTL_EV_DISABLED, ip);
    used(s, r);
    s->ip = iclass == PTL_INSN_CALL_IND || iclass == PTL_INSN_FAR_CALL ? end_of(s, r->node) : 0;
    r->node = NULL;
    f->enabled = f->bind.enabled = f->bind.after_pge = 0;
}

/* Nothing but time before the next TIP.PGE? Returns 0 if the slow path is to go on. */
static int take_pge(struct fast *s, struct regs *r)
{
    uint64_t ip;
    unsigned size;

    for (;;) {
        const uint8_t *p = r->p = ptl__skip_pad(r->p, s->end);
        if (p == s->end || !may_put_event(s) || r->item >= s->full)
            return 0;
        if (IP_LOW(*p) == LOW_PGE)
            break;
        p = take_time(s, p);
        if (!p)
            return 0;
        r->p = p;
    }
    size = peek_ip(s, r->p, &ip);
    if (!size)
        return 0;
    r->offset = offset_of(s, r->p);
    take_ip(s, r, ip, size);
    put_event(s, r, PTL_EV_ENABLED, ip)->u.enabled.resumed = ip == s->ip;
    s->f->enabled = s->f->bind.enabled = s->f->bind.after_pge = 1;
    r->node = find(s, NULL, 0, ip);
    return 1;
}

/* --- the loop ---------------------------------------------------------------------------- */

/* Is there a block to write, and room for it? */
INLINE int ready(struct fast *s, struct regs *r)
{
    return r->item < s->full && (r->node || (r->node = find(s, NULL, 0, s->ip)));
}

/* Use all bits. Returns 0 if the slow path is to go on. */
static int use_bits(struct fast *s, struct regs *regs)
{
    struct regs r = *regs;
    int more = 1;

    while (r.n && more) {
        if (!ready(s, &r)) {
            more = 0;
        } else if (r.node->iclass == PTL_INSN_JCC) {
            int taken = (int)(r.bits >> 63);
            put(s, &r);
            r.bits <<= 1;
            r.n--;
            used(s, &r);
            follow(s, &r, taken, taken ? r.node->target : end_of(s, r.node));
        } else if (is_direct(r.node)) {
            more = take_direct(s, &r);
        } else if (r.node->iclass == PTL_INSN_RET && !(s->f->flags & PTL_FLOW_NORETCOMP)) {
            more = take_return(s, &r);
        } else { /* the TIP was deferred */
            r.p = ptl__skip_pad(r.p, s->end);
            more = take_tip(s, &r);
        }
    }
    *regs = r;
    return more;
}

/* Walk to the branch that the TIP at `p` belongs to. */
static int use_tip(struct fast *s, struct regs *regs)
{
    struct regs r = *regs;
    int more;

    do
        more = ready(s, &r);
    while (more && is_direct(r.node) && (more = take_direct(s, &r)));
    if (more)
        more = r.node->iclass != PTL_INSN_JCC && take_tip(s, &r);
    *regs = r;
    return more;
}

/* Walk to the branch by which the TIP.PGD at `p` leaves, and on from the next TIP.PGE. */
static int use_pgd(struct fast *s, struct regs *regs)
{
    struct regs r = *regs;
    uint64_t ip = 0;
    unsigned size = peek_ip(s, r.p, &ip);
    int more = size && may_put_event(s);

    if (!more)
        return 0;
    r.offset = offset_of(s, ptl__skip_pad(r.p + size, s->end));
    do /* tracing may also end on arrival at `ip`, or at an instruction in a block */
        more = ready(s, &r) && ip - r.node->ip >= r.node->size;
    while (more && is_direct(r.node) && (more = take_direct(s, &r)));
    *regs = r;
    if (!more)
        return 0;
    take_pgd(s, regs, ip, size);
    return take_pge(s, regs);
}

enum next { NEXT_OTHER, NEXT_BITS, NEXT_TIP, NEXT_PGD };

/* What comes next? Takes bits and packets of time, but no packet with an address. */
INLINE enum next refill(struct fast *s, struct regs *r)
{
    for (;;) {
        const uint8_t *p = r->p = ptl__skip_pad(r->p, s->end);
        uint64_t ip;

        if (s->end - p < IP_MAX)
            return NEXT_OTHER;
        if (!(*p & 1) && *p != 2) {
            take_tnt(s, r, *p >> 1, 1);
            return NEXT_BITS;
        }
        if (IP_LOW(*p) == LOW_TIP) {
            r->offset = offset_of(s, p);
            return peek_ip(s, p, &ip) ? NEXT_TIP : NEXT_OTHER;
        }
        if (IP_LOW(*p) == LOW_PGD)
            return NEXT_PGD;
        if (*p == 2 && p[1] == TNT64_SECOND && ptl__load64(p) >> 17) {
            take_tnt(s, r, ptl__load64(p) >> 16, 8);
            return NEXT_BITS;
        }
        p = take_time(s, p);
        if (!p)
            return NEXT_OTHER;
        r->p = p;
    }
}

void ptl__walk_fast(struct ptl_flow *f)
{
    struct fast s;
    struct regs r;
    int more;

    enter(&s, &r, f);
    more = !s.hops || check_loop(&s, s.ip);
    while (more) {
        switch (r.n ? NEXT_BITS : refill(&s, &r)) {
        case NEXT_BITS:
            f->bind.after_pge = 0;
            more = use_bits(&s, &r);
            break;
        case NEXT_TIP:
            more = use_tip(&s, &r);
            break;
        case NEXT_PGD:
            more = use_pgd(&s, &r);
            break;
        default:
            more = 0;
            break;
        }
    }
    leave(&s, &r);
}
