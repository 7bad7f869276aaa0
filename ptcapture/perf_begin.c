/* SPDX-License-Identifier: BSD-3-Clause */
/* perf_begin.c - what stands before the rings: events, clock, PT's configuration, and the state
 * of processes that run already. */
#include "perf.h"
#include "proc.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

static int add_events(struct perf_recorder *rec)
{
    struct ptl_perf_writer *writer = rec->capture->file.writer;
    int status;

    status = ptl_perf_writer_event(writer, &rec->pt.attr, rec->pt.ids, rec->pt.count, rec->pt.name);
    if (!status)
        status = ptl_perf_writer_event(writer, &rec->dummy.attr, rec->dummy.ids, rec->dummy.count,
                                       rec->dummy.name);
    for (size_t i = 0; i < rec->others && !status; i++)
        status = ptl_perf_writer_event(writer, &rec->other[i].attr, rec->other[i].ids,
                                       rec->other[i].count, rec->other[i].name);
    return status;
}

/* The kernel's conversion between TSC and its clock; `lock` is odd while it changes. */
static void read_conversion(const struct ring *ring, struct ptl_rec_time_conv *conv)
{
    const volatile struct perf_event_mmap_page *page = ring->page;
    uint32_t seq;

    memset(conv, 0, sizeof(*conv));
    do {
        seq = page->lock;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        conv->shift = page->time_shift;
        conv->mult = page->time_mult;
        conv->zero = page->time_zero;
        conv->user_time_zero = page->cap_user_time_zero;
        conv->user_time_short = page->cap_user_time_short;
        conv->cycles = page->time_cycles;
        conv->mask = page->time_mask;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while (page->lock != seq || (seq & 1));
}

static const struct perf_lane *first_lane(const struct perf_recorder *rec)
{
    for (size_t i = 0; i < rec->lane_count; i++) {
        if (rec->lanes[i].ring.page)
            return &rec->lanes[i];
    }
    return NULL;
}

static int add_info(struct perf_recorder *rec)
{
    struct ptl_perf_writer *writer = rec->capture->file.writer;
    const struct pmu *pmu = &rec->capture->pmu;
    struct ptl_rec_time_conv conv;
    struct ptl_pt_info info;
    int status = 0;

    read_conversion(&first_lane(rec)->ring, &conv);
    memset(&info, 0, sizeof(info));
    info.pmu_type = pmu->type;
    info.time_shift = conv.shift;
    info.time_mult = conv.mult ? conv.mult : 1; /* 0 crashes perf */
    info.time_zero = conv.zero;
    info.cap_user_time_zero = conv.user_time_zero;
    info.tsc_bit = pmu_mask(pmu, "tsc");
    info.noretcomp_bit = pmu_mask(pmu, "noretcomp");
    info.mtc_bit = pmu_mask(pmu, "mtc");
    info.mtc_freq_bits = pmu_mask(pmu, "mtc_period");
    info.cyc_bit = pmu_mask(pmu, "cyc");
    info.switches = rec->per_thread ? PTL_SWITCHES_NONE
                    : rec->cpu_wide ? PTL_SWITCHES_CPU_WIDE
                                    : PTL_SWITCHES_TASK;
    info.snapshot = (uint64_t)rec->capture->options->snapshot;
    info.per_cpu = !rec->per_thread;
    info.ctc_num = pmu->tsc_ratio;
    info.ctc_den = pmu->art_ratio;
    info.max_nonturbo = pmu->max_nonturbo_ratio;
    info.filter = rec->filter.text;
    info.event_trace = pmu_cap(pmu, "event_trace");
    if (conv.user_time_zero)
        status = ptl_perf_write_time_conv(writer, &conv);
    return status ? status : ptl_perf_write_pt_info(writer, &info);
}

static size_t fill_index(const struct perf_recorder *rec, const struct perf_events *events,
                         struct ptl_id_index_entry *entry)
{
    for (size_t i = 0; i < events->count; i++) {
        const struct perf_lane *lane = &rec->lanes[events->lane_of[i]];
        entry[i].id = events->ids[i];
        entry[i].idx = events->lane_of[i];
        entry[i].cpu = lane->cpu < 0 ? UINT64_MAX : (uint64_t)lane->cpu;
        entry[i].tid = lane->tid < 0 ? UINT64_MAX : (uint64_t)lane->tid;
    }
    return events->count;
}

static int add_index(struct perf_recorder *rec)
{
    size_t count = rec->pt.count + rec->dummy.count, n;
    struct ptl_id_index_entry *entries;
    int status;

    for (size_t i = 0; i < rec->others; i++)
        count += rec->other[i].count;
    entries = calloc(count, sizeof(*entries));
    if (!entries)
        return PTL_NOMEM;
    n = fill_index(rec, &rec->pt, entries);
    n += fill_index(rec, &rec->dummy, entries + n);
    for (size_t i = 0; i < rec->others; i++)
        n += fill_index(rec, &rec->other[i], entries + n);
    status = ptl_perf_write_id_index(rec->capture->file.writer, entries, n);
    free(entries);
    return status;
}

/* --- what runs already ------------------------------------------------------------------ */

struct processes {
    struct perf_recorder *rec;
    const struct ptl_layout *layout;
    int status;
};

static int add_process(void *context, pid_t pid)
{
    struct processes *p = context;

    p->status = capture_knows(p->rec->capture, pid,
                              proc_synthesize(p->rec->capture->file.writer, p->layout, pid));
    return p->status;
}

static int add_all_processes(struct processes *p)
{
    if (proc_each(add_process, p) && !p->status) {
        capture_error(p->rec->capture, "cannot read which processes there are: %s.",
                      strerror(errno));
        p->rec->capture->write_failed = 1;
        p->status = PTL_IO;
    }
    return p->status;
}

static int add_processes(struct perf_recorder *rec, const struct ptl_layout *layout)
{
    struct processes p = {rec, layout, 0};
    pid_t last = 0;

    if (rec->cpu_wide)
        return add_all_processes(&p);
    /* The threads of one process stand together. */
    for (size_t i = 0; i < rec->tid_count && !p.status; i++) {
        pid_t pid = proc_tgid(rec->tids[i]);
        if (!pid && proc_missed(errno))
            p.status = capture_knows(rec->capture, rec->tids[i], PROC_UNREAD);
        else if (pid && pid != last)
            (void)add_process(&p, pid);
        last = pid;
    }
    return p.status;
}

/* What cannot be had, with errno: said here, as no writer has failed. */
static int unsaid(struct perf_recorder *rec, const char *what)
{
    capture_error(rec->capture, "cannot %s %s: %s.", what, rec->capture->options->output,
                  strerror(errno));
    rec->capture->write_failed = 1;
    return PTL_IO;
}

int perf_write_begin(struct perf_recorder *rec)
{
    struct ptl_layout layout = ptl_layout_of(&rec->dummy.attr);
    struct ptl_perf_writer *writer = rec->capture->file.writer;
    int status = add_events(rec);

    if (!status)
        status = kernel_save_vdso(rec->capture->file.path, writer);
    if (status == PROC_UNREAD)
        return unsaid(rec, "save the [vdso] beside");
    if (!status)
        status = ptl_perf_writer_begin(writer);
    if (!status)
        status = add_info(rec);
    if (!status)
        status = add_index(rec);
    if (!status && rec->capture->event.kernel)
        status = kernel_write_maps(writer, &layout);
    if (status == PROC_UNREAD)
        return unsaid(rec, "read the maps of the kernel for");
    if (!status)
        status = add_processes(rec, &layout);
    return status ? status : ptl_perf_write_init_done(writer);
}
