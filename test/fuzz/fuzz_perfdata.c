/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_perfdata.c - a perf.data file in memory: header, features, records, trace pieces.
 *
 * Every byte that a getter promises is read, so that ASan sees what lies outside the file.
 */
#include "fuzz_skim.h"

#include <pt/perfdata.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned sum;

static void touch(const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < len; i++)
        sum += p[i];
}

static void touch_text(const char *text)
{
    if (text)
        touch(text, strlen(text));
}

static void walk_header(const struct ptl_perf *perf)
{
    size_t count, len;
    const struct ptl_perf_problem *problems = ptl_perf_problems(perf, &count);
    const struct ptl_perf_build_id *ids;
    for (size_t i = 0; i < count; i++)
        touch_text(problems[i].text);
    for (unsigned feature = 0; feature < 70; feature++) {
        const uint8_t *p = ptl_perf_feature(perf, feature, &len);
        if (p)
            touch(p, len);
    }
    (void)ptl_perf_info(perf);
    (void)ptl_perf_pt(perf);
    (void)ptl_perf_events(perf, &count);
    ids = ptl_perf_build_ids(perf, &count);
    if (count)
        touch(ids, count * sizeof(*ids));
}

static void walk_records(const struct ptl_perf *perf)
{
    struct ptl_perf_iter iter = {0};
    struct ptl_perf_record record;
    while (ptl_perf_next(perf, &iter, &record) > 0)
        touch(record.bytes, record.record.size);
}

static void walk_trace(const struct ptl_perf *perf)
{
    size_t count;
    const struct ptl_perf_queue *queues = ptl_perf_queues(perf, &count);
    for (size_t q = 0; q < count; q++) {
        uint64_t total = 0;
        for (size_t i = 0; i < queues[q].piece_count; i++) {
            touch(queues[q].pieces[i].bytes, queues[q].pieces[i].size);
            total += queues[q].pieces[i].size;
        }
        if (total != queues[q].size)
            abort();
    }
    const struct ptl_perf_buffer *buffers = ptl_perf_buffers(perf, &count);
    for (size_t i = 0; i < count; i++)
        touch(buffers[i].bytes, buffers[i].size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ptl_perf_problem problem;
    struct ptl_perf *perf = NULL;
    uint8_t *block = malloc(size ? size : 1);
    if (!block)
        return 0;
    memcpy(block, data, size);
    if (ptl_perf_open_memory(&perf, block, size, NULL, &problem) == 0) {
        walk_header(perf);
        walk_records(perf);
        walk_trace(perf);
        fuzz_skim(perf);
        ptl_perf_close(perf);
    } else if (perf) {
        abort();
    }
    free(block);
    return 0;
}
