/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.c - the TSC estimate and the calibration of core cycles.
 *
 * Time is `base`, the last TSC plus whole MTC periods, plus `fc`, what CYC packets say has
 * passed since:
 *
 *      TSC        TMA        MTC        MTC    CYC  CYC
 *   ----+----------+----------+----------+------+----+---->
 *       base (then moved by each MTC) ---^      <-fc->
 *
 * TMA tells the crystal clock (CTC) and the fast counter at the TSC; an MTC carries 8 bits of
 * CTC, from bit N on; so CTC is known modulo 2^(N+8). CTC ticks become TSC ticks by
 * CPUID.15H EBX/EAX. Core cycles become TSC ticks by `fcr`, fixed point with 8 fraction bits,
 * calibrated between two MTCs, else from CBR, else between the TSCs of two PSB+.
 *
 * A CYC counts the cycles since the last CYC. When an MTC period had none, the next CYC also
 * counts that period, which base has already moved over: `ctc_cyc`, the CTC at which the
 * cycles begin, then lags behind `ctc`, and the difference is taken off.
 *
 * All divisions truncate; sums are modulo 2^64.
 *
 * Source: Intel SDM vol. 3, "Intel Processor Trace", sections "Tracking Timing", "Estimating
 * TSC within Intel PT", "TMA Packet", "MTC Packet", "CYC Packet" and "CBR Packet".
 */
#include "clock/clock_fast.h"

#include <pt/cpu.h>
#include <string.h>

#define MTC_BITS     8
#define MTC_FREQ_MAX 15u /* MTCFreq is a 4-bit field of IA32_RTIT_CTL */
#define TMA_CTC_BITS 16
#define TSC_MASK     (UINT64_MAX >> 8) /* a TSC packet has 56 bits */

/* SKL168: so many cycles may have been lost with the dropped CYC; and from this MTC frequency
 * on a period is too long to tell. */
#define SKL168_CYCLES   0xf00u
#define SKL168_MTC_FREQ 10u

void ptl_clock_init(struct ptl_clock *clock, const struct ptl_clock_config *config)
{
    memset(clock, 0, sizeof(*clock));
    clock->config = *config;
    if (clock->config.mtc_freq > MTC_FREQ_MAX)
        clock->config.mtc_freq = MTC_FREQ_MAX;
}

/* CTC is known modulo this. */
static uint32_t ctc_mask(const struct ptl_clock_config *config)
{
    return ((uint32_t)1 << (config->mtc_freq + MTC_BITS)) - 1;
}

/* CTC ticks from one CTC to a later one; a smaller value means one wrap. */
static uint32_t ctc_delta(const struct ptl_clock_config *config, uint32_t from, uint32_t to)
{
    return (to - from) & ctc_mask(config);
}

static int have_ratio(const struct ptl_clock_config *config)
{
    return config->cpuid_15_eax && config->cpuid_15_ebx;
}

static uint64_t ctc_to_tsc(const struct ptl_clock_config *config, uint32_t ctc)
{
    return (uint64_t)ctc * config->cpuid_15_ebx / config->cpuid_15_eax;
}

/* --- calibration ------------------------------------------------------------------ */

static void set_fcr(struct ptl_tcal *tcal, uint64_t ticks, uint64_t cycles)
{
    tcal->fcr = (ticks << PTL_FCR_SHIFT) / cycles;
    tcal->have_fcr = 1;
}

/* Only a PSB+ tells for sure that time went on between two TSCs; elsewhere the TSC begins a
 * new interval. MTCs are the better source where they exist. */
static int calibrate_tsc(struct ptl_tcal *tcal, uint64_t tsc, int in_psb)
{
    if (in_psb && !tcal->have_mtc && tcal->have_tsc && tcal->cyc_tsc)
        set_fcr(tcal, (tsc - tcal->tsc) & TSC_MASK, tcal->cyc_tsc);
    tcal->tsc = tsc;
    tcal->cyc_tsc = 0;
    tcal->have_tsc = 1;
    return 0;
}

static int calibrate_cbr(struct ptl_clock *clock, uint8_t ratio, int in_psb)
{
    if (!in_psb) /* the frequency changes */
        memset(&clock->tcal, 0, sizeof(clock->tcal));
    if (!ratio)
        return PTL_BAD_PACKET;
    if (clock->config.nom_freq)
        set_fcr(&clock->tcal, clock->config.nom_freq, ratio);
    return 0;
}

/* Erratum SKL168, asked at the first MTC after a PSB: the last CYC before the PSB may be
 * missing, and an MTC with it. */
static int skl168_hit(const struct ptl_clock *clock, uint8_t ctc, uint64_t ticks)
{
    const struct ptl_tcal *tcal = &clock->tcal;

    if (!(clock->config.errata & PTL_ERR_SKL168))
        return 0;
    if ((uint8_t)(ctc - tcal->ctc) > 1)
        return 1;
    return clock->config.mtc_freq < SKL168_MTC_FREQ && tcal->have_fcr &&
           (tcal->fcr * (tcal->cyc_mtc + SKL168_CYCLES)) >> PTL_FCR_SHIFT < ticks;
}

static int calibrate_mtc(struct ptl_clock *clock, uint8_t ctc)
{
    const struct ptl_clock_config *config = &clock->config;
    struct ptl_tcal *tcal = &clock->tcal;
    uint64_t ticks;
    int check = tcal->check_skl168;

    tcal->check_skl168 = 0;
    if (!tcal->have_mtc) {
        tcal->ctc = ctc;
        tcal->cyc_mtc = 0;
        tcal->have_mtc = 1;
        return 0;
    }
    if (!tcal->cyc_mtc) /* the cycles to come spread over this period, too */
        return 0;
    if (!have_ratio(config))
        return PTL_BAD_CONFIG;
    ticks = ctc_to_tsc(config, (uint32_t)(uint8_t)(ctc - tcal->ctc) << config->mtc_freq);
    if (!check || !skl168_hit(clock, ctc, ticks))
        set_fcr(tcal, ticks, tcal->cyc_mtc);
    tcal->ctc = ctc;
    tcal->cyc_mtc = 0;
    return 0;
}

static void calibrate_cyc(struct ptl_tcal *tcal, uint64_t cycles)
{
    tcal->cyc_mtc += cycles;
    tcal->cyc_tsc += cycles;
}

static void calibrate_ovf(struct ptl_clock *clock)
{
    struct ptl_tcal old = clock->tcal;

    memset(&clock->tcal, 0, sizeof(clock->tcal));
    if (clock->config.keep_tcal_on_ovf) {
        clock->tcal.fcr = old.fcr;
        clock->tcal.have_fcr = old.have_fcr;
    }
}

int ptl_clock_calibrate(struct ptl_clock *clock, const struct ptl_packet *packet, int in_psb)
{
    if (clock->config.no_tcal)
        return 0;
    switch (packet->type) {
    case PTL_PKT_CYC:
        calibrate_cyc(&clock->tcal, packet->payload.cyc.value);
        return 0;
    case PTL_PKT_MTC:
        return calibrate_mtc(clock, packet->payload.mtc.ctc);
    case PTL_PKT_TSC:
        return calibrate_tsc(&clock->tcal, packet->payload.tsc.tsc, in_psb);
    case PTL_PKT_CBR:
        return calibrate_cbr(clock, packet->payload.cbr.ratio, in_psb);
    case PTL_PKT_OVF:
        calibrate_ovf(clock);
        return 0;
    case PTL_PKT_PSB:
        clock->tcal.check_skl168 = 1;
        return 0;
    default:
        return 0;
    }
}

/* --- estimate --------------------------------------------------------------------- */

static void update_tsc(struct ptl_time *time, uint64_t tsc)
{
    uint32_t ctc_cyc = time->ctc_cyc;

    memset(time, 0, sizeof(*time));
    time->ctc_cyc = ctc_cyc; /* a TMA follows where there are MTCs */
    time->tsc = time->base = tsc;
    time->have_tsc = 1;
}

/* TMA belongs to the TSC before it: the last CTC tick was `fc` TSC ticks earlier. */
static int update_tma(struct ptl_clock *clock, uint16_t ctc, uint16_t fc)
{
    struct ptl_time *time = &clock->time;

    if (!time->have_tsc || time->have_tma)
        return PTL_BAD_CONTEXT;
    time->base -= fc;
    time->fc += fc;
    time->ctc = time->ctc_cyc = ctc & ctc_mask(&clock->config);
    time->have_tma = 1;
    /* With a low MTC frequency the upper bits of CTC are only known at the first MTC. */
    time->have_mtc = clock->config.mtc_freq + MTC_BITS <= TMA_CTC_BITS;
    return 0;
}

/* The CTC of the TMA whose 16 bits are time->ctc, as seen from the first MTC after it. */
static void widen_tma(struct ptl_clock *clock, uint32_t ctc)
{
    const uint32_t low = ((uint32_t)1 << TMA_CTC_BITS) - 1;
    uint32_t high = ctc & ~low;

    if ((ctc & low) < clock->time.ctc)
        high = (high - (low + 1)) & ctc_mask(&clock->config);
    clock->time.ctc |= high;
}

static int update_mtc(struct ptl_clock *clock, uint8_t payload)
{
    const struct ptl_clock_config *config = &clock->config;
    struct ptl_time *time = &clock->time;
    uint32_t ctc = (uint32_t)payload << config->mtc_freq;
    int had_mtc = time->have_mtc;

    if (time->have_tsc && !time->have_tma) /* cannot be related to the TSC */
        return 0;
    time->have_mtc = 1;
    if (!had_mtc && !time->have_tma) {
        time->ctc = time->ctc_cyc = ctc;
        time->fc = 0; /* base begins here */
        time->lost_cyc = 0;
        return 0;
    }
    if (!had_mtc)
        widen_tma(clock, ctc);
    if (have_ratio(config)) {
        time->base += ctc_to_tsc(config, ctc_delta(config, time->ctc, ctc));
        time->tsc = time->base;
    } else {
        time->lost_mtc++;
    }
    time->ctc = ctc;
    if (time->fc || time->lost_cyc || !had_mtc)
        time->ctc_cyc = ctc;
    time->fc = 0;
    time->lost_cyc = 0;
    return have_ratio(config) ? 0 : PTL_BAD_CONFIG;
}

static int update_cyc(struct ptl_clock *clock, uint64_t cycles)
{
    const struct ptl_clock_config *config = &clock->config;
    struct ptl_time *time = &clock->time;
    uint64_t fcr = clock->tcal.fcr, before;

    if (!clock->tcal.have_fcr || !fcr) {
        time->lost_cyc++;
        return PTL_NO_TIME;
    }
    if (!time->fc && time->ctc != time->ctc_cyc) {
        if (!have_ratio(config))
            return PTL_BAD_CONFIG;
        before = ctc_to_tsc(config, ctc_delta(config, time->ctc_cyc, time->ctc));
        before = (before << PTL_FCR_SHIFT) / fcr;
        cycles = cycles > before ? cycles - before : 0;
    }
    time->fc += (cycles * fcr) >> PTL_FCR_SHIFT;
    time->tsc = time->base + time->fc;
    return 0;
}

int ptl_clock_update(struct ptl_clock *clock, const struct ptl_packet *packet)
{
    switch (packet->type) {
    case PTL_PKT_CYC:
        return update_cyc(clock, packet->payload.cyc.value);
    case PTL_PKT_MTC:
        return update_mtc(clock, packet->payload.mtc.ctc);
    case PTL_PKT_TSC:
        update_tsc(&clock->time, packet->payload.tsc.tsc);
        return 0;
    case PTL_PKT_TMA:
        return update_tma(clock, packet->payload.tma.ctc, packet->payload.tma.fc);
    default:
        return 0;
    }
}

void ptl__clock_cyc_slow(struct ptl_clock *clock, uint64_t cycles)
{
    if (!clock->config.no_tcal)
        calibrate_cyc(&clock->tcal, cycles);
    (void)update_cyc(clock, cycles);
}

void ptl__clock_mtc(struct ptl_clock *clock, uint8_t ctc)
{
    if (!clock->config.no_tcal)
        (void)calibrate_mtc(clock, ctc);
    (void)update_mtc(clock, ctc);
}

int ptl_clock_query(const struct ptl_clock *clock, uint64_t *tsc, uint32_t *lost_mtc,
                    uint32_t *lost_cyc)
{
    if (tsc)
        *tsc = clock->time.tsc;
    if (lost_mtc)
        *lost_mtc = clock->time.lost_mtc;
    if (lost_cyc)
        *lost_cyc = clock->time.lost_cyc;
    return clock->time.have_tsc ? 0 : PTL_NO_TIME;
}
