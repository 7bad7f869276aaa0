/* SPDX-License-Identifier: BSD-3-Clause */
/* tail.c - see tail.h. */
#include "tail.h"

#define STEP_MIN ((uint64_t)4 << 10)
#define LEAP     16 /* no more than so many times what was looked at */

static int is_begin(struct ptl_place place)
{
    return !place.piece && !place.at;
}

/* The first place at or after `at` where decoding can begin. */
static struct ptl_place first_begin(const struct ptl_stream *stream, struct ptl_place at)
{
    for (; at.piece < stream->count; at = (struct ptl_place){at.piece + 1, 0}) {
        const struct ptl_perf_piece *piece = &stream->pieces[at.piece];
        size_t psb;

        if (!at.at && (!at.piece || !piece->joined))
            return at;
        psb = at.at < piece->size ? ptl_psb_find(piece->bytes, piece->size, at.at) : piece->size;
        if (psb < piece->size)
            return (struct ptl_place){at.piece, psb};
    }
    return at;
}

/* How far to go back, when `bytes` had `got` of the `n`. */
static uint64_t next_step(uint64_t step, uint64_t bytes, uint64_t got, uint64_t n)
{
    double want = got ? (double)bytes * (double)n / (double)got * 1.1 : 0;

    if (want < (double)step * 2)
        return step * 2;
    return want > (double)step * LEAP ? step * LEAP : (uint64_t)want;
}

struct ptl_place tail_find(const struct ptl_stream *stream, uint64_t n, tail_count *count,
                           void *context, uint64_t *hide)
{
    const struct ptl_place end = {stream->count, 0};

    for (uint64_t step = STEP_MIN;;) {
        struct ptl_place back = ptl_place_retreat(stream, end, step);
        struct ptl_place from = first_begin(stream, back);
        uint64_t got = ptl_place_compare(from, end) < 0 ? count(context, from) : 0;

        if (got >= n || is_begin(back)) {
            *hide = got > n ? got - n : 0;
            return from;
        }
        step = next_step(step, ptl_place_distance(stream, from, end), got, n);
    }
}
