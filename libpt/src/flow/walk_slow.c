/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk_slow.c - follow any step, block by block, stopping between instructions where an
 * event asks for it.
 *
 * Source: Intel SDM vol. 3, "Intel Processor Trace", sections "Change of Flow Instruction
 * (COFI) Tracing", "Packet sequences".
 */
#include "flow/walk.h"

#include <string.h>

/* Where to stop inside a block. */
struct stop {
    uint64_t ip;    /* before this one, if `have_ip` */
    uint64_t ninsn; /* after so many, if not 0 */
    uint8_t have_ip;
    uint8_t ends; /* a user's block ends at the stop */
};

static const struct stop no_stop = {0, 0, 0, 0};

/* --- one block ---------------------------------------------------------------------- */

/* How much of the block runs before the stop. Returns 0 if all of it does. */
static int cut_block(const struct ptl__node *node, const struct stop *stop, uint16_t *ninsn,
                     uint32_t *size, struct ptl_insn *last)
{
    if (stop->have_ip && stop->ip - node->ip < node->size && stop->ip != node->ip &&
        ptl__block_split(node->block, stop->ip, ninsn, size) == 0) {
        ptl__block_bytes(node->block, *ninsn, last);
        return 1;
    }
    if (stop->ninsn && stop->ninsn < node->ninsn) {
        *ninsn = (uint16_t)stop->ninsn;
        *size = ptl__block_bytes(node->block, *ninsn, last);
        return 1;
    }
    return 0;
}

/* A loop without trace? Passing the same place twice means so, as nothing else decides; the
 * place remembered moves on at powers of two (Brent). */
static int check_loop(struct ptl_flow *f)
{
    if (f->step.kind == STEP_EVENT && f->step.place == PLACE_COUNT)
        return 0; /* the count decides */
    if (f->loop_hops && f->ip == f->loop_ip)
        return PTL_LOOP;
    if (!(f->loop_hops & (f->loop_hops + 1)) || !f->loop_hops)
        f->loop_ip = f->ip;
    f->loop_hops++;
    return f->run > FLOW_MAX_INSNS ? PTL_LOOP : 0;
}

/* Does a user's block end here, though no trace is needed? */
static int ends_users_block(const struct ptl_flow *f, const struct ptl__node *node)
{
    return (node->iclass == PTL_INSN_CALL && (f->flags & PTL_FLOW_END_ON_CALL)) ||
           (node->iclass == PTL_INSN_JMP && (f->flags & PTL_FLOW_END_ON_JUMP)) ||
           ((f->flags & PTL_FLOW_COLD_BLOCKS) && f->step.kind != STEP_EVENT &&
            ptl__cold_ends(&f->cold, node));
}

/* The block ran wholly: go on as far as code alone says. Leaves f->at at its last
 * instruction. */
static void finish_block(struct ptl_flow *f, struct ptl__node *node)
{
    struct ptl__at *at = &f->at;

    ptl__at_end(f, node);
    f->joined = !ends_users_block(f, node);
    switch (node->iclass) {
    case PTL_INSN_CALL:
        if (node->target != at->end)
            ptl__ret_push(&f->rets, at->end, node);
        f->ip = node->target;
        break;
    case PTL_INSN_JMP:
        f->ip = node->target;
        break;
    case PTL_INSN_OTHER:
    case PTL_INSN_MOV_CR3:
    case PTL_INSN_PTWRITE:
        f->ip = at->end;
        break;
    default:
        at->unresolved = 1;
        f->joined = 0;
        break;
    }
}

/* Does the reference's block end inside this one? */
static int stop_where_cold(struct ptl_flow *f, struct ptl__node *node, struct stop *stop)
{
    uint16_t cut;
    int status;

    if (!(f->flags & PTL_FLOW_COLD_BLOCKS) || f->step.kind == STEP_EVENT)
        return 0;
    status = ptl__cold_block(&f->cold, node, f->step.kind == STEP_TIP, &cut);
    stop->ninsn = cut;
    stop->ends = cut != 0;
    return status;
}

/* The block at f->ip. */
static int find_block(struct ptl_flow *f, struct ptl__node **node)
{
    if (!f->view)
        return PTL_NOMAP;
    return ptl__view_node(&f->cache, f->view, f->ip, f->mode ? f->mode : PTL_MODE_64, node);
}

/* Run the block at f->ip, up to the stop. Returns 0 or what is wrong. */
static int walk_block(struct ptl_flow *f, struct stop stop)
{
    struct ptl__node *node;
    struct ptl_insn last;
    uint16_t ninsn;
    uint32_t size;
    int status;

    if (!f->joined) {
        f->block_ip = f->ip;
        f->block_empty = 1;
    }
    f->at.valid = f->at.unresolved = 0;
    if ((status = check_loop(f)) < 0 || (status = find_block(f, &node)) < 0 ||
        (status = stop_where_cold(f, node, &stop)) < 0)
        return status;
    if (cut_block(node, &stop, &ninsn, &size, &last)) {
        ptl__put_block(f, node, ninsn, size);
        f->ip = ptl__mode_ip(node->mode, node->ip + size);
        f->block_empty = 0;
        f->last_ip = node->ip + size - last.size;
        f->last_next = f->ip;
        f->joined = !stop.ends;
    } else {
        ninsn = node->ninsn;
        ptl__put_block(f, node, ninsn, node->size);
        finish_block(f, node);
    }
    f->since += ninsn;
    f->run += ninsn;
    return 0;
}

/* --- branches ----------------------------------------------------------------------- */

static int pop_return(struct ptl_flow *f, uint64_t *ip)
{
    if (!ptl__ret_pop(&f->rets, ip))
        return PTL_RETSTACK_EMPTY;
    *ip = ptl__mode_ip(f->mode ? f->mode : PTL_MODE_64, *ip);
    return 0;
}

/* The branch at hand goes to `ip`: TIP. Calls and returns are counted. */
static void branch_to(struct ptl_flow *f, uint64_t ip)
{
    if (f->at.iclass == PTL_INSN_CALL_IND)
        ptl__ret_push(&f->rets, f->at.end, f->at.node);
    else if (f->at.iclass == PTL_INSN_RET)
        ptl__ret_drop(&f->rets);
    ptl__flow_goto(f, ip);
    f->since = 0;
}

/* The time of the packet is told after the branch that used it, if it is a new one. */
static int put_tick(struct ptl_flow *f, uint64_t ip)
{
    struct ptl__step tick;
    struct ptl__step keep = f->step;
    uint8_t have = f->have_step;
    int status;

    if (!(f->flags & PTL_FLOW_TICKS) || f->step.used++ || !f->step.ev.have_tsc ||
        f->step.ev.tsc == f->ev_tsc)
        return 0;
    keep.used = f->step.used;
    tick = f->step;
    tick.place = PLACE_HERE;
    tick.ev.type = PTL_EV_TICK;
    tick.ev.have_ip = 1;
    tick.ev.ip = ip;
    f->step = tick;
    status = ptl__flow_apply(f);
    f->step = keep;
    f->have_step = have;
    return status;
}

/* A branch with a TNT bit: JCC, compressed RET. */
static int take_bit(struct ptl_flow *f)
{
    int taken = (int)(f->step.bits >> --f->step.count & 1);
    uint64_t ip;
    int status;

    if (f->at.iclass == PTL_INSN_JCC) {
        ip = taken ? f->at.target : f->at.end;
    } else {
        if (!taken)
            return PTL_BAD_RETCOMP;
        status = pop_return(f, &ip);
        if (status < 0)
            return status;
    }
    ptl__flow_goto(f, ip);
    f->since = 0;
    return 0;
}

static int walk_tnt(struct ptl_flow *f)
{
    uint64_t ip, at;
    int status;

    if (!f->at.unresolved) {
        status = walk_block(f, no_stop);
        if (status < 0 || !f->at.unresolved)
            return status;
    }
    at = f->at.ip;
    if (f->at.iclass == PTL_INSN_JCC ||
        (f->at.iclass == PTL_INSN_RET && !(f->flags & PTL_FLOW_NORETCOMP))) {
        status = take_bit(f);
        if (status < 0)
            return status;
        f->have_step = f->step.count > 0;
        return put_tick(f, at);
    }
    /* The TIP was deferred: it comes after these bits, at the end of a piece in the next one. */
    status = ptl__bind_tip(&f->bind, &ip);
    if (status == 0)
        branch_to(f, ip);
    return status;
}

static int walk_tip(struct ptl_flow *f)
{
    uint64_t at;
    int status;

    if (!f->at.unresolved) {
        status = walk_block(f, no_stop);
        if (status < 0 || !f->at.unresolved)
            return status;
    }
    if (f->at.iclass == PTL_INSN_JCC)
        return PTL_BAD_QUERY;
    at = f->at.ip;
    branch_to(f, f->step.ip);
    f->have_step = 0;
    return put_tick(f, at);
}

/* --- events ------------------------------------------------------------------------- */

/* Can execution reach `ip` without trace? */
static int reaches(struct ptl_flow *f, uint64_t ip, int limit)
{
    uint64_t from = f->ip;
    uint8_t mode = f->mode ? f->mode : PTL_MODE_64;
    struct ptl__node *node;
    uint16_t ninsn;
    uint32_t size;

    if (f->at.unresolved || !f->view)
        return 0;
    while (from != ip) {
        if (ptl__view_node(&f->cache, f->view, from, mode, &node) < 0)
            return 0;
        if (ip - node->ip < node->size && ptl__block_split(node->block, ip, &ninsn, &size) == 0)
            return ninsn <= limit;
        limit -= node->ninsn;
        if (limit < 0)
            return 0;
        switch (node->iclass) {
        case PTL_INSN_CALL:
        case PTL_INSN_JMP:
            from = node->target;
            break;
        case PTL_INSN_OTHER:
        case PTL_INSN_MOV_CR3:
        case PTL_INSN_PTWRITE:
            from = ptl__node_end(node);
            break;
        default:
            return 0;
        }
    }
    return 1;
}

/* BDM64: the branch before a transaction's abort may have been traced wrong. */
static void errata_bdm64(struct ptl_flow *f)
{
    if ((f->errata & PTL_ERR_BDM64) && f->step.ev.type == PTL_EV_TSX && f->step.ev.u.tsx.aborted &&
        !f->step.used && f->ip != f->step.ip && !reaches(f, f->step.ip, 256))
        ptl__flow_goto(f, f->step.ip);
    f->step.used = 1;
}

/* The kind of the instruction where the event happens, whether it has run already or not. */
static int kind_here(struct ptl_flow *f)
{
    struct ptl__node *node;
    struct ptl_insn insn;

    if (f->at.unresolved)
        return f->at.ip == f->step.ip ? f->at.kind : PTL_KIND_NONE;
    if (!f->view ||
        ptl__view_node(&f->cache, f->view, f->ip, f->mode ? f->mode : PTL_MODE_64, &node) < 0)
        return PTL_KIND_NONE;
    ptl__block_bytes(node->block, 1, &insn);
    return insn.kind;
}

/* SKD022: a VM entry that turns tracing off looks like an asynchronous disable. */
static int errata_skd022(struct ptl_flow *f)
{
    int kind;

    if (!(f->errata & PTL_ERR_SKD022) || f->step.ev.type != PTL_EV_ASYNC_DISABLED)
        return 0;
    kind = kind_here(f);
    if (kind != PTL_KIND_VMLAUNCH && kind != PTL_KIND_VMRESUME)
        return 0;
    f->step.ev.type = PTL_EV_DISABLED;
    memset(&f->step.ev.u, 0, sizeof(f->step.ev.u));
    f->step.place = PLACE_CLASS;
    f->step.class_ = CLASS_DISABLE;
    return 1;
}

/* An asynchronous event at a branch whose target the trace does not tell: either the branch
 * did not complete, or (erratum) the FUP holds the address after it. */
static int unresolved_at(struct ptl_flow *f)
{
    if (f->at.ip == f->step.ip)
        return ptl__flow_apply(f);
    if ((f->errata & PTL_ERR_APL_FUP_NLIP) && f->at.end == f->step.ip &&
        (f->at.iclass == PTL_INSN_JMP_IND || f->at.iclass == PTL_INSN_CALL_IND)) {
        ptl__flow_goto(f, f->step.ip);
        return ptl__flow_apply(f);
    }
    return PTL_BAD_QUERY;
}

static int walk_at(struct ptl_flow *f)
{
    struct stop stop = {f->step.ip, 0, 1, 0};

    errata_bdm64(f);
    if (f->at.unresolved)
        return errata_skd022(f) ? 0 : unresolved_at(f);
    if (f->ip != f->step.ip)
        return walk_block(f, stop);
    if (errata_skd022(f))
        return 0;
    f->at.valid = 0;
    return ptl__flow_apply(f);
}

/* Events of one instruction bind to it once each. */
static int bind_here(struct ptl_flow *f)
{
    uint64_t bit = (uint64_t)1 << f->step.ev.type;

    if (f->at.bound & bit)
        return 0;
    f->at.bound |= bit;
    return 1;
}

/* Apply, but keep what has run: other events may bind to it, and a TIP may follow. */
static int apply_after(struct ptl_flow *f)
{
    struct ptl__at at = f->at;
    int moves = f->step.ev.type == PTL_EV_DISABLED, status = ptl__flow_apply(f);

    if (!moves) {
        if (f->view != NULL && f->at.node == NULL)
            at.node = NULL;
        f->at = at;
    }
    return status;
}

static int walk_after(struct ptl_flow *f)
{
    struct stop stop = {f->step.ip, 0, 1, 0};
    int status;

    if (f->at.valid && f->at.ip == f->step.ip && bind_here(f))
        return apply_after(f);
    if (f->at.unresolved)
        return PTL_BAD_QUERY;
    if (f->ip != f->step.ip)
        return walk_block(f, stop);
    stop.have_ip = 0;
    stop.ninsn = 1;
    status = walk_block(f, stop);
    if (status < 0)
        return status;
    if (f->at.valid)
        bind_here(f);
    return apply_after(f);
}

/* SKL014: a direct branch out of the filter ranges, whose target the trace does not tell. */
static int leaves_filter(const struct ptl_flow *f)
{
    return (f->errata & PTL_ERR_SKL014) && f->step.ev.type == PTL_EV_DISABLED &&
           (f->at.iclass == PTL_INSN_CALL || f->at.iclass == PTL_INSN_JMP) &&
           !ptl__flow_filter(f, f->at.target);
}

static int walk_class(struct ptl_flow *f)
{
    if (f->at.valid) {
        if ((ptl__class_has((enum ptl__class)f->step.class_, f->at.iclass, f->at.kind) ||
             leaves_filter(f)) &&
            bind_here(f))
            return apply_after(f);
        if (f->at.unresolved)
            return PTL_BAD_QUERY;
    }
    return walk_block(f, no_stop);
}

static int walk_target(struct ptl_flow *f)
{
    struct stop stop = {f->step.ip, 0, 1, 0};

    if (f->at.unresolved)
        return ptl__flow_apply(f);
    if (f->ip != f->step.ip)
        return walk_block(f, stop);
    ptl__flow_forget_call(f);
    f->at.valid = 0;
    return ptl__flow_apply(f);
}

static int walk_count(struct ptl_flow *f)
{
    struct stop stop = {0, f->step.count - f->since, 0, 0};

    if (f->since > f->step.count)
        return PTL_BAD_PACKET;
    if (f->since == f->step.count)
        return ptl__flow_apply(f);
    if (f->at.unresolved)
        return PTL_BAD_QUERY;
    return walk_block(f, stop);
}

static int walk_event(struct ptl_flow *f)
{
    switch (f->step.place) {
    case PLACE_AT:
        return walk_at(f);
    case PLACE_AFTER:
        return walk_after(f);
    case PLACE_CLASS:
        return walk_class(f);
    case PLACE_TARGET:
        return walk_target(f);
    case PLACE_COUNT:
        return walk_count(f);
    default:
        return ptl__flow_apply(f);
    }
}

/* --- without code --------------------------------------------------------------------- */

/* TNT is off or there are no branches: addresses are all that is known. */
static int tell_only(struct ptl_flow *f)
{
    f->step.place = PLACE_HERE;
    if (f->step.kind == STEP_EVENT)
        return ptl__flow_apply(f);
    f->have_step = 0;
    if (f->step.kind == STEP_TNT)
        return 0;
    f->step.ev.type = PTL_EV_TIP;
    f->step.ev.have_ip = 1;
    f->step.ev.ip = f->step.ip;
    f->step.ev.offset = f->step.offset;
    ptl__flow_goto(f, f->step.ip);
    return ptl__flow_apply(f);
}

int ptl__walk_step(struct ptl_flow *f)
{
    if (f->nowalk)
        return tell_only(f);
    switch (f->step.kind) {
    case STEP_TNT:
        return walk_tnt(f);
    case STEP_TIP:
        return walk_tip(f);
    default:
        return walk_event(f);
    }
}
