/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.h - what of the trace is decoded, and in which segments: everything, or the parts in which
 * something selected can be; a share of it; its end.
 */
#ifndef PTXED_PLAN_H
#define PTXED_PLAN_H

#include "jobs.h"
#include "ptxed.h"

/* A part of a stream that is decoded in one go. */
struct plan_range {
    uint32_t stream;
    uint8_t first; /* of its stream */
    struct ptl_place warm, begin, end;
    uint64_t skip; /* instructions */
};

struct plan {
    /* The stream with this number. */
    struct ptl_stream (*stream)(const void *context, uint32_t number);
    const void *context;
    uint64_t segment_size;
    struct plan_range *ranges;
    size_t count, cap;
    size_t at; /* the range being cut into segments */
    int begun;
    struct ptl_segment last;
};

/* Add a range at the end: streams in order, ranges in order. Returns 0 or PTL_NOMEM. */
int plan_add(struct plan *plan, uint32_t stream, struct ptl_place warm, struct ptl_place begin,
             struct ptl_place end);
void plan_free(struct plan *plan);

uint64_t plan_size(const struct plan *plan);
/* Keep what --shard and --tail ask for. Source and printer are those of jobs_run(). Returns 0 or a
 * negative status. */
int plan_narrow(struct plan *plan, const struct ptxed *x, const struct jobs_source *source,
                struct printer *printer);
/* Decode and print all of it: jobs_run() with as many threads as the plan is worth. */
int plan_run(struct plan *plan, const struct ptxed *x, const struct jobs_source *source,
             struct printer *printer);

/* jobs_source.next: the context is a plan. */
int plan_next(void *context, struct jobs_segment *segment);

/* Is all decoded in one piece by one thread? */
int plan_in_one_piece(const struct ptxed *x);
/* Then parts cannot be asked for: returns 0, or the exit status. */
int plan_check(const struct ptxed *x);

#endif
