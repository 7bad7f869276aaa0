/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opts_timing.h - the options that tell which processor wrote a trace and how its clocks run;
 * one table for all tools. Use as an OPT_SUB row whose context is a struct opts_timing.
 */
#ifndef TOOL_OPTS_TIMING_H
#define TOOL_OPTS_TIMING_H

#include "opts.h"

#include <pt/clock.h>
#include <pt/cpu.h>

struct opts_timing {
    const char *prog;     /* set by the tool before parsing, for messages */
    const char *too_late; /* not NULL: --cpu is refused with this message */
    struct ptl_cpu cpu;
    int have_cpu;
    struct ptl_clock_config clock; /* mtc_freq, nom_freq, cpuid_15_*; the tool adds errata */
};

extern const struct opt opts_timing_table[];

/* The errata of the chosen processor, 0 if none was chosen. Returns 0 or PTL_BAD_CPU. */
int opts_timing_errata(const struct opts_timing *timing, uint32_t *errata);

#endif
