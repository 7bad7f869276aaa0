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
#include "flow/walk_count.h"

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

static void enter(struct count *s, struct regs *r, struct ptl_flow *f)
{
    memset(s, 0, sizeof(*s));
    memset(r, 0, sizeof(*r));
    s->f = f;
    s->end = end_of_packets(f);
    s->end_of_stretches = s->end - f->bind.pos > STRETCH_SIZE ? s->end - STRETCH_SIZE : f->bind.pos;
    s->few = (f->flags & PTL_FLOW_FEW_EVENTS) && !f->cursor;
    s->stretches = may_begin[!f->cursor];
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

/* Hand over what ran. */
void ptl__count_flush(struct count *s, struct regs *r)
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
void ptl__count_flush_last(struct count *s, struct regs *r)
{
    struct ptl_flow *f = s->f;

    ptl__count_flush(s, r);
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

    ptl__count_flush_last(s, r);
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

#define PLAIN_BYTES 16 /* walked block by block where a packet is new */

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

/* Is the packet to be walked block by block, as it has hardly been seen before? */
INLINE int is_new(const struct count *s, const struct regs *r, enum ptl__memo_kind kind,
                  uint64_t key)
{
    return unlikely(!ptl__memo_look(r->slots, r->mask, r->node, kind, key)) &&
           ptl__seen(s->f->seen, ptl__memo_slot(r->node, kind, key)) < SEEN_MEMO;
}

INLINE int take_tnt8(struct count *s, struct regs *r, uint64_t key)
{
    unsigned n = 63 - (unsigned)__builtin_clzll(key), used;

    if (is_new(s, r, MEMO_TNT, key))
        return SPILLED(*r, ptl__count_plain(s, &spilled, PLAIN_BYTES));

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

    if (size && is_new(s, r, MEMO_TIP, ip))
        return SPILLED(*r, ptl__count_plain(s, &spilled, PLAIN_BYTES));
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
#define CREDIT_NEW  4     /* - one that has hardly been seen before */
#define CREDIT_REST                                                                                \
    8192 /* packets without, or up to the next PSB: so that the stretches of a                     \
            repetition begin where they began before */

INLINE void take_credit(struct regs *r, int bytes)
{
    r->credit -= bytes;
    if (r->credit < 0)
        r->credit = -CREDIT_REST;
}

INLINE int may_stretch(const struct count *s, struct regs *r, uint8_t op)
{
    if (unlikely(r->credit < 0)) {
        if (++r->credit == 0 || op == 2)
            r->credit = CREDIT_MAX / 16;
        return 0;
    }
    if (r->p >= s->end_of_stretches)
        return 0;
    return s->stretches[op];
}

/* Has the stretch hardly been seen before? */
static int is_new_stretch(const struct count *s, const struct ptl__node *node, const uint8_t *p)
{
    uint64_t bytes[STRETCH_SIZE / 8];

    memcpy(bytes, p, sizeof(bytes));
    return ptl__seen(s->f->seen, ptl__stretch_slot(node, bytes)) < SEEN_STRETCH;
}

/* Can so many events be told? */
INLINE int has_room(const struct ptl_flow *f, unsigned ntold)
{
    return f->n + 2 * ntold + FLOW_UNIT <= f->cap && f->nevents + ntold + FLOW_UNIT <= FLOW_EVENTS;
}

/* The stretch that begins here: most often what came next last time. */
INLINE struct ptl__stretch *find_stretch(struct count *s, const struct regs *r)
{
    struct ptl__stretch *m = s->before ? s->before->follow : NULL;

    if (likely(m && ptl__stretch_is(m, r->node, r->last_ip, r->p)))
        return m;
    m = ptl__stretch_look(r->stretches, r->stretch_mask, r->node, r->last_ip, r->p);
    if (s->before)
        s->before->follow = m;
    return m;
}

/* Use a stretch. Returns 0 if there is none, -1 if the slow path is to go on. */
INLINE int use_stretch(struct count *s, struct regs *r)
{
    struct ptl__stretch *m = find_stretch(s, r);

    if (unlikely(!m)) {
        if (is_new_stretch(s, r->node, r->p)) {
            const uint8_t *p = r->p;

            take_credit(r, CREDIT_NEW);
            if (!SPILLED(*r, ptl__count_plain(s, &spilled, STRETCH_SIZE)))
                return -1;
            return r->p != p;
        }
        take_credit(r, CREDIT_MAKE);
        m = ptl__stretch_make(s->f, r->node, r->last_ip, r->p);
        load_memos(s, r);
        if (!m)
            return 0;
    }
    if (unlikely(!m->len)) {
        take_credit(r, CREDIT_NULL);
        return 0;
    }
    r->credit += r->credit < CREDIT_MAX ? m->len : 0;
    s->before = m;
    __builtin_prefetch(m->follow);
    if (unlikely(!m->next && !depth_after(&s->f->rets, &m->stack)))
        return 0;
    if (m->ntold) {
        if (!has_room(s->f, m->ntold))
            return 0;
        SPILLED_VOID(*r, ptl__count_told(s, &spilled, s->view->told + m->told, m->ntold));
    }
    r->insns += m->insns;
    r->blocks += m->blocks;
    r->runs += m->runs;
    r->events |= m->events;
    s->pge_runs ^= (s->pge_runs ^ r->runs) & -(uint64_t)m->pge;
    r->last = m->last;
    r->node = m->next;
    r->last_ip = m->ipc ? m->new_last_ip : r->last_ip;
    r->p += m->len;
    if (s->coverage && unlikely(++m->uses == UINT32_MAX))
        ptl__unfold(s->f->view);
    apply_stack(&s->f->rets, &m->stack, m->push, STRETCH_PUSH);
    if (unlikely(!r->node))
        r->node = take_return(s, r->last->mode);
    return r->node ? 1 : -1;
}

/* --- the loop ---------------------------------------------------------------------------- */

/* A packet that is neither TNT-8 nor TIP. Returns 0 if the slow path is to go on. */
static int take_other(struct count *s, struct regs *r)
{
    if (*r->p == 2 && r->p[1] == TNT64_SECOND)
        return take_tnt64(s, r);
    if (IP_LOW(*r->p) == LOW_PGD || IP_LOW(*r->p) == LOW_FUP || (*r->p == 2 && r->p[1] == BYTE_PSB))
        return ptl__count_switch(s, r);
    return take_cycles(s, r);
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
        int used = may_stretch(s, &r, op) ? use_stretch(s, &r) : 0;

        if (likely(used)) {
            more = used > 0;
            continue;
        }
        if (!op) {
            r.p = ptl__skip_pad(r.p, s->f->bind.end);
            continue;
        }
        if (!(op & 1) && op > 2)
            more = take_tnt8(s, &r, op >> 1);
        else if (IP_LOW(op) == LOW_TIP)
            more = take_tip(s, &r);
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
    load_memos(&s, &r);
    run(&s, &r);
    leave(&s, &r);
    return s.status;
}
