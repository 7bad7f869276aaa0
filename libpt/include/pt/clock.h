/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/clock.h - time of a trace: TSC estimates from TSC, TMA, MTC, CYC and CBR
 * packets, and the conversion between TSC ticks and perf's clock.
 *
 * Source: Intel SDM vol. 3, "Intel Processor Trace", section "Tracking timing
 * information"; perf conversion: perf_event_mmap_page in linux/perf_event.h.
 *
 * Plain values in the caller's memory; pure functions; thread-safe.
 */
#ifndef PT_CLOCK_H
#define PT_CLOCK_H

#include <pt/packet.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All zero = unknown: time then only follows TSC packets. */
struct ptl_clock_config {
    uint32_t cpuid_15_eax, cpuid_15_ebx; /* TSC ticks per crystal tick = ebx / eax */
    uint32_t errata;                     /* PTL_ERR_SKL168 matters here */
    uint8_t mtc_freq;                    /* an MTC every 2^mtc_freq crystal ticks */
    uint8_t nom_freq;                    /* maximum non-turbo ratio, MSR_PLATFORM_INFO[15:8] */
    uint8_t keep_tcal_on_ovf;            /* OVF keeps the calibration */
    uint8_t no_tcal;                     /* do not calibrate: CYC does not count */
};

/* fcr: TSC ticks per core cycle, fixed point with 8 fraction bits. */
#define PTL_FCR_SHIFT 8

/* Calibration of core cycles against TSC. Printable; treat as read-only. */
struct ptl_tcal {
    uint64_t fcr;          /* current ratio */
    uint64_t tsc, cyc_tsc; /* last TSC in PSB+, cycles since */
    uint64_t cyc_mtc;      /* cycles since the last usable MTC */
    uint8_t ctc;           /* the MTC at which they began */
    uint8_t have_fcr, have_tsc, have_mtc;
    uint8_t check_skl168; /* a PSB has been seen since the last MTC */
};

/* Time estimate. Printable; treat as read-only. */
struct ptl_time {
    uint64_t tsc;  /* the estimate, TSC ticks */
    uint64_t base; /* last TSC plus elapsed MTC periods */
    uint64_t fc;   /* ticks since base, from CYC */
    uint32_t ctc, ctc_cyc;
    uint32_t lost_mtc, lost_cyc; /* packets that could not be used since the last TSC */
    uint8_t have_tsc, have_tma, have_mtc;
};

struct ptl_clock {
    struct ptl_clock_config config;
    struct ptl_tcal tcal;
    struct ptl_time time;
};

PTL_API void ptl_clock_init(struct ptl_clock *clock, const struct ptl_clock_config *config);

/* Feed one packet to the calibration, then to the estimate (packets without
 * meaning for time are ignored). `in_psb`: the packet lies between PSB and PSBEND.
 * Each returns 0 or the first reason why the packet could not be used
 * (PTL_NO_TIME, PTL_BAD_CONTEXT, PTL_BAD_CONFIG, PTL_BAD_PACKET, PTL_NO_CBR);
 * the state stays usable after any error. */
PTL_API int ptl_clock_calibrate(struct ptl_clock *clock, const struct ptl_packet *packet,
                                int in_psb);
PTL_API int ptl_clock_update(struct ptl_clock *clock, const struct ptl_packet *packet);

/* The current estimate. Returns 0; PTL_NO_TIME before the first TSC (then *tsc is
 * relative to the start). Any pointer may be NULL. */
PTL_API int ptl_clock_query(const struct ptl_clock *clock, uint64_t *tsc, uint32_t *lost_mtc,
                            uint32_t *lost_cyc);

/* perf's clock: ns = zero + tsc * mult >> shift, without overflow (perf_event.h,
 * cap_user_time_zero). */
struct ptl_time_conv {
    uint64_t zero;  /* ns, two's complement */
    uint32_t mult;  /* 0: no conversion known */
    uint16_t shift; /* <= 32 */
};

PTL_API uint64_t ptl_tsc_to_ns(const struct ptl_time_conv *conv, uint64_t tsc);
/* Returns 0 when mult is 0. */
PTL_API uint64_t ptl_ns_to_tsc(const struct ptl_time_conv *conv, uint64_t ns);

#ifdef __cplusplus
}
#endif

#endif
