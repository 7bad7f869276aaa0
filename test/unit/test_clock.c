/* SPDX-License-Identifier: BSD-3-Clause */
/* test_clock.c - clock/: worked examples of the formulas, by hand from the SDM's description. */
#include "unit.h"

#include <pt/clock.h>
#include <pt/cpu.h>

/* --- making packets ----------------------------------------------------------------- */

#define TSC(v)    ((struct ptl_packet){.type = PTL_PKT_TSC, .payload.tsc = {v}})
#define TMA(c, f) ((struct ptl_packet){.type = PTL_PKT_TMA, .payload.tma = {c, f}})
#define MTC(c)    ((struct ptl_packet){.type = PTL_PKT_MTC, .payload.mtc = {c}})
#define CYC(v)    ((struct ptl_packet){.type = PTL_PKT_CYC, .payload.cyc = {v}})
#define CBR(r)    ((struct ptl_packet){.type = PTL_PKT_CBR, .payload.cbr = {r}})
#define PSB       ((struct ptl_packet){.type = PTL_PKT_PSB})
#define PSBEND    ((struct ptl_packet){.type = PTL_PKT_PSBEND})
#define OVF       ((struct ptl_packet){.type = PTL_PKT_OVF})

struct step {
    struct ptl_packet packet;
    uint64_t tsc;  /* the estimate after it */
    int calibrate; /* what the two calls return */
    int update;
};

static void run(const struct ptl_clock_config *config, const struct step *steps, size_t n)
{
    struct ptl_clock clock;
    int in_psb = 0;

    ptl_clock_init(&clock, config);
    for (size_t i = 0; i < n; i++) {
        uint64_t tsc = 0;
        assert_int_equal(ptl_clock_calibrate(&clock, &steps[i].packet, in_psb), steps[i].calibrate);
        assert_int_equal(ptl_clock_update(&clock, &steps[i].packet), steps[i].update);
        (void)!ptl_clock_query(&clock, &tsc, NULL, NULL);
        if (tsc != steps[i].tsc)
            print_error("step %zu\n", i);
        assert_int_equal(tsc, steps[i].tsc);
        if (steps[i].packet.type == PTL_PKT_PSB)
            in_psb = 1;
        if (steps[i].packet.type == PTL_PKT_PSBEND)
            in_psb = 0;
    }
}

#define RUN(config, ...)                                                                           \
    do {                                                                                           \
        const struct step steps[] = {__VA_ARGS__};                                                 \
        run(&(config), steps, COUNT(steps));                                                       \
    } while (0)

/* --- TSC, TMA, MTC -------------------------------------------------------------------- */

/* 100 TSC ticks per crystal tick, an MTC every 16 crystal ticks. TMA: CTC 0x1234, the last tick
 * 0x10 TSC ticks ago. MTC 0x24 = CTC 0x240, 12 ticks after 0x234: 100000 - 16 + 12 * 100. */
static void test_tma_mtc(void **state)
{
    const struct ptl_clock_config config = {
        .mtc_freq = 4, .cpuid_15_eax = 2, .cpuid_15_ebx = 200, .nom_freq = 10};
    (void)state;
    RUN(config, {TSC(100000), 100000, 0, 0}, {TMA(0x1234, 0x10), 100000, 0, 0},
        {MTC(0x24), 101184, 0, 0});
    /* With the core at twice the nominal ratio: half a tick per cycle. */
    RUN(config, {PSB, 0, 0, 0}, {CBR(20), 0, 0, 0}, {TSC(100000), 100000, 0, 0},
        {TMA(0x1234, 0x10), 100000, 0, 0}, {PSBEND, 100000, 0, 0}, {MTC(0x24), 101184, 0, 0},
        {CYC(100), 101234, 0, 0});
}

static void test_mtc_wraps(void **state)
{
    const struct ptl_clock_config config = {.mtc_freq = 0, .cpuid_15_eax = 1, .cpuid_15_ebx = 3};
    (void)state;
    RUN(config, {TSC(1000), 1000, 0, 0}, {TMA(0xfe, 0), 1000, 0, 0}, {MTC(0xff), 1003, 0, 0},
        {MTC(0x01), 1009, 0, 0},  /* one wrap: two ticks */
        {MTC(0x01), 1009, 0, 0},  /* the same again: nothing */
        {MTC(0x00), 1774, 0, 0}); /* 255 ticks */
}

/* Ratio 4/3: truncated per MTC, never rounded. */
static void test_ratio_truncates(void **state)
{
    const struct ptl_clock_config config = {.mtc_freq = 0, .cpuid_15_eax = 3, .cpuid_15_ebx = 4};
    (void)state;
    RUN(config, {TSC(0), 0, 0, 0}, {TMA(0, 0), 0, 0, 0}, {MTC(1), 1, 0, 0}, {MTC(2), 2, 0, 0},
        {MTC(5), 6, 0, 0});
}

/* N = 12: CTC has 20 bits, TMA tells 16. 0xf020 lies below MTC 0xa0 = 0xa0000: 0x9f020. */
static void test_wide_ctc(void **state)
{
    const struct ptl_clock_config config = {.mtc_freq = 12, .cpuid_15_eax = 2, .cpuid_15_ebx = 1};
    (void)state;
    RUN(config, {TSC(0xa0018), 0xa0018, 0, 0}, {TMA(0xf020, 8), 0xa0018, 0, 0},
        {MTC(0xa0), 0xa0800, 0, 0}, {MTC(0xa1), 0xa1000, 0, 0});
    /* The lower half lies above: no borrow. 0x0020 -> MTC 0xa1 = 0xa1000: 0xa0020. */
    RUN(config, {TSC(0xa0018), 0xa0018, 0, 0}, {TMA(0x0020, 8), 0xa0018, 0, 0},
        {MTC(0xa1), 0xa0010 + 0xfe0 / 2, 0, 0});
    /* The borrow wraps at the top: MTC 0 = 0x00000 after 0xff020. */
    RUN(config, {TSC(0xa0018), 0xa0018, 0, 0}, {TMA(0xf020, 8), 0xa0018, 0, 0},
        {MTC(0x00), 0xa0010 + 0xfe0 / 2, 0, 0});
}

/* Between TSC and TMA an MTC cannot be related to the TSC; without a TSC time counts from 0. */
static void test_mtc_context(void **state)
{
    const struct ptl_clock_config config = {.mtc_freq = 8, .cpuid_15_eax = 1, .cpuid_15_ebx = 4};
    (void)state;
    RUN(config, {TSC(0xa0000), 0xa0000, 0, 0}, {MTC(0xc1), 0xa0000, 0, 0},
        {TMA(0xc2d2, 0xe), 0xa0000, 0, 0}, {MTC(0xc3), 0xa0000 - 0xe + 4 * 0x2e, 0, 0});
    RUN(config, {MTC(0xc1), 0, 0, 0}, {MTC(0xc2), 0x400, 0, 0}, {MTC(0xc4), 0xc00, 0, 0});
}

static void test_errors(void **state)
{
    const struct ptl_clock_config none = {.mtc_freq = 3};
    struct ptl_clock clock;
    uint32_t lost_mtc, lost_cyc;
    (void)state;
    RUN(none, {TMA(1, 1), 0, 0, PTL_BAD_CONTEXT}, {TSC(7), 7, 0, 0}, {TMA(1, 1), 7, 0, 0},
        {TMA(1, 1), 7, 0, PTL_BAD_CONTEXT}, {MTC(5), 7, 0, PTL_BAD_CONFIG},
        {CYC(5), 7, 0, PTL_NO_TIME}, {CBR(0), 7, PTL_BAD_PACKET, 0}, {TSC(9), 9, 0, 0});

    ptl_clock_init(&clock, &none);
    assert_int_equal(ptl_clock_query(&clock, NULL, NULL, NULL), PTL_NO_TIME);
    assert_int_equal(ptl_clock_update(&clock, &TSC(1)), 0);
    assert_int_equal(ptl_clock_update(&clock, &TMA(1, 1)), 0);
    assert_int_equal(ptl_clock_update(&clock, &CYC(1)), PTL_NO_TIME);
    assert_int_equal(ptl_clock_update(&clock, &CYC(1)), PTL_NO_TIME);
    assert_int_equal(ptl_clock_query(&clock, NULL, &lost_mtc, &lost_cyc), 0);
    assert_int_equal(lost_mtc, 0);
    assert_int_equal(lost_cyc, 2);
    assert_int_equal(ptl_clock_update(&clock, &MTC(5)), PTL_BAD_CONFIG);
    assert_int_equal(ptl_clock_query(&clock, NULL, &lost_mtc, &lost_cyc), 0);
    assert_int_equal(lost_mtc, 1);
    assert_int_equal(lost_cyc, 0);
    assert_int_equal(ptl_clock_update(&clock, &TSC(1)), 0);
    assert_int_equal(ptl_clock_query(&clock, NULL, &lost_mtc, &lost_cyc), 0);
    assert_int_equal(lost_mtc, 0);
    assert_int_equal(lost_cyc, 0);
}

/* --- CYC and its calibration ---------------------------------------------------------- */

static const struct ptl_clock_config four = {.mtc_freq = 4, .cpuid_15_eax = 1, .cpuid_15_ebx = 4};

/* 64 ticks per MTC period; 256 cycles in it: a quarter tick per cycle. */
static void test_calibrate_mtc(void **state)
{
    (void)state;
    RUN(four, {TSC(0x1000), 0x1000, 0, 0}, {TMA(0x18, 8), 0x1000, 0, 0}, {MTC(2), 0x1018, 0, 0},
        {CYC(0x100), 0x1018, 0, PTL_NO_TIME}, {MTC(3), 0x1058, 0, 0}, {CYC(0x100), 0x1098, 0, 0},
        {MTC(4), 0x1098, 0, 0});
    /* A period without CYC: 256 cycles for two periods, half a tick each; but the period that
     * base has passed already is taken off the next CYC. */
    RUN(four, {MTC(2), 0, 0, 0}, {MTC(3), 0x40, 0, 0}, {CYC(0x100), 0x40, 0, PTL_NO_TIME},
        {MTC(4), 0x80, 0, 0}, {MTC(5), 0xc0, 0, 0}, {CYC(0x100), 0x100, 0, 0});
}

static void test_calibrate_tsc(void **state)
{
    const struct ptl_clock_config config = {0};
    (void)state;
    RUN(config, {PSB, 0, 0, 0}, {TSC(0xa0000), 0xa0000, 0, 0}, {PSBEND, 0xa0000, 0, 0},
        {CYC(0x100), 0xa0000, 0, PTL_NO_TIME}, {TSC(0xa0200), 0xa0200, 0, 0}, /* begins anew */
        {CYC(0x100), 0xa0200, 0, PTL_NO_TIME}, {PSB, 0xa0200, 0, 0}, {TSC(0xa0300), 0xa0300, 0, 0},
        {PSBEND, 0xa0300, 0, 0}, {CYC(0x100), 0xa0400, 0, 0});
    /* The TSC wraps at 56 bits. */
    RUN(config, {PSB, 0, 0, 0}, {TSC(0xffffffffffff00), 0xffffffffffff00, 0, 0},
        {PSBEND, 0xffffffffffff00, 0, 0}, {CYC(0x100), 0xffffffffffff00, 0, PTL_NO_TIME},
        {PSB, 0xffffffffffff00, 0, 0}, {TSC(0x100), 0x100, 0, 0}, {CYC(0x10), 0x120, 0, 0});
}

static void test_calibrate_cbr(void **state)
{
    const struct ptl_clock_config config = {.nom_freq = 4};
    (void)state;
    RUN(config, {PSB, 0, 0, 0}, {CBR(2), 0, 0, 0}, {PSBEND, 0, 0, 0}, {CYC(3), 6, 0, 0},
        {CYC(1), 8, 0, 0}, {CBR(1), 8, 0, 0}, {CYC(2), 16, 0, 0});
    /* Unknown nominal ratio: a frequency change only takes the calibration away. */
    RUN(four, {MTC(2), 0, 0, 0}, {CYC(0x100), 0, 0, PTL_NO_TIME}, {MTC(3), 0x40, 0, 0},
        {CBR(7), 0x40, 0, 0}, {CYC(1), 0x40, 0, PTL_NO_TIME});
    RUN(four, {MTC(2), 0, 0, 0}, {CYC(0x100), 0, 0, PTL_NO_TIME}, {MTC(3), 0x40, 0, 0},
        {PSB, 0x40, 0, 0}, {CBR(7), 0x40, 0, 0}, {PSBEND, 0x40, 0, 0}, {CYC(4), 0x41, 0, 0});
}

static void test_overflow(void **state)
{
    struct ptl_clock_config keep = four;
    (void)state;
    RUN(four, {MTC(2), 0, 0, 0}, {CYC(0x100), 0, 0, PTL_NO_TIME}, {MTC(3), 0x40, 0, 0},
        {OVF, 0x40, 0, 0}, {CYC(4), 0x40, 0, PTL_NO_TIME});
    keep.keep_tcal_on_ovf = 1;
    RUN(keep, {MTC(2), 0, 0, 0}, {CYC(0x100), 0, 0, PTL_NO_TIME}, {MTC(3), 0x40, 0, 0},
        {OVF, 0x40, 0, 0}, {CYC(4), 0x41, 0, 0});
}

static void test_no_calibration(void **state)
{
    struct ptl_clock_config config = four;
    (void)state;
    config.no_tcal = 1;
    RUN(config, {MTC(2), 0, 0, 0}, {CYC(0x100), 0, 0, PTL_NO_TIME}, {MTC(3), 0x40, 0, 0},
        {CYC(0x100), 0x40, 0, PTL_NO_TIME});
}

/* SKL168: after a PSB a longer gap is no calibration; without the erratum it is: 256 + 128
 * cycles in two periods. */
static void test_skl168(void **state)
{
    struct ptl_clock_config config = four;
    (void)state;
    config.errata = PTL_ERR_SKL168;
    RUN(config, {MTC(1), 0, 0, 0}, {CYC(0x100), 0, 0, PTL_NO_TIME}, {MTC(2), 0x40, 0, 0},
        {CYC(0x80), 0x60, 0, 0}, {PSB, 0x60, 0, 0}, {PSBEND, 0x60, 0, 0}, {CYC(0x100), 0xa0, 0, 0},
        {MTC(4), 0xc0, 0, 0}, {CYC(0x100), 0x100, 0, 0});
    RUN(four, {MTC(1), 0, 0, 0}, {CYC(0x100), 0, 0, PTL_NO_TIME}, {MTC(2), 0x40, 0, 0},
        {CYC(0x80), 0x60, 0, 0}, {PSB, 0x60, 0, 0}, {PSBEND, 0x60, 0, 0}, {CYC(0x100), 0xa0, 0, 0},
        {MTC(4), 0xc0, 0, 0}, {CYC(0x300), 0xc0 + 0x300 * (0x8000 / 0x180) / 0x100, 0, 0});
}

/* --- perf's clock ---------------------------------------------------------------------- */

/* A pair that perf itself printed for a real machine. */
static void test_perf_pair(void **state)
{
    const struct ptl_time_conv conv = {.zero = 0xfff80926dc646c50, .mult = 581029125, .shift = 31};
    (void)state;
    assert_int_equal(ptl_tsc_to_ns(&conv, 0x2fa1088fac05e2), 1385530563941550);
}

static void test_perf_round_trip(void **state)
{
    uint64_t seed = 5;
    (void)state;
    for (unsigned n = 0; n < 100000; n++) {
        struct ptl_time_conv conv = {.zero = rnd(&seed),
                                     .mult = (uint32_t)(rnd(&seed) | 0x10000000),
                                     .shift = (uint16_t)(28 + rnd(&seed) % 5)};
        uint64_t tsc = rnd(&seed) >> 10, ns = ptl_tsc_to_ns(&conv, tsc), back, exact;
        unsigned __int128 product = (unsigned __int128)tsc * conv.mult;

        exact = conv.zero + (uint64_t)(product >> conv.shift);
        assert_int_equal(ns, exact);
        back = ptl_ns_to_tsc(&conv, ns);
        assert_true(back <= tsc);
        /* less than two nanoseconds' worth of ticks */
        assert_true(tsc - back <= 2 * (((uint64_t)1 << conv.shift) / conv.mult + 1));
    }
}

static void test_perf_unknown(void **state)
{
    const struct ptl_time_conv none = {.shift = 10}, wide = {.mult = 1, .shift = 33};
    (void)state;
    assert_int_equal(ptl_tsc_to_ns(&none, 1000), 0);
    assert_int_equal(ptl_ns_to_tsc(&none, 1000), 0);
    assert_int_equal(ptl_tsc_to_ns(&wide, 1000), 0);
    assert_int_equal(ptl_ns_to_tsc(&wide, 1000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tma_mtc),         cmocka_unit_test(test_mtc_wraps),
        cmocka_unit_test(test_ratio_truncates), cmocka_unit_test(test_wide_ctc),
        cmocka_unit_test(test_mtc_context),     cmocka_unit_test(test_errors),
        cmocka_unit_test(test_calibrate_mtc),   cmocka_unit_test(test_calibrate_tsc),
        cmocka_unit_test(test_calibrate_cbr),   cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_no_calibration),  cmocka_unit_test(test_skl168),
        cmocka_unit_test(test_perf_pair),       cmocka_unit_test(test_perf_round_trip),
        cmocka_unit_test(test_perf_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
