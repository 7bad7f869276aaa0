/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stretch.c - what the packets in some bytes of trace do: memos put together.
 *
 * Programs repeat themselves, and so do their traces, byte for byte. A stretch holds only what
 * the same bytes at the same place always do: TNT, TIP, PAD; TIP.PGD with TIP.PGE where nobody
 * asks for events. Time never repeats.
 */
#include "flow/memo.h"
#include "flow/walk_bytes.h"

#include <string.h>

/* Packets put together so far. */
struct join {
    struct ptl_flow *f;
    struct ptl__stretch s;
    struct ptl__node *node;
    uint64_t last_ip;
    const uint8_t *p, *end;
    uint32_t insns, blocks, runs; /* since the last event */
    int packets;
    unsigned ntold;
    struct ptl__told told[STRETCH_EVENTS];
};

const uint64_t ptl__stretch_ip[8] = {
    [PTL_IPC_UPDATE_16] = ~UINT64_C(0xffff),
    [PTL_IPC_UPDATE_32] = ~UINT64_C(0xffffffff),
    [PTL_IPC_UPDATE_48] = ~UINT64_C(0xffffffffffff),
};

static struct ptl__memo *look(struct join *j, struct ptl__node *node, enum ptl__memo_kind kind,
                              uint64_t key)
{
    struct ptl__memo *m =
        ptl__memo_look(j->f->view->memos.slots, j->f->view->memos.nslots - 1, node, kind, key);

    return m ? m : ptl__memo_make(j->f, node, kind, key);
}

int ptl__effect_join(struct ptl__effect *a, struct ptl__node **push, unsigned max,
                     const struct ptl__effect *b, struct ptl__node *const *b_push)
{
    int keep = a->npush + b->move - b->npush; /* of the old ones */
    int low = a->low + b->move, high = a->high + b->move;

    if (a->move + b->move < -RETSTACK_DEPTH || a->move + b->move > RETSTACK_DEPTH)
        return 0;
    keep = keep < 0 ? 0 : keep;
    if ((unsigned)keep + b->npush > max)
        return 0;
    for (unsigned i = 0; i < b->npush; i++)
        push[(unsigned)keep + i] = b_push[i];
    a->npush = (uint8_t)((unsigned)keep + b->npush);
    low = low < b->low ? b->low : low;
    high = high < b->low ? b->low : high;
    a->low = (uint8_t)(low > b->high ? b->high : low);
    a->high = (uint8_t)(high > b->high ? b->high : high);
    a->move = (int8_t)(a->move + b->move);
    return 1;
}

/* Returns 0 if the stretch cannot hold the memo, too. */
static int add(struct join *j, const struct ptl__memo *m)
{
    if (!m || j->insns + m->insns > UINT16_MAX || j->runs + m->runs > UINT8_MAX ||
        !ptl__effect_join(&j->s.stack, j->s.push, STRETCH_PUSH, &m->stack, m->push))
        return 0;
    j->insns += m->insns;
    j->blocks += m->blocks;
    j->runs += m->runs;
    j->s.last = m->last;
    j->node = m->next;
    return 1;
}

/* The packets so far are a stretch. */
static void keep(struct join *j, struct ptl__stretch *kept)
{
    j->s.len = (uint8_t)(j->p - (j->end - STRETCH_SIZE));
    j->s.next = j->node;
    j->s.new_last_ip = j->last_ip;
    j->s.insns = (uint16_t)j->insns;
    j->s.blocks = (uint8_t)j->blocks;
    j->s.runs = (uint8_t)j->runs;
    j->s.ntold = (uint8_t)j->ntold;
    *kept = j->s;
}

/* The memo ended with a return: to a call of the stretch's own? Returns 0 if not. */
static int add_return(struct join *j)
{
    struct ptl__effect *e = &j->s.stack;
    const struct ptl__node *caller;

    if (!e->npush)
        return 0;
    caller = j->s.push[e->npush - 1];
    if (caller->mode != j->s.last->mode || !caller->succ[0])
        return 0;
    ptl__effect_drop(e);
    j->node = caller->succ[0];
    return 1;
}

static int add_tnt(struct join *j, uint64_t key, unsigned size)
{
    unsigned n = 63 - (unsigned)__builtin_clzll(key);

    j->p += size;
    do {
        const struct ptl__memo *m = look(j, j->node, MEMO_TNT, key);

        if (!add(j, m))
            return 0;
        n -= m->bits;
        if (!j->node && !add_return(j))
            return !n; /* such a return ends the stretch */
        key = (key & ((UINT64_C(1) << n) - 1)) | UINT64_C(1) << n;
    } while (n);
    return 1;
}

/* The address of the packet at hand. Returns the packet's size, or 0. */
static unsigned read_ip(struct join *j, uint64_t *ip)
{
    unsigned size = ptl__peek_ip(j->p, j->last_ip, ip);

    if (!size || j->p + size > j->end)
        return 0;
    if (j->s.ipc == PTL_IPC_SUPPRESSED)
        j->s.ipc = *j->p >> 5 & 7u;
    return size;
}

static int add_tip(struct join *j)
{
    uint64_t ip;
    unsigned size = read_ip(j, &ip);

    if (!size)
        return 0;
    j->p += size;
    j->last_ip = ip;
    return add(j, look(j, j->node, MEMO_TIP, ip));
}

/* Both events are told with the TIP.PGE at hand. */
static void add_told(struct join *j, const uint64_t *pgd, uint64_t pge, uint64_t resume)
{
    uint16_t at = (uint16_t)(j->p - (j->end - STRETCH_SIZE));

    j->told[j->ntold++] = (struct ptl__told){.ip = pgd ? *pgd : 0,
                                             .have_ip = pgd != NULL,
                                             .insns = j->insns,
                                             .blocks = (uint16_t)j->blocks,
                                             .runs = (uint16_t)j->runs,
                                             .at = at};
    j->told[j->ntold++] =
        (struct ptl__told){.ip = pge, .have_ip = 1, .at = at, .on = 1, .resumed = pge == resume};
    j->insns = j->blocks = j->runs = 0;
}

/* May a TIP.PGD without address be in it? As in take_pgd(); where blocks are counted, the way is
 * gone again by addresses (unfold.c). */
static int may_be_off(const struct join *j)
{
    return j->s.last && !(j->f->flags & PTL_FLOW_COVERAGE);
}

/* TIP.PGD and TIP.PGE. */
static int add_off_on(struct join *j)
{
    int have_ip = *j->p >> 5 != PTL_IPC_SUPPRESSED;
    const struct ptl__memo *m;
    uint64_t ip = 0, pge, resume;
    unsigned size = have_ip ? read_ip(j, &ip) : (unsigned)may_be_off(j);

    if (j->f->cursor || !size || j->ntold + 2 > STRETCH_EVENTS)
        return 0;
    m = look(j, j->node, have_ip ? MEMO_PGD : MEMO_PGD0, ip);
    if (!add(j, m))
        return 0;
    resume = m->next ? ip : ptl__resume_ip(m->last);
    j->p = ptl__skip_pad(j->p + size, j->end);
    j->last_ip = have_ip ? ip : j->last_ip;
    if (j->p == j->end || IP_LOW(*j->p) != LOW_PGE || !(size = read_ip(j, &pge)))
        return 0;
    if (j->f->flags & PTL_FLOW_FEW_EVENTS)
        j->s.events = 1;
    else
        add_told(j, have_ip ? &ip : NULL, pge, resume);
    m = look(j, NULL, ptl__memo_pge(j->f->mode), pge);
    j->p += size;
    j->last_ip = pge;
    j->s.pge = 1;
    j->packets++;
    j->node = m ? m->next : NULL;
    return m != NULL;
}

static int add_packet(struct join *j)
{
    uint8_t op = *j->p;

    if (!(op & 1) && op > 2)
        return add_tnt(j, op >> 1, 1);
    if (IP_LOW(op) == LOW_TIP)
        return add_tip(j);
    return IP_LOW(op) == LOW_PGD && add_off_on(j);
}

static void join_packets(struct join *j, struct ptl__stretch *kept)
{
    while (j->node) {
        j->p = ptl__skip_pad(j->p, j->end);
        if (j->packets)
            keep(j, kept);
        if (j->p == j->end)
            return;
        j->s.pge = 0;
        if (!add_packet(j))
            return;
        j->packets++;
    }
    keep(j, kept); /* with a return */
}

/* --- keeping ----------------------------------------------------------------------------- */

static size_t slot_of(const void *item)
{
    const struct ptl__stretch *s = item;
    return ptl__stretch_slot(s->from, s->bytes);
}

struct ptl__stretch *ptl__stretch_make(struct ptl_flow *f, struct ptl__node *node, uint64_t last_ip,
                                       const uint8_t *p)
{
    struct join j = {.f = f,
                     .s = {.stack = {.high = RETSTACK_DEPTH}},
                     .node = node,
                     .last_ip = last_ip,
                     .p = p,
                     .end = p + STRETCH_SIZE};
    struct ptl__stretch kept = {0};

    ptl__stretches_bound(f->view);
    join_packets(&j, &kept);
    if (j.packets < 2)
        memset(&kept, 0, sizeof(kept)); /* it will not be tried again */
    kept.from = node;
    kept.last_ip = last_ip & ptl__stretch_ip[kept.ipc];
    memcpy(kept.bytes, p, STRETCH_SIZE);
    if (!ptl__view_told(f->view, j.told, kept.ntold, &kept.told))
        return NULL;
    return ptl__memos_put(f->view->pool, &f->view->stretches, &kept, sizeof(kept), slot_of);
}
