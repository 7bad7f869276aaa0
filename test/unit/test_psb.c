/* SPDX-License-Identifier: BSD-3-Clause */
/* test_psb.c - packet/psb.c against a naive search. */
#include "unit.h"

#include <pt/packet.h>

static const uint8_t psb[16] = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
                                0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82};

/* 16 bytes of PSB that are not followed by another pair: the last of their run. */
static int psb_at(const uint8_t *buf, size_t len, size_t at)
{
    return len - at >= 16 && !memcmp(buf + at, psb, 16) &&
           !(len - at >= 18 && buf[at + 16] == 0x02 && buf[at + 17] == 0x82);
}

static size_t naive_find(const uint8_t *buf, size_t len, size_t from)
{
    for (size_t at = from; at < len; at++)
        if (psb_at(buf, len, at))
            return at;
    return len;
}

static size_t naive_last(const uint8_t *buf, size_t len, size_t before)
{
    for (size_t at = before < len ? before : len; at-- > 0;)
        if (psb_at(buf, len, at))
            return at;
    return SIZE_MAX;
}

static void compare(const uint8_t *buf, size_t len)
{
    for (size_t i = 0; i <= len + 2; i++) {
        assert_int_equal(ptl_psb_find(buf, len, i), naive_find(buf, len, i));
        assert_int_equal(ptl_psb_find_last(buf, len, i), naive_last(buf, len, i));
    }
    assert_int_equal(ptl_psb_find_last(buf, len, SIZE_MAX), naive_last(buf, len, SIZE_MAX));
}

static void test_edges(void **state)
{
    uint8_t buf[128];
    (void)state;

    memcpy(buf, psb, 16);
    assert_int_equal(ptl_psb_find(buf, 16, 0), 0);
    assert_int_equal(ptl_psb_find(buf, 15, 0), 15); /* cut: none */
    assert_int_equal(ptl_psb_find(buf, 0, 0), 0);
    assert_int_equal(ptl_psb_find(buf, 16, 1), 16);
    assert_int_equal(ptl_psb_find_last(buf, 16, 0), SIZE_MAX);
    assert_int_equal(ptl_psb_find_last(buf, 16, 1), 0);
    assert_int_equal(ptl_psb_find_last(buf, 15, 16), SIZE_MAX);

    memcpy(buf + 16, psb, 16); /* two adjacent: the second */
    assert_int_equal(ptl_psb_find(buf, 32, 0), 16);
    assert_int_equal(ptl_psb_find(buf, 31, 0), 14);
    memset(buf + 32, 0, 16);
    assert_int_equal(ptl_psb_find(buf, 48, 0), 16);
    assert_int_equal(ptl_psb_find(buf, 48, 17), 48);
    assert_int_equal(ptl_psb_find_last(buf, 48, 48), 16);
    assert_int_equal(ptl_psb_find_last(buf, 48, 16), SIZE_MAX);
}

static void test_phases(void **state)
{
    uint8_t buf[96];
    (void)state;
    for (size_t run = 0; run <= 50; run++) {
        for (size_t at = 0; at <= 20; at++) {
            memset(buf, 0x82, sizeof(buf)); /* neighbours that look like half a pair */
            for (size_t i = 0; i < run; i++)
                buf[at + i] = psb[i & 1];
            compare(buf, at + run + 9);
        }
    }
}

static void test_random(void **state)
{
    uint64_t seed = 7;
    (void)state;
    for (unsigned n = 0; n < 3000; n++) {
        uint8_t buf[160];
        size_t len = (size_t)(rnd(&seed) % sizeof(buf)), at = 0;

        while (at < len) { /* stretches of pairs, broken by single bytes */
            size_t stretch = (size_t)(rnd(&seed) % 40);
            for (; stretch && at < len; stretch--, at++)
                buf[at] = at & 1 ? 0x82 : 0x02;
            if (at < len)
                buf[at++] = (uint8_t[]){0x02, 0x82, 0x00}[rnd(&seed) % 3];
        }
        compare(buf, len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
