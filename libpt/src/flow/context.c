/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * context.c - what an event changes: position, mode, return stack, address space.
 */
#include "flow/walk.h"

#include <string.h>

void ptl__put_ran(struct ptl_flow *f)
{
    struct ptl_ran *slot;
    struct ptl_item *item;

    if (!f->ran.runs)
        return;
    slot = &f->rans[f->nrans++];
    item = &f->items[f->n++];
    *slot = f->ran;
    memset(&f->ran, 0, sizeof(f->ran));
    memset(item, 0, sizeof(*item));
    item->kind = PTL_ITEM_COUNT;
    item->offset = ptl__bind_offset(&f->bind, f->bind.pos);
    item->tsc = f->ev_tsc;
    item->u.ran = slot;
}

static int is_told(const struct ptl_flow *f, const struct ptl_event *ev)
{
    return !(f->flags & PTL_FLOW_FEW_EVENTS) || ev->type == PTL_EV_SYNC ||
           ev->type == PTL_EV_OVERFLOW || ev->type == PTL_EV_CONTEXT ||
           (f->hold && ev->type == PTL_EV_PSB);
}

void ptl__put_event(struct ptl_flow *f, const struct ptl_event *ev)
{
    struct ptl_event *slot;
    struct ptl_item *item;

    if (!is_told(f, ev))
        return;
    ptl__put_ran(f);
    slot = &f->events[f->nevents++];
    item = &f->items[f->n++];
    *slot = *ev;
    memset(item, 0, sizeof(*item));
    item->kind = PTL_ITEM_EVENT;
    item->flags = f->speculative ? PTL_ITEM_SPECULATIVE : 0;
    item->offset = ev->offset;
    item->tsc = ev->tsc;
    item->u.event = slot;
}

void ptl__put_error(struct ptl_flow *f, int status, enum ptl_error_phase phase, uint64_t offset)
{
    struct ptl_error *slot = &f->errors[f->nerrors++];
    struct ptl_item *item;

    ptl__put_ran(f);
    item = &f->items[f->n++];
    slot->status = status;
    slot->phase = (uint8_t)phase;
    slot->offset = offset;
    if (f->block_empty)
        slot->ip = f->block_ip;
    else
        slot->ip = status == PTL_BAD_QUERY ? f->last_ip : f->last_next;
    memset(item, 0, sizeof(*item));
    item->kind = PTL_ITEM_ERROR;
    item->offset = offset;
    item->tsc = f->ev_tsc;
    item->u.error = slot;
}

int ptl__flow_view(struct ptl_flow *f, const struct ptl_space *space, uint64_t version)
{
    if (f->view && f->view->space == space && f->view->version == version)
        return 0;
    f->space = space;
    ptl__ret_unlink(&f->rets);
    f->at.node = NULL;
    f->view = ptl__cache_view(&f->cache, space, version);
    return f->view ? 0 : PTL_NOMEM;
}

/* --- the cursor --------------------------------------------------------------------- */

static void put_context(struct ptl_flow *f, const struct ptl_event *at,
                        const struct ptl_context *context)
{
    struct ptl_event ev = {.type = PTL_EV_CONTEXT,
                           .have_tsc = at->have_tsc,
                           .tsc = at->tsc,
                           .offset = at->offset,
                           .have_ip = at->have_ip,
                           .ip = at->ip};

    ev.u.context.pid = context->pid;
    ev.u.context.tid = context->tid;
    ptl__put_event(f, &ev);
}

static void set_from(struct ptl_moment *m, uint64_t from)
{
    m->from = from;
    m->have_from = 1;
    if (!m->have_ip) {
        m->ip = from;
        m->have_ip = 1;
    }
}

/* Another thread runs. Where tracing was off its own calls are what its returns are compressed
 * by, if at all. Where the switch itself was traced, in the kernel, the processor went on with the
 * one stack that it has, and so do we. */
static int switch_task(struct ptl_flow *f, const struct ptl_event *ev, uint32_t tid)
{
    int untraced = !f->enabled || ev->type == PTL_EV_ENABLED;

    if (untraced)
        return ptl__tasks_switch(&f->tasks, &f->rets, tid);
    ptl__tasks_keep(&f->tasks, tid);
    return 0;
}

int ptl__flow_cursor(struct ptl_flow *f, const struct ptl_event *ev)
{
    struct ptl_moment m = {.tsc = ev->tsc,
                           .offset = ev->offset,
                           .ip = ev->ip,
                           .have_tsc = ev->have_tsc,
                           .have_ip = ev->have_ip,
                           .leaves = ptl__event_rows[ev->type].leaves,
                           .sync = ev->type == PTL_EV_SYNC || ev->type == PTL_EV_PSB};
    struct ptl_context context;
    int changed;

    if (!f->cursor)
        return 0;
    if (ev->type == PTL_EV_ASYNC_BRANCH)
        set_from(&m, ev->u.async_branch.from);
    if (ev->type == PTL_EV_ASYNC_DISABLED)
        set_from(&m, ev->u.async_disabled.at);
    changed = ptl_cursor_move(f->cursor, &m);
    if (changed < 0)
        return changed;
    if (!changed)
        return 0;
    context = ptl_cursor_context(f->cursor);
    if (changed & PTL_CURSOR_SWITCHED) {
        put_context(f, ev, &context);
        changed = switch_task(f, ev, context.tid);
        if (changed < 0)
            return changed;
    }
    return ptl__flow_view(f, context.space, context.version);
}

/* --- what events do ------------------------------------------------------------------ */

/* Where execution would go on: a TIP.PGE there resumes. */
static uint64_t resume_ip(const struct ptl_flow *f)
{
    if (!f->at.valid)
        return f->ip; /* arrived at the target without leaving through a branch */
    switch (f->at.iclass) {
    case PTL_INSN_CALL:
    case PTL_INSN_CALL_IND:
    case PTL_INSN_FAR_CALL:
        return f->at.end;
    case PTL_INSN_MOV_CR3:
        return f->at.ip;
    default:
        return 0;
    }
}

/* A call that leaves what is traced returns untraced: nothing will pop its address. */
void ptl__flow_forget_call(struct ptl_flow *f)
{
    if (f->at.valid && f->at.iclass == PTL_INSN_CALL && f->at.target != f->at.end)
        ptl__ret_drop(&f->rets);
}

static void on_sync(struct ptl_flow *f, const struct ptl_event *ev)
{
    ptl__flow_goto(f, ev->have_ip ? ev->ip : 0);
    f->enabled = ev->have_ip;
    f->speculative = 0;
    ptl__tasks_clear(&f->tasks, &f->rets);
    f->since = 0;
}

static void on_overflow(struct ptl_flow *f, const struct ptl_event *ev)
{
    ptl__flow_goto(f, ev->have_ip ? ev->ip : 0);
    f->enabled = ev->have_ip;
    f->speculative = 0;
    ptl__tasks_clear(&f->tasks, &f->rets);
}

static void on_disabled(struct ptl_flow *f, uint64_t resume)
{
    ptl__flow_goto(f, resume);
    f->enabled = 0;
}

static void change(struct ptl_flow *f, struct ptl_event *ev)
{
    switch (ev->type) {
    case PTL_EV_SYNC:
        on_sync(f, ev);
        break;
    case PTL_EV_PSB: /* no return is compressed across it */
        ptl__tasks_clear(&f->tasks, &f->rets);
        break;
    case PTL_EV_ENABLED:
        ev->u.enabled.resumed = ev->ip == f->ip;
        ptl__flow_goto(f, ev->ip);
        f->enabled = 1;
        break;
    case PTL_EV_DISABLED:
        ptl__flow_forget_call(f);
        on_disabled(f, resume_ip(f));
        break;
    case PTL_EV_ASYNC_DISABLED:
        on_disabled(f, ev->u.async_disabled.at);
        break;
    case PTL_EV_ASYNC_BRANCH:
        ptl__flow_goto(f, ev->ip);
        break;
    case PTL_EV_OVERFLOW:
        on_overflow(f, ev);
        break;
    case PTL_EV_EXEC_MODE:
        f->mode = ev->u.exec_mode.mode;
        break;
    case PTL_EV_TSX:
        f->speculative = ev->u.tsx.speculative;
        break;
    case PTL_EV_TRIG:
        if (f->step.place == PLACE_COUNT) {
            ev->have_ip = 1;
            ev->ip = f->ip;
            ev->u.trig.icnt = 0;
        }
        break;
    default:
        break;
    }
}

/* Does the trace give a position with this event? */
static int gives_position(const struct ptl__step *step)
{
    return step->place == PLACE_AT || step->place == PLACE_AFTER || step->place == PLACE_COUNT ||
           step->ev.type == PTL_EV_ENABLED || step->ev.type == PTL_EV_OVERFLOW;
}

int ptl__flow_apply(struct ptl_flow *f)
{
    struct ptl_event *ev = &f->step.ev;

    f->have_step = 0;
    f->joined = 0;
    f->run = 0;
    f->loop_hops = 0;
    if (gives_position(&f->step))
        f->since = f->step.place == PLACE_AFTER;
    if (is_told(f, ev))
        ptl__put_ran(f); /* with the time it has */
    change(f, ev);
    if (ev->have_tsc)
        f->ev_tsc = ev->tsc;
    ptl__put_event(f, ev);
    return ptl__flow_cursor(f, ev);
}
