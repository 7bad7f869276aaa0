/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unfold.c - a memo counts how often it was used; how often each of its blocks ran is found out
 * when somebody asks, by going its way once more. All nodes and links are there from the first
 * time.
 */
#include "flow/unfold.h"

#include "flow/memo.h"
#include "flow/walk_bytes.h"

#define CALLS_MAX (MEMO_PUSH + STRETCH_PUSH) /* that a way can have open */

/* The way of a memo or stretch. */
struct way {
    const struct ptl__view *view;
    struct ptl__node *node;
    uint64_t bits; /* the oldest is the top bit */
    unsigned n;    /* bits left */
    const uint8_t *p, *end;
    uint64_t last_ip;
    struct ptl__node *calls[CALLS_MAX];
    unsigned ncalls;
};

static void take_ip(struct way *w)
{
    w->p += ptl__peek_ip(w->p, w->last_ip, &w->last_ip);
}

/* The packet that the branch at hand needs: bits, or where it goes. Returns the byte it begins
 * with; 0: there is none. */
static uint8_t take_packet(struct way *w)
{
    uint8_t op;

    w->p = ptl__skip_pad(w->p, w->end);
    if (w->p == w->end)
        return 0;
    op = *w->p;
    if (op & 1) {
        take_ip(w);
        return op;
    }
    w->n = 63 - (unsigned)__builtin_clzll(op >> 1);
    w->bits = (uint64_t)(op >> 1) << (64 - w->n);
    w->p++;
    return op;
}

static void pop(struct way *w)
{
    w->ncalls -= w->ncalls != 0;
}

/* A branch that needs a bit. */
static void take_bit(struct way *w)
{
    struct ptl__node *node = w->node;
    int taken = (int)(w->bits >> 63);

    w->bits <<= 1;
    w->n--;
    if (node->iclass == PTL_INSN_JCC) {
        w->node = node->succ[taken];
        return;
    }
    w->node = w->ncalls ? w->calls[w->ncalls - 1]->succ[0] : NULL;
    pop(w);
}

/* TIP.PGD has been taken: on from the TIP.PGE. */
static void take_pge(struct way *w, uint8_t mode)
{
    w->p = ptl__skip_pad(w->p, w->end);
    if (w->p < w->end)
        take_ip(w);
    w->node = ptl__view_known(w->view, w->last_ip, mode);
}

/* A branch that needs a target: TIP, or TIP.PGD and TIP.PGE. */
static void take_target(struct way *w, uint8_t op)
{
    struct ptl__node *node = w->node;

    if (IP_LOW(op) == LOW_PGD) {
        take_pge(w, node->mode);
        return;
    }
    if (node->iclass == PTL_INSN_CALL_IND && w->ncalls < CALLS_MAX)
        w->calls[w->ncalls++] = node;
    else if (node->iclass == PTL_INSN_RET)
        pop(w);
    w->node = ptl__view_known(w->view, w->last_ip, node->mode);
}

/* On through code alone, unless a TIP.PGD says that tracing ends there. */
static void go_to(struct way *w, struct ptl__node *next)
{
    const struct ptl__node *node = w->node;
    const uint8_t *p = ptl__skip_pad(w->p, w->end);
    uint64_t ip;

    w->node = next;
    if (w->n || p == w->end || IP_LOW(*p) != LOW_PGD || !next ||
        !ptl__peek_ip(p, w->last_ip, &ip) || ip != next->ip)
        return;
    if (node->iclass == PTL_INSN_CALL &&
        node->target != ptl__mode_ip(node->mode, ptl__node_end(node)))
        pop(w);
    w->p = p;
    take_ip(w);
    take_pge(w, next->mode);
}

static void go_on(struct way *w)
{
    struct ptl__node *node = w->node;
    uint8_t op = 0;

    switch (node->iclass) {
    case PTL_INSN_CALL:
        if (node->target != ptl__mode_ip(node->mode, ptl__node_end(node)) && w->ncalls < CALLS_MAX)
            w->calls[w->ncalls++] = node;
        go_to(w, node->succ[1]);
        return;
    case PTL_INSN_JMP:
        go_to(w, node->succ[1]);
        return;
    case PTL_INSN_OTHER:
    case PTL_INSN_MOV_CR3:
    case PTL_INSN_PTWRITE:
        go_to(w, node->succ[0]);
        return;
    default:
        if (!w->n)
            op = take_packet(w);
        if (w->n)
            take_bit(w);
        else if (op)
            take_target(w, op);
        else
            w->node = NULL;
        return;
    }
}

static void count(struct way *w, unsigned runs, uint64_t uses)
{
    while (runs-- && w->node) {
        ptl__code_ran(w->node, uses);
        if (runs)
            go_on(w);
    }
}

void ptl__unfold_memo(const struct ptl__view *view, struct ptl__memo *m)
{
    uintptr_t kind = m->from & (sizeof(struct ptl__node) - 1);
    struct way w = {.view = view, .node = (struct ptl__node *)(m->from - kind)};

    if (!m->uses)
        return;
    if (kind == MEMO_TNT) {
        w.n = 63 - (unsigned)__builtin_clzll(m->key);
        w.bits = m->key << (64 - w.n);
    }
    count(&w, m->runs, m->uses);
    m->uses = 0;
}

static void unfold_memo(void *view, void *memo)
{
    ptl__unfold_memo(view, memo);
}

static void unfold_stretch(void *of, void *stretch)
{
    const struct ptl__view *view = of;
    struct ptl__stretch *s = stretch;
    uint8_t bytes[STRETCH_SIZE + IP_MAX] = {0}; /* addresses are read in one go */
    struct way w = {
        .view = view, .node = s->from, .p = bytes, .end = bytes + s->len, .last_ip = s->last_ip};
    unsigned runs = s->runs;

    if (!s->uses)
        return;
    for (unsigned i = 0; i < s->ntold; i++)
        runs += view->told[s->told + i].runs;
    memcpy(bytes, s->bytes, s->len);
    count(&w, runs, s->uses);
    s->uses = 0;
}

static void add_node(void *view, void *item)
{
    struct ptl__node *node = item;

    (void)view;
    if (node->ran)
        ptl__code_ran(node, node->ran);
    node->ran = 0;
}

void ptl__unfold(struct ptl__view *view)
{
    ptl__chunks_each(view->chunks, sizeof(struct ptl__node), add_node, view);
    ptl__chunks_each(view->memos.chunks, sizeof(struct ptl__memo), unfold_memo, view);
    ptl__chunks_each(view->stretches.chunks, sizeof(struct ptl__stretch), unfold_stretch, view);
}
