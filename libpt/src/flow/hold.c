/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hold.c - see hold.h.
 *
 * A wrong bit is noticed where trace and code contradict each other, some packets later; until then
 * what is decoded did not run. The next PSB+ repeats where execution is, and forgets all returns: a
 * stretch from one to the next without a contradiction is one that the program can have run.
 * Nothing in a trace could tell more.
 */
#include "flow/hold.h"

#include "base/alloc.h"

#include <string.h>

struct ptl__hold *ptl__hold_new(void)
{
    return ptl__calloc(1, sizeof(struct ptl__hold));
}

void ptl__hold_free(struct ptl__hold *hold)
{
    if (!hold)
        return;
    ptl__free(hold->items);
    ptl__free(hold->held);
    ptl__free(hold);
}

static uint64_t insns_of(const struct ptl_item *item)
{
    return item->kind == PTL_ITEM_BLOCK   ? item->ninsn
           : item->kind == PTL_ITEM_COUNT ? item->u.ran->insns
                                          : 0;
}

/* Who runs is not the trace's word. */
static int is_certain(const union ptl__held *held, const struct ptl_item *item)
{
    return item->kind == PTL_ITEM_EVENT && held->event.type == PTL_EV_CONTEXT;
}

/* --- deciding ---------------------------------------------------------------------------- */

void ptl__hold_prove(struct ptl__hold *hold)
{
    hold->proven = hold->count;
    hold->waiting = 0;
}

/* What waits is not told, but for what is certain. */
static void drop(struct ptl__hold *hold)
{
    size_t to = hold->proven;

    for (size_t from = hold->proven; from < hold->count; from++) {
        if (!is_certain(&hold->held[from], &hold->items[from]))
            continue;
        hold->items[to] = hold->items[from];
        hold->held[to++] = hold->held[from];
    }
    hold->count = to;
    hold->withheld += hold->waiting;
    ptl__hold_prove(hold);
}

void ptl__hold_restart(struct ptl__hold *hold)
{
    int drained = hold->told == hold->proven;

    drop(hold);
    if (!drained)
        hold->told = hold->count; /* nobody wants to hear it */
    hold->have_end = hold->over = 0;
}

/* --- taking ------------------------------------------------------------------------------ */

static int append(struct ptl__hold *hold, const struct ptl_item *item)
{
    union ptl__held *held;

    if (ptl__grow((void **)&hold->items, &hold->cap, hold->count + 1, 2 * HOLD_MAX,
                  sizeof(*hold->items)) ||
        ptl__grow((void **)&hold->held, &hold->held_cap, hold->count + 1, 2 * HOLD_MAX,
                  sizeof(*hold->held)))
        return PTL_NOMEM;
    held = &hold->held[hold->count];
    hold->items[hold->count++] = *item;
    if (item->kind == PTL_ITEM_EVENT)
        held->event = *item->u.event;
    else if (item->kind == PTL_ITEM_ERROR)
        held->error = *item->u.error;
    else if (item->kind == PTL_ITEM_COUNT)
        held->ran = *item->u.ran;
    hold->waiting += insns_of(item);
    return 0;
}

/* Too much waits: it is not told, and nothing more until the next PSB+. */
static int is_too_much(struct ptl__hold *hold)
{
    if (hold->count - hold->proven >= HOLD_MAX) {
        drop(hold);
        hold->over = 1;
    }
    return hold->over;
}

static int take_event(struct ptl__hold *hold, const struct ptl_item *item, int few)
{
    const struct ptl_event *ev = item->u.event;
    int is_new = ev->type == PTL_EV_PSB || ev->type == PTL_EV_SYNC, proves, status = 0;

    /* The states of a PSB+ follow it. */
    proves = is_new || (ev->status && hold->proven == hold->count);
    if (hold->over && !is_new && ev->type != PTL_EV_CONTEXT)
        return 0;
    if (ev->type == PTL_EV_SYNC)
        drop(hold);
    if (!few || ev->type != PTL_EV_PSB)
        status = append(hold, item);
    if (proves)
        ptl__hold_prove(hold);
    if (is_new)
        hold->over = 0;
    return status;
}

static int take(struct ptl__hold *hold, const struct ptl_item *item, int few)
{
    int status;

    switch (item->kind) {
    case PTL_ITEM_EVENT:
        return take_event(hold, item, few);
    case PTL_ITEM_ERROR:
        drop(hold);
        hold->over = 0;
        status = append(hold, item);
        ptl__hold_prove(hold);
        return status;
    case PTL_ITEM_END:
        hold->end = *item;
        hold->have_end = 1;
        return 0;
    default:
        if (!is_too_much(hold))
            return append(hold, item);
        hold->withheld += insns_of(item);
        return 0;
    }
}

/* What has been told makes room. */
static void compact(struct ptl__hold *hold)
{
    size_t left = hold->count - hold->told;

    if (!hold->told)
        return;
    memmove(hold->items, hold->items + hold->told, left * sizeof(*hold->items));
    memmove(hold->held, hold->held + hold->told, left * sizeof(*hold->held));
    hold->proven -= hold->told;
    hold->count = left;
    hold->told = 0;
}

int ptl__hold_take(struct ptl__hold *hold, size_t n, int few)
{
    int status = 0;

    compact(hold);
    for (size_t i = 0; i < n && status == 0; i++)
        status = take(hold, &hold->batch[i], few);
    return status;
}

/* --- telling ----------------------------------------------------------------------------- */

size_t ptl__hold_give(struct ptl__hold *hold, struct ptl_item *items, size_t cap)
{
    size_t n = hold->proven - hold->told;

    if (n > cap)
        n = cap;
    for (size_t i = 0; i < n; i++, hold->told++) {
        const union ptl__held *held = &hold->held[hold->told];

        items[i] = hold->items[hold->told];
        if (items[i].kind == PTL_ITEM_EVENT)
            items[i].u.event = &held->event;
        else if (items[i].kind == PTL_ITEM_ERROR)
            items[i].u.error = &held->error;
        else if (items[i].kind == PTL_ITEM_COUNT)
            items[i].u.ran = &held->ran;
    }
    if (!n && hold->have_end) {
        hold->have_end = 0;
        items[n++] = hold->end;
    }
    return n;
}
