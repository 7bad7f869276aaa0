/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sideband_unit.h - records, a sideband made from them, and what a decoder must find.
 */
#ifndef TEST_SIDEBAND_UNIT_H
#define TEST_SIDEBAND_UNIT_H

#include "unit.h"

#include <pt/sideband.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LEN 0x100 /* bytes of each file: "one" holds 1, "two" holds 2, ... */

static const struct ptl_layout layout = {.sample_type = PTL_SAMPLE_TID | PTL_SAMPLE_TIME |
                                                        PTL_SAMPLE_CPU | PTL_SAMPLE_IDENTIFIER};

static char dir[] = "/tmp/test_sideband.XXXXXX";
static uint8_t records[1 << 16];
static size_t used;

/* --- writing records ------------------------------------------------------------------ */

static inline void put(struct ptl_record *rec, uint64_t time, uint32_t cpu)
{
    int n;

    rec->known = 1;
    rec->id.time = time;
    rec->id.cpu = cpu;
    rec->id.identifier = 7;
    n = ptl_record_encode(records + used, sizeof(records) - used, rec, &layout);
    assert_true(n > 0);
    used += (size_t)n;
}

static inline void map(uint64_t time, uint32_t pid, uint64_t addr, uint64_t pgoff, const char *name)
{
    char path[256];
    struct ptl_record rec = {.type = PTL_REC_MMAP2, .misc = PTL_MISC_USER};

    snprintf(path, sizeof(path), "%s%s", strchr("/[", name[0]) ? "" : "/", name);
    rec.u.mmap = (struct ptl_rec_mmap){.pid = pid,
                                       .tid = pid,
                                       .addr = addr,
                                       .len = LEN - pgoff,
                                       .pgoff = pgoff,
                                       .prot = 5,
                                       .filename = path};
    put(&rec, time, 0);
}

static inline void task(uint64_t time, uint32_t type, uint32_t pid, uint32_t tid, uint32_t ppid)
{
    struct ptl_record rec = {.type = type};

    rec.u.task.pid = pid;
    rec.u.task.tid = tid;
    rec.u.task.ppid = ppid;
    rec.u.task.ptid = ppid;
    put(&rec, time, 0);
}

static inline void comm(uint64_t time, uint32_t cpu, uint32_t pid, uint32_t tid, int exec,
                        const char *name)
{
    struct ptl_record rec = {.type = PTL_REC_COMM, .misc = exec ? PTL_MISC_COMM_EXEC : 0};

    rec.id.pid = pid;
    rec.id.tid = tid;
    rec.u.comm.pid = pid;
    rec.u.comm.tid = tid;
    rec.u.comm.comm = name;
    put(&rec, time, cpu);
}

static inline void start(uint64_t time, uint32_t cpu, uint32_t pid)
{
    struct ptl_record rec = {.type = PTL_REC_ITRACE_START};

    rec.u.itrace_start.pid = pid;
    rec.u.itrace_start.tid = pid;
    put(&rec, time, cpu);
}

static inline void in(uint64_t time, uint32_t cpu, uint32_t pid, uint32_t tid)
{
    struct ptl_record rec = {.type = PTL_REC_SWITCH, .id = {.pid = pid, .tid = tid}};

    put(&rec, time, cpu);
}

static inline void out_wide(uint64_t time, uint32_t cpu, uint32_t next_pid, uint32_t next_tid)
{
    struct ptl_record rec = {.type = PTL_REC_SWITCH_CPU_WIDE, .misc = PTL_MISC_SWITCH_OUT};

    rec.u.switch_cpu_wide.pid = next_pid;
    rec.u.switch_cpu_wide.tid = next_tid;
    put(&rec, time, cpu);
}

static inline void aux(uint64_t time, uint32_t cpu, uint64_t offset, uint64_t size, uint64_t flags)
{
    struct ptl_record rec = {.type = PTL_REC_AUX};

    rec.u.aux.offset = offset;
    rec.u.aux.size = size;
    rec.u.aux.flags = flags;
    put(&rec, time, cpu);
}

/* --- building and asking ---------------------------------------------------------------- */

struct setup {
    unsigned flags, source_flags;
    uint8_t lanes;
    uint32_t position_lane;
    const char *vdso, *buildid_dir;
    const uint8_t *id; /* of "/one" */
    uint32_t tid;      /* lane of a thread; 0: none */
    struct ptl_section *own_vdso;
};

static inline struct ptl_sideband *build(const struct setup *setup)
{
    struct ptl_sideband_config config = {.size = sizeof(config),
                                         .flags = setup->flags,
                                         .position_lane = setup->position_lane,
                                         .buildid_dir = setup->buildid_dir,
                                         .vdso = setup->own_vdso};
    struct ptl_sideband_source source = {.size = sizeof(source),
                                         .name = "test",
                                         .lanes = setup->lanes,
                                         .flags = setup->source_flags,
                                         .layout = layout,
                                         .sysroot = dir,
                                         .vdso_x64 = setup->vdso};
    struct ptl_sideband *sb;
    uint32_t index;

    assert_int_equal(ptl_sideband_new(&sb, &config), 0);
    assert_int_equal(ptl_sideband_source(sb, &source, &index), 0);
    assert_int_equal(ptl_sideband_add(sb, index, records, used, 0), 0);
    if (setup->id)
        assert_int_equal(ptl_sideband_build_id(sb, "/one", setup->id, 20), 0);
    if (setup->tid)
        assert_int_equal(ptl_sideband_lane(sb, setup->tid, UINT32_MAX, setup->tid), 0);
    assert_int_equal(ptl_sideband_finish(sb), 0);
    used = 0;
    return sb;
}

static const struct setup per_cpu = {.lanes = PTL_SB_LANE_CPU};

/* What lane `lane` finds: the task, and the first byte at `addr` (0: nothing). */
static inline void expect(const struct ptl_sideband *sb, uint32_t lane, uint64_t tsc, uint32_t pid,
                          uint64_t addr, unsigned byte)
{
    struct ptl_moment moment = {.tsc = tsc, .offset = tsc, .have_tsc = 1, .sync = 1};
    struct ptl_cursor *cursor;
    struct ptl_context ctx;
    uint8_t got = 0;

    assert_int_equal(ptl_cursor_new(&cursor, ptl_sideband_timeline(sb), lane, 0), 0);
    assert_true(ptl_cursor_move(cursor, &moment) >= 0);
    ctx = ptl_cursor_context(cursor);
    assert_int_equal(ctx.pid, pid);
    if (ptl_space_read(ctx.space, &got, 1, addr) < 1)
        got = 0;
    assert_int_equal(got, byte);
    ptl_cursor_free(cursor);
}

/* --- files to map
 * -------------------------------------------------------------------------------------- */

static inline void write_file(const char *name, int byte)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < LEN; i++)
        fputc(byte < 0 ? i : byte, file);
    fclose(file);
}

static inline int setup_files(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    write_file("one", 1);
    write_file("two", 2);
    write_file("three", 3);
    write_file("a name [with] blanks (and so on)", 4);
    write_file("ramp", -1);
    return 0;
}

static inline int remove_files(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command);
}

#endif
