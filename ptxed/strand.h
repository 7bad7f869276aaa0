/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strand.h - the items of one queue of a recording, or of a part of it, as lines: which of them
 * are selected, what each line begins with, what the recorder lost between the pieces.
 *
 * One strand decodes one segment after the other, of whatever queue; each thread has its own.
 */
#ifndef PTXED_STRAND_H
#define PTXED_STRAND_H

#include "jobs.h"
#include "ptxed.h"
#include "report.h"
#include "sb_print.h"

#include <pt/session.h>

#define STRAND_BATCH 256 /* items a call */

/* What strands share; nothing changes while they decode. */
struct recording {
    struct ptxed *x;
    struct ptl_session *session;
    const char *kallsyms; /* NULL: none */
    uint64_t from, to;    /* ticks: the window */
    size_t queues;        /* that are selected */
    int by_task;          /* some tasks are not selected */
};

/* What has been found, of one segment or of all. */
struct strand_found {
    uint64_t syncs;
    int any; /* something was selected */
    struct report report;
};

/* What decides how items are shown. */
struct strand_state {
    uint32_t pid, tid;
    int shown; /* the task is selected */
    int in_window;
};

struct strand {
    const struct recording *rec;
    struct printer *printer;
    const struct ptl_perf_queue *queue;
    uint32_t index; /* of the queue */
    const struct ptl_sideband *sb;
    struct ptl_decoder *decoder;
    struct sb_print sideband;
    struct strand_state state;
    struct strand_found found;
    int n, i;    /* items read, and used */
    int begun;   /* a piece is being decoded */
    int between; /* the marks */
    struct ptl_coverage_path path;
    int over;          /* the window has passed */
    int muted;         /* nothing is said */
    int to_end;        /* the segment is the last of the queue */
    uint64_t skip;     /* instructions to leave out */
    uint64_t time;     /* ticks, of the item at hand */
    uint64_t lead_for; /* the time for which `lead` was made */
    int have_lead;
    size_t lead_len;
    char lead[PRINT_LEAD_MAX];
    struct ptl_item items[STRAND_BATCH];
};

void strand_init(struct strand *strand, const struct recording *rec, struct printer *printer);
void strand_close(struct strand *strand);

/* Get to the beginning of a segment of this queue. What comes before it is only listened to. */
int strand_enter(struct strand *strand, const struct jobs_segment *segment);
/* At the beginning of the segment, or behind the one before it: go on to its end. */
void strand_extend(struct strand *strand, const struct ptl_segment *part);

/* The heading of the queue, if there are several. */
void strand_heading(const struct strand *strand);

/* The item at hand: 1, 0 at the end of the segment or of the window, or a negative status. */
int strand_item(struct strand *strand);
/* Print it. Returns 0, PTL_NOMEM, or PTL_IO when nobody reads on. */
int strand_print(struct strand *strand);
/* Print all up to the end of the segment or of the window. Returns the same. */
int strand_print_all(struct strand *strand);

#endif
