/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * skim.h - over all records without decoding them.
 *
 * Where the records are those of a file they are read through a small window: to map a page costs
 * four times as much as to read it, and most records are looked at but once or twice.
 */
#ifndef LIBPT_PERFDATA_SKIM_H
#define LIBPT_PERFDATA_SKIM_H

#include <pt/perfdata.h>

struct view;

#define PTL__LOOK_MAX ((size_t)64 << 10)

/* A part of a view. Begins as zeros, but for `bytes`. */
struct ptl__look {
    const struct view *view;
    uint64_t at;
    size_t len, next; /* `next`: how much will be read the next time */
    uint8_t bytes[PTL__LOOK_MAX];
};

/* Those bytes are not in the window. */
const uint8_t *ptl__look_on(struct ptl__look *look, const struct view *view, uint64_t at,
                            size_t len);

/* `len` bytes at `at` of the view, which has them; valid until the next call. */
static inline const uint8_t *ptl__look(struct ptl__look *look, const struct view *view, uint64_t at,
                                       size_t len)
{
    uint64_t from = at - look->at; /* huge if it is before */

    if (look->view == view && from <= look->len && len <= look->len - from)
        return look->bytes + from;
    return ptl__look_on(look, view, at, len);
}

struct ptl__skim {
    const struct ptl_perf *perf;
    struct ptl_perf_iter iter;
    uint64_t types;                     /* 1 << PTL_REC_*: only these; 0: all */
    size_t place;                       /* the next one, if the places of all these are known */
    const uint8_t *copy;                /* the record at hand, until the next call */
    const struct ptl_perf_event *event; /* of the record before */
    uint64_t identifier;
    struct ptl__look look;
};

/* What opening keeps the places of: to look for these alone reads nothing else. */
#define PTL__SKIM_INDEXED                                                                          \
    (PTL__SKIM_MMAPS | UINT64_C(1) << PTL_REC_LOST | UINT64_C(1) << PTL_REC_AUX |                  \
     UINT64_C(1) << PTL_REC_LOST_SAMPLES)
#define PTL__SKIM_MMAPS (UINT64_C(1) << PTL_REC_MMAP | UINT64_C(1) << PTL_REC_MMAP2)

void ptl__skim_begin(struct ptl__skim *skim, const struct ptl_perf *perf, uint64_t types);
/* As ptl_perf_next(), but of record->record only type, misc and size are there. */
int ptl__skim_next(struct ptl__skim *skim, struct ptl_perf_record *record);
/* About how many records there are. */
uint64_t ptl__skim_estimate(const struct ptl_perf *perf);
/* Decode all of it. */
void ptl__skim_decode(struct ptl_perf_record *record);

#endif
