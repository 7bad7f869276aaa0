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
/* Keep the k-th (from 1) of n shares. Source and printer are those of jobs_run(). Returns 0 or a
 * negative status. */
int plan_share(struct plan *plan, const struct jobs_source *source, const struct printer *printer,
               uint32_t k, uint32_t n);
/* Keep what holds the last instructions of each stream. Likewise. */
int plan_tail(struct plan *plan, const struct jobs_source *source, struct printer *printer,
              uint64_t instructions);

/* jobs_source.next: the context is a plan. */
int plan_next(void *context, struct jobs_segment *segment);

/* Is all decoded in one piece by one thread? */
int plan_in_one_piece(const struct ptxed *x);
/* Then parts cannot be asked for: returns 0, or the exit status. */
int plan_check(const struct ptxed *x);
/* The number of threads for so many bytes of trace, and the size of their segments. */
unsigned plan_threads(const struct ptxed *x, uint64_t size);
uint64_t plan_segment_size(const struct ptxed *x, uint64_t size, unsigned threads);

#endif
