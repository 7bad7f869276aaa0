/* SPDX-License-Identifier: BSD-3-Clause */
/* test_perf_other.c - ptcapture: the events whose samples carry trace. */
#include "unit.h"

#include "../../ptcapture/perf_other.c" /* NOLINT(bugprone-suspicious-include): part of a program */

static int parse(struct perf_events *events, const char *text, uint64_t size)
{
    memset(events, 0, sizeof(*events));
    return perf_other_parse(events, text, size);
}

static void numbers_that_fit(void **state)
{
    struct perf_events events;

    (void)state;
    assert_int_equal(parse(&events, "cpu-clock/period=100000/u", 4096), 0);
    assert_int_equal(events.attr.sample_period, 100000);
    assert_false(events.attr.flags & PTL_ATTR_FREQ);
    assert_true(events.attr.flags & PTL_ATTR_EXCLUDE_KERNEL);
    assert_int_equal(parse(&events, "cycles/freq=0x10/", 1), 0);
    assert_int_equal(events.attr.sample_period, 16);
    assert_int_equal(events.attr.aux_sample_size, 8); /* a multiple of 8 */
    assert_int_equal(parse(&events, "rffffffffffffffff", 60 * 1024), 0);
    assert_int_equal(events.attr.config, UINT64_MAX);
}

static void other_numbers(void **state)
{
    static const char *const bad[] = {"r",
                                      "r-5",
                                      "r 5",
                                      "r10000000000000000",
                                      "cycles/period=-1/",
                                      "cycles/period=/",
                                      "cycles/period=0/",
                                      "cycles/period=1",
                                      "cycles/freq=18446744073709551616/"};
    struct perf_events events;

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        if (!parse(&events, bad[i], 4096))
            fail_msg("%s was taken", bad[i]);
    assert_int_equal(parse(&events, "cycles", 60 * 1024 + 1), -1);
    assert_int_equal(parse(&events, "cycles", UINT64_C(1) << 32), -1);
    assert_int_equal(parse(&events, "cycles", UINT64_MAX), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_that_fit),
        cmocka_unit_test(other_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
