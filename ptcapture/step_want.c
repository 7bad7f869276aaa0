/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * step_want.c - what of the execution becomes trace: everything, or what --filter and the commands
 * enable and disable leave of it.
 */
#include "step.h"

#include <string.h>

static int inside(const struct filter_range *range, const char *name, uint64_t offset)
{
    uint64_t size = range->size ? range->size : 1;

    return offset >= range->start && offset - range->start < size && !strcmp(name, range->path);
}

static int in_any(const struct filter *filter, enum filter_action action, const char *name,
                  uint64_t offset)
{
    for (size_t i = 0; i < filter->count; i++) {
        if (filter->range[i].action == action && inside(&filter->range[i], name, offset))
            return 1;
    }
    return 0;
}

static int has(const struct filter *filter, enum filter_action action)
{
    for (size_t i = 0; i < filter->count; i++) {
        if (filter->range[i].action == action)
            return 1;
    }
    return 0;
}

/* SDM, "IP Filtering" and "TraceStop": not inside of a stop range, and inside of a filter range if
 * there is one. Behind a stop range tracing stays off until a start range. */
static int passes(struct stepper *st, struct step_thread *t, uint64_t ip)
{
    const struct filter *filter = &st->filter;
    const char *name = "";
    uint64_t offset = 0;

    if (!t->filtered) { /* the first instruction */
        t->filtered = 1;
        t->halted = (uint8_t)has(filter, FILTER_START);
    }
    if (code_place(t->code, t->tid, ip, &name, &offset))
        name = "";
    if (in_any(filter, FILTER_STOP, name, offset))
        t->halted = 1;
    else if (in_any(filter, FILTER_START, name, offset))
        t->halted = 0;
    if (t->halted)
        return 0;
    return !has(filter, FILTER_ONLY) || in_any(filter, FILTER_ONLY, name, offset);
}

int step_want(struct stepper *st, struct step_thread *t, uint64_t ip)
{
    if (st->paused)
        return 0;
    return !st->filter.count || passes(st, t, ip);
}

int step_want_init(struct stepper *st)
{
    const struct capture_options *options = st->capture->options;
    char error[512];

    if (!options->filters.count)
        return 0;
    if (filter_resolve(&st->filter, &options->filters, error, sizeof(error))) {
        capture_error(st->capture, "--filter: %s", error);
        return -1;
    }
    for (size_t i = 0; i < st->filter.count; i++) {
        if (*st->filter.range[i].path)
            continue;
        capture_error(st->capture, "--filter: the software recorder sees user code only: name a "
                                   "file (\"@ ./prog\").");
        return -1;
    }
    return 0;
}

void step_pause(struct stepper *st, int paused)
{
    st->paused = (uint8_t)paused;
    for (struct step_queue *queue = st->queues; paused && queue; queue = queue->next)
        gen_interrupt(&queue->gen, queue->gen.ip, capture_now());
}
