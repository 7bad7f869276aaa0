/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_pt_sampling.h - AUX sampling for the fake intel_pt PMU: t_fake_pt.sh has its source include
 * this. What the kernel does with it - asking for the newest trace in the middle of another event's
 * sample, and writing that - is the kernel's own.
 */
#include <linux/kprobes.h>

static bool sampling = true;
module_param(sampling, bool, 0444);

/* Not for modules, but here nobody else has the buffer. */
static long (*copy_aux)(struct perf_output_handle *aux, struct perf_output_handle *handle,
                        unsigned long from, unsigned long to);

static long fpt_snapshot_aux(struct perf_event *ev, struct perf_output_handle *handle,
                             unsigned long size)
{
    struct fpt_cpu *fc = this_cpu_ptr(&fpt_cpus);
    struct fpt_buf *buf;
    u64 to;

    if (!fc->open)
        return 0;
    buf = perf_get_aux(&fc->handle);
    if (!buf->snap)
        return 0;
    to = buf->pos & (buf->size - 1);
    return copy_aux(&fc->handle, handle, (to - size) & (buf->size - 1), to);
}

static int __init sampling_init(struct pmu *pmu)
{
    struct kprobe probe = {.symbol_name = "perf_output_copy_aux"};
    int err = register_kprobe(&probe);

    if (err)
        return err;
    copy_aux = (void *)probe.addr;
    unregister_kprobe(&probe);
    pmu->snapshot_aux = sampling ? fpt_snapshot_aux : NULL;
    return 0;
}
