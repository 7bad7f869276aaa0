/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memo.c - finding out what a packet does at a node: the walk of walk_slow.c, without telling.
 */
#include "flow/memo.h"

#include "base/alloc.h"
#include "flow/unfold.h"

#include <string.h>

/* A walk that is tried. */
struct trial {
    struct ptl_flow *f;
    struct ptl__node *node; /* where it is; NULL: not known, or to the slow path */
    struct ptl__memo memo;
    uint32_t insns, blocks, runs;
    int joined;
    /* as in struct ptl_flow */
    uint64_t run, loop_ip;
    uint32_t hops;
};

/* --- nodes ---------------------------------------------------------------------------- */

static uint8_t mode_of(const struct ptl_flow *f)
{
    return f->mode ? f->mode : PTL_MODE_64;
}

struct ptl__node *ptl__memo_find(struct ptl_flow *f, uint64_t ip)
{
    struct ptl__node *node;

    if (ptl__view_node(&f->cache, f->view, ip, mode_of(f), &node) < 0 || !node->warm)
        return NULL;
    return node;
}

static struct ptl__node *link_to(struct ptl_flow *f, struct ptl__node *from, int i, uint64_t ip)
{
    if (!from->succ[i])
        from->succ[i] = ptl__memo_find(f, ip);
    return from->succ[i];
}

struct ptl__node *ptl__memo_return(struct ptl_flow *f, uint64_t ip, struct ptl__node *caller)
{
    if (caller && caller->mode == mode_of(f))
        return link_to(f, caller, 0, ip);
    return ptl__memo_find(f, ip);
}

static uint64_t end_of(const struct ptl__node *node)
{
    return ptl__mode_ip(node->mode, ptl__node_end(node));
}

/* --- the stack ------------------------------------------------------------------------- */

/* Returns 0 if there is no room for one more. */
static int push(struct ptl__effect *e, struct ptl__node **stack, unsigned max,
                struct ptl__node *caller)
{
    if (e->npush == max)
        return 0;
    stack[e->npush++] = caller;
    e->move++;
    e->low++;
    e->high = (uint8_t)(e->high < RETSTACK_DEPTH ? e->high + 1 : RETSTACK_DEPTH);
    return 1;
}

/* --- blocks ---------------------------------------------------------------------------- */

static int is_direct(uint8_t iclass)
{
    return (1u << iclass & (1u << PTL_INSN_CALL | 1u << PTL_INSN_JMP | 1u << PTL_INSN_OTHER |
                            1u << PTL_INSN_MOV_CR3 | 1u << PTL_INSN_PTWRITE)) != 0;
}

/* As check_loop() of the slow path. */
static int loops(struct trial *t)
{
    if (t->hops && t->node->ip == t->loop_ip)
        return 1;
    if (!(t->hops & (t->hops + 1)))
        t->loop_ip = t->node->ip;
    t->hops++;
    return t->run > FLOW_MAX_INSNS;
}

/* Run the block. Returns 0 if the slow path is to do it. */
static int run_block(struct trial *t)
{
    if (loops(t))
        return 0;
    t->insns += t->node->ninsn;
    t->run += t->node->ninsn;
    t->blocks += !t->joined;
    t->runs++;
    t->memo.last = t->node;
    return t->insns <= UINT16_MAX && t->runs <= UINT8_MAX;
}

static void used(struct trial *t)
{
    t->run = t->hops = 0;
    t->joined = 0;
}

/* On through code alone. Returns 0 if the slow path is to do it. */
static int go_on(struct trial *t)
{
    struct ptl__node *node = t->node;
    uint32_t ends = node->iclass == PTL_INSN_CALL  ? PTL_FLOW_END_ON_CALL
                    : node->iclass == PTL_INSN_JMP ? PTL_FLOW_END_ON_JUMP
                                                   : 0;

    t->joined = !(t->f->flags & ends);
    if (node->iclass == PTL_INSN_CALL || node->iclass == PTL_INSN_JMP) {
        if (node->iclass == PTL_INSN_CALL && node->target != end_of(node) &&
            !push(&t->memo.stack, t->memo.push, MEMO_PUSH, node))
            return 0;
        t->node = link_to(t->f, node, 1, node->target);
    } else {
        t->node = link_to(t->f, node, 0, end_of(node));
    }
    return t->node != NULL;
}

/* Run blocks up to the first branch that needs trace. */
static int run_to_branch(struct trial *t)
{
    int more;

    do
        more = run_block(t);
    while (more && is_direct(t->node->iclass) && (more = go_on(t)));
    return more;
}

/* --- packets ----------------------------------------------------------------------------- */

/* What is kept, where bits have been used and the walk goes on. */
static void keep(struct trial *t, struct ptl__memo *kept)
{
    t->memo.next = t->node;
    t->memo.insns = (uint16_t)t->insns;
    t->memo.blocks = (uint8_t)t->blocks;
    t->memo.runs = (uint8_t)t->runs;
    *kept = t->memo;
}

/* A compressed return, its bit taken. Returns 1 if it goes on, 0 if the memo ends with it, -1 if
 * the slow path is to do it. */
static int take_return(struct trial *t, int taken)
{
    struct ptl__memo *m = &t->memo;
    struct ptl__node *caller;

    if (!taken || (t->f->flags & PTL_FLOW_NORETCOMP))
        return -1;
    if (!m->stack.npush) {
        t->node = NULL;
        return 0;
    }
    caller = m->push[m->stack.npush - 1];
    ptl__effect_drop(&m->stack);
    t->node = link_to(t->f, caller, 0, end_of(caller));
    return t->node ? 1 : -1;
}

/* Returns 1 if all bits are used, or a return ends the memo; 0 if some are; -1: none. */
static int try_tnt(struct trial *t, uint64_t key)
{
    unsigned left = 63 - (unsigned)__builtin_clzll(key);
    struct ptl__memo kept = {0};
    int more = 1;

    while (left && more > 0) {
        struct ptl__node *node;
        int taken;

        if (!run_to_branch(t))
            break;
        node = t->node;
        taken = (int)(key >> (left - 1) & 1);
        if (node->iclass == PTL_INSN_JCC)
            t->node = link_to(t->f, node, taken, taken ? node->target : end_of(node));
        else
            more = node->iclass == PTL_INSN_RET ? take_return(t, taken) : -1;
        if (more < 0 || (more && !t->node))
            break;
        left--;
        used(t);
        t->memo.bits++;
        keep(t, &kept);
    }
    t->memo = kept;
    return !kept.bits ? -1 : !left || !more;
}

/* The TIP's target becomes known. */
static int try_tip(struct trial *t, uint64_t ip)
{
    struct ptl__node *node;

    if (!run_to_branch(t) || t->node->iclass == PTL_INSN_JCC)
        return -1;
    node = t->node;
    if (node->iclass == PTL_INSN_CALL_IND) {
        if (!push(&t->memo.stack, t->memo.push, MEMO_PUSH, node))
            return -1;
    } else if (node->iclass == PTL_INSN_RET) {
        ptl__effect_drop(&t->memo.stack);
    }
    t->node = ptl__memo_find(t->f, ip);
    if (!t->node)
        return -1;
    keep(t, &t->memo);
    return 1;
}

/* The call at hand leaves what is traced: nothing will return from it. */
static void forget_call(struct trial *t)
{
    const struct ptl__node *last = t->memo.last;

    if (last->iclass == PTL_INSN_CALL && last->target != end_of(last))
        ptl__effect_drop(&t->memo.stack);
}

/* Tracing ends at a branch, or on arrival at `ip`: then that is `next`. In the middle of a block is
 * the slow path's affair. */
static int try_pgd(struct trial *t, uint64_t ip)
{
    struct ptl__node *node = NULL;
    int more;

    do {
        if (ip - t->node->ip < t->node->size) {
            if (ip != t->node->ip || !t->runs)
                return -1;
            node = t->node;
            forget_call(t);
            break;
        }
        more = run_block(t);
        if (!more)
            return -1;
    } while (is_direct(t->node->iclass) && (more = go_on(t)));
    if (!more)
        return -1;
    t->node = node;
    keep(t, &t->memo);
    return 1;
}

/* The part of the block before `ip` runs. Returns 0 if no instruction begins there. */
static int run_part(struct trial *t, uint64_t ip)
{
    struct ptl_insn insn;
    uint16_t ninsn;
    uint32_t size;

    if (ptl__block_split(t->node->block, ip, &ninsn, &size) || loops(t))
        return 0;
    ptl__block_bytes(t->node->block, ninsn, &insn);
    t->insns += ninsn;
    t->blocks += !t->joined;
    t->runs++;
    t->memo.last = t->node;
    t->memo.bits = insn.size;
    return t->insns <= UINT16_MAX && t->runs <= UINT8_MAX;
}

/* To where an event happens, before any branch that needs trace. */
static int try_at(struct trial *t, uint64_t ip)
{
    while (t->node->ip != ip) {
        if (ip - t->node->ip < t->node->size) {
            if (!run_part(t, ip))
                return -1;
            break;
        }
        if (!run_block(t) || !is_direct(t->node->iclass) || !go_on(t))
            return -1;
    }
    keep(t, &t->memo);
    return 1;
}

/* At the next branch that needs trace, or MOV CR3. */
static int try_pgd0(struct trial *t)
{
    uint8_t iclass;
    int more;

    if (t->f->errata & PTL_ERR_SKL014)
        return -1;
    do {
        more = run_block(t);
        iclass = t->node->iclass;
    } while (more && is_direct(iclass) && iclass != PTL_INSN_MOV_CR3 && (more = go_on(t)));
    if (!more)
        return -1;
    t->node = NULL;
    keep(t, &t->memo);
    return 1;
}

static int try_pge(struct trial *t, uint64_t ip)
{
    t->node = ptl__memo_find(t->f, ip);
    t->memo.next = t->node;
    return t->node ? 1 : -1;
}

static int try_packet(struct trial *t, enum ptl__memo_kind kind, uint64_t key)
{
    switch (kind) {
    case MEMO_TNT:
        return try_tnt(t, key);
    case MEMO_TIP:
        return try_tip(t, key);
    case MEMO_PGD:
        return try_pgd(t, key);
    case MEMO_PGD0:
        return try_pgd0(t);
    case MEMO_AT:
        return try_at(t, key);
    default:
        return try_pge(t, key);
    }
}

/* --- keeping ----------------------------------------------------------------------------- */

static size_t slot_of(const void *item)
{
    const struct ptl__memo *m = item;
    uintptr_t kind = m->from & (sizeof(struct ptl__node) - 1);

    return ptl__memo_slot((const struct ptl__node *)(m->from - kind), (enum ptl__memo_kind)kind,
                          m->key);
}

struct ptl__memo *ptl__memo_make(struct ptl_flow *f, struct ptl__node *node,
                                 enum ptl__memo_kind kind, uint64_t key)
{
    struct trial t = {.f = f, .node = node, .memo = {.stack = {.high = RETSTACK_DEPTH}}};
    struct ptl__memo *m = NULL;
    int status = try_packet(&t, kind, key);

    ptl__unfold_memo(f->view, &f->trial);
    if (status < 0)
        return NULL;
    t.memo.from = ptl__memo_from(node, kind);
    t.memo.key = key;
    ptl__memos_bound(f->view);
    if (status) /* else some day there will be a better one */
        m = ptl__memos_put(f->view->pool, &f->view->memos, &t.memo, sizeof(t.memo), slot_of);
    f->trial = t.memo;
    return m ? m : &f->trial;
}
