/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_sideband.c - records to a timeline: each scenario is a list of records, then what a
 * decoder on some CPU must find at some time.
 */
#include "sideband_unit.h"

/* --- processes --------------------------------------------------------------------------- */

static void test_fork(void **state)
{
    struct ptl_sideband *sb;

    (void)state;
    map(1, 10, 0x1000, 0, "one");
    start(2, 0, 10);
    task(5, PTL_REC_FORK, 20, 20, 10);
    map(6, 10, 0x2000, 0, "two");
    map(7, 20, 0x1000, 0, "three");
    task(8, PTL_REC_FORK, 20, 21, 20); /* a thread: the same mappings */
    in(10, 1, 20, 20);
    in(20, 1, 20, 21);
    sb = build(&per_cpu);

    expect(sb, 0, 1, UINT32_MAX, 0x1000, 0); /* nobody runs yet */
    expect(sb, 0, 4, 10, 0x1000, 1);
    expect(sb, 0, 5, 10, 0x2000, 0);
    expect(sb, 0, 30, 10, 0x2000, 2);
    expect(sb, 0, 30, 10, 0x1000, 1);
    expect(sb, 1, 9, UINT32_MAX, 0x1000, 0);
    expect(sb, 1, 10, 20, 0x1000, 3);
    expect(sb, 1, 10, 20, 0x2000, 0); /* mapped after the fork */
    expect(sb, 1, 20, 20, 0x1000, 3);
    assert_int_equal(ptl_sideband_pid(sb, 21), 20);
    assert_int_equal(ptl_sideband_pid(sb, 22), UINT32_MAX);
    ptl_sideband_free(sb);
}

/* Forks of forks: each child has what its parent had, however long the chain. */
static void test_fork_chain(void **state)
{
    struct ptl_sideband *sb;

    (void)state;
    map(1, 100, 0x1000, 0, "one");
    for (uint32_t i = 0; i < 100; i++) {
        task(2 + i * 2, PTL_REC_FORK, 101 + i, 101 + i, 100 + i);
        if (i % 3 == 0)
            map(3 + i * 2, 101 + i, 0x2000, i % 2 ? 0 : 0x10, i % 2 ? "two" : "three");
    }
    in(500, 0, 200, 200);
    in(501, 0, 101, 101);
    sb = build(&per_cpu);
    expect(sb, 0, 500, 200, 0x1000, 1);
    expect(sb, 0, 500, 200, 0x2000, 2); /* of i = 99 */
    expect(sb, 0, 501, 101, 0x2000, 3); /* of i = 0 */
    ptl_sideband_free(sb);
}

static void test_exec(void **state)
{
    struct ptl_moment user = {.tsc = 6, .have_tsc = 1, .have_ip = 1, .ip = 0x1000};
    struct ptl_sideband *sb;
    struct ptl_cursor *cursor;
    uint8_t byte = 0;

    (void)state;
    map(1, 10, 0x1000, 0, "one");
    start(2, 0, 10);
    comm(5, 0, 10, 10, 1, "new");
    map(6, 10, 0x2000, 0, "two");
    sb = build(&per_cpu);
    expect(sb, 0, 4, 10, 0x1000, 1);
    expect(sb, 0, 6, 10, 0x1000, 0); /* gone with the old image */
    expect(sb, 0, 6, 10, 0x2000, 2);

    /* Until user code has been left the old image is in use. */
    assert_int_equal(ptl_cursor_new(&cursor, ptl_sideband_timeline(sb), 0, 0), 0);
    assert_int_equal(ptl_cursor_move(cursor, &user), PTL_CURSOR_SWITCHED | PTL_CURSOR_REMAPPED);
    assert_int_equal(ptl_space_read(ptl_cursor_context(cursor).space, &byte, 1, 0x1000), 1);
    assert_int_equal(byte, 1);
    user.leaves = 1;
    assert_int_equal(ptl_cursor_move(cursor, &user), PTL_CURSOR_REMAPPED);
    assert_int_equal(ptl_space_read(ptl_cursor_context(cursor).space, &byte, 1, 0x1000), PTL_NOMAP);
    assert_int_equal(ptl_space_read(ptl_cursor_context(cursor).space, &byte, 1, 0x2000), 1);
    assert_int_equal(byte, 2);
    ptl_cursor_free(cursor);
    ptl_sideband_free(sb);
}

static void test_pid_reuse(void **state)
{
    struct ptl_sideband *sb;

    (void)state;
    map(1, 10, 0x1000, 0, "one");
    task(2, PTL_REC_FORK, 20, 20, 10);
    map(3, 20, 0x2000, 0, "two");
    task(4, PTL_REC_EXIT, 20, 20, 10);
    map(5, 10, 0x3000, 0, "three");
    task(6, PTL_REC_FORK, 20, 20, 10);
    in(7, 0, 20, 20);
    sb = build(&per_cpu);
    expect(sb, 0, 8, 20, 0x1000, 1);
    expect(sb, 0, 8, 20, 0x2000, 0);
    expect(sb, 0, 8, 20, 0x3000, 3);
    ptl_sideband_free(sb);
}

/* Records that perf makes up for running tasks: no mappings to copy. */
static void test_made_up(void **state)
{
    struct ptl_record rec = {.type = PTL_REC_FORK, .misc = PTL_MISC_FORK_EXEC};
    struct ptl_sideband *sb;

    (void)state;
    map(0, 1, 0x1000, 0, "one");
    rec.u.task.pid = rec.u.task.tid = 10;
    rec.u.task.ppid = rec.u.task.ptid = 1;
    put(&rec, 0, 0);
    map(0, 10, 0x2000, 0, "two");
    start(5, 0, 10);
    sb = build(&per_cpu);
    expect(sb, 0, 5, 10, 0x1000, 0);
    expect(sb, 0, 5, 10, 0x2000, 2);
    ptl_sideband_free(sb);
}

/* --- mappings ------------------------------------------------------------------------------ */

static void test_remap(void **state)
{
    struct ptl_sideband *sb;

    (void)state;
    start(1, 0, 10);
    map(2, 10, 0x1000, 0, "one");
    map(3, 10, 0x1080, 0x80, "two");  /* its second half */
    map(4, 10, 0x1000, 0x40, "ramp"); /* the same place at another offset */
    sb = build(&per_cpu);
    expect(sb, 0, 2, 10, 0x1080, 1);
    expect(sb, 0, 3, 10, 0x107f, 1);
    expect(sb, 0, 3, 10, 0x1080, 2);
    expect(sb, 0, 4, 10, 0x1000, 0x40);
    expect(sb, 0, 4, 10, 0x10bf, 0xff);
    expect(sb, 0, 4, 10, 0x10c0, 2); /* what was not covered */
    expect(sb, 0, 4, 10, 0x1100, 0);
    ptl_sideband_free(sb);
}

/* Later in the file, earlier in time. */
static void test_order(void **state)
{
    struct ptl_sideband *sb;

    (void)state;
    start(1, 0, 10);
    map(9, 10, 0x1000, 0, "two");
    map(5, 10, 0x1000, 0, "one");
    map(0, 10, 0x2000, 0, "three"); /* made up: from the beginning */
    sb = build(&per_cpu);
    expect(sb, 0, 4, 10, 0x1000, 0);
    expect(sb, 0, 4, 10, 0x2000, 3);
    expect(sb, 0, 5, 10, 0x1000, 1);
    expect(sb, 0, 9, 10, 0x1000, 2);
    ptl_sideband_free(sb);
}

/* Raw files apply as they are; another CPU's switches do not count. */
static void test_sources(void **state)
{
    struct ptl_sideband_config config = {.size = sizeof(config), .flags = PTL_SB_KEEP};
    struct ptl_sideband_source source = {.size = sizeof(source),
                                         .name = "secondary",
                                         .flags = PTL_SB_IN_ORDER,
                                         .layout = layout,
                                         .sysroot = dir};
    struct ptl_sb_record rec;
    struct ptl_sideband *sb;
    static const uint64_t order[] = {1, 2, 2, 3, 5, 4, 6};
    static const char *const names[] = {"primary", "secondary", "primary",  "secondary",
                                        "primary", "primary",   "secondary"};
    uint32_t index;
    size_t half;

    (void)state;
    in(2, 0, 20, 20);
    map(3, 10, 0x1000, 0, "one");
    map(6, 10, 0x2000, 0, "two");
    half = used;
    start(1, 0, 10);
    in(2, 0, 11, 11);
    in(5, 0, 10, 10);
    in(4, 0, 12, 12); /* out of order */
    assert_int_equal(ptl_sideband_new(&sb, &config), 0);
    assert_int_equal(ptl_sideband_source(sb, &source, &index), 0);
    assert_int_equal(ptl_sideband_add(sb, index, records, half, 0x100), 0);
    source.name = "primary";
    source.lanes = PTL_SB_LANE_FIXED;
    assert_int_equal(ptl_sideband_source(sb, &source, &index), 0);
    assert_int_equal(ptl_sideband_add(sb, index, records + half, used - half, 0), 0);
    assert_int_equal(ptl_sideband_finish(sb), 0);
    used = 0;

    for (size_t i = 0; i < COUNT(order); i++) {
        assert_int_equal(ptl_sideband_get(sb, i, &rec), 1);
        assert_int_equal(rec.time_tsc, order[i]);
        assert_string_equal(rec.source, names[i]);
        assert_int_equal(rec.have_time, 1);
    }
    assert_int_equal(ptl_sideband_get(sb, COUNT(order), &rec), 0);
    expect(sb, 0, 1, 10, 0x1000, 0);
    expect(sb, 0, 3, 11, 0x1000, 0);
    expect(sb, 0, 5, 12, 0x1000, 0); /* the last one told */
    ptl_sideband_free(sb);
}

/* --- switches ----------------------------------------------------------------------------------
 */

static void test_switches(void **state)
{
    struct ptl_sideband *sb;

    (void)state;
    map(1, 10, 0x1000, 0, "one");
    map(1, 20, 0x1000, 0, "two");
    start(2, 0, 10);
    start(2, 1, 20);
    out_wide(5, 0, 20, 22);
    in(6, 1, 10, 10);
    out_wide(7, 0, 0, 0); /* idle */
    out_wide(9, 0, 10, 11);
    sb = build(&per_cpu);
    expect(sb, 0, 4, 10, 0x1000, 1);
    expect(sb, 1, 4, 20, 0x1000, 2);
    expect(sb, 0, 5, 20, 0x1000, 2);
    expect(sb, 1, 6, 10, 0x1000, 1);
    expect(sb, 0, 7, 0, 0x1000, 0);
    expect(sb, 0, 9, 10, 0x1000, 1);
    expect(sb, 2, 9, UINT32_MAX, 0x1000, 0); /* a CPU nothing is told of */
    ptl_sideband_free(sb);
}

static void test_sched_switch(void **state)
{
    const struct ptl_layout sample = {.sample_type = PTL_SAMPLE_TID | PTL_SAMPLE_TIME |
                                                     PTL_SAMPLE_CPU | PTL_SAMPLE_RAW};
    struct ptl_record rec = {
        .type = PTL_REC_SAMPLE, .known = 1, .id = {.pid = 10, .tid = 10, .time = 5, .cpu = 3}};
    struct ptl_sideband_config config = {.size = sizeof(config)};
    struct ptl_sideband_source source = {
        .size = sizeof(source), .name = "test", .lanes = PTL_SB_LANE_CPU, .layout = layout};
    struct ptl_sideband *sb;
    uint8_t raw[68] = {0};
    uint32_t index, tid = 21;
    int n;

    (void)state;
    memcpy(raw + 56, &tid, 4);
    rec.u.sample.raw = (struct ptl_span){raw, sizeof(raw)};
    n = ptl_record_encode(records, sizeof(records), &rec, &sample);
    assert_true(n > 0);
    used = ((size_t)n + 7) & ~(size_t)7;
    task(1, PTL_REC_FORK, 20, 21, 20);
    assert_int_equal(ptl_sideband_new(&sb, &config), 0);
    assert_int_equal(ptl_sideband_source(sb, &source, &index), 0);
    assert_int_equal(
        ptl_sideband_add_record(sb, index, records, (size_t)n, 0, &sample, PTL_SB_SCHED_SWITCH), 0);
    assert_int_equal(ptl_sideband_add_record(sb, index, records + (((size_t)n + 7) & ~(size_t)7),
                                             used - (((size_t)n + 7) & ~(size_t)7), 0, &layout, 0),
                     0);
    assert_int_equal(ptl_sideband_finish(sb), 0);
    used = 0;
    expect(sb, 3, 4, UINT32_MAX, 0, 0);
    expect(sb, 3, 5, 20, 0, 0);
    ptl_sideband_free(sb);
}

/* A lane of a thread: begins with it, follows its exec, and its birth. */
static void test_per_thread(void **state)
{
    const struct setup setup = {.lanes = PTL_SB_LANE_TID, .tid = 20};
    struct ptl_sideband *sb;

    (void)state;
    map(1, 10, 0x1000, 0, "one");
    task(5, PTL_REC_FORK, 20, 20, 10);
    comm(7, 0, 20, 20, 1, "new");
    map(8, 20, 0x1000, 0, "two");
    sb = build(&setup);
    expect(sb, 20, 0, 20, 0x1000, 0);
    expect(sb, 20, 5, 20, 0x1000, 1);
    expect(sb, 20, 7, 20, 0x1000, 0);
    expect(sb, 20, 8, 20, 0x1000, 2);
    ptl_sideband_free(sb);
}

/* No time in the trace: rows apply where the AUX records say that the trace had got to. */
static void test_positions(void **state)
{
    const struct setup setup = {
        .lanes = PTL_SB_LANE_CPU, .flags = PTL_SB_POSITIONS, .position_lane = 1};
    struct ptl_sideband *sb;

    (void)state;
    start(10, 1, 10);
    map(11, 10, 0x1000, 0, "one");
    aux(20, 1, 0, 0x100, 0);
    aux(21, 0, 0, 0x7000, 0); /* another CPU's trace */
    map(25, 10, 0x1000, 0, "two");
    aux(30, 1, 0x100, 0x80, 0);
    map(35, 10, 0x1000, 0, "three");
    sb = build(&setup);
    expect(sb, 1, 0, 10, 0x1000, 1);
    expect(sb, 1, 0xff, 10, 0x1000, 1);
    expect(sb, 1, 0x100, 10, 0x1000, 2);
    expect(sb, 1, 0x180, 10, 0x1000, 3);
    ptl_sideband_free(sb);
}

static void test_names(void **state)
{
    struct ptl_sideband *sb;

    (void)state;
    comm(5, 0, 10, 11, 0, "later");
    comm(2, 0, 10, 10, 0, "first");
    comm(4, 0, 10, 10, 1, "second");
    comm(4, 0, 10, 10, 0, "third");
    sb = build(&per_cpu);
    assert_string_equal(ptl_sideband_comm(sb, 10, 0), "first"); /* better than nothing */
    assert_string_equal(ptl_sideband_comm(sb, 10, 3), "first");
    assert_string_equal(ptl_sideband_comm(sb, 10, 4), "third");
    assert_string_equal(ptl_sideband_comm(sb, 10, UINT64_MAX), "third");
    assert_string_equal(ptl_sideband_comm(sb, 11, 9), "later");
    assert_null(ptl_sideband_comm(sb, 12, 9));
    ptl_sideband_free(sb);
}

/* --- files ---------------------------------------------------------------------------------------
 */

static void test_name_kinds(void **state)
{
    static const struct {
        const char *name;
        uint8_t note, cause;
        int status;
        unsigned byte;
    } row[] = {
        {"one", PTL_SB_NOTE_NONE, 0, 0, 1},
        {"a name [with] blanks (and so on)", PTL_SB_NOTE_NONE, 0, 0, 4},
        {"no such file", PTL_SB_NOTE_ERROR, PTL_SB_CAUSE_MISSING, PTL_BAD_FILE, 0},
        {"one (deleted)", PTL_SB_NOTE_SECTION_LOST, PTL_SB_CAUSE_DELETED, 0, 0},
        {"//anon", PTL_SB_NOTE_SECTION_LOST, PTL_SB_CAUSE_ANONYMOUS, 0, 0},
        {"/memfd:code (deleted)", PTL_SB_NOTE_SECTION_LOST, PTL_SB_CAUSE_ANONYMOUS, 0, 0},
        {"[heap]", PTL_SB_NOTE_SECTION_LOST, PTL_SB_CAUSE_ANONYMOUS, 0, 0},
        {"[uprobes]", PTL_SB_NOTE_SECTION_LOST, PTL_SB_CAUSE_SPECIAL, 0, 0},
        {"[vdso]", PTL_SB_NOTE_ERROR, PTL_SB_CAUSE_VDSO, PTL_BAD_CONFIG, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(row); i++) {
        struct setup setup = {.lanes = PTL_SB_LANE_CPU, .flags = PTL_SB_KEEP};
        const struct ptl_sb_problem *problems;
        struct ptl_sb_record rec;
        struct ptl_sideband *sb;
        size_t count;

        start(1, 0, 10);
        map(2, 10, 0x1000, 0, "two");
        map(3, 10, 0x1000, 0, row[i].name);
        map(4, 10, 0x5000, 0, row[i].name);
        sb = build(&setup);
        expect(sb, 0, 5, 10, 0x1000, row[i].byte); /* in no case the old code */
        assert_int_equal(ptl_sideband_get(sb, 2, &rec), 1);
        assert_int_equal(rec.note, row[i].note);
        assert_int_equal(rec.status, row[i].status);
        problems = ptl_sideband_problems(sb, &count);
        assert_int_equal(count, row[i].note != PTL_SB_NOTE_NONE);
        if (count) {
            assert_int_equal(problems[0].cause, row[i].cause);
            assert_int_equal(problems[0].mappings, 2);
            assert_ptr_equal(ptl_sideband_why(sb, 10, 0x5000 + LEN - 1), problems);
        }
        assert_int_equal(ptl_sideband_why(sb, 10, 0x5000 + LEN)->cause, PTL_SB_CAUSE_UNKNOWN);
        ptl_sideband_free(sb);
    }
}

static void test_vdso(void **state)
{
    struct setup setup = {.lanes = PTL_SB_LANE_CPU};
    struct ptl_sideband *sb;
    char path[256];

    (void)state;
    snprintf(path, sizeof(path), "%s/three", dir);
    setup.vdso = path;
    start(1, 0, 10);
    map(2, 10, 0x7000, 0x10, "[vdso]"); /* pgoff means nothing there */
    sb = build(&setup);
    expect(sb, 0, 5, 10, 0x7000, 3);
    ptl_sideband_free(sb);

    setup.vdso = NULL;
    assert_int_equal(ptl_section_memory(&setup.own_vdso, "\x2a", 1, 1, "[vdso]"), 0);
    start(1, 0, 10);
    map(2, 10, 0x7000, 0x10, "[vdso]");
    sb = build(&setup);
    ptl_section_unref(setup.own_vdso);
    expect(sb, 0, 5, 10, 0x7000, 0x2a);
    ptl_sideband_free(sb);
}

/* A file that only has an ELF header and a note with the build id. */
static void write_elf(const char *path, const uint8_t id[20])
{
    uint8_t elf[64 + 56 + 36] = "\177ELF\2\1\1";
    static const uint8_t header[] = {3, 0, 62, 0, 1}, sizes[] = {64, 0, 56, 0, 1};
    static const uint8_t note[] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};
    FILE *file = fopen(path, "w");

    memcpy(elf + 16, header, sizeof(header));
    elf[32] = 64;                           /* e_phoff */
    memcpy(elf + 52, sizes, sizeof(sizes)); /* e_ehsize, e_phentsize, e_phnum */
    elf[64] = 4;                            /* PT_NOTE */
    elf[64 + 8] = 64 + 56;                  /* p_offset */
    elf[64 + 32] = elf[64 + 40] = 36;       /* p_filesz, p_memsz */
    elf[64 + 48] = 4;                       /* p_align */
    memcpy(elf + 120, note, sizeof(note));
    memcpy(elf + 136, id, 20);
    assert_non_null(file);
    assert_int_equal(fwrite(elf, sizeof(elf), 1, file), 1);
    fclose(file);
}

static void test_build_id(void **state)
{
    static const uint8_t right[20] = {0xab, 0xcd, 1, 2, 3}, wrong[20] = {0xab, 0xcd, 9};
    struct setup setup = {.lanes = PTL_SB_LANE_CPU, .buildid_dir = dir, .id = right};
    const struct ptl_sb_problem *problems;
    struct ptl_sideband *sb;
    char path[512], old[512];
    size_t count;

    (void)state;
    snprintf(path, sizeof(path), "%s/one", dir);
    snprintf(old, sizeof(old), "%s/one.old", dir);
    assert_int_equal(rename(path, old), 0);
    for (int i = 0; i < 3; i++) { /* right build; wrong build; wrong, but right one in the cache */
        write_elf(path, i == 0 ? right : wrong);
        if (i == 2) {
            snprintf(path, sizeof(path),
                     "mkdir -p %s/.build-id/ab/cd010203000000000000000000000000000000", dir);
            assert_int_equal(system(path), 0);
            snprintf(path, sizeof(path),
                     "%s/.build-id/ab/cd010203000000000000000000000000000000/elf", dir);
            write_elf(path, right);
            snprintf(path, sizeof(path), "%s/one", dir);
        }
        start(1, 0, 10);
        map(2, 10, 0x1000, 0, "one");
        sb = build(&setup);
        problems = ptl_sideband_problems(sb, &count);
        assert_int_equal(count, i == 1);
        if (count)
            assert_int_equal(problems[0].cause, PTL_SB_CAUSE_BUILD_ID);
        expect(sb, 0, 5, 10, 0x1000, i == 1 ? 0 : 0x7f);
        ptl_sideband_free(sb);
    }
    assert_int_equal(rename(old, path), 0);
}

static void test_losses(void **state)
{
    struct setup setup = {.lanes = PTL_SB_LANE_CPU, .flags = PTL_SB_KEEP | PTL_SB_NO_IMAGES};
    struct ptl_record lost = {.type = PTL_REC_LOST};
    struct ptl_sb_record rec;
    struct ptl_sideband *sb;

    (void)state;
    aux(1, 0, 0, 10, 0);
    aux(2, 0, 10, 10, PTL_AUX_TRUNCATED);
    put(&lost, 3, 0);
    map(4, 1, 0x1000, 0, "no such file"); /* nobody looks */
    memset(records + used, 0xee, 4);      /* cut: the end */
    used += 4;
    sb = build(&setup);
    assert_int_equal(ptl_sideband_get(sb, 0, &rec), 1);
    assert_int_equal(rec.note, PTL_SB_NOTE_NONE);
    assert_int_equal(ptl_sideband_get(sb, 1, &rec), 1);
    assert_string_equal(ptl_sb_note_text(&rec), "trace lost");
    assert_int_equal(ptl_sideband_get(sb, 2, &rec), 1);
    assert_string_equal(ptl_sb_note_text(&rec), "sideband lost");
    assert_int_equal(ptl_sideband_get(sb, 3, &rec), 1);
    assert_int_equal(rec.note, PTL_SB_NOTE_NONE);
    assert_int_equal(ptl_sideband_get(sb, 4, &rec), 0);
    ptl_sideband_free(sb);

    /* A record that its layout does not fit. */
    comm(1, 0, 1, 1, 0, "x");
    records[6] = 24; /* size */
    used = 24;
    sb = build(&setup);
    assert_int_equal(ptl_sideband_get(sb, 0, &rec), 1);
    assert_int_equal(rec.note, PTL_SB_NOTE_ERROR);
    assert_int_equal(rec.status, PTL_NOSYNC);
    ptl_sideband_free(sb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fork),       cmocka_unit_test(test_fork_chain),
        cmocka_unit_test(test_exec),       cmocka_unit_test(test_pid_reuse),
        cmocka_unit_test(test_made_up),    cmocka_unit_test(test_remap),
        cmocka_unit_test(test_order),      cmocka_unit_test(test_sources),
        cmocka_unit_test(test_switches),   cmocka_unit_test(test_sched_switch),
        cmocka_unit_test(test_per_thread), cmocka_unit_test(test_positions),
        cmocka_unit_test(test_names),      cmocka_unit_test(test_name_kinds),
        cmocka_unit_test(test_vdso),       cmocka_unit_test(test_build_id),
        cmocka_unit_test(test_losses),
    };
    return cmocka_run_group_tests(tests, setup_files, remove_files);
}
