/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_insn.c - the rows of insn_rows.h, targets, and what bad arguments get.
 *
 * Each row is decoded with bytes after it (the fast path), cut to every shorter length
 * (PTL_EOS), and with exactly its own bytes.
 */
#include "insn_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t from_hex(uint8_t *out, const char *hex)
{
    size_t n = 0;
    for (char *end; *hex; hex = end)
        out[n++] = (uint8_t)strtoul(hex, &end, 16);
    return n;
}

static void check_fields(const struct row *r, const struct ptl_insn *insn, int mode)
{
    if (insn->size != r->size || insn->iclass != r->iclass || insn->kind != r->kind ||
        insn->disp != r->disp || insn->mode != mode)
        fail_msg("%s mode %d: size %d class %d kind %d disp %lld", r->hex, mode, insn->size,
                 insn->iclass, insn->kind, (long long)insn->disp);
}

static void check_row(const struct row *r, enum ptl_exec_mode mode)
{
    uint8_t bytes[40];
    struct ptl_insn insn;
    size_t n;
    int size;
    memset(bytes, 0xcc, sizeof(bytes));
    n = from_hex(bytes, r->hex);
    size = ptl_insn_decode(&insn, bytes, sizeof(bytes), mode);
    if (size != r->size)
        fail_msg("%s mode %d: %d instead of %d", r->hex, (int)mode, size, r->size);
    if (size < 0)
        return;
    assert_int_equal((size_t)size, n);
    check_fields(r, &insn, (int)mode);
    memset(&insn, 0xff, sizeof(insn));
    assert_int_equal(ptl_insn_decode(&insn, bytes, n, mode), size);
    check_fields(r, &insn, (int)mode);
    while (n--)
        if (ptl_insn_decode(&insn, bytes, n, mode) != PTL_EOS)
            fail_msg("%s mode %d cut to %zu bytes is not \"end\"", r->hex, (int)mode, n);
}

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (unsigned mode = 0; mode < 3; mode++)
            if (rows[i].modes & 1u << mode)
                check_row(&rows[i], (enum ptl_exec_mode)(PTL_MODE_16 + mode));
}

#define ROWS_TEST(rows)                                                                            \
    static void test_##rows(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        check_rows(rows, sizeof(rows) / sizeof((rows)[0]));                                        \
    }
ROWS_TEST(branches)
ROWS_TEST(bound)
ROWS_TEST(lengths)
ROWS_TEST(vectors)

static struct ptl_insn decode(const char *hex, enum ptl_exec_mode mode)
{
    uint8_t bytes[16];
    struct ptl_insn insn;
    size_t n = from_hex(bytes, hex);
    assert_int_equal(ptl_insn_decode(&insn, bytes, n, mode), (int)n);
    return insn;
}

static uint64_t target(const char *hex, enum ptl_exec_mode mode, uint64_t ip)
{
    struct ptl_insn insn = decode(hex, mode);
    return ptl_insn_target(&insn, ip);
}

static void test_target(void **state)
{
    (void)state;
    assert_int_equal(target("eb fe", PTL_MODE_64, 0x401000), 0x401000);
    assert_int_equal(target("e8 00 00 00 80", PTL_MODE_64, 0x10), 0xffffffff80000015);
    assert_int_equal(target("eb 00", PTL_MODE_64, 0xfffffffffffffffe), 0);
    /* 66 does not cut a 64-bit target */
    assert_int_equal(target("66 e9 00 00 00 00", PTL_MODE_64, 0x123456), 0x12345c);
    assert_int_equal(target("66 eb fe", PTL_MODE_64, 0x123456), 0x123457);
    assert_int_equal(target("e9 00 00 00 00", PTL_MODE_32, 0xfffffffe), 3);
    assert_int_equal(target("66 e9 00 00", PTL_MODE_32, 0x123456), 0x345a);
    assert_int_equal(target("66 75 00", PTL_MODE_32, 0x123456), 0x3459);
    assert_int_equal(target("e9 00 00", PTL_MODE_16, 0xfffe), 1);
    assert_int_equal(target("eb 10", PTL_MODE_16, 0xfff0), 2);
    assert_int_equal(target("66 e9 00 00 00 00", PTL_MODE_16, 0x1fffe), 0x20004);
    assert_int_equal(target("d5 00 a1 08 07 06 05 04 03 02 01", PTL_MODE_64, 0x1000),
                     0x0102030405060708);
}

/* Only near branches are cut to 16 bits. */
static void test_opsize16(void **state)
{
    static const char *const near[] = {"ff d0", "ff e0", "c3", "eb fe", "75 fe", "e2 fe"};
    (void)state;
    for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
        char with66[32];
        snprintf(with66, sizeof(with66), "66 %s", near[i]);
        assert_int_equal(decode(near[i], PTL_MODE_16).opsize16, 1);
        assert_int_equal(decode(with66, PTL_MODE_16).opsize16, 0);
        assert_int_equal(decode(near[i], PTL_MODE_32).opsize16, 0);
        assert_int_equal(decode(with66, PTL_MODE_32).opsize16, 1);
        assert_int_equal(decode(near[i], PTL_MODE_64).opsize16, 0);
        assert_int_equal(decode(with66, PTL_MODE_64).opsize16, 0);
    }
    assert_int_equal(decode("90", PTL_MODE_16).opsize16, 0);
    assert_int_equal(decode("cc", PTL_MODE_16).opsize16, 0);
    assert_int_equal(decode("66 cf", PTL_MODE_32).opsize16, 0);
}

static void test_arguments(void **state)
{
    static const uint8_t nop[16] = {0x90};
    uint8_t prefixes[14];
    struct ptl_insn insn;
    (void)state;
    memset(prefixes, 0x66, sizeof(prefixes));
    assert_int_equal(ptl_insn_decode(&insn, nop, sizeof(nop), PTL_MODE_UNKNOWN), PTL_INVALID);
    assert_int_equal(ptl_insn_decode(&insn, nop, sizeof(nop), (enum ptl_exec_mode)4), PTL_INVALID);
    assert_int_equal(ptl_insn_decode(&insn, nop, 0, PTL_MODE_64), PTL_EOS);
    assert_int_equal(ptl_insn_decode(&insn, nop, 0, PTL_MODE_16), PTL_EOS);
    /* 14 prefixes may still become an instruction. */
    assert_int_equal(ptl_insn_decode(&insn, prefixes, sizeof(prefixes), PTL_MODE_64), PTL_EOS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_branches),  cmocka_unit_test(test_bound),
        cmocka_unit_test(test_lengths),   cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_target),    cmocka_unit_test(test_opsize16),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
