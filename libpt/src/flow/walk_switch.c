/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk_switch.c - the loop of PTL_FLOW_COUNT where tracing is switched off and on: TIP.PGD,
 * TIP.PGE, FUP; and PSB+.
 */
#include "flow/walk_count.h"

struct told {
    enum ptl_event_type type;
    int have_ip;
    uint64_t ip, from; /* from: where it comes from, or would have resumed */
    const uint8_t *p;  /* the packet it is told with */
};

INLINE void fill_event(const struct ptl_flow *f, struct ptl_event *ev, const struct told *told)
{
    const struct ptl_time *time = &f->bind.clock.time;

    *ev = (struct ptl_event){.type = (uint8_t)told->type,
                             .have_ip = (uint8_t)told->have_ip,
                             .have_tsc = time->have_tsc,
                             .ip = told->ip,
                             .tsc = time->have_tsc ? time->tsc : 0,
                             .offset = ptl__bind_offset(&f->bind, told->p),
                             .lost_mtc = time->lost_mtc,
                             .lost_cyc = time->lost_cyc};
    if (told->type == PTL_EV_ENABLED)
        ev->u.enabled.resumed = told->ip == told->from;
    else if (told->type == PTL_EV_ASYNC_DISABLED)
        ev->u.async_disabled.at = told->from;
    else if (told->type == PTL_EV_ASYNC_BRANCH)
        ev->u.async_branch.from = told->from;
}

INLINE void put_event(struct ptl_flow *f, const struct told *told)
{
    struct ptl_event *ev = &f->events[f->nevents++];

    fill_event(f, ev, told);
    if (ev->have_tsc)
        f->ev_tsc = ev->tsc;
    f->items[f->n++] = (struct ptl_item){.kind = PTL_ITEM_EVENT,
                                         .flags = f->speculative ? PTL_ITEM_SPECULATIVE : 0,
                                         .offset = ev->offset,
                                         .tsc = ev->tsc,
                                         .u.event = ev};
}

/* What ran comes before the event. */
INLINE void put_ran(struct count *s, struct regs *r)
{
    struct ptl_flow *f = s->f;
    struct ptl_ran *ran = &f->rans[f->nrans];

    if (f->ran.runs) {
        ptl__count_flush(s, r);
        ptl__put_ran(f);
    } else if (r->runs) {
        *ran = (struct ptl_ran){r->insns, r->blocks, r->runs};
        f->nrans++;
        f->items[f->n++] = (struct ptl_item){.kind = PTL_ITEM_COUNT,
                                             .offset = ptl__bind_offset(&f->bind, f->bind.pos),
                                             .tsc = f->ev_tsc,
                                             .u.ran = ran};
        s->pge_runs = s->pge_runs == r->runs ? 0 : UINT64_MAX;
        r->insns = r->blocks = r->runs = 0;
    }
}

void ptl__count_told(struct count *s, struct regs *r, const struct ptl__told *t, unsigned n)
{
    for (unsigned i = 0; i < n; i++, t++) {
        struct told told = {t->on ? PTL_EV_ENABLED : PTL_EV_DISABLED, t->have_ip, t->ip,
                            t->ip + !t->resumed, r->p + t->at};

        r->insns += t->insns;
        r->blocks += t->blocks;
        r->runs += t->runs;
        put_ran(s, r);
        put_event(s->f, &told);
    }
    s->pge_runs = r->runs;
}

/* - and there is a cursor to be asked. */
static int tell_cursor(struct count *s, struct regs *r, const struct told *told)
{
    struct ptl_flow *f = s->f;
    struct ptl_event ev;
    int status;

    ptl__count_flush_last(s, r); /* blocks may go */
    fill_event(f, &ev, told);
    if (!(f->flags & PTL_FLOW_FEW_EVENTS)) {
        ptl__put_ran(f);
        put_event(f, told);
    } else if (ev.have_tsc) {
        f->ev_tsc = ev.tsc;
    }
    status = ptl__flow_cursor(f, &ev);
    load_memos(s, r);
    return status;
}

/* The event happens. Returns 0 or a negative status. */
INLINE int tell(struct count *s, struct regs *r, const struct told *told)
{
    if (unlikely(s->f->cursor != NULL))
        return SPILLED(*r, tell_cursor(s, &spilled, told));
    if (s->few) {
        r->events = 1;
    } else {
        put_ran(s, r);
        put_event(s->f, told);
    }
    return 0;
}

INLINE int take_pgd(struct count *s, struct regs *r)
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
    s->ip = m->next ? ip : ptl__resume_ip(r->last);
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

/* --- PSB+ ---------------------------------------------------------------------------------- */

/* An event of a PSB+ happens. Returns 0 or a negative status. */
static int tell_state(struct count *s, struct regs *r, const struct ptl_event *what)
{
    struct ptl_flow *f = s->f;
    int status;

    if (s->few) {
        r->events = 1;
        return 0;
    }
    if (!(f->flags & PTL_FLOW_FEW_EVENTS))
        ptl__put_ran(f); /* with the time it has */
    if (what->have_tsc)
        f->ev_tsc = what->tsc;
    ptl__put_event(f, what);
    if (!f->cursor)
        return 0;
    status = ptl__flow_cursor(f, what);
    load_memos(s, r);
    return status;
}

/* All that it says happens now. Returns 0 or a negative status. */
static int tell_states(struct count *s, struct regs *r, const struct ptl__psbplus *p)
{
    struct ptl_flow *f = s->f;
    struct ptl_event ev;
    int status;

    ptl__bind_event(&f->bind, &ev, PTL_EV_PSB);
    ev.offset = ptl__bind_offset(&f->bind, f->bind.here);
    ev.status = 1;
    ev.have_ip = p->have_fup;
    ev.ip = p->ip;
    ptl__tasks_clear(&f->tasks, &f->rets);
    status = tell_state(s, r, &ev);
    if (p->have_mode && !status) {
        f->mode = ev.u.exec_mode.mode = ptl__psb_mode(p);
        ev.type = PTL_EV_EXEC_MODE;
        status = tell_state(s, r, &ev);
    }
    ev.u.exec_mode.mode = 0;
    if (p->have_tsx && !status) {
        f->speculative = ev.u.tsx.speculative = p->intx;
        ev.type = PTL_EV_TSX;
        status = tell_state(s, r, &ev);
    }
    ev.u.tsx.speculative = 0;
    if (p->have_vmcs && !status) {
        ev.u.vmcs.base = p->vmcs;
        ev.type = PTL_EV_VMCS;
        status = tell_state(s, r, &ev);
    }
    if (p->have_pip && !status) {
        ev.u.paging.cr3 = p->cr3;
        ev.u.paging.nr = p->nr;
        ev.type = PTL_EV_PAGING;
        status = tell_state(s, r, &ev);
    }
    return status;
}

/* Read the PSB+ at hand. Returns 0 if the slow path is to. */
static int read_psb(struct count *s, struct regs *r, struct ptl__psbplus *p)
{
    struct ptl__bind *b = &s->f->bind;

    if (ptl__flow_full(s->f) || s->f->hold) /* what is proven waits for the event */
        return 0;
    take_tsc(s->f, r);
    if (!ptl__bind_psb_quick(b, r->p, p))
        return 0;
    r->p = b->pos;
    r->last_ip = b->last.ip;
    s->pge_runs = UINT64_MAX;
    return 1;
}

/* Run to where an event happens. */
static void run_to(struct count *s, struct regs *r, struct ptl__memo *m, uint64_t ip)
{
    struct ptl_flow *f = s->f;
    struct ptl__node *last = r->last;

    use(s, r, m);
    if (!m->runs)
        r->last = last;
    ptl__count_flush_last(s, r);
    f->at.valid = 0;
    f->since = 0;
    if (m->bits) {
        f->last_ip = ip - m->bits;
        f->last_next = ip;
    }
}

/* A PSB+ while tracing is on. */
static int take_psb(struct count *s, struct regs *r)
{
    struct ptl_flow *f = s->f;
    struct ptl__psbplus p;
    struct ptl__memo *m;

    if (!read_psb(s, r, &p))
        return 0;
    if (p.have_mode || p.have_tsx || p.have_pip || p.have_vmcs) { /* else wherever it is */
        m = look(s, r, MEMO_AT, p.ip);
        if (!m) {
            ptl__bind_psb_steps(&f->bind, &p);
            return 0;
        }
        run_to(s, r, m, p.ip);
        s->ip = p.ip;
    } else {
        ptl__count_flush(s, r);
        s->ip = r->node->ip;
    }
    r->node = NULL;
    s->status = tell_states(s, r, &p);
    if (s->status)
        return 0;
    r->node = ptl__memo_find(f, s->ip);
    return r->node != NULL;
}

/* --- tracing switched on --------------------------------------------------------------------- */

/* A PSB+ while tracing is off. */
static int pass_psb(struct count *s, struct regs *r)
{
    struct ptl__psbplus p;

    if (!read_psb(s, r, &p))
        return 0;
    ptl__count_flush(s, r);
    s->status = tell_states(s, r, &p);
    return s->status == 0;
}

/* Nothing but time before the next TIP.PGE? Returns 0 if the slow path is to go on. */
INLINE int find_pge(struct count *s, struct regs *r)
{
    for (;;) {
        const uint8_t *p = r->p = ptl__skip_pad(r->p, s->f->bind.end);

        if (p >= s->end)
            return 0;
        if (IP_LOW(*p) == LOW_PGE)
            return !ptl__flow_full(s->f);
        if (*p == 2 && p[1] == BYTE_PSB) {
            if (!SPILLED(*r, pass_psb(s, &spilled)))
                return 0;
            continue;
        }
        take_tsc(s->f, r);
        p = *p == BYTE_MODE ? skip_mode(s, p) : ptl__take_time(&s->f->bind, p);
        if (!p)
            return 0;
        r->p = p;
    }
}

INLINE int take_pge(struct count *s, struct regs *r)
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
    m = s->status == 0 ? look(s, r, ptl__memo_pge(f->mode), ip) : NULL;
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
    run_to(s, r, m, told.from);
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

static int take_off_on(struct count *s, struct regs *regs)
{
    struct regs r = *regs;
    int more = take_pgd(s, &r) && take_pge(s, &r);

    *regs = r;
    return more;
}

int ptl__count_switch(struct count *s, struct regs *r)
{
    if (IP_LOW(*r->p) == LOW_PGD)
        return take_off_on(s, r);
    return IP_LOW(*r->p) == LOW_FUP ? take_fup(s, r) : take_psb(s, r);
}
