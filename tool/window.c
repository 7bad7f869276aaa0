/* SPDX-License-Identifier: BSD-3-Clause */
/* window.c - see window.h. */
#include "window.h"

#define TSC_BITS 56 /* of a TSC packet */

struct ptl_time_conv window_conv(const struct ptl_perf *perf)
{
    const struct ptl_perf_pt *pt = ptl_perf_pt(perf);
    struct ptl_time_conv conv = {0, 0, 0};

    if (pt && pt->have_time && pt->info.time_mult <= UINT32_MAX && pt->info.time_shift <= 32)
        conv = (struct ptl_time_conv){.zero = pt->info.time_zero,
                                      .mult = (uint32_t)pt->info.time_mult,
                                      .shift = (uint16_t)pt->info.time_shift};
    return conv;
}

/* The bits that TSC packets lack. */
static uint64_t high_bits(const struct ptl_perf *perf)
{
    size_t count;
    const struct ptl_perf_buffer *buffers = ptl_perf_buffers(perf, &count);

    return count ? buffers[0].reference >> TSC_BITS << TSC_BITS : 0;
}

/* What is before all ticks is at the first one: the clock of records may be ahead of the TSC by
 * more (a TSC starts anew when a machine wakes up). */
static uint64_t ticks(const struct ptl_time_conv *conv, uint64_t high, uint64_t ns)
{
    uint64_t tsc;

    if (ns > INT64_MAX)
        return UINT64_MAX;
    if ((int64_t)(ns - conv->zero) < 0)
        return 0;
    tsc = ptl_ns_to_tsc(conv, ns);
    return tsc > high ? tsc - high : 0;
}

/* Returns -1 if nothing has a time. */
static int find_span(const struct ptl_perf *perf, uint64_t *first, uint64_t *last)
{
    struct ptl_perf_iter iter = {0, 0};
    const struct ptl_perf_queue *queues;
    struct ptl_perf_record r;
    uint64_t end = 0;
    size_t count;

    *first = UINT64_MAX;
    *last = 0;
    while (ptl_perf_next(perf, &iter, &r) > 0) {
        if (!r.record.id.time)
            continue;
        *first = r.record.id.time < *first ? r.record.id.time : *first;
        *last = r.record.id.time > *last ? r.record.id.time : *last;
    }
    queues = ptl_perf_queues(perf, &count);
    for (size_t q = 0; q < count; q++)
        for (size_t i = 0; i < queues[q].piece_count; i++)
            end = queues[q].pieces[i].time > end ? queues[q].pieces[i].time : end;
    if (end >= *first)
        *last = end;
    return *first <= *last ? 0 : -1;
}

int window_find(struct window *window, const struct opts_select *select,
                const struct ptl_perf *perf)
{
    const struct ptl_perf_pt *pt = ptl_perf_pt(perf);
    const struct ptl_time_conv conv = window_conv(perf);
    uint64_t first, last, high = high_bits(perf);

    *window = (struct window){.to = UINT64_MAX, .tsc_to = UINT64_MAX};
    window->in_trace = pt && pt->tsc && conv.mult;
    if (!select_by_time(select))
        return 0;
    if (find_span(perf, &first, &last))
        return -1;
    select_window(select, first, last, &window->from, &window->to);
    if (window->in_trace && window->from)
        window->tsc_from = ticks(&conv, high, window->from);
    if (window->in_trace && window->to != UINT64_MAX)
        window->tsc_to = ticks(&conv, high, window->to);
    return 0;
}
