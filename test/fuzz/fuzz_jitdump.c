/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_jitdump.c - code that a JIT compiler says it made: a recording of one mapping, whose file is
 * the input.
 */
#include "fuzz_file.h"

#include <pt/sideband.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* MMAP2 (1:1, executable) of /jit-1.dump. */
static size_t make_record(uint8_t *record, size_t cap)
{
    static const struct ptl_layout layout = {.sample_type = PTL_SAMPLE_TID | PTL_SAMPLE_TIME};
    struct ptl_record r = {.type = PTL_REC_MMAP2, .known = 1};
    int n;

    r.u.mmap.pid = r.u.mmap.tid = 1;
    r.u.mmap.addr = 0x1000;
    r.u.mmap.len = 0x1000;
    r.u.mmap.prot = 5;
    r.u.mmap.filename = "/jit-1.dump";
    r.id.have = PTL_SAMPLE_TID | PTL_SAMPLE_TIME;
    r.id.pid = r.id.tid = 1;
    r.id.time = 10;
    n = ptl_record_encode(record, cap, &r, &layout);
    if (n < 0)
        abort();
    return (size_t)n;
}

static void read_code(const struct ptl_sideband *sb)
{
    static const struct ptl_moment moments[] = {{.tsc = 10, .have_tsc = 1, .sync = 1},
                                                {.tsc = 1000, .have_tsc = 1, .sync = 1},
                                                {.tsc = UINT64_MAX, .have_tsc = 1, .sync = 1}};
    struct ptl_cursor *cursor;
    uint8_t buf[64];

    if (ptl_cursor_new(&cursor, ptl_sideband_timeline(sb), 1, 0) < 0)
        abort();
    for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++) {
        struct ptl_context context;

        if (ptl_cursor_move(cursor, &moments[i]) < 0)
            abort();
        context = ptl_cursor_context(cursor);
        for (uint64_t ip = 0; ip < 0x4000; ip += 0x200)
            (void)ptl_space_read(context.space, buf, sizeof(buf), ip);
    }
    ptl_cursor_free(cursor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz_file file;
    static uint8_t record[256];
    static size_t n;
    struct ptl_sideband_config config = {.size = sizeof(config)};
    struct ptl_sideband_source source = {
        .size = sizeof(source), .name = "fuzz", .lanes = PTL_SB_LANE_TID};
    struct ptl_sideband *sb;
    uint32_t index;

    if (!n)
        n = make_record(record, sizeof(record));
    fuzz_file_in(&file, "jit-1.dump", data, size);
    source.sysroot = fuzz_directory();
    source.layout.sample_type = PTL_SAMPLE_TID | PTL_SAMPLE_TIME;
    if (ptl_sideband_new(&sb, &config) < 0 || ptl_sideband_source(sb, &source, &index) < 0 ||
        ptl_sideband_add(sb, index, record, n, 0) < 0 || ptl_sideband_lane(sb, 1, 1, 1) < 0)
        abort();
    if (ptl_sideband_finish(sb) == 0)
        read_code(sb);
    ptl_sideband_free(sb);
    return 0;
}
