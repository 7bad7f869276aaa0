/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perf_time.c - perf's clock and the TSC.
 *
 *   ns  = zero + q * mult + (r * mult >> shift)   q, r = tsc divided by 2^shift
 *   tsc = (q << shift) + (r << shift) / mult      q, r = (ns - zero) divided by mult
 *
 * modulo 2^64. The halves fit: r < 2^shift, mult < 2^32, shift <= 32. The two are no exact
 * inverses: ns_to_tsc(tsc_to_ns(t)) is t or less, by under two nanoseconds.
 *
 * Source: linux/perf_event.h, struct perf_event_mmap_page, cap_user_time_zero.
 */
#include <pt/clock.h>

#define SHIFT_MAX 32

uint64_t ptl_tsc_to_ns(const struct ptl_time_conv *conv, uint64_t tsc)
{
    uint64_t quotient, rest;

    if (!conv->mult || conv->shift > SHIFT_MAX)
        return 0;
    quotient = tsc >> conv->shift;
    rest = tsc & (((uint64_t)1 << conv->shift) - 1);
    return conv->zero + quotient * conv->mult + (rest * conv->mult >> conv->shift);
}

uint64_t ptl_ns_to_tsc(const struct ptl_time_conv *conv, uint64_t ns)
{
    uint64_t time = ns - conv->zero, quotient, rest;

    if (!conv->mult || conv->shift > SHIFT_MAX)
        return 0;
    quotient = time / conv->mult;
    rest = time % conv->mult;
    return (quotient << conv->shift) + (rest << conv->shift) / conv->mult;
}
