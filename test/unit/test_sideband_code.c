/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_sideband_code.c - code that is in no file: the kernel patched while it ran, and what
 * JIT compilers wrote down.
 */
#include "sideband_unit.h"

static void poke(uint64_t time, uint64_t addr, const char *from, const char *to)
{
    struct ptl_record rec = {.type = PTL_REC_TEXT_POKE, .misc = PTL_MISC_KERNEL};

    rec.u.text_poke.addr = addr;
    rec.u.text_poke.old_bytes = (struct ptl_span){(const uint8_t *)from, strlen(from)};
    rec.u.text_poke.new_bytes = (struct ptl_span){(const uint8_t *)to, strlen(to)};
    put(&rec, time, 0);
}

/* --- the kernel, JIT
 * --------------------------------------------------------------------------------- */

static void test_text_poke(void **state)
{
    const uint64_t addr = 0xffffffff81000000;
    struct ptl_sideband *sb;

    (void)state;
    start(1, 0, 10);
    poke(5, addr, "abc", "def");
    poke(9, addr, "def", "ghi");
    poke(7, addr + 0x10, "x", "y");
    sb = build(&per_cpu);
    expect(sb, 0, 1, 10, addr + 1, 'b'); /* before the first: its old bytes */
    expect(sb, 0, 5, 10, addr + 1, 'e');
    expect(sb, 0, 9, 10, addr + 2, 'i');
    expect(sb, 0, 6, 10, addr + 0x10, 'x');
    expect(sb, 0, 7, 10, addr + 0x10, 'y');
    expect(sb, 3, 7, UINT32_MAX, addr + 0x10, 'y'); /* whoever runs */
    ptl_sideband_free(sb);
}

static void jit_put(FILE *file, const void *bytes, size_t n)
{
    assert_int_equal(fwrite(bytes, 1, n, file), n);
}

static void jit_load(FILE *file, uint64_t time, uint64_t addr, const char *name, const char *code)
{
    uint32_t head[2] = {0, (uint32_t)(16 + 40 + strlen(name) + 1 + strlen(code))};
    uint64_t body[5] = {10 | 10ull << 32, addr, addr, strlen(code), 0};

    jit_put(file, head, 8);
    jit_put(file, &time, 8);
    jit_put(file, body, 40);
    jit_put(file, name, strlen(name) + 1);
    jit_put(file, code, strlen(code));
}

static void test_jitdump(void **state)
{
    const uint32_t header[6] = {0x4a695444, 1, 40, 62, 0, 10};
    const uint64_t times[2] = {0, 1};
    const uint32_t move[2] = {1, 16 + 48};
    const uint64_t moved[7] = {20, 10 | 10ull << 32, 0x9000, 0x9000, 0xa000, 3, 0};
    struct ptl_sideband *sb;
    char path[256];
    FILE *file;

    (void)state;
    snprintf(path, sizeof(path), "%s/jit-10.dump", dir);
    file = fopen(path, "w");
    assert_non_null(file);
    jit_put(file, header, sizeof(header));
    jit_put(file, times, sizeof(times));
    jit_load(file, 8, 0x9000, "f", "abc");
    jit_load(file, 12, 0x9000, "g", "xyz"); /* the place is used again */
    jit_put(file, move, sizeof(move));
    jit_put(file, moved, sizeof(moved));
    fclose(file);

    start(1, 0, 10);
    map(5, 10, 0x3000, 0, "jit-10.dump");
    map(10, 10, 0x9000, 0, "//anon"); /* now executable: no new code */
    sb = build(&per_cpu);
    expect(sb, 0, 7, 10, 0x9000, 0);
    expect(sb, 0, 8, 10, 0x9001, 'b');
    expect(sb, 0, 11, 10, 0x9001, 'b');
    expect(sb, 0, 12, 10, 0x9001, 'y');
    expect(sb, 0, 19, 10, 0xa001, 0);
    expect(sb, 0, 20, 10, 0xa001, 'y');
    ptl_sideband_free(sb);
}

static FILE *jit_open(void)
{
    const uint32_t header[6] = {0x4a695444, 1, 40, 62, 0, 10};
    const uint64_t times[2] = {0, 1};
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s/jit-10.dump", dir);
    file = fopen(path, "w");
    assert_non_null(file);
    jit_put(file, header, sizeof(header));
    jit_put(file, times, sizeof(times));
    return file;
}

static void jit_move(FILE *file, uint64_t time, uint64_t from, uint64_t to, uint64_t size)
{
    const uint32_t head[2] = {1, 16 + 48};
    const uint64_t body[7] = {time, 10 | 10ull << 32, from, from, to, size, 0};

    jit_put(file, head, sizeof(head));
    jit_put(file, body, sizeof(body));
}

/* More is moved than there is: what was at the place before is not what is moved. */
static void test_jit_moved_more(void **state)
{
    FILE *file = jit_open();
    struct ptl_sideband *sb;

    (void)state;
    jit_load(file, 8, 0x9000, "f", "abcd");
    jit_load(file, 12, 0x9000, "g", "xyz");
    jit_move(file, 20, 0x9000, 0xa000, 4);
    jit_move(file, 21, 0x9000, 0xb000, 2);
    fclose(file);
    start(1, 0, 10);
    map(5, 10, 0x3000, 0, "jit-10.dump");
    sb = build(&per_cpu);
    expect(sb, 0, 30, 10, 0xa001, 0);
    expect(sb, 0, 30, 10, 0xb001, 'y');
    ptl_sideband_free(sb);
}

/* Code of several files, and not in the order of time. */
static void test_jit_order(void **state)
{
    FILE *file = jit_open();
    struct ptl_sideband *sb;
    char code[2] = {0};

    (void)state;
    for (unsigned i = 0; i < 64; i++) { /* times 10 ... 73, shuffled */
        code[0] = (char)(' ' + (i * 37) % 64);
        jit_load(file, 10 + (i * 37) % 64, 0x9000, "f", code);
    }
    fclose(file);
    start(1, 0, 10);
    map(5, 10, 0x3000, 0, "jit-10.dump");
    map(6, 10, 0x3000, 0, "/jit-10.dump");
    map(40, 10, 0x3000, 0, "/./jit-10.dump");
    sb = build(&per_cpu);
    for (unsigned i = 0; i < 64; i++)
        expect(sb, 0, 10 + i, 10, 0x9000, ' ' + i);
    ptl_sideband_free(sb);
}

#define MANY 30000

/* --- many of each: that all are right, and limits are told. How long it takes is not judged. -----
 */

static void test_jit_many(void **state)
{
    FILE *file = jit_open();
    struct ptl_sideband *sb;

    (void)state;
    for (unsigned i = 0; i < MANY; i++)
        jit_load(file, 8, 0x10000 + 16 * i, "f", "z");
    for (unsigned i = 0; i < MANY; i++)
        jit_move(file, 9, 1, 0x9000, 1);
    fclose(file);
    start(1, 0, 10);
    map(5, 10, 0x3000, 0, "jit-10.dump");
    sb = build(&per_cpu);
    expect(sb, 0, 30, 10, 0x10000 + 16 * (MANY - 1), 'z');
    ptl_sideband_free(sb);
}

/* Any number of processes may map one file of code: there is a limit to what they get of it. */
static void test_jit_mapped_often(void **state)
{
    const struct ptl_sb_problem *problems;
    FILE *file = jit_open();
    struct ptl_sideband *sb;
    size_t count;

    (void)state;
    for (unsigned i = 0; i < MANY; i++)
        jit_load(file, 8, 0x10000 + 16 * i, "f", "z");
    fclose(file);
    start(1, 0, 10);
    for (uint32_t i = 0; i < 500; i++) /* 15 million pieces of code, more than the limit */
        map(5, 10 + i, 0x3000, 0, "jit-10.dump");
    sb = build(&per_cpu);
    expect(sb, 0, 30, 10, 0x10000, 'z');
    problems = ptl_sideband_problems(sb, &count);
    assert_int_equal(count, 1);
    assert_non_null(strstr(problems->name, "jit-10.dump"));
    assert_int_equal(problems->cause, PTL_SB_CAUSE_MISSING);
    ptl_sideband_free(sb);
}

/* Files of one name and many builds, many names, and ids for names. */
static void test_many_names(void **state)
{
    const struct ptl_sideband_config config = {.size = sizeof(config)};
    const struct ptl_sideband_source source = {
        .size = sizeof(source), .name = "test", .layout = layout, .sysroot = dir};
    struct ptl_record rec = {.type = PTL_REC_MMAP2};
    uint8_t id[20] = {0}, *bytes = malloc((size_t)MANY * 2 * 160);
    struct ptl_sideband *sb;
    uint32_t index;
    size_t count, len = 0;
    char name[32];

    (void)state;
    assert_non_null(bytes);
    assert_int_equal(ptl_sideband_new(&sb, &config), 0);
    assert_int_equal(ptl_sideband_source(sb, &source, &index), 0);
    for (unsigned i = 0; i < 2 * MANY; i++) {
        int n, same = i % 2 == 0;

        snprintf(name, sizeof(name), same ? "/x" : "/y%u", i);
        memcpy(id, &i, sizeof(i));
        rec.known = 1;
        rec.misc = PTL_MISC_USER | (same ? PTL_MISC_MMAP_BUILD_ID : 0);
        rec.u.mmap = (struct ptl_rec_mmap){.pid = 10,
                                           .tid = 10,
                                           .addr = 0x3000,
                                           .len = LEN,
                                           .build_id_size = 20,
                                           .filename = name};
        memcpy(rec.u.mmap.build_id, id, sizeof(id));
        n = ptl_record_encode(bytes + len, 160, &rec, &layout);
        assert_true(n > 0);
        assert_int_equal(ptl_sideband_add_record(sb, index, bytes + len, (size_t)n, 0, NULL, 0), 0);
        len += (size_t)n;
        snprintf(name, sizeof(name), "/z%u", i);
        assert_int_equal(ptl_sideband_build_id(sb, name, id, sizeof(id)), 0);
    }
    assert_int_equal(ptl_sideband_finish(sb), 0);
    (void)ptl_sideband_problems(sb, &count);
    assert_int_equal(count, 1 + MANY);
    ptl_sideband_free(sb);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_poke),      cmocka_unit_test(test_jitdump),
        cmocka_unit_test(test_jit_moved_more), cmocka_unit_test(test_jit_order),
        cmocka_unit_test(test_jit_many),       cmocka_unit_test(test_jit_mapped_often),
        cmocka_unit_test(test_many_names),
    };
    return cmocka_run_group_tests(tests, setup_files, remove_files);
}
