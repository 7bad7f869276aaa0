/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * setup.c - what the recording says about processor and timing.
 *
 * The event's config holds the bits of IA32_RTIT_CTL, except bit 0 ("pt": the user chose
 * BranchEn himself; without it the kernel always sets it). Source: SDM vol. 3, "IA32_RTIT_CTL
 * MSR"; doc/internals/perfdata.md.
 */
#include "session/session.h"

#include <string.h>

#define CONFIG_PT     (1ull << 0)
#define CONFIG_BRANCH (1ull << 13)
#define CONFIG_NOTNT  (1ull << 55)

#define TSC_BITS 56 /* of a TSC packet */

static void set_processor(struct ptl_session *s, const struct ptl_session_config *config)
{
    const struct ptl_perf_info *info = ptl_perf_info(s->perf);
    struct ptl_cpu cpu = {info->cpu_family, info->cpu_model, info->cpu_stepping};

    if (config->cpu)
        cpu = *config->cpu;
    /* A processor that is not known has no errata that are. */
    if (config->cpu || info->intel)
        (void)ptl_cpu_errata(&cpu, &s->flow.errata);
    if (config->errata)
        s->flow.errata = *config->errata;
}

static void set_clock(struct ptl_session *s, const struct ptl_session_config *config)
{
    struct ptl_clock_config *clock = &s->flow.clock;
    const struct ptl_clock_config *own = &config->clock;

    *clock = (struct ptl_clock_config){
        .cpuid_15_eax = (uint32_t)s->pt->info.ctc_den,
        .cpuid_15_ebx = (uint32_t)s->pt->info.ctc_num,
        .mtc_freq = s->pt->mtc_freq,
        .nom_freq = (uint8_t)s->pt->info.max_nonturbo,
        .keep_tcal_on_ovf = own->keep_tcal_on_ovf,
        .no_tcal = own->no_tcal,
    };
    if (own->cpuid_15_eax)
        clock->cpuid_15_eax = own->cpuid_15_eax;
    if (own->cpuid_15_ebx)
        clock->cpuid_15_ebx = own->cpuid_15_ebx;
    if (own->mtc_freq)
        clock->mtc_freq = own->mtc_freq;
    if (own->nom_freq)
        clock->nom_freq = own->nom_freq;
    clock->errata = s->flow.errata;
}

/* The buffer's reference has the bits that TSC packets lack. The first TSC of a buffer is
 * within 2^55 of it. */
static void set_time(struct ptl_session *s, const struct ptl_session_config *config)
{
    const struct ptl_pt_info *info = &s->pt->info;
    const struct ptl_perf_buffer *buffer;
    size_t count;

    s->timeless = !s->pt->tsc || (config->flags & PTL_SESSION_NO_TIME);
    if (s->pt->have_time && info->time_mult && info->time_mult <= UINT32_MAX &&
        info->time_shift <= 32)
        s->time = (struct ptl_time_conv){.zero = info->time_zero,
                                         .mult = (uint32_t)info->time_mult,
                                         .shift = (uint16_t)info->time_shift};
    else
        s->timeless = 1;
    buffer = ptl_perf_buffers(s->perf, &count);
    if (count)
        s->tsc_high = buffer[0].reference >> TSC_BITS << TSC_BITS;
}

static void set_flags(struct ptl_session *s, const struct ptl_session_config *config)
{
    uint64_t bits = s->pt->config;

    s->flow.flags = config->flow_flags;
    if (s->pt->noretcomp)
        s->flow.flags |= PTL_FLOW_NORETCOMP;
    if ((bits & CONFIG_PT) && !(bits & CONFIG_BRANCH))
        s->flow.flags |= PTL_FLOW_NO_BRANCH;
    if (bits & CONFIG_NOTNT)
        s->flow.flags |= PTL_FLOW_DISTNT;
}

void ptl__session_setup(struct ptl_session *s, const struct ptl_session_config *config)
{
    const struct ptl_perf_queue *queue;
    size_t count;
    const char *arch = ptl_perf_info(s->perf)->arch;

    s->flow.size = sizeof(s->flow);
    set_processor(s, config);
    set_clock(s, config);
    set_time(s, config);
    set_flags(s, config);
    s->kernel_start = config->kernel_start;
    if (!s->kernel_start) /* the upper half; 3 GB in 32-bit kernels */
        s->kernel_start =
            arch && arch[0] == 'i' && strcmp(arch + 2, "86") == 0 ? 0xc0000000 : 1ull << 63;
    queue = ptl_perf_queues(s->perf, &count);
    s->by_thread = count && queue[0].cpu == PTL_PERF_ANY;
}
