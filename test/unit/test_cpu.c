/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cpu.c - flow/cpu.c: which processors have which errata, and "f/m[/s]". */
#include "unit.h"

#include <pt/cpu.h>

/* By erratum: the models of family 6 that have it, as the specification updates list them. */
static const struct {
    uint32_t erratum;
    uint8_t models[48];
} lists[] = {
    {PTL_ERR_BDM64, {61, 71, 79, 86}},
    {PTL_ERR_SKD007, {78, 94, 142, 158, 165, 166}},
    {PTL_ERR_SKD010, {78, 94, 142, 158, 165, 166}},
    {PTL_ERR_SKL168, {78, 94, 142, 158, 165, 166}},
    {PTL_ERR_SKL014, {78, 94, 142, 158, 165, 166, 85, 106, 108, 102, 125, 126, 140, 141, 167, 168}},
    {PTL_ERR_SKZ84, {85, 106, 108, 143, 207, 173, 174}},
    {PTL_ERR_SKD022,
     {78,  94,  142, 158, 165, 166, 85,  106, 108, 143, 207, 173, 174, 102, 125, 126, 140,
      141, 167, 168, 151, 154, 186, 183, 191, 197, 198, 181, 170, 172, 189, 204, 213}},
    {PTL_ERR_BDM70,
     {61,  71,  79,  86,  78,  94,  142, 158, 165, 166, 85,  106, 108, 143, 207, 173, 174, 102, 125,
      126, 140, 141, 167, 168, 151, 154, 186, 183, 191, 197, 198, 181, 170, 172, 189, 204, 213}},
    {PTL_ERR_APL11, {151, 154, 186, 183, 191, 197, 198, 181, 170, 172, 189,
                     204, 213, 92,  95,  122, 134, 150, 156, 182, 175, 221}},
    {PTL_ERR_APL12, {92, 95}},
    {PTL_ERR_APL_FUP_NLIP, {92}},
};

static void test_errata(void **state)
{
    (void)state;
    for (unsigned model = 0; model < 256; model++) {
        struct ptl_cpu cpu = {.family = 6, .model = (uint8_t)model};
        uint32_t want = 0, got = 0xffffffff;
        for (size_t i = 0; i < COUNT(lists); i++)
            if (model && memchr(lists[i].models, (int)model, sizeof(lists[i].models)))
                want |= lists[i].erratum;
        assert_int_equal(ptl_cpu_errata(&cpu, &got), want ? 0 : PTL_BAD_CPU);
        assert_int_equal(got, want);
    }
}

static void test_other_families(void **state)
{
    static const struct {
        uint16_t family;
        uint8_t model;
        uint32_t want;
    } rows[] = {
        {18, 1, PTL_ERR_BDM70 | PTL_ERR_SKD022 | PTL_ERR_APL11},
        {18, 3, PTL_ERR_BDM70 | PTL_ERR_SKD022 | PTL_ERR_APL11},
        {19, 1, PTL_ERR_BDM70 | PTL_ERR_SKD022 | PTL_ERR_SKZ84},
        {15, 0x5e, 0},
        {0, 0, 0},
        {19, 2, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct ptl_cpu cpu = {.family = rows[i].family, .model = rows[i].model};
        uint32_t got = 0xffffffff;
        assert_int_equal(ptl_cpu_errata(&cpu, &got), rows[i].want ? 0 : PTL_BAD_CPU);
        assert_int_equal(got, rows[i].want);
    }
}

static void test_parse(void **state)
{
    static const char *const bad[] = {"",        "6",    "6/",      "6/256",
                                      "6/1/256", "6/1/", "/1",      "6/1/2/3",
                                      "6 /1",    "6/ 1", "-6/1",    "6/-1",
                                      "6/1 ",    "x/1",  "65536/1", "6,1",
                                      "6/1x",    "6/0x", "6/1/2 ",  "99999999999999999999/1"};
    struct ptl_cpu cpu;
    (void)state;
    assert_int_equal(ptl_cpu_parse(&cpu, "6/0x5e/3"), 0);
    assert_int_equal(cpu.family, 6);
    assert_int_equal(cpu.model, 0x5e);
    assert_int_equal(cpu.stepping, 3);
    assert_int_equal(ptl_cpu_parse(&cpu, "19/010"), 0);
    assert_int_equal(cpu.family, 19);
    assert_int_equal(cpu.model, 8);
    assert_int_equal(cpu.stepping, 0);
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(ptl_cpu_parse(&cpu, bad[i]), PTL_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errata),
        cmocka_unit_test(test_other_families),
        cmocka_unit_test(test_parse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
