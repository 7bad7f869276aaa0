/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * window.h - the stretch of time of a recording that --select:time asks for: on the clock of its
 * records, and on that of its trace.
 */
#ifndef TOOL_WINDOW_H
#define TOOL_WINDOW_H

#include "opts_select.h"

#include <pt/clock.h>
#include <pt/perfdata.h>

struct window {
    uint64_t from, to; /* ns; everything: 0 to UINT64_MAX */
    /* Ticks as TSC packets count them; everything: the same. */
    uint64_t tsc_from, tsc_to;
    int in_trace; /* the trace has time that can be compared with the records' */
};

/* From TSC to the time of records, mult 0: that is not known. */
struct ptl_time_conv window_conv(const struct ptl_perf *perf);

/* 0% is the first record with a time, 100% the end of the last piece of trace. Returns 0, or -1 if
 * a stretch of time is asked for and no record has a time. */
int window_find(struct window *window, const struct opts_select *select,
                const struct ptl_perf *perf);

#endif
