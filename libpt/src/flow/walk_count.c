/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk_count.c - the loop of PTL_FLOW_COUNT: whole packets at a time.
 *
 *     bytes ──► packet ──► memo(node, packet) ──► node ──► memo(node, packet) ──► ...
 *                           └─► counters
 *
 * and several packets at a time where their bytes have been seen before (stretch).
 *
 * It takes TNT, TIP, PAD, time, TIP.PGD and TIP.PGE. Between packets nothing has run since
 * trace was used, so the state is small; what has no memo is left to the slow path.
 */
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
};

/* The bytes that a stretch may begin with: TNT8, TIP; TIP.PGD. */
#define B2(odd)         1, odd
#define B8(b1, b5)      B2(b1), B2(0), B2(b5), B2(0)
#define B32(first, pgd) first, pgd, first, 0, B2(0), B2(0), B8(0, 1), B8(0, 0), B8(0, 0)
#define B256(pgd)                                                                                  \
    {                                                                                              \
        B32(0, pgd), B32(1, pgd), B32(1, pgd), B32(1, pgd), B32(1, pgd), B32(1, pgd), B32(1, pgd), \
            B32(1, pgd)                                                                            \
    }
static const uint8_t may_begin[2][256] = {B256(0), B256(1)};

/* --- in and out ---------------------------------------------------------------------- */

/* How far packets may be read. */
static const uint8_t *end_of_packets(const struct ptl_flow *f)
{
    const struct ptl__bind *b = &f->bind;
    const uint8_t *end = b->end - b->pos > FAST_ROOM ? b->end - FAST_ROOM : b->pos;

    if (b->pause - b->base < (uint64_t)(end - b->begin))
        end = b->begin + (b->pause - b->base);
    return f->progress < end ? f->progress : end;
}

static void load_memos(struct regs *r, const struct ptl_flow *f)
{
    r->slots = f->view->memos.slots;
    r->mask = f->view->memos.nslots - 1;
    r->stretches = f->view->stretches.slots;
    r->stretch_mask = f->view->stretches.nslots - 1;
}

static void enter(struct count *s, struct regs *r, struct ptl_flow *f)
{
    memset(s, 0, sizeof(*s));
    memset(r, 0, sizeof(*r));
    s->f = f;
    s->end = end_of_packets(f);
    s->end_of_stretches = s->end - f->bind.pos > STRETCH_SIZE ? s->end - STRETCH_SIZE : f->bind.pos;
    s->few = (f->flags & PTL_FLOW_FEW_EVENTS) && !f->cursor;
    s->stretches = may_begin[s->few];
    s->coverage = (f->flags & PTL_FLOW_COVERAGE) != 0;
    r->credit = f->credit;
    s->ip = f->ip;
    s->pge_runs = f->bind.after_pge ? 0 : UINT64_MAX;
    r->p = f->bind.pos;
    r->last_ip = f->bind.last.ip;
    if (f->have_step) {
        r->n = f->step.count;
        r->bits = f->step.bits << (64 - r->n);
        s->offset = f->step.offset;
    }
}

/* The time of events that are not told, before it goes on. */
INLINE void take_tsc(struct ptl_flow *f, struct regs *r)
{
    uint64_t tsc;

    if (r->events && ptl_clock_query(&f->bind.clock, &tsc, NULL, NULL) == 0)
        f->ev_tsc = tsc;
    r->events = 0;
}

/* Hand over what ran. */
static void flush(struct count *s, struct regs *r)
{
    struct ptl_flow *f = s->f;

    take_tsc(f, r);
    f->ran.insns += r->insns;
    f->ran.blocks += r->blocks;
    f->ran.runs += r->runs;
    s->pge_runs = s->pge_runs == r->runs ? 0 : UINT64_MAX;
    r->insns = r->blocks = r->runs = 0;
}

/* - and the last block of it. */
static void flush_last(struct count *s, struct regs *r)
{
    struct ptl_flow *f = s->f;

    flush(s, r);
    if (s->coverage)
        ptl__unfold_memo(f->view, &f->trial);
    if (!r->last)
        return;
    ptl__at_end(f, r->last);
    f->at.valid = 0;
    f->since = 0;
    r->last = NULL;
}

static void leave(struct count *s, struct regs *r)
{
    struct ptl_flow *f = s->f;

    flush_last(s, r);
    f->credit = r->credit;
    f->bind.pos = r->p;
    f->bind.last.ip = r->last_ip;
    f->bind.after_pge = !r->n && s->pge_runs == 0;
    f->ip = r->node ? r->node->ip : s->ip;
    f->have_step = r->n != 0;
    if (!r->n)
        return;
    f->step.kind = STEP_TNT;
    f->step.used = 1;
    f->step.count = (uint16_t)r->n;
    f->step.bits = r->bits >> (64 - r->n);
    f->step.offset = s->offset;
}

/* --- memos ----------------------------------------------------------------------------- */

/* What the packet does at the node. NULL: the slow path is to decide. */
INLINE struct ptl__memo *look(const struct count *s, struct regs *r, enum ptl__memo_kind kind,
                              uint64_t key)
{
    struct ptl__memo *m = ptl__memo_look(r->slots, r->mask, r->node, kind, key);

    if (likely(m))
        return m;
    m = ptl__memo_make(s->f, r->node, kind, key);
    load_memos(r, s->f);
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
static struct ptl__node *find_return(struct count *s)
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

/* --- TNT, TIP ---------------------------------------------------------------------------- */

/* Use a memo of TNT bits. Returns the bits used; 0: the slow path is to go on. */
INLINE unsigned use_tnt(struct count *s, struct regs *r, uint64_t key)
{
    struct ptl__memo *m = look(s, r, MEMO_TNT, key);
    unsigned used;

    if (unlikely(!m))
        return 0;
    used = m->bits;
    if (m->next) {
        use(s, r, m);
        return used;
    }
    if (!s->f->rets.count)
        return 0;
    use(s, r, m);
    r->node = take_return(s, r->last->mode);
    return used;
}

/* Use the bits at hand. Returns 0 if the slow path is to go on. */
static int use_bits(struct count *s, struct regs *regs)
{
    struct regs r = *regs;
    unsigned used = 1;

    while (r.n && used && r.node) {
        unsigned n = r.n < MEMO_BITS ? r.n : MEMO_BITS;

        used = use_tnt(s, &r, r.bits >> (64 - n) | UINT64_C(1) << n);
        r.bits <<= used;
        r.n -= used;
    }
    *regs = r;
    return used && r.node;
}

static int take_tnt64(struct count *s, struct regs *r)
{
    uint64_t v = ptl__load64(r->p) >> 16;

    if (v <= 1)
        return 0;
    r->n = 63 - (unsigned)__builtin_clzll(v);
    r->bits = v << (64 - r->n);
    r->p = ptl__skip_pad(r->p + 8, s->f->bind.end);
    s->offset = ptl__bind_offset(&s->f->bind, r->p);
    return use_bits(s, r);
}

INLINE int take_tnt8(struct count *s, struct regs *r, uint64_t key)
{
    unsigned n = 63 - (unsigned)__builtin_clzll(key), used;

    r->p++;
    do {
        used = use_tnt(s, r, key);
        n -= used;
        key = (key & ((UINT64_C(1) << n) - 1)) | UINT64_C(1) << n;
    } while (unlikely(n && used && r->node));
    if (likely(!n))
        return r->node != NULL;
    r->n = n;
    r->bits = key << (64 - n);
    if (!*r->p)
        r->p = ptl__skip_pad(r->p, s->f->bind.end);
    s->offset = ptl__bind_offset(&s->f->bind, r->p);
    return 0;
}

INLINE int take_cycles(struct count *s, struct regs *r)
{
    const uint8_t *p;

    take_tsc(s->f, r);
    p = ptl__take_time(&s->f->bind, r->p);
    r->p = p ? p : r->p;
    return p != NULL;
}

INLINE int take_tip(struct count *s, struct regs *r)
{
    struct ptl__memo *m;
    uint64_t ip;
    unsigned size = ptl__peek_ip(r->p, r->last_ip, &ip);

    if (!size || !(m = look(s, r, MEMO_TIP, ip)))
        return 0;
    use(s, r, m);
    r->p += size;
    r->last_ip = ip;
    s->f->bind.last.have_ip = 1;
    s->f->bind.last.suppressed = 0;
    return 1;
}

/* --- stretches --------------------------------------------------------------------------- */

/* Where bytes do not repeat, stretches are not looked for, and tried again later. */
#define CREDIT_MAX  65536 /* bytes of trace */
#define CREDIT_MAKE 96    /* in which as much time is saved as it takes to make a stretch */
#define CREDIT_NULL 24    /* - to look for one that is none */
#define CREDIT_REST 1024  /* packets without */

INLINE void take_credit(struct regs *r, int bytes)
{
    r->credit -= bytes;
    if (r->credit < 0)
        r->credit = -CREDIT_REST;
}

INLINE int may_stretch(const struct count *s, struct regs *r, uint8_t op)
{
    if (unlikely(r->credit < 0)) {
        if (++r->credit == 0)
            r->credit = CREDIT_MAX / 16;
        return 0;
    }
    if (r->p >= s->end_of_stretches)
        return 0;
    return s->stretches[op];
}

/* Use a stretch. Returns 0 if there is none. */
INLINE int use_stretch(struct count *s, struct regs *r)
{
    struct ptl__stretch *m =
        ptl__stretch_look(r->stretches, r->stretch_mask, r->node, r->last_ip, r->p);

    if (unlikely(!m)) {
        take_credit(r, CREDIT_MAKE);
        m = ptl__stretch_make(s->f, r->node, r->last_ip, r->p);
        load_memos(r, s->f);
        if (!m)
            return 0;
    }
    if (unlikely(!m->len)) {
        take_credit(r, CREDIT_NULL);
        return 0;
    }
    r->credit += r->credit < CREDIT_MAX ? m->len : 0;
    if (unlikely(!m->next && !depth_after(&s->f->rets, &m->stack)))
        return 0;
    r->insns += m->insns;
    r->blocks += m->blocks;
    r->runs += m->runs;
    r->events |= m->events;
    s->pge_runs ^= (s->pge_runs ^ r->runs) & -(uint64_t)m->pge;
    r->last = m->last;
    r->node = m->next;
    r->last_ip = m->ipc ? m->new_last_ip : r->last_ip;
    r->p += m->len;
    if (s->coverage)
        m->uses++;
    apply_stack(&s->f->rets, &m->stack, m->push, STRETCH_PUSH);
    if (unlikely(!r->node))
        r->node = take_return(s, r->last->mode);
    return 1;
}

/* --- tracing switched off and on ----------------------------------------------------------- */

/* The event, told now. */
static struct ptl_event *put_event(struct ptl_flow *f, enum ptl_event_type type, uint64_t offset)
{
    struct ptl_event *ev = &f->events[f->nevents++];
    struct ptl_item *item;

    ptl__put_ran(f);
    ptl__bind_event(&f->bind, ev, type);
    ev->offset = offset;
    item = &f->items[f->n++];
    item->kind = PTL_ITEM_EVENT;
    item->flags = f->speculative ? PTL_ITEM_SPECULATIVE : 0;
    item->ninsn = 0;
    item->size = 0;
    item->offset = offset;
    item->tsc = ev->tsc;
    item->u.event = ev;
    return ev;
}

struct told {
    enum ptl_event_type type;
    int have_ip;
    uint64_t ip, from; /* from: where it comes from, or would have resumed */
    const uint8_t *p;  /* the packet it is told with */
};

/* The event happens. Returns 0 or a negative status. */
static int tell(struct count *s, struct regs *r, const struct told *told)
{
    struct ptl_flow *f = s->f;
    enum ptl_event_type type = told->type;
    uint64_t offset = ptl__bind_offset(&f->bind, told->p);
    struct ptl_event *ev, silent;
    int status;

    if (s->few) {
        r->events = 1;
        return 0;
    }
    flush(s, r);
    if (f->flags & PTL_FLOW_FEW_EVENTS) {
        ev = &silent;
        ptl__bind_event(&f->bind, ev, type);
        ev->offset = offset;
    } else {
        ev = put_event(f, type, offset);
    }
    ev->have_ip = (uint8_t)told->have_ip;
    ev->ip = told->ip;
    if (type == PTL_EV_ENABLED)
        ev->u.enabled.resumed = told->ip == told->from;
    else if (type == PTL_EV_ASYNC_DISABLED)
        ev->u.async_disabled.at = told->from;
    else if (type == PTL_EV_ASYNC_BRANCH)
        ev->u.async_branch.from = told->from;
    if (ev->have_tsc)
        f->ev_tsc = ev->tsc;
    if (!f->cursor)
        return 0;
    flush_last(s, r); /* blocks may go */
    status = ptl__flow_cursor(f, ev);
    load_memos(r, f);
    return status;
}

/* Where a TIP.PGE resumes, if the block was the last. */
static uint64_t resume_ip(const struct ptl__node *node)
{
    switch (node->iclass) {
    case PTL_INSN_CALL_IND:
    case PTL_INSN_FAR_CALL:
        return ptl__mode_ip(node->mode, ptl__node_end(node));
    case PTL_INSN_MOV_CR3:
        return ptl__node_end(node) - node->last_size;
    default:
        return 0;
    }
}

static int take_pgd(struct count *s, struct regs *r)
{
    struct ptl_flow *f = s->f;
    int have_ip = *r->p >> 5 != PTL_IPC_SUPPRESSED;
    struct ptl__memo *m;
    uint64_t ip = 0;
    unsigned size = have_ip ? ptl__peek_ip(r->p, r->last_ip, &ip) : 1;

    /* Without address it may bind to an instruction that has run before. */
    if (!size || ptl__flow_full(f) || (!have_ip && f->at.valid && !r->last) ||
        !(m = look(s, r, have_ip ? MEMO_PGD : MEMO_PGD0, ip)))
        return 0;
    use(s, r, m);
    s->ip = m->next ? ip : resume_ip(r->last);
    r->node = NULL;
    s->pge_runs = UINT64_MAX;
    if (have_ip) {
        r->last_ip = ip;
        f->bind.last.have_ip = 1;
    }
    f->bind.last.suppressed = !have_ip;
    f->enabled = f->bind.enabled = 0;
    r->p = ptl__skip_pad(r->p + size, f->bind.end);
    s->status = tell(s, r, &(struct told){PTL_EV_DISABLED, have_ip, ip, 0, r->p});
    return s->status == 0;
}

/* A MODE.Exec at `p` that changes nothing, with a TIP.PGE behind. Returns where that is. */
static const uint8_t *skip_mode(const struct count *s, const uint8_t *p)
{
    struct ptl__bind *b = &s->f->bind;
    uint8_t iflag = p[1] >> 2 & 1;
    const uint8_t *next;

    if (*p != BYTE_MODE || p[1] >> 5 || !b->have_mode || b->mode != ptl__exec_mode(p[1]) ||
        ((b->flags & PTL_FLOW_IFLAGS) && (!b->have_iflag || b->iflag != iflag)))
        return NULL;
    next = ptl__skip_pad(p + 2, b->end);
    if (next >= s->end || IP_LOW(*next) != LOW_PGE || !(*next >> 5))
        return NULL;
    b->have_iflag = 1;
    b->iflag = iflag;
    return next;
}

/* Nothing but time before the next TIP.PGE? Returns 0 if the slow path is to go on. */
static int find_pge(struct count *s, struct regs *r)
{
    for (;;) {
        const uint8_t *p = r->p = ptl__skip_pad(r->p, s->f->bind.end);

        if (p >= s->end)
            return 0;
        if (IP_LOW(*p) == LOW_PGE)
            return 1;
        take_tsc(s->f, r);
        p = *p == BYTE_MODE ? skip_mode(s, p) : ptl__take_time(&s->f->bind, p);
        if (!p)
            return 0;
        r->p = p;
    }
}

static int take_pge(struct count *s, struct regs *r)
{
    struct ptl_flow *f = s->f;
    struct ptl__memo *m;
    uint64_t ip;
    unsigned size;
    uint64_t resume;

    if (ptl__flow_full(f) || !find_pge(s, r) || !(size = ptl__peek_ip(r->p, r->last_ip, &ip)))
        return 0;
    resume = s->ip;
    s->ip = r->last_ip = ip;
    f->bind.last.have_ip = 1;
    f->bind.last.suppressed = 0;
    f->enabled = f->bind.enabled = 1;
    s->status = tell(s, r, &(struct told){PTL_EV_ENABLED, 1, ip, resume, r->p});
    s->pge_runs = r->runs;
    f->at.valid = 0;
    f->since = 0;
    r->p += size;
    r->node = NULL;
    m = s->status == 0 ? look(s, r, MEMO_PGE, ip) : NULL;
    if (m)
        r->node = m->next;
    return m != NULL;
}

/* FUP at `p`, then TIP or TIP.PGD: an interrupt, exception. Returns 0 if the slow path is to go on.
 */
static int take_fup(struct count *s, struct regs *r)
{
    struct ptl_flow *f = s->f;
    struct told told = {.type = PTL_EV_ASYNC_BRANCH, .have_ip = 1};
    unsigned size = ptl__peek_ip(r->p, r->last_ip, &told.from);
    struct ptl__node *last = r->last;
    struct ptl__memo *m;

    if (!size || ptl__flow_full(f) || (f->errata & (PTL_ERR_SKD022 | PTL_ERR_BDM64)))
        return 0;
    told.p = ptl__skip_pad(r->p + size, f->bind.end);
    if (told.p >= s->end)
        return 0;
    told.ip = told.from;
    if (IP_LOW(*told.p) == LOW_PGD) {
        told.type = PTL_EV_ASYNC_DISABLED;
        told.have_ip = *told.p >> 5 != PTL_IPC_SUPPRESSED;
    } else if (IP_LOW(*told.p) != LOW_TIP) {
        return 0;
    }
    size = told.have_ip ? ptl__peek_ip(told.p, told.from, &told.ip) : 1;
    if (!size || !(m = look(s, r, MEMO_AT, told.from)))
        return 0;
    use(s, r, m);
    if (!m->runs)
        r->last = last;
    flush_last(s, r);
    f->at.valid = 0;
    f->since = 0;
    if (m->bits) {
        f->last_ip = told.from - m->bits;
        f->last_next = told.from;
    }
    r->last_ip = told.ip;
    f->bind.last.have_ip = 1;
    f->bind.last.suppressed = !told.have_ip;
    s->pge_runs = UINT64_MAX;
    if (told.type == PTL_EV_ASYNC_DISABLED) {
        f->enabled = f->bind.enabled = 0;
        told.ip = told.have_ip ? told.ip : 0;
    }
    s->ip = told.type == PTL_EV_ASYNC_DISABLED ? told.from : told.ip;
    r->node = NULL;
    r->p = told.p + size;
    s->status = tell(s, r, &told);
    if (s->status)
        return 0;
    if (told.type == PTL_EV_ASYNC_DISABLED)
        return take_pge(s, r);
    r->node = ptl__memo_find(f, s->ip);
    return r->node != NULL;
}

/* --- the loop ---------------------------------------------------------------------------- */

/* A packet that is neither TNT nor TIP. Returns 0 if the slow path is to go on. */
static int take_other(struct count *s, struct regs *r)
{
    if (IP_LOW(*r->p) == LOW_PGD)
        return take_pgd(s, r) && take_pge(s, r);
    if (IP_LOW(*r->p) == LOW_FUP)
        return take_fup(s, r);
    return *r->p == 2 && r->p[1] == TNT64_SECOND ? take_tnt64(s, r) : take_cycles(s, r);
}

static void run(struct count *s, struct regs *regs)
{
    struct regs r = *regs;
    int more;

    if (!r.node)
        r.node = ptl__memo_find(s->f, s->ip);
    more = r.node != NULL;
    if (r.n && more)
        more = SPILLED(r, use_bits(s, &spilled));
    while (likely(more) && r.p < s->end) {
        uint8_t op = *r.p;

        if (may_stretch(s, &r, op) && use_stretch(s, &r))
            more = r.node != NULL;
        else if (!(op & 1) && op > 2)
            more = take_tnt8(s, &r, op >> 1);
        else if (IP_LOW(op) == LOW_TIP)
            more = take_tip(s, &r);
        else if (!op)
            r.p = ptl__skip_pad(r.p, s->f->bind.end);
        else if ((op & 3) == 3 || op == BYTE_MTC)
            more = take_cycles(s, &r);
        else
            more = SPILLED(r, take_other(s, &spilled));
    }
    *regs = r;
}

int ptl__walk_count(struct ptl_flow *f)
{
    struct count s;
    struct regs r;

    enter(&s, &r, f);
    load_memos(&r, f);
    run(&s, &r);
    leave(&s, &r);
    return s.status;
}
