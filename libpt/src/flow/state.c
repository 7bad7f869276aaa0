/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * state.c - pausing, and the state of a paused flow as bytes that can be compared.
 *
 * A trace is decoded in parallel from several PSBs. A flow that began at one of them is right
 * from the place on where its state is the one that a flow from the beginning has there.
 */
#include "flow/walk.h"

#include <string.h>

void ptl_flow_pause(struct ptl_flow *flow, uint64_t offset)
{
    flow->bind.pause = offset;
    flow->paused = 0;
}

int ptl_flow_paused(const struct ptl_flow *flow)
{
    return flow->paused;
}

/* --- the state ----------------------------------------------------------------------- */

static void put(struct ptl_flow_state *state, uint64_t value)
{
    memcpy(state->bytes + state->len, &value, sizeof(value));
    state->len += (uint32_t)sizeof(value);
}

static void put_position(struct ptl_flow_state *state, const struct ptl_flow *f)
{
    const struct ptl__at *at = &f->at;

    put(state, f->ip);
    put(state, f->step.offset);
    put(state, (uint64_t)f->enabled << 24 | (uint64_t)f->mode << 16 |
                   (uint64_t)f->speculative << 8 | f->joined);
    put(state, f->since);
    put(state, f->run);
    put(state, f->loop_hops);
    put(state, f->loop_hops ? f->loop_ip : 0);
    put(state, (uint64_t)at->valid << 1 | at->unresolved);
    if (!at->valid)
        return;
    put(state, (uint64_t)at->iclass << 8 | at->kind);
    put(state, at->bound);
    put(state, at->ip);
    put(state, at->end);
    put(state, at->target);
}

/* What errors tell of the last block. */
static void put_last_block(struct ptl_flow_state *state, const struct ptl_flow *f)
{
    put(state, f->block_empty);
    put(state, f->block_empty ? f->block_ip : f->last_ip);
    put(state, f->block_empty ? 0 : f->last_next);
}

static void put_returns(struct ptl_flow_state *state, const struct ptl__retstack *s)
{
    put(state, s->count);
    for (unsigned i = 1; i <= s->count; i++)
        put(state, ptl__ret_ip(s, s->top - i));
}

static void put_packets(struct ptl_flow_state *state, const struct ptl__bind *b)
{
    put(state, ptl__bind_offset(b, b->pos));
    put(state, b->psb);
    put(state, b->decode);
    put(state, b->last.ip);
    put(state, (uint64_t)b->last.have_ip << 1 | b->last.suppressed);
    put(state, (uint64_t)b->enabled << 1 | b->after_pge);
    put(state, b->have_mode ? 0x100u | b->mode : 0u);
    put(state, b->have_iflag ? 0x100u | b->iflag : 0u);
}

static void put_calibration(struct ptl_flow_state *state, const struct ptl_clock *clock)
{
    const struct ptl_tcal *tcal = &clock->tcal;
    /* Without the ratio nothing comes of the period of MTCs, which began with the first of all. */
    int by_mtc = clock->config.cpuid_15_eax && clock->config.cpuid_15_ebx;

    put(state, tcal->fcr);
    put(state, tcal->tsc);
    put(state, tcal->cyc_tsc);
    put(state, by_mtc ? tcal->cyc_mtc : 0);
    put(state, (uint64_t)tcal->have_fcr << 40 | (uint64_t)tcal->have_tsc << 32 |
                   (uint64_t)tcal->have_mtc << 24 | (uint64_t)tcal->check_skl168 << 16 |
                   (by_mtc ? tcal->ctc : 0u));
}

static void put_time(struct ptl_flow_state *state, const struct ptl_time *time)
{
    put(state, time->tsc);
    put(state, time->base);
    put(state, time->fc);
    put(state, time->ctc);
    put(state, time->ctc_cyc);
    put(state, time->lost_mtc);
    put(state, time->lost_cyc);
    put(state,
        (uint64_t)time->have_tsc << 16 | (uint64_t)time->have_tma << 8 | (uint64_t)time->have_mtc);
}

void ptl_flow_get_state(const struct ptl_flow *f, int with_time, struct ptl_flow_state *state)
{
    const struct ptl__bind *b = &f->bind;

    memset(state, 0, sizeof(*state));
    /* What is half read or half told is rare, and not worth comparing. */
    if (!f->paused || f->state != FLOW_DECODE || b->open || b->npwre || b->lost || f->tasks.count ||
        (f->hold && f->hold->proven < f->hold->count))
        return;
    put_position(state, f);
    put_last_block(state, f);
    put_returns(state, &f->rets);
    put_packets(state, b);
    if (!with_time)
        return;
    put(state, f->ev_tsc);
    put_calibration(state, &b->clock);
    put_time(state, &b->clock.time);
}

int ptl_flow_state_same(const struct ptl_flow_state *a, const struct ptl_flow_state *b)
{
    return a->len && a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}
