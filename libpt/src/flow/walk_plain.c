/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk_plain.c - counting block by block, with nothing kept: what has not been seen often enough
 * that a memo or a stretch of it would pay.
 *
 * A bit or a target is used wholly or not at all: what is left is the slow path's.
 */
#include "flow/walk_count.h"

#define CALLS_MAX RETSTACK_DEPTH /* in a row without trace: what ptl__ret_room() has room for */

/* Blocks from one branch that needs trace to the next. */
struct way {
    struct ptl__node *begin, *branch;
    uint64_t insns, blocks, runs;
    unsigned top, count; /* of the return stack, before */
};

static uint64_t end_of(const struct ptl__node *node)
{
    return ptl__mode_ip(node->mode, ptl__node_end(node));
}

INLINE int is_direct(uint8_t iclass)
{
    return (1u << iclass & (1u << PTL_INSN_CALL | 1u << PTL_INSN_JMP | 1u << PTL_INSN_OTHER |
                            1u << PTL_INSN_MOV_CR3 | 1u << PTL_INSN_PTWRITE)) != 0;
}

static struct ptl__node *link_to(struct count *s, struct ptl__node *from, int i, uint64_t ip)
{
    from->succ[i] = ptl__memo_find(s->f, ip);
    return from->succ[i];
}

INLINE struct ptl__node *follow(struct count *s, struct ptl__node *from, int i)
{
    struct ptl__node *next = from->succ[i];

    if (likely(next))
        return next;
    return link_to(s, from, i, i ? from->target : end_of(from));
}

/* --- coverage ------------------------------------------------------------------------- */

static struct ptl__node *next_direct(const struct ptl__node *node)
{
    return node->succ[node->iclass == PTL_INSN_CALL || node->iclass == PTL_INSN_JMP];
}

static void count_way(const struct way *w)
{
    struct ptl__node *node = w->begin;

    for (uint64_t i = 0; i < w->runs; i++) {
        ptl__node_ran(node);
        node = next_direct(node);
    }
}

/* --- ways ----------------------------------------------------------------------------- */

/* There is room, and no entry is to move: what is pushed may be taken back. */
INLINE void push(struct ptl__retstack *rets, struct ptl__node *caller)
{
    rets->caller[rets->top++] = caller;
    rets->count += rets->count < RETSTACK_DEPTH;
}

/* On from a block that needs no trace. Returns 0 if the slow path is to. */
static int go_on(struct count *s, struct way *w)
{
    uint32_t flags = s->f->flags;
    struct ptl__node *node = w->branch;
    uint64_t run = node->ninsn, loop_ip = node->ip;
    uint32_t hops = 1;
    unsigned calls = 0;

    do {
        int to = node->iclass == PTL_INSN_CALL || node->iclass == PTL_INSN_JMP;

        w->blocks += (node->iclass == PTL_INSN_CALL && flags & PTL_FLOW_END_ON_CALL) ||
                     (node->iclass == PTL_INSN_JMP && flags & PTL_FLOW_END_ON_JUMP);
        if (node->iclass == PTL_INSN_CALL && node->target != end_of(node)) {
            if (++calls == CALLS_MAX)
                return 0;
            push(&s->f->rets, node);
        }
        node = follow(s, node, to);
        if (!node || node->ip == loop_ip || run > FLOW_MAX_INSNS)
            return 0; /* as check_loop() of the slow path */
        if (!(hops & (hops + 1)))
            loop_ip = node->ip;
        hops++;
        run += node->ninsn;
        w->runs++;
    } while (is_direct(node->iclass));
    w->insns = run;
    w->branch = node;
    return 1;
}

/* To the next branch that needs trace. Returns 0 if the slow path is to do that. */
INLINE int run_to_branch(struct count *s, struct way *w, struct ptl__node *node)
{
    w->begin = w->branch = node;
    w->insns = node->ninsn;
    w->blocks = w->runs = 1;
    w->top = s->f->rets.top;
    w->count = s->f->rets.count;
    if (!is_direct(node->iclass))
        return 1;
    ptl__ret_room(&s->f->rets);
    w->top = s->f->rets.top;
    return go_on(s, w);
}

/* It is as if nothing had run. */
static int undo(struct count *s, const struct way *w)
{
    s->f->rets.top = w->top;
    s->f->rets.count = w->count;
    return 0;
}

INLINE void use_way(const struct count *s, struct regs *r, const struct way *w)
{
    r->insns += w->insns;
    r->blocks += w->blocks;
    r->runs += w->runs;
    r->last = w->branch;
    if (s->coverage)
        count_way(w);
}

/* --- packets --------------------------------------------------------------------------- */

/* - with one block, a conditional branch. */
INLINE int use_jcc(struct count *s, struct regs *r)
{
    struct ptl__node *node = r->node, *next = follow(s, node, (int)(r->bits >> 63));

    if (unlikely(!next))
        return 0;
    r->insns += node->ninsn;
    r->blocks++;
    r->runs++;
    r->last = node;
    r->bits <<= 1;
    r->n--;
    r->node = next;
    if (s->coverage)
        ptl__node_ran(node);
    return 1;
}

/* Use the oldest bit. Returns 0 if the slow path is to. */
INLINE int use_bit(struct count *s, struct regs *r)
{
    int taken = (int)(r->bits >> 63);
    struct ptl__node *next = NULL;
    struct way w;

    if (likely(r->node->iclass == PTL_INSN_JCC))
        return use_jcc(s, r);
    if (unlikely(!run_to_branch(s, &w, r->node)))
        return undo(s, &w);
    if (likely(w.branch->iclass == PTL_INSN_JCC))
        next = follow(s, w.branch, taken);
    else if (w.branch->iclass == PTL_INSN_RET && taken && !(s->f->flags & PTL_FLOW_NORETCOMP) &&
             s->f->rets.count)
        next = w.branch;
    if (unlikely(!next))
        return undo(s, &w);
    use_way(s, r, &w);
    r->bits <<= 1;
    r->n--;
    r->node =
        next != w.branch || w.branch->iclass == PTL_INSN_JCC ? next : take_return(s, next->mode);
    return r->node != NULL;
}

INLINE int use_tnt(struct count *s, struct regs *r)
{
    uint64_t bits = *r->p >> 1;

    r->n = 63 - (unsigned)__builtin_clzll(bits);
    r->bits = bits << (64 - r->n);
    r->p++;
    while (r->n)
        if (unlikely(!use_bit(s, r))) { /* as take_tnt8() of walk_count.c leaves them */
            if (r->n)
                r->p = ptl__skip_pad(r->p, s->f->bind.end);
            s->offset = ptl__bind_offset(&s->f->bind, r->p);
            return 0;
        }
    return 1;
}

INLINE int use_tip(struct count *s, struct regs *r)
{
    struct ptl__node *next;
    struct way w;
    uint64_t ip;
    unsigned size = ptl__peek_ip(r->p, r->last_ip, &ip);

    if (!size)
        return 0;
    if (!run_to_branch(s, &w, r->node) || w.branch->iclass == PTL_INSN_JCC)
        return undo(s, &w);
    next = w.branch->succ[1];
    if (!next || next->ip != ip)
        next = link_to(s, w.branch, 1, ip);
    if (!next)
        return undo(s, &w);
    use_way(s, r, &w);
    if (w.branch->iclass == PTL_INSN_CALL_IND)
        ptl__ret_push(&s->f->rets, 0, w.branch);
    else if (w.branch->iclass == PTL_INSN_RET)
        ptl__ret_drop(&s->f->rets);
    r->node = next;
    r->p += size;
    r->last_ip = ip;
    s->f->bind.last.have_ip = 1;
    s->f->bind.last.suppressed = 0;
    return 1;
}

int ptl__count_plain(struct count *s, struct regs *regs, size_t bytes)
{
    struct regs r = *regs;
    const uint8_t *limit = r.p + bytes;
    int more = 1;

    while (more && r.p < limit && r.p < s->end) {
        uint8_t op = *r.p;

        if (!(op & 1) && op > 2)
            more = use_tnt(s, &r);
        else if (IP_LOW(op) == LOW_TIP && 2 * (op >> 5) < limit - r.p)
            more = use_tip(s, &r);
        else if (!op)
            r.p = ptl__skip_pad(r.p, s->f->bind.end);
        else
            break;
    }
    *regs = r;
    return more;
}
