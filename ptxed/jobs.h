/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobs.h - segments of trace decoded by several threads: the same text in the same order as one
 * thread's.
 *
 * What a segment is made of is the source's business (raw.c, recording.c).
 */
#ifndef PTXED_JOBS_H
#define PTXED_JOBS_H

#include "print.h"

#include <pt/segments.h>

struct jobs_segment {
    struct ptl_segment part;
    uint32_t stream; /* of which it is a part */
    uint8_t apart;   /* does not go on where the segment before ended */
    uint8_t first;   /* of its stream */
    uint64_t skip;   /* instructions to leave out */
    uint64_t bytes;  /* how long it is */
    uint64_t before; /* bytes from its `warm` to its beginning */
};

#define JOBS_MORE 4

/* What a segment begins or ends in. */
struct jobs_state {
    struct ptl_flow_state flow;
    uint64_t more[JOBS_MORE]; /* the source's own */
};

/* All functions return 0 or a negative status unless said otherwise. */
struct jobs_source {
    void *context;
    /* The next segment, in order. Returns 1, or 0 at the end. */
    int (*next)(void *context, struct jobs_segment *segment);
    /* A thread's own. It prints with this printer. */
    int (*open)(void *context, struct printer *printer, void **worker);
    void (*close)(void *worker);
    /* Get to the beginning of the segment; nothing is printed. */
    int (*enter)(void *worker, const struct jobs_segment *segment);
    /* Print it, having entered it or come from the segment before. */
    int (*print)(void *worker, const struct jobs_segment *segment);
    void (*get_state)(const void *worker, struct jobs_state *state);
    /* The text has been written: count what was found. One thread at a time, in order. Returns 1 if
     * the rest of the stream is not wanted. */
    int (*finish)(void *worker, const struct jobs_segment *segment);
};

struct jobs_config {
    const char *prog;
    unsigned threads;
    int att;       /* syntax of the disassembler */
    int verbose;   /* say how many segments there were */
    uint64_t size; /* of the whole in bytes, for the progress shown on a terminal */
};

/* Will what follows be the same? 0 also if that is not certain. */
int jobs_same_state(const struct jobs_state *a, const struct jobs_state *b);

/* Print all segments of the source. Returns 0 or a negative status, PTL_IO if the output cannot be
 * written. */
int jobs_run(const struct jobs_config *config, const struct jobs_source *source,
             struct printer *printer);

#endif
