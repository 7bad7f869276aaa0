/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_skim.h - to skim records shows what ptl_perf_next() does, of all of them and of some types.
 */
#ifndef TEST_FUZZ_SKIM_H
#define TEST_FUZZ_SKIM_H

#include "perfdata/skim.h"

#include <stdlib.h>

static inline void fuzz_skim_types(const struct ptl_perf *perf, uint64_t types)
{
    static struct ptl__skim skim;
    struct ptl_perf_iter iter = {0};
    struct ptl_perf_record want, got = {0};

    ptl__skim_begin(&skim, perf, types);
    while (ptl_perf_next(perf, &iter, &want) > 0) {
        if (types && (want.record.type >= 64 || !(types >> want.record.type & 1)))
            continue;
        if (ptl__skim_next(&skim, &got) != 1 || got.bytes != want.bytes ||
            got.offset != want.offset || got.stream != want.stream || got.event != want.event ||
            got.record.type != want.record.type || got.record.misc != want.record.misc ||
            got.record.size != want.record.size)
            abort();
        ptl__skim_decode(&got);
        if (got.status != want.status)
            abort();
    }
    if (ptl__skim_next(&skim, &got) != 0)
        abort();
}

static inline void fuzz_skim(const struct ptl_perf *perf)
{
    fuzz_skim_types(perf, 0);
    fuzz_skim_types(perf, PTL__SKIM_MMAPS);
    fuzz_skim_types(perf, PTL__SKIM_INDEXED);
    fuzz_skim_types(perf, UINT64_C(1) << PTL_REC_SAMPLE | UINT64_C(1) << PTL_REC_COMM);
}

#endif
