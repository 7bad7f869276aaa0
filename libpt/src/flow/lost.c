/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lost.c - errors, and finding back: at the next PSB, or (PTL_FLOW_RESYNC) at the next
 * packet that tells where execution is.
 */
#include "flow/walk.h"

/* The search for a PSB begins a little before the error: a bogus packet may have swallowed
 * the beginning of one. */
void ptl__flow_seek(struct ptl_flow *f, uint64_t offset)
{
    const struct ptl__bind *b = &f->bind;
    uint64_t len = (uint64_t)(b->end - b->begin);
    uint64_t first = b->psb - b->base < len ? b->psb + 1 : b->base;
    uint64_t from =
        offset - b->base >= PTL_PACKET_MAX_SIZE - 1 ? offset - (PTL_PACKET_MAX_SIZE - 1) : b->base;

    f->seek = from > first ? from : first;
    f->state = FLOW_SEEK;
    f->have_step = 0;
}

void ptl__flow_skip_from(struct ptl_flow *f, uint64_t offset)
{
    if (!f->skipping)
        f->skip_from = offset;
    f->skipping = 1;
}

void ptl__flow_skip_to(struct ptl_flow *f, uint64_t offset)
{
    if (f->skipping && offset - f->bind.base > f->skip_from - f->bind.base)
        f->skipped += offset - f->skip_from;
    f->skipping = 0;
}

void ptl__flow_fail(struct ptl_flow *f, int status, int in_packet)
{
    uint64_t offset = in_packet ? ptl__bind_offset(&f->bind, f->bind.here) : f->step.offset;
    int doubt = in_packet && f->bind.doubt;

    f->bind.doubt = 0;
    ptl__flow_skip_from(f, offset);
    ptl__put_error(f, status, PTL_PHASE_FLOW, offset);
    if (!(f->flags & PTL_FLOW_RESYNC)) {
        ptl__flow_seek(f, offset);
    } else if (in_packet && !doubt) {
        ptl__put_error(f, status, PTL_PHASE_RESYNC, offset);
        ptl__flow_seek(f, offset);
    } else {
        if (doubt)
            f->bind.pos = f->bind.here; /* it is right, and may tell where execution is */
        f->state = FLOW_LOST;
        f->bind.lost = 1;
    }
}

static void found(struct ptl_flow *f, uint64_t ip)
{
    ptl__flow_goto(f, ip);
    f->since = 0;
    f->state = FLOW_DECODE;
    f->enabled = f->bind.enabled;
    f->bind.lost = 0;
    ptl__flow_skip_to(f, f->step.offset);
}

/* Apply the step's event wherever that is. */
static int apply_here(struct ptl_flow *f, uint64_t ip, int is_found)
{
    ptl__flow_goto(f, ip);
    f->step.place = PLACE_HERE;
    if (is_found)
        found(f, ip);
    return ptl__flow_apply(f);
}

static int lost_event(struct ptl_flow *f)
{
    struct ptl__step *step = &f->step;
    const struct ptl__event_row *row = &ptl__event_rows[step->ev.type];

    switch (step->ev.type) {
    case PTL_EV_ENABLED:
    case PTL_EV_OVERFLOW:
        return apply_here(f, 0, 1);
    case PTL_EV_DISABLED:
        return apply_here(f, step->ev.have_ip ? step->ev.ip : 0,
                          !step->ev.have_ip || step->place != PLACE_HERE);
    default:
        break;
    }
    if ((step->place == PLACE_AT || step->place == PLACE_AFTER) && !step->tried) {
        step->tried = 1;
        found(f, step->ip);
        return 0;
    }
    if (row->report)
        return apply_here(f, 0, 0);
    f->have_step = 0;
    return 0;
}

/* Begin again at the PSB whose states could not be reached. */
static int restart(struct ptl_flow *f, uint64_t psb)
{
    int status;

    f->have_step = 0;
    status = ptl__bind_sync(&f->bind, psb);
    if (status < 0)
        return status;
    found(f, 0);
    return 0;
}

int ptl__flow_lost(struct ptl_flow *f)
{
    int status = 0;

    if (!f->have_step) {
        status = ptl__bind_next(&f->bind, &f->step);
        if (status == 0)
            f->have_step = 1;
    }
    if (status == 0) {
        if (f->step.kind == STEP_EVENT && f->step.ev.status) {
            status = restart(f, f->step.psb);
        } else if (f->step.kind == STEP_EVENT) {
            return lost_event(f);
        } else {
            f->have_step = 0;
            if (f->step.kind == STEP_TIP)
                found(f, f->step.ip);
        }
    }
    if (status == PTL_EOS) {
        ptl__flow_end(f);
    } else if (status < 0) {
        uint64_t offset = ptl__bind_offset(&f->bind, f->bind.here);
        ptl__put_error(f, status, PTL_PHASE_RESYNC, offset);
        ptl__flow_seek(f, offset);
    }
    return 0;
}
