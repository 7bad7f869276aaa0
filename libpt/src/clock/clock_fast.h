/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock_fast.h - CYC and MTC without a struct ptl_packet, for the hot loops: calibration, then
 * estimate.
 */
#ifndef LIBPT_CLOCK_CLOCK_FAST_H
#define LIBPT_CLOCK_CLOCK_FAST_H

#include <pt/clock.h>

void ptl__clock_cyc_slow(struct ptl_clock *clock, uint64_t cycles);
void ptl__clock_mtc(struct ptl_clock *clock, uint8_t ctc);

static inline void ptl__clock_cyc(struct ptl_clock *clock, uint64_t cycles)
{
    struct ptl_time *time = &clock->time;
    struct ptl_tcal *tcal = &clock->tcal;

    if (!tcal->have_fcr || !tcal->fcr || clock->config.no_tcal ||
        (!time->fc && time->ctc != time->ctc_cyc)) {
        ptl__clock_cyc_slow(clock, cycles);
        return;
    }
    tcal->cyc_mtc += cycles;
    tcal->cyc_tsc += cycles;
    time->fc += (cycles * tcal->fcr) >> PTL_FCR_SHIFT;
    time->tsc = time->base + time->fc;
}

#endif
