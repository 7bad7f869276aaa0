/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_sideband.c - any records of two sources, brought into order, and cursors over what comes
 * out.
 *
 * Input: a control block of 16 bytes, then records.
 *   0..7  sample_type    8  flags of the sideband    9  lanes and flags of the sources
 *   10  shift    11  mult    12  sched_switch    13..15  kernel_start, one bit each
 * Names are looked up below a directory with the files `code` and `jit-1.dump`.
 *
 * Properties: it ends; the order is one of time where it must be; cursors go forward over it and
 * always have a space; each problem has a name or a cause.
 */
#include "fuzz_file.h"

#include <pt/sideband.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void set_up(struct ptl_sideband *sb, const uint8_t *control, const char *sysroot)
{
    struct ptl_sideband_source source = {
        .size = sizeof(source), .name = "fuzz", .sysroot = sysroot};
    uint32_t index;

    source.lanes = control[9] & 3;
    source.flags = control[9] >> 2 & 1 ? PTL_SB_IN_ORDER : 0;
    source.time.shift = control[10] & 31;
    source.time.mult = control[11];
    source.tsc_offset = control[9] >> 3 & 1 ? 100 : 0;
    memcpy(&source.layout.sample_type, control, 8);
    for (int i = 0; i < 2; i++)
        if (ptl_sideband_source(sb, &source, &index) < 0 || index != (uint32_t)i)
            abort();
}

/* By time, unless the trace has none. */
static void check_order(const struct ptl_sideband *sb)
{
    struct ptl_sb_record record;
    uint64_t last = 0;

    for (size_t i = 0; ptl_sideband_get(sb, i, &record); i++) {
        if (record.tsc && record.tsc < last)
            abort();
        last = record.tsc ? record.tsc : last;
        (void)ptl_sb_note_text(&record);
    }
}

static void check_problems(const struct ptl_sideband *sb)
{
    const struct ptl_sb_problem *problems;
    size_t count;

    problems = ptl_sideband_problems(sb, &count);
    for (size_t i = 0; i < count; i++)
        if (problems[i].cause > PTL_SB_CAUSE_MAX_VALUE || !problems[i].name)
            abort();
    for (uint32_t pid = 0; pid < 3; pid++) {
        if (!ptl_sideband_why(sb, pid, 0x1000 * pid))
            abort();
        (void)ptl_sideband_comm(sb, pid, 1000 * pid);
        (void)ptl_sideband_pid(sb, pid);
    }
}

static void move(const struct ptl_sideband *sb, uint32_t lane, const uint8_t *control)
{
    struct ptl_cursor *cursor;
    struct ptl_sb_record record;
    uint8_t buf[16];

    if (ptl_cursor_new(&cursor, ptl_sideband_timeline(sb), lane, (uint64_t)control[13] << 40) < 0)
        return;
    for (size_t i = 0; ptl_sideband_get(sb, i, &record) && i < 64; i++) {
        const struct ptl_moment moment = {.tsc = record.tsc,
                                          .offset = record.offset,
                                          .ip = (uint64_t)control[14] << 12,
                                          .have_tsc = 1,
                                          .have_ip = i & 1,
                                          .leaves = i >> 1 & 1,
                                          .sync = control[15] >> (i & 7) & 1};
        struct ptl_context context;

        if (ptl_cursor_move(cursor, &moment) < 0)
            break;
        context = ptl_cursor_context(cursor);
        if (!context.space)
            abort();
        (void)ptl_space_read(context.space, buf, sizeof(buf), moment.ip);
    }
    ptl_cursor_free(cursor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz_file code, jit;
    struct ptl_sideband_config config = {.size = sizeof(config)};
    struct ptl_sideband *sb;
    uint8_t *records;
    size_t half;

    if (size < 16)
        return 0;
    if (!code.path[0]) {
        static const uint8_t nops[8192];
        static const char dump[64] = "DTiJ\1\0\0\0\50\0\0\0";
        fuzz_file_in(&code, "code", nops, sizeof(nops));
        fuzz_file_in(&jit, "jit-1.dump", (const uint8_t *)dump, sizeof(dump));
    }
    config.flags = data[8] & (PTL_SB_KEEP | PTL_SB_NO_IMAGES | PTL_SB_POSITIONS);
    records = malloc(size - 15);
    if (!records || ptl_sideband_new(&sb, &config) < 0)
        abort();
    memcpy(records, data + 16, size - 16);
    set_up(sb, data, fuzz_directory());
    half = (size - 16) / 2 & ~(size_t)7;
    (void)!ptl_sideband_add(sb, 0, records, data[12] & 2 ? half : size - 16, 0);
    if (data[12] & 2)
        (void)!ptl_sideband_add(sb, 1, records + half, size - 16 - half, half);
    if (data[12] & 4)
        (void)!ptl_sideband_lane(sb, 0, UINT32_MAX, 1);
    if (ptl_sideband_finish(sb) == 0) {
        if (!(config.flags & PTL_SB_POSITIONS))
            check_order(sb);
        check_problems(sb);
        move(sb, 0, data);
        move(sb, 1, data);
    }
    ptl_sideband_free(sb);
    free(records);
    return 0;
}
