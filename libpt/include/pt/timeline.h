/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/timeline.h - whose code was mapped where, as a function of time.
 *
 * A timeline is built from sideband (pt/sideband.h) and then const; it may be shared
 * by any number of threads. A cursor is one decoder's position in it.
 */
#ifndef PT_TIMELINE_H
#define PT_TIMELINE_H

#include <pt/image.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ptl_timeline;
struct ptl_cursor;

/* What flow knows when it asks. */
struct ptl_moment {
    uint64_t tsc;     /* time estimate, TSC ticks */
    uint64_t ip;      /* where execution is or goes to */
    uint8_t have_tsc; /* else rows apply by trace position only */
    uint8_t have_ip;  /* else the location is unknown */
    uint8_t leaves;   /* the event leaves user code: asynchronous disable, paging */
};

/* The task and the code at the cursor. */
struct ptl_context {
    const struct ptl_space *space; /* never NULL */
    uint32_t pid, tid;             /* UINT32_MAX: not known */
};

/* What a move changed. */
#define PTL_CURSOR_SWITCHED 1 /* another task: pid, tid */
#define PTL_CURSOR_REMAPPED 2 /* the space, or what is mapped in it */

PTL_API void ptl_cursor_free(struct ptl_cursor *cursor);

/* Move forward to `moment` and apply what happened until then. A moment earlier than
 * the last one applies nothing. Returns a mask of PTL_CURSOR_*, or a negative status. */
PTL_API int ptl_cursor_move(struct ptl_cursor *cursor, const struct ptl_moment *moment);

PTL_API struct ptl_context ptl_cursor_context(const struct ptl_cursor *cursor);

PTL_API void ptl_timeline_free(struct ptl_timeline *timeline);

#ifdef __cplusplus
}
#endif

#endif
