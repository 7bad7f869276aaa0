/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trailer.h - the trailer of a record alone: who, when and where, without decoding the rest.
 * For records that come by the million.
 */
#ifndef LIBPT_RECORD_TRAILER_H
#define LIBPT_RECORD_TRAILER_H

#include "base/bytes.h"

#include <pt/record.h>

/* Without a call: processors of long ago have no instruction to count bits. */
static inline size_t ptl__trailer_bytes(uint64_t have)
{
    return 8 * (!!(have & PTL_SAMPLE_TID) + (size_t) !!(have & PTL_SAMPLE_TIME) +
                !!(have & PTL_SAMPLE_ID) + !!(have & PTL_SAMPLE_STREAM_ID) +
                !!(have & PTL_SAMPLE_CPU) + !!(have & PTL_SAMPLE_IDENTIFIER));
}

/* What perf asks for when it traces. */
#define PTL__TRAILER_USUAL                                                                         \
    (PTL_SAMPLE_TID | PTL_SAMPLE_TIME | PTL_SAMPLE_CPU | PTL_SAMPLE_IDENTIFIER)

/* The trailer of the record of `size` bytes at `buf`, which is no SAMPLE and not perf's own. It is
 * read backwards: TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER stand in this order as far as they are
 * there (linux/perf_event.h, struct sample_id). Returns its size; 0: it has none, or is too short.
 */
static inline size_t ptl__trailer_read(struct ptl_sample_id *id, const uint8_t *buf, size_t size,
                                       const struct ptl_layout *layout)
{
    uint64_t have = layout && !layout->no_trailer ? layout->sample_type & PTL_SAMPLE_TRAILER : 0;
    const uint8_t *end = buf + size, *p = end;

    if (have == PTL__TRAILER_USUAL && size >= PTL_RECORD_HEADER + 32) {
        *id = (struct ptl_sample_id){.have = PTL__TRAILER_USUAL,
                                     .pid = ptl__load32(end - 32),
                                     .tid = ptl__load32(end - 28),
                                     .time = ptl__load64(end - 24),
                                     .cpu = ptl__load32(end - 16),
                                     .identifier = ptl__load64(end - 8)};
        return 32;
    }
    *id = (struct ptl_sample_id){.have = (uint32_t)have};
    if (size < PTL_RECORD_HEADER + ptl__trailer_bytes(have))
        return 0;
    if (have & PTL_SAMPLE_IDENTIFIER)
        id->identifier = ptl__load64(p -= 8);
    if (have & PTL_SAMPLE_CPU)
        id->cpu = ptl__load32(p -= 8);
    if (have & PTL_SAMPLE_STREAM_ID)
        id->stream_id = ptl__load64(p -= 8);
    if (have & PTL_SAMPLE_ID)
        id->id = ptl__load64(p -= 8);
    if (have & PTL_SAMPLE_TIME)
        id->time = ptl__load64(p -= 8);
    if (have & PTL_SAMPLE_TID) {
        id->tid = ptl__load32(p - 4);
        id->pid = ptl__load32(p -= 8);
    }
    return (size_t)(end - p);
}

#endif
