/* SPDX-License-Identifier: BSD-3-Clause */
/* test_pool.c - memory in pieces: zeroed, apart from each other, used again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first. */
#include "base/pool.h"
#include "fault.h"

#include <cmocka.h>
#include <string.h>

static int is_zero(const unsigned char *p, size_t size)
{
    while (size && !p[size - 1])
        size--;
    return !size;
}

static void test_sizes(void **state)
{
    (void)state;
    assert_int_equal(ptl__pool_size(0), POOL_PAGE);
    assert_int_equal(ptl__pool_size(1), POOL_PAGE);
    assert_int_equal(ptl__pool_size(POOL_PAGE), POOL_PAGE);
    assert_int_equal(ptl__pool_size(POOL_PAGE + 1), 2 * POOL_PAGE);
    assert_int_equal(ptl__pool_size(2 * POOL_PAGE), 2 * POOL_PAGE);
    assert_int_equal(ptl__pool_size(5 * POOL_PAGE), 8 * POOL_PAGE);
    assert_int_equal(ptl__pool_size(SIZE_MAX), 0);
}

/* Sizes below, at and above what the kernel gives at a time. */
static void test_pieces(void **state)
{
    static const size_t sizes[] = {100,     4096,    4097,    65536,   1 << 20, (1 << 20) + 1,
                                   1 << 20, 2 << 20, 3 << 20, 8 << 20, 1,       300000};
    enum { N = sizeof(sizes) / sizeof(sizes[0]) };
    struct ptl__pool pool = {0};
    unsigned char *pieces[N];

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < N; i++) {
            pieces[i] = ptl__pool_get(&pool, sizes[i]);
            assert_non_null(pieces[i]);
            assert_true(is_zero(pieces[i], sizes[i]));
            memset(pieces[i], (int)(i + 1), sizes[i]);
        }
        for (size_t i = 0; i < N; i++) { /* nobody else's */
            assert_int_equal(pieces[i][0], i + 1);
            assert_int_equal(pieces[i][sizes[i] - 1], i + 1);
            assert_int_equal(pieces[i][sizes[i] / 2], i + 1);
        }
        for (size_t i = N; i-- > 0;)
            ptl__pool_put(&pool, pieces[i], sizes[i]);
        ptl__pool_put(&pool, NULL, 4096);
    }
    ptl__pool_free(&pool);
    ptl__pool_free(&pool); /* an empty one */
}

/* What is put back is what comes next: memory does not grow. */
static void test_again(void **state)
{
    struct ptl__pool pool = {0};
    size_t regions = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        void *a = ptl__pool_get(&pool, 1 << 20), *b = ptl__pool_get(&pool, 4096);
        assert_true(a && b);
        if (i == 0)
            regions = pool.count;
        ptl__pool_put(&pool, a, 1 << 20);
        ptl__pool_put(&pool, b, 4096);
    }
    assert_int_equal(pool.count, regions);
    ptl__pool_free(&pool);
}

static void test_none(void **state)
{
    struct ptl__pool pool = {0};
    void *p;

    (void)state;
    assert_null(ptl__pool_get(&pool, SIZE_MAX));
    assert_null(ptl__pool_get(&pool, SIZE_MAX / 4));
    for (unsigned kind = FAULT_MEMORY; kind; kind = kind == FAULT_MEMORY ? FAULT_FILES : 0) {
        fault_arm(kind, 1);
        p = ptl__pool_get(&pool, 8 << 20);
        if (fault_disarm())
            assert_null(p);
        ptl__pool_put(&pool, p, 8 << 20);
    }
    p = ptl__pool_get(&pool, 8 << 20); /* it goes on after that */
    assert_non_null(p);
    assert_true(is_zero(p, 8 << 20));
    ptl__pool_put(&pool, p, 8 << 20);
    ptl__pool_free(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
