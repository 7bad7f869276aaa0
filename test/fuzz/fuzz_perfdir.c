/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_perfdir.c - a recording that is a directory, and one that is opened by name.
 *
 * Input: two bytes, the size of `data`; then `data`; the rest is `data.0`.
 */
#include "fuzz_file.h"
#include "fuzz_skim.h"

#include <pt/perfdata.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned sum;

static void touch(const uint8_t *p, uint64_t len)
{
    for (uint64_t i = 0; i < len; i++)
        sum += p[i];
}

static void walk(const struct ptl_perf *perf)
{
    struct ptl_perf_iter iter = {0};
    struct ptl_perf_record record;
    const struct ptl_perf_queue *queues;
    size_t count;

    while (ptl_perf_next(perf, &iter, &record) > 0)
        touch(record.bytes, record.record.size);
    queues = ptl_perf_queues(perf, &count);
    for (size_t q = 0; q < count; q++)
        for (size_t i = 0; i < queues[q].piece_count; i++)
            touch(queues[q].pieces[i].bytes, queues[q].pieces[i].size);
    (void)ptl_perf_problems(perf, &count);
    (void)ptl_perf_directory(perf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz_file main_file, part;
    struct ptl_perf_problem problem;
    struct ptl_perf *perf = NULL;
    uint16_t len;

    if (size < 2)
        return 0;
    memcpy(&len, data, sizeof(len));
    data += 2;
    size -= 2;
    len = len < size ? len : (uint16_t)size;
    fuzz_file_in(&main_file, "data", data, len);
    fuzz_file_in(&part, "data.0", data + len, size - len);
    for (int directory = 0; directory <= 1; directory++) {
        int status =
            ptl_perf_open(&perf, directory ? fuzz_directory() : main_file.path, NULL, &problem);
        if (status == 0) {
            walk(perf);
            fuzz_skim(perf);
            ptl_perf_close(perf);
        } else if (status > 0 || !memchr(problem.text, 0, sizeof(problem.text))) {
            abort();
        }
    }
    return 0;
}
