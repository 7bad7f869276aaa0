/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/segments.h - the trace of one stream in segments that can be decoded at the same time.
 *
 * A stream is the pieces of one queue (pt/perfdata.h) in their order, or one piece that is a
 * raw trace. Segments begin and end at PSBs, and together they are the whole stream:
 *
 *      segment 1              segment 2
 *     |----------------------|----------------------|
 *     PSB ... PSB ... PSB+   PSB+ ... PSB ... PSB+  PSB+ ...
 *             ^              ^                ^     ^
 *             warm of 2      begin of 2       warm  begin of 3
 *
 * A decoder for a segment starts at the PSB `warm` and throws away what it yields up to
 * `begin`, the end of a later PSB+ or the beginning of a piece that starts anew. There its state
 * is with near certainty that of a decoder which comes from the beginning; whether it is,
 * ptl_flow_state_same() tells. Where it is not (damage at the cut, say), the decoder of the
 * segment before goes on through this one.
 */
#ifndef PT_SEGMENTS_H
#define PT_SEGMENTS_H

#include <pt/flow.h>
#include <pt/perfdata.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A byte of a stream. The place behind the last one is {number of pieces, 0}. */
struct ptl_place {
    size_t piece;
    uint64_t at; /* from the piece's first byte */
};

struct ptl_stream {
    const struct ptl_perf_piece *pieces;
    size_t count;
};

struct ptl_segment {
    struct ptl_place warm;      /* where to start reading: a PSB, or the beginning */
    struct ptl_place begin;     /* what comes before belongs to the segment before */
    struct ptl_place end;       /* what comes from here on belongs to the next one */
    struct ptl_place warm_next; /* `warm` of the next one */
};

/* Negative, 0, positive: a is before, at, behind b. */
PTL_API int ptl_place_compare(struct ptl_place a, struct ptl_place b);
/* Bytes from a to b, which is not before a. */
PTL_API uint64_t ptl_place_distance(const struct ptl_stream *stream, struct ptl_place a,
                                    struct ptl_place b);
/* `bytes` further on, at most the end. */
PTL_API struct ptl_place ptl_place_advance(const struct ptl_stream *stream, struct ptl_place place,
                                           uint64_t bytes);
/* `bytes` back, at most to the beginning. */
PTL_API struct ptl_place ptl_place_retreat(const struct ptl_stream *stream, struct ptl_place place,
                                           uint64_t bytes);
/* Does piece `i` go on where the one before ended, with nothing lost between? */
PTL_API int ptl_stream_goes_on(const struct ptl_stream *stream, size_t i);

/* Where to cut at or after `at`: `warm` and `begin` of the segment that begins there; both the
 * end of the stream if it cannot be cut there any more. */
PTL_API void ptl_segments_cut(const struct ptl_stream *stream, struct ptl_place at,
                              struct ptl_place *warm, struct ptl_place *begin);

/* The same before `at` or there, and not far from it; else the beginning of the stream. */
PTL_API void ptl_segments_cut_before(const struct ptl_stream *stream, struct ptl_place at,
                                     struct ptl_place *warm, struct ptl_place *begin);

/* From one segment to the next, of `size` bytes or more each, up to `limit`. For the first one,
 * `end` is where to begin and `warm_next` its `warm`. Returns 0 when there is none left. */
PTL_API int ptl_segments_next(const struct ptl_stream *stream, struct ptl_place limit,
                              uint64_t size, struct ptl_segment *segment);

/* The k-th of n (0 <= k < n) shares of the whole, of about the same number of bytes. It may be
 * empty (begin and end are the same). */
PTL_API void ptl_segments_share(const struct ptl_stream *stream, uint32_t k, uint32_t n,
                                struct ptl_segment *segment);

#ifdef __cplusplus
}
#endif

#endif
