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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_poke),
        cmocka_unit_test(test_jitdump),
    };
    return cmocka_run_group_tests(tests, setup_files, remove_files);
}
