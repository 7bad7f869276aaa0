/* SPDX-License-Identifier: BSD-3-Clause */
/* tail.h - where the last packets of a stream begin (--tail). */
#ifndef PTDUMP_TAIL_H
#define PTDUMP_TAIL_H

#include <pt/segments.h>

/* Packets that are shown from a place to the end of the stream. */
typedef uint64_t tail_count(void *context, struct ptl_place from);

/* Where to begin for the last `n` of them: a PSB not far before, or where the trace starts anew.
 * *hide: how many come before them. Only what is near the end is looked at. */
struct ptl_place tail_find(const struct ptl_stream *stream, uint64_t n, tail_count *count,
                           void *context, uint64_t *hide);

#endif
