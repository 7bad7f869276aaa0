/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/segments.h - a trace in segments that can be decoded at the same time.
 *
 * Segments begin and end at PSBs, and together they are the whole trace:
 *
 *      segment 1              segment 2
 *     |----------------------|----------------------|
 *     PSB ... PSB ... PSB+   PSB+ ... PSB ... PSB+  PSB+ ...
 *             ^              ^                ^     ^
 *             warm of 2      begin of 2       warm  begin of 3
 *
 * A decoder for a segment starts at the PSB `warm` and throws away what it yields up to
 * `begin`, the end of a later PSB+. There its state is with near certainty that of a decoder
 * which comes from the beginning; whether it is, ptl_flow_state_same() tells. Where it is not
 * (damage at the cut, say), the decoder of the segment before goes on through this one.
 */
#ifndef PT_SEGMENTS_H
#define PT_SEGMENTS_H

#include <pt/flow.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Positions in the trace: bytes from its first one. */
struct ptl_segment {
    size_t warm;      /* where to start reading: a PSB, or 0 */
    size_t begin;     /* what comes before belongs to the segment before */
    size_t end;       /* what comes from here on belongs to the next one */
    size_t warm_next; /* `warm` of the next one */
};

/* Where to cut at or after `at`: `warm` and `begin` of the segment that begins there; both `len`
 * if the trace cannot be cut there any more. */
PTL_API void ptl_segments_cut(const uint8_t *trace, size_t len, size_t at, size_t *warm,
                              size_t *begin);

/* From one segment to the next, of `size` bytes or more each. All zero is the one before the
 * first. Returns 0 when there is none left. */
PTL_API int ptl_segments_next(const uint8_t *trace, size_t len, size_t size,
                              struct ptl_segment *segment);

/* The k-th of n (0 <= k < n) shares of the trace, of about the same number of bytes. It may be
 * empty (begin == end). */
PTL_API void ptl_segments_share(const uint8_t *trace, size_t len, uint32_t k, uint32_t n,
                                struct ptl_segment *segment);

/* Get the flow, whatever it has decoded before, to the beginning of the segment: it has paused
 * there, except at the beginning of the trace. `offset` is that of the trace's first byte.
 * Returns 0, or a negative status. */
PTL_API int ptl_segments_enter(struct ptl_flow *flow, const uint8_t *trace, size_t len,
                               uint64_t offset, const struct ptl_segment *segment) PTL_MUST_CHECK;

/* Go on into the segment, at whose beginning the flow is: up to its end, or the trace's. */
PTL_API void ptl_segments_go_on(struct ptl_flow *flow, size_t len, uint64_t offset,
                                const struct ptl_segment *segment);

#ifdef __cplusplus
}
#endif

#endif
