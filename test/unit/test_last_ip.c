/* SPDX-License-Identifier: BSD-3-Clause */
/* test_last_ip.c - packet/last_ip.c: the rows of the SDM's IP compression table. */
#include "unit.h"

#include <pt/packet.h>

static void test_update(void **state)
{
    static const struct {
        uint64_t last;
        uint8_t ipc;
        uint64_t payload, want;
    } rows[] = {
        {0x1122334455667788, PTL_IPC_UPDATE_16, 0xabcd, 0x112233445566abcd},
        {0x1122334455667788, PTL_IPC_UPDATE_32, 0xabcdef01, 0x11223344abcdef01},
        {0x1122334455667788, PTL_IPC_UPDATE_48, 0xabcdef012345, 0x1122abcdef012345},
        {0x1122334455667788, PTL_IPC_SEXT_48, 0x7bcdef012345, 0x00007bcdef012345},
        {0x1122334455667788, PTL_IPC_SEXT_48, 0x8bcdef012345, 0xffff8bcdef012345},
        {0x1122334455667788, PTL_IPC_FULL, 0xdeadbeefdeadbeef, 0xdeadbeefdeadbeef},
        {0, PTL_IPC_UPDATE_16, 0x1234, 0x1234}, /* after PSB: against zero */
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct ptl_last_ip last = {.ip = rows[i].last, .suppressed = 1};
        assert_int_equal(ptl_last_ip_update(&last, rows[i].ipc, rows[i].payload), 0);
        assert_int_equal(last.ip, rows[i].want);
        assert_int_equal(last.have_ip, 1);
        assert_int_equal(last.suppressed, 0);
    }
}

static void test_suppressed(void **state)
{
    struct ptl_last_ip last = {0};
    (void)state;
    assert_int_equal(ptl_last_ip_update(&last, PTL_IPC_SUPPRESSED, 0), 0);
    assert_int_equal(last.have_ip, 0);
    assert_int_equal(last.suppressed, 1);
    assert_int_equal(ptl_last_ip_update(&last, PTL_IPC_FULL, 0x1000), 0);
    assert_int_equal(ptl_last_ip_update(&last, PTL_IPC_SUPPRESSED, 0), 0);
    assert_int_equal(last.ip, 0x1000);
    assert_int_equal(last.have_ip, 1);
    assert_int_equal(last.suppressed, 1);
}

static void test_reserved(void **state)
{
    struct ptl_last_ip last = {.ip = 0x1000, .have_ip = 1};
    (void)state;
    assert_int_equal(ptl_last_ip_update(&last, 5, 0), PTL_BAD_PACKET);
    assert_int_equal(ptl_last_ip_update(&last, 7, 0), PTL_BAD_PACKET);
    assert_int_equal(ptl_last_ip_update(&last, 8, 0), PTL_BAD_PACKET);
    assert_int_equal(last.ip, 0x1000);
    assert_int_equal(last.suppressed, 0);
}

/* update(compress(ip)) = ip, and no shorter form would do. */
static void test_compress(void **state)
{
    static const unsigned bytes[8] = {0, 2, 4, 6, 6, 0, 8, 0};
    static const uint8_t forms[] = {PTL_IPC_UPDATE_16, PTL_IPC_UPDATE_32, PTL_IPC_SEXT_48,
                                    PTL_IPC_UPDATE_48};
    uint64_t seed = 3;
    (void)state;
    for (unsigned n = 0; n < 100000; n++) {
        uint64_t from = rnd(&seed), ip = from ^ rnd(&seed) >> (rnd(&seed) & 63), payload;
        struct ptl_last_ip last = {.ip = from, .have_ip = 1}, again = last;
        enum ptl_ip_compression ipc;

        if (n & 1) /* a canonical address */
            ip = (uint64_t)((int64_t)(ip << 16) >> 16);
        ipc = ptl_last_ip_compress(&last, ip, &payload);
        assert_int_equal(ptl_last_ip_update(&again, (uint8_t)ipc, payload), 0);
        assert_int_equal(again.ip, ip);
        assert_true(bytes[ipc] == 8 || payload >> (8 * bytes[ipc]) == 0);
        for (size_t i = 0; i < COUNT(forms); i++) {
            again = last;
            if (bytes[forms[i]] >= bytes[ipc])
                continue;
            assert_int_equal(ptl_last_ip_update(&again, forms[i], ip), 0);
            assert_int_not_equal(again.ip, ip);
        }
    }
}

/* As hardware does it: no short form of a low address behind a PSB. */
static void test_compress_first(void **state)
{
    struct ptl_last_ip last = {0};
    uint64_t payload;
    (void)state;
    assert_int_equal(ptl_last_ip_compress(&last, 0x42ec9f, &payload), PTL_IPC_SEXT_48);
    assert_int_equal(payload, 0x42ec9f);
    assert_int_equal(ptl_last_ip_compress(&last, 0, &payload), PTL_IPC_SEXT_48);
    assert_int_equal(ptl_last_ip_compress(&last, 1ull << 60, &payload), PTL_IPC_FULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_update),         cmocka_unit_test(test_suppressed),
        cmocka_unit_test(test_reserved),       cmocka_unit_test(test_compress),
        cmocka_unit_test(test_compress_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
