/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * step_out.c - the recording without the trace: two events (intel_pt, and a dummy for sideband),
 * in the form of `perf record --per-thread` or, with one virtual CPU, of `perf record`.
 *
 * TSC ticks are nanoseconds of CLOCK_MONOTONIC (capture_now()), the clock that also stamps the
 * sideband; so the conversion is 1 : 1.
 */
#include "outfile.h"
#include "proc.h"
#include "step.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void step_out_wrote(struct stepper *st, int status)
{
    if (status >= 0 || st->failed)
        return;
    st->failed = status;
    capture_wrote(st->capture, status);
}

/* --- the beginning ---------------------------------------------------------------------- */

static int add_events(struct stepper *st)
{
    struct ptl_perf_writer *writer = st->capture->file.writer;
    const struct pt_event *event = &st->capture->event;
    struct ptl_attr attr = st->sideband.attr;
    int status;

    st->layout = ptl_layout_of(&attr);
    /* A number that no event of the kernel has in this file. */
    st->pt_id = 1;
    for (size_t i = 0; i < st->sideband.fd_count; i++) {
        if (st->sideband.ids[i] >= st->pt_id)
            st->pt_id = st->sideband.ids[i] + 1;
    }
    attr.type = st->capture->pmu.type;
    attr.config = event->config[0];
    attr.config1 = event->config[1];
    attr.config2 = event->config[2];
    attr.flags = PTL_ATTR_DISABLED | PTL_ATTR_EXCLUDE_KERNEL | PTL_ATTR_EXCLUDE_HV |
                 PTL_ATTR_SAMPLE_ID_ALL | (st->sideband.attr.flags & PTL_ATTR_INHERIT);
    if (st->capture->options->target == TARGET_COMMAND)
        attr.flags |= PTL_ATTR_ENABLE_ON_EXEC;
    status = ptl_perf_writer_event(writer, &attr, &st->pt_id, 1, event->name);
    attr = st->sideband.attr;
    if (st->cpu_queue) /* not so asked of the kernel: the virtual CPU's switches are not its own */
        attr.flags |= PTL_ATTR_CONTEXT_SWITCH;
    if (!status)
        status = ptl_perf_writer_event(writer, &attr, st->sideband.ids, st->sideband.fd_count,
                                       "dummy:u");
    return status ? status : ptl_perf_writer_begin(writer);
}

/* Which queue the AUX records of the virtual CPU belong to. */
static int add_id_index(struct stepper *st)
{
    struct ptl_id_index_entry entry;

    entry.id = st->pt_id;
    entry.idx = st->cpu_queue->idx;
    entry.cpu = step_cpu(st);
    entry.tid = UINT64_MAX;
    return ptl_perf_write_id_index(st->capture->file.writer, &entry, 1);
}

static int add_info(struct stepper *st)
{
    struct ptl_perf_writer *writer = st->capture->file.writer;
    const struct pmu *pmu = &st->capture->pmu;
    struct ptl_rec_time_conv conv;
    struct ptl_pt_info info;
    int status;

    memset(&conv, 0, sizeof(conv));
    conv.mult = 1;
    conv.mask = UINT64_MAX;
    conv.user_time_zero = 1;
    memset(&info, 0, sizeof(info));
    info.pmu_type = pmu->type;
    info.time_mult = conv.mult;
    info.cap_user_time_zero = 1;
    info.tsc_bit = pmu_mask(pmu, "tsc");
    info.noretcomp_bit = pmu_mask(pmu, "noretcomp");
    info.mtc_bit = pmu_mask(pmu, "mtc");
    info.mtc_freq_bits = pmu_mask(pmu, "mtc_period");
    info.cyc_bit = pmu_mask(pmu, "cyc");
    if (st->cpu_queue) {
        info.per_cpu = 1;
        info.switches = st->per_cpu == PER_CPU_WIDE ? PTL_SWITCHES_CPU_WIDE : PTL_SWITCHES_TASK;
    }
    info.snapshot = st->snapshot_size != 0;
    info.filter = st->filter.text;
    info.ctc_num = pmu->tsc_ratio;
    info.ctc_den = pmu->art_ratio;
    info.max_nonturbo = pmu->max_nonturbo_ratio;
    status = ptl_perf_write_time_conv(writer, &conv);
    if (!status && st->cpu_queue)
        status = add_id_index(st);
    return status ? status : ptl_perf_write_pt_info(writer, &info);
}

static int add_processes(struct stepper *st)
{
    struct ptl_perf_writer *writer = st->capture->file.writer;
    int status = 0;

    for (struct step_thread *t = st->threads; t && !status; t = t->next) {
        int first = 1;
        for (struct step_thread *other = st->threads; other != t; other = other->next)
            first &= other->tgid != t->tgid;
        if (first && t->code)
            status =
                capture_knows(st->capture, t->tgid, proc_synthesize(writer, &st->layout, t->tgid));
    }
    return status ? status : ptl_perf_write_init_done(writer);
}

static int open_truth(struct stepper *st)
{
    const char *path = st->capture->options->truth;

    st->truth_fd = -1;
    if (!path)
        return 0;
    st->truth_fd = outfile_open(path, O_NOFOLLOW, 0600);
    if (st->truth_fd < 0 || out_open(&st->truth, st->truth_fd, 1u << 16)) {
        capture_error(st->capture, "cannot create %s: %s.", path, strerror(errno));
        return -1;
    }
    return 0;
}

int step_out_begin(struct stepper *st)
{
    const struct capture_file *file = &st->capture->file;
    int status;

    if (open_truth(st))
        return -1;
    if (code_store_init(&st->store, file->path)) {
        capture_error(st->capture, "cannot keep code beside %s: %s.", file->path, strerror(errno));
        return -1;
    }
    status = add_events(st);
    if (!status)
        status = add_info(st);
    if (!status)
        status = add_processes(st);
    step_out_wrote(st, status);
    return status ? -1 : 0;
}

/* --- sideband ------------------------------------------------------------------------------ */

uint64_t step_out_seen(const struct stepper *st)
{
    return st->made + (st->have_sideband ? sideband_seen(&st->sideband) : 0);
}

void step_out_drain(struct stepper *st)
{
    int n;

    if (!st->have_sideband || st->failed)
        return;
    n = sideband_drain(&st->sideband, st->capture->file.writer);
    step_out_wrote(st, n);
    if (n > 0) {
        st->capture->totals.wakeups++;
        step_out_wrote(st, ptl_perf_write_round(st->capture->file.writer));
    }
    st->capture->totals.losses.count[PTL_LOSS_RECORDS] = st->sideband.lost;
}

static void make_id(const struct stepper *st, const struct step_thread *t, uint64_t time,
                    struct ptl_sample_id *id)
{
    memset(id, 0, sizeof(*id));
    id->pid = (uint32_t)t->tgid;
    id->tid = (uint32_t)t->tid;
    id->time = time;
    id->cpu = step_cpu(st);
    id->identifier = st->pt_id;
}

void step_out_make(const struct stepper *st, const struct step_thread *t, uint64_t time,
                   struct ptl_record *record, uint32_t type)
{
    memset(record, 0, sizeof(*record));
    record->type = type;
    record->known = 1;
    make_id(st, t, time, &record->id);
}

void step_out_put(struct stepper *st, const struct ptl_record *record)
{
    if (!st->failed)
        step_out_wrote(st, ptl_perf_write_record(st->capture->file.writer, record, &st->layout));
}

void step_out_copy(struct stepper *st, const struct step_thread *t, const struct code_copy *copy,
                   uint64_t time)
{
    struct proc_map map;
    struct ptl_sample_id id;

    memset(&map, 0, sizeof(map));
    map.from = copy->addr;
    map.to = copy->addr + copy->len;
    map.pgoff = copy->offset;
    map.prot = PROT_READ | PROT_EXEC;
    map.flags = MAP_PRIVATE;
    snprintf(map.name, sizeof(map.name), "%s", st->store.path[copy->file]);
    make_id(st, t, time, &id);
    st->made++;
    if (!st->failed)
        step_out_wrote(
            st, proc_write_map(st->capture->file.writer, &st->layout, &map, t->tgid, t->tid, &id));
}

void step_out_task(struct stepper *st, const struct step_thread *t, uint32_t type, pid_t ppid,
                   pid_t ptid)
{
    struct ptl_record record;
    uint64_t now = capture_now();

    st->made++;
    step_out_make(st, t, now, &record, type);
    record.u.task.pid = (uint32_t)t->tgid;
    record.u.task.tid = (uint32_t)t->tid;
    record.u.task.ppid = (uint32_t)ppid;
    record.u.task.ptid = (uint32_t)ptid;
    record.u.task.time = now;
    step_out_put(st, &record);
}

void step_out_comm(struct stepper *st, const struct step_thread *t)
{
    struct ptl_record record;
    char comm[32] = "";

    st->made++;
    if (proc_comm(t->tid, comm) && proc_missed(errno))
        step_out_wrote(st, capture_knows(st->capture, t->tgid, PROC_UNREAD));
    step_out_make(st, t, capture_now(), &record, PTL_REC_COMM);
    record.misc = PTL_MISC_COMM_EXEC;
    record.u.comm.pid = (uint32_t)t->tgid;
    record.u.comm.tid = (uint32_t)t->tid;
    record.u.comm.comm = comm;
    step_out_put(st, &record);
}

struct maps_of {
    struct stepper *st;
    const struct step_thread *t;
    struct ptl_sample_id id;
};

static int put_map(void *context, const struct proc_map *map)
{
    struct maps_of *of = context;
    struct stepper *st = of->st;

    st->made++;
    if ((map->prot & PROT_EXEC) && !st->failed)
        step_out_wrote(st, proc_write_map(st->capture->file.writer, &st->layout, map, of->t->tgid,
                                          of->t->tid, &of->id));
    return st->failed;
}

void step_out_maps(struct stepper *st, const struct step_thread *t)
{
    struct maps_of of;

    of.st = st;
    of.t = t;
    make_id(st, t, capture_now(), &of.id);
    if (proc_maps(t->tid, put_map, &of) && !st->failed && proc_missed(errno))
        step_out_wrote(st, capture_knows(st->capture, t->tgid, PROC_UNREAD));
}

/* --- truth
 * ---------------------------------------------------------------------------------------- */

void step_out_truth(struct stepper *st, const struct step_thread *t, uint64_t ip)
{
    if (st->truth_tid != t->tid) {
        out_printf(&st->truth, "# %d/%d\n", (int)t->tgid, (int)t->tid);
        st->truth_tid = t->tid;
    }
    out_hex(&st->truth, ip);
    out_char(&st->truth, '\n');
}

static int close_truth(struct stepper *st)
{
    int err = 0;

    if (st->truth_fd < 0)
        return 0;
    err = out_close(&st->truth);
    if (close(st->truth_fd) && !err)
        err = errno;
    if (err)
        capture_error(st->capture, "cannot write %s: %s.", st->capture->options->truth,
                      strerror(err));
    return err ? -1 : 0;
}

int step_out_end(struct stepper *st)
{
    int status = 0;

    step_out_drain(st);
    if (st->store.failed) {
        capture_error(st->capture,
                      "cannot write %s: %s. Code that no file holds cannot be decoded.",
                      st->store.path[CODE_FILE_PAGES], strerror(st->store.failed));
        status = -1;
    }
    code_store_close(&st->store);
    if (st->unread)
        capture_error(st->capture, "%llu instructions could not be read: the trace has gaps.",
                      (unsigned long long)st->unread);
    return close_truth(st) || st->forsaken ? -1 : status;
}
