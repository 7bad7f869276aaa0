/* SPDX-License-Identifier: BSD-3-Clause */
/* opts_timing.c - see opts_timing.h. */
#include "opts_timing.h"

#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#define FAILED       3  /* exit status 2, plus 1 */
#define MTC_FREQ_MAX 15 /* the field has four bits */

/* The processor we run on (CPUID leaf 1: family and model with their extensions). */
static int this_cpu(struct ptl_cpu *cpu)
{
#if defined(__x86_64__) || defined(__i386__)
    unsigned eax, ebx, ecx, edx, family, model;

    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        return -1;
    family = eax >> 8 & 15;
    model = eax >> 4 & 15;
    if (family == 6 || family == 15)
        model |= eax >> 12 & 0xf0;
    if (family == 15)
        family += eax >> 20 & 0xff;
    cpu->family = (uint16_t)family;
    cpu->model = (uint8_t)model;
    cpu->stepping = eax & 15;
    return 0;
#else
    (void)cpu;
    return -1;
#endif
}

static int apply_cpu(void *context, const struct opt *opt, const char *arg)
{
    struct opts_timing *timing = context;

    (void)opt;
    if (timing->too_late) {
        opts_error(timing->prog, "%s", timing->too_late);
        return FAILED;
    }
    timing->have_cpu = 0;
    if (!strcmp(arg, "none"))
        return 0;
    if (!strcmp(arg, "auto") ? this_cpu(&timing->cpu) : ptl_cpu_parse(&timing->cpu, arg)) {
        opts_error(timing->prog, "cpu must be specified as f/m[/s]");
        return FAILED;
    }
    timing->have_cpu = 1;
    return 0;
}

static int apply_mtc(void *context, const struct opt *opt, const char *arg)
{
    struct opts_timing *timing = context;
    uint64_t value;
    int status = opts_number(timing->prog, opt->name, arg, MTC_FREQ_MAX, &value);

    if (!status)
        timing->clock.mtc_freq = (uint8_t)value;
    return status;
}

static int apply_nom(void *context, const struct opt *opt, const char *arg)
{
    struct opts_timing *timing = context;
    uint64_t value;
    int status = opts_number(timing->prog, opt->name, arg, UINT8_MAX, &value);

    if (!status)
        timing->clock.nom_freq = (uint8_t)value;
    return status;
}

/* opt->value is the offset of an uint32_t. */
static int apply_word(void *context, const struct opt *opt, const char *arg)
{
    struct opts_timing *timing = context;
    uint64_t value;
    uint32_t word;
    int status = opts_number(timing->prog, opt->name, arg, UINT32_MAX, &value);

    if (status)
        return status;
    word = (uint32_t)value;
    memcpy((char *)context + opt->value, &word, sizeof(word));
    return 0;
}

const struct opt opts_timing_table[] = {
    {.name = "", .help = "the processor that wrote the trace"},
    {.name = "--cpu",
     .arg = "<f>/<m>[/<s>]",
     .help = "decode as written by the processor of this family, model and stepping, with the "
             "workarounds for its errata; none: as specified (default); auto: the processor "
             "this runs on.",
     .apply = apply_cpu},
    {.name = "--mtc-freq",
     .arg = "<n>",
     .help = "the MTC frequency (IA32_RTIT_CTL[17:14]): an MTC packet every 2^n crystal ticks.",
     .apply = apply_mtc},
    {.name = "--nom-freq",
     .arg = "<n>",
     .help = "the nominal frequency (MSR_PLATFORM_INFO[15:8]).",
     .apply = apply_nom},
    {.name = "--cpuid-0x15.eax",
     .arg = "<n>",
     .help = "CPUID[0x15].eax: the denominator of TSC ticks per crystal tick.",
     .apply = apply_word,
     .value = offsetof(struct opts_timing, clock.cpuid_15_eax)},
    {.name = "--cpuid-0x15.ebx",
     .arg = "<n>",
     .help = "CPUID[0x15].ebx: the numerator of TSC ticks per crystal tick.",
     .apply = apply_word,
     .value = offsetof(struct opts_timing, clock.cpuid_15_ebx)},
    {.name = NULL},
};

int opts_timing_errata(const struct opts_timing *timing, uint32_t *errata)
{
    *errata = 0;
    return timing->have_cpu ? ptl_cpu_errata(&timing->cpu, errata) : 0;
}
