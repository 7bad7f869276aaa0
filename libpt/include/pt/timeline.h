/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/timeline.h - whose code was mapped where, as a function of time.
 *
 * A timeline holds rows: what was mapped into which address space, and which task ran
 * in which lane (a CPU, or a traced thread), each with the time from which it holds. It
 * is filled once - from sideband (pt/sideband.h), or by hand through the functions
 * below - and then const; any number of threads may share it. A cursor is one decoder's
 * position in it, and belongs to one thread at a time.
 *
 * Kernel code is part of every address space: rows of PTL_TIMELINE_KERNEL are seen
 * through each of them, so a decoder asks one space for any address.
 */
#ifndef PT_TIMELINE_H
#define PT_TIMELINE_H

#include <pt/image.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ptl_timeline;
struct ptl_cursor;

/* --- the cursor, for decoders ------------------------------------------------- */

/* What flow knows when it asks. */
struct ptl_moment {
    uint64_t tsc;    /* time estimate, TSC ticks */
    uint64_t offset; /* trace position, as flow reports it; used instead of the time if the
                        timeline is one of positions */
    uint64_t ip;     /* where execution is or goes to; of a branch without known target: the
                        branch */
    uint64_t from;   /* where it comes from */
    uint8_t have_tsc;
    uint8_t have_ip;   /* else the location is unknown */
    uint8_t have_from; /* else there is no other place than `ip` */
    uint8_t leaves;    /* the kernel is or was likely at work here, whatever `ip` says: tracing
                          was enabled, asynchronously disabled, paging */
    uint8_t sync;      /* decoding (re)starts here, e.g. at PSB+: the cursor takes the state of
                          this time, going back if it must; a switch counts at once. So the
                          state at a PSB does not depend on where decoding began. */
};

/* The task and the code at the cursor. */
struct ptl_context {
    const struct ptl_space *space; /* user and kernel code; never NULL */
    uint64_t version;              /* equal versions of one cursor: same space, same mappings */
    uint32_t pid, tid;             /* UINT32_MAX: not known */
};

/* What a move changed. */
#define PTL_CURSOR_SWITCHED 1 /* another task: pid, tid */
#define PTL_CURSOR_REMAPPED 2 /* the space, or what is mapped in it */

/* A cursor at the beginning of a lane. Addresses from `kernel_start` up (0: the upper half)
 * are the kernel's. The timeline must outlive it and not be changed any more.
 * Errors: PTL_INVALID, PTL_NOMEM. */
PTL_API int ptl_cursor_new(struct ptl_cursor **cursor, const struct ptl_timeline *timeline,
                           uint32_t lane, uint64_t kernel_start) PTL_MUST_CHECK;
PTL_API void ptl_cursor_free(struct ptl_cursor *cursor);

/* Move forward to `moment` and apply what happened until then. A moment earlier than
 * the last one, or without time, applies nothing but a switch that was waiting.
 * Returns a mask of PTL_CURSOR_*, or PTL_NOMEM. Cheap when there is nothing to apply. */
PTL_API int ptl_cursor_move(struct ptl_cursor *cursor, const struct ptl_moment *moment);

/* The space stays valid until the next move. */
PTL_API struct ptl_context ptl_cursor_context(const struct ptl_cursor *cursor);

/* The judgement: may a switch that the sideband tells take effect here? The times of trace
 * and sideband differ a little, so a switch is held back until user code has been left: at
 * the next moment in, from or to kernel space, or at an unknown place. */
PTL_API int ptl_moment_may_switch(const struct ptl_moment *moment, uint64_t kernel_start);

/* --- building ------------------------------------------------------------------ */

#define PTL_TIMELINE_KERNEL UINT32_MAX       /* rows seen in every address space */
#define PTL_TIMELINE_NONE   (UINT32_MAX - 1) /* no address space: kernel code only */

#define PTL_TIMELINE_POSITIONS 0x1u /* `when` is a trace position, not a TSC */

/* `base` (may be NULL) is seen below everything, in every address space; copied. */
PTL_API int ptl_timeline_new(struct ptl_timeline **timeline, const struct ptl_space *base,
                             unsigned flags) PTL_MUST_CHECK;
PTL_API void ptl_timeline_free(struct ptl_timeline *timeline);

/* A new address space: empty, or with what `parent` holds by now (PTL_TIMELINE_NONE:
 * empty). Errors of all that follow: PTL_INVALID, PTL_NOMEM. */
PTL_API int ptl_timeline_space(struct ptl_timeline *timeline, uint32_t parent,
                               uint32_t *space) PTL_MUST_CHECK;

/* From `when` on. Rows of one address space are added in the order in which they apply: a
 * `when` below that of the row before counts as equal to it. Takes a reference of the section.
 */
PTL_API int ptl_timeline_map(struct ptl_timeline *timeline, uint32_t space, uint64_t when,
                             uint64_t vaddr, struct ptl_section *section, uint64_t offset,
                             uint64_t size) PTL_MUST_CHECK;
PTL_API int ptl_timeline_unmap(struct ptl_timeline *timeline, uint32_t space, uint64_t when,
                               uint64_t vaddr, uint64_t size) PTL_MUST_CHECK;

/* From `when` on the lane runs this task. `at_once`: else when ptl_moment_may_switch(). */
PTL_API int ptl_timeline_switch(struct ptl_timeline *timeline, uint32_t lane, uint64_t when,
                                uint32_t space, uint32_t pid, uint32_t tid,
                                int at_once) PTL_MUST_CHECK;

/* --- asking -------------------------------------------------------------------- */

/* The i-th switch of a lane, in the order of time. Returns 1, or 0 beyond the last. */
struct ptl_timeline_task {
    uint64_t when; /* from then on */
    uint32_t pid, tid;
};
PTL_API int ptl_timeline_task(const struct ptl_timeline *timeline, uint32_t lane, size_t i,
                              struct ptl_timeline_task *task);

#ifdef __cplusplus
}
#endif

#endif
