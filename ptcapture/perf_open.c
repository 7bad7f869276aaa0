/* SPDX-License-Identifier: BSD-3-Clause */
/* perf_open.c - the lanes of a recording and the events that write into them. */
#include "perf.h"
#include "proc.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PERF_COUNT_SW_DUMMY
#define PERF_COUNT_SW_DUMMY 9
#endif

#define TRAILER                                                                                    \
    (PTL_SAMPLE_IP | PTL_SAMPLE_TID | PTL_SAMPLE_TIME | PTL_SAMPLE_CPU | PTL_SAMPLE_IDENTIFIER)

/* --- targets and lanes ----------------------------------------------------------------- */

static int add_tid(void *context, pid_t tid)
{
    struct perf_recorder *rec = context;
    pid_t *tids;

    for (size_t i = 0; i < rec->tid_count; i++) {
        if (rec->tids[i] == tid)
            return 0;
    }
    tids = realloc(rec->tids, (rec->tid_count + 1) * sizeof(*tids));
    if (!tids)
        return -1;
    rec->tids = tids;
    tids[rec->tid_count++] = tid;
    return 0;
}

static int gone(struct perf_recorder *rec, int id)
{
    if (proc_missed(errno))
        capture_error(rec->capture, "cannot look at process or thread %d: %s.", id,
                      strerror(errno));
    else
        capture_error(rec->capture, "there is no process or thread %d.", id);
    return -1;
}

static int no_memory(const struct perf_recorder *rec)
{
    capture_error(rec->capture, "out of memory.");
    return -1;
}

/* Threads may start threads while we look: until there is no new one. */
static int add_process(struct perf_recorder *rec, pid_t pid)
{
    size_t known;

    do {
        known = rec->tid_count;
        if (proc_threads(pid, add_tid, rec))
            return -1;
    } while (rec->tid_count != known);
    return 0;
}

static int find_tids(struct perf_recorder *rec)
{
    const struct capture_options *options = rec->capture->options;

    if (options->target == TARGET_COMMAND || options->target == TARGET_CPUS) {
        pid_t tid = options->target == TARGET_CPUS ? -1 : rec->capture->command.pid;

        return add_tid(rec, tid) ? no_memory(rec) : 0;
    }
    for (size_t i = 0; i < options->ids.count; i++) {
        int id = options->ids.ids[i];
        if (options->target == TARGET_TIDS) {
            if (!proc_tgid(id))
                return gone(rec, id);
            if (add_tid(rec, id))
                return no_memory(rec);
        } else if (add_process(rec, id)) {
            return gone(rec, id);
        }
    }
    return 0;
}

static int add_lane(struct perf_recorder *rec, int cpu, pid_t tid)
{
    struct perf_lane *lanes = realloc(rec->lanes, (rec->lane_count + 1) * sizeof(*lanes));

    if (!lanes)
        return no_memory(rec);
    rec->lanes = lanes;
    lanes += rec->lane_count++;
    memset(lanes, 0, sizeof(*lanes));
    lanes->cpu = cpu;
    lanes->tid = tid;
    lanes->fd = -1;
    return 0;
}

static int add_online_cpus(struct perf_recorder *rec)
{
    long n = sysconf(_SC_NPROCESSORS_CONF);

    for (long cpu = 0; cpu < n; cpu++) {
        if (add_lane(rec, (int)cpu, -1))
            return -1;
    }
    return 0;
}

static int find_lanes(struct perf_recorder *rec)
{
    const struct id_list *cpus = &rec->capture->options->cpus;

    if (rec->per_thread) {
        for (size_t i = 0; i < rec->tid_count; i++) {
            if (add_lane(rec, -1, rec->tids[i]))
                return -1;
        }
        return 0;
    }
    if (!cpus->count)
        return add_online_cpus(rec);
    for (size_t i = 0; i < cpus->count; i++) {
        if (cpus->ids[i] >= sysconf(_SC_NPROCESSORS_CONF)) {
            capture_error(rec->capture, "-C: there is no CPU %d: this machine has 0-%ld.",
                          cpus->ids[i], sysconf(_SC_NPROCESSORS_CONF) - 1);
            return -1;
        }
        if (add_lane(rec, cpus->ids[i], -1))
            return -1;
    }
    return 0;
}

/* --- attributes ------------------------------------------------------------------------- */

static void set_attrs(struct perf_recorder *rec)
{
    const struct capture *capture = rec->capture;
    const struct capture_options *options = capture->options;
    struct ptl_attr *pt = &rec->pt.attr, *dummy = &rec->dummy.attr;
    uint64_t common = PTL_ATTR_SAMPLE_ID_ALL | PTL_ATTR_EXCLUDE_HV;

    if (!rec->per_thread && !rec->cpu_wide && !options->no_inherit)
        common |= PTL_ATTR_INHERIT;
    pt->type = capture->pmu.type;
    pt->config = capture->event.config[0];
    pt->config1 = capture->event.config[1];
    pt->config2 = capture->event.config[2];
    pt->sample_period = 1;
    pt->sample_type = rec->per_thread ? TRAILER & ~PTL_SAMPLE_CPU : TRAILER;
    pt->read_format = PTL_READ_ID;
    pt->flags = common | PTL_ATTR_DISABLED;
    if (!capture->event.kernel)
        pt->flags |= PTL_ATTR_EXCLUDE_KERNEL;
    if (!capture->event.user)
        pt->flags |= PTL_ATTR_EXCLUDE_USER;
    if (options->target == TARGET_COMMAND && !options->delay_ns)
        pt->flags |= PTL_ATTR_ENABLE_ON_EXEC;
    snprintf(rec->pt.name, sizeof(rec->pt.name), "%s", capture->event.name);

    dummy->type = PERF_TYPE_SOFTWARE;
    dummy->config = PERF_COUNT_SW_DUMMY;
    dummy->sample_period = 1;
    dummy->sample_type = pt->sample_type;
    dummy->read_format = pt->read_format;
    dummy->flags = common | PTL_ATTR_EXCLUDE_KERNEL | PTL_ATTR_MMAP | PTL_ATTR_MMAP2 |
                   PTL_ATTR_COMM | PTL_ATTR_COMM_EXEC | PTL_ATTR_TASK;
    /* perf rejects per-thread recordings with context switches: their trailer has no CPU. */
    if (!rec->per_thread)
        dummy->flags |= PTL_ATTR_CONTEXT_SWITCH;
    if (capture->event.kernel)
        dummy->flags |= PTL_ATTR_KSYMBOL | PTL_ATTR_BPF_EVENT | PTL_ATTR_TEXT_POKE;
    dummy->flags |= PTL_ATTR_NAMESPACES | PTL_ATTR_CGROUP;
    snprintf(rec->dummy.name, sizeof(rec->dummy.name), "dummy:u");
}

/* What older kernels lack (EINVAL) or unprivileged users may not see (EACCES), in the order
 * in which it can be done without. */
static int give_up_one(struct ptl_attr *attr)
{
    static const uint64_t optional[] = {PTL_ATTR_NAMESPACES, PTL_ATTR_CGROUP, PTL_ATTR_TEXT_POKE,
                                        PTL_ATTR_BPF_EVENT, PTL_ATTR_KSYMBOL};

    for (size_t i = 0; i < sizeof(optional) / sizeof(*optional); i++) {
        if (attr->flags & optional[i]) {
            attr->flags &= ~optional[i];
            return 1;
        }
    }
    return 0;
}

/* --- opening ----------------------------------------------------------------------------- */

static int sys_open(const struct ptl_attr *attr, pid_t tid, int cpu, int group)
{
    uint8_t raw[PTL_ATTR_SIZE];

    if (ptl_attr_encode(raw, sizeof(raw), attr) < 0) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_perf_event_open, raw, tid, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

static int remember(struct perf_events *events, int fd, size_t lane)
{
    if (events->count == events->cap) {
        size_t cap = events->cap ? 2 * events->cap : 16;
        int *fds = realloc(events->fds, cap * sizeof(*fds));
        size_t *lanes = realloc(events->lane_of, cap * sizeof(*lanes));
        uint64_t *ids = realloc(events->ids, cap * sizeof(*ids));

        if (fds)
            events->fds = fds;
        if (lanes)
            events->lane_of = lanes;
        if (ids)
            events->ids = ids;
        if (!fds || !lanes || !ids)
            return -1;
        events->cap = cap;
    }
    events->fds[events->count] = fd;
    events->lane_of[events->count] = lane;
    return ioctl(fd, PERF_EVENT_IOC_ID, &events->ids[events->count++]);
}

static int refuse(const struct perf_recorder *rec, const struct ptl_attr *attr, pid_t tid, int cpu)
{
    char text[1024];

    perf_explain_open(rec, attr, tid, cpu, errno, text, sizeof(text));
    capture_error(rec->capture, "%s", text);
    return -1;
}

/* The kernel was not asked for by name and is not permitted: user code alone. */
static int drop_kernel(struct perf_recorder *rec)
{
    if (errno != EACCES || rec->capture->event.kernel_given || !rec->capture->event.user ||
        rec->pt.attr.flags & PTL_ATTR_EXCLUDE_KERNEL)
        return 0;
    capture_note(rec->capture, "the kernel may not be traced here (--check tells why): user code "
                               "only.");
    rec->capture->event.kernel = 0;
    rec->pt.attr.flags |= PTL_ATTR_EXCLUDE_KERNEL;
    return 1;
}

/* Returns 1: skipped (the CPU is offline, or the thread has ended). */
static int open_one(struct perf_recorder *rec, struct perf_events *events, size_t lane, pid_t tid,
                    int group)
{
    const struct perf_lane *l = &rec->lanes[lane];
    int fd, is_first = !events->count;

    for (;;) {
        fd = sys_open(&events->attr, tid, l->cpu, group);
        if (fd >= 0)
            break;
        if (errno == ENODEV && l->cpu >= 0 && !rec->capture->options->cpus.count)
            return 1;
        if (errno == ESRCH && rec->tid_count > 1)
            return 1;
        if (is_first && events == &rec->pt && drop_kernel(rec))
            continue;
        if (is_first && events == &rec->dummy && (errno == EINVAL || errno == EACCES) &&
            give_up_one(&events->attr))
            continue;
        return refuse(rec, &events->attr, tid, l->cpu);
    }
    if (remember(events, fd, lane)) {
        capture_error(rec->capture, "cannot prepare an event: %s.", strerror(errno));
        return -1;
    }
    return 0;
}

static int join(struct perf_recorder *rec, size_t lane, int fd)
{
    struct perf_lane *l = &rec->lanes[lane];

    if (l->fd < 0) {
        l->fd = fd;
        return perf_lane_map(rec, l);
    }
    if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, l->fd)) {
        capture_error(rec->capture, "cannot share the ring of CPU %d: %s.", l->cpu,
                      strerror(errno));
        return -1;
    }
    return 0;
}

static int open_event(struct perf_recorder *rec, struct perf_events *events, size_t lane, pid_t tid,
                      int group)
{
    int status = open_one(rec, events, lane, tid, group);

    return status ? status : join(rec, lane, events->fds[events->count - 1]);
}

/* All events of one task in one lane; the PT event first: it leads. */
static int open_task(struct perf_recorder *rec, size_t lane, pid_t tid)
{
    int status = open_event(rec, &rec->pt, lane, tid, -1), leader;

    if (status)
        return status < 0 ? -1 : 0;
    leader = rec->pt.fds[rec->pt.count - 1];
    if (rec->filter.text && ioctl(leader, PERF_EVENT_IOC_SET_FILTER, rec->filter.text)) {
        capture_error(rec->capture, "--filter: the kernel refuses \"%s\": %s.%s", rec->filter.text,
                      strerror(errno),
                      errno == EOPNOTSUPP ? " (The CPU has fewer ranges, or filters for files "
                                            "were given with -a or -C.)"
                                          : "");
        return -1;
    }
    if (open_event(rec, &rec->dummy, lane, tid, -1) < 0)
        return -1;
    for (size_t i = 0; i < rec->others; i++) {
        if (open_event(rec, &rec->other[i], lane, tid, leader) < 0)
            return -1;
    }
    return 0;
}

static int open_lanes(struct perf_recorder *rec)
{
    for (size_t lane = 0; lane < rec->lane_count; lane++) {
        if (rec->per_thread) {
            if (open_task(rec, lane, rec->lanes[lane].tid))
                return -1;
            continue;
        }
        for (size_t i = 0; i < rec->tid_count; i++) {
            if (open_task(rec, lane, rec->tids[i]))
                return -1;
        }
    }
    if (rec->pt.count)
        return 0;
    capture_error(rec->capture, "nothing to record: the targets have ended.");
    return -1;
}

static int parse_others(struct perf_recorder *rec)
{
    const struct capture *capture = rec->capture;
    uint64_t size = capture->options->aux_sample_size;

    if (!size)
        size = capture->event.aux_sample_size ? capture->event.aux_sample_size : 4096;
    for (size_t i = 0; i < capture->event_count; i++) {
        struct perf_events *other = &rec->other[rec->others];

        if (perf_other_parse(other, capture->event_text[i], size)) {
            capture_error(capture,
                          "-e %s: unknown event. Valid are cycles, instructions, "
                          "branches, cache-misses, cpu-clock, task-clock, page-faults, "
                          "context-switches, rHEX, each with /period=N/ or /freq=N/ and :u or :k.",
                          capture->event_text[i]);
            return -1;
        }
        other->attr.sample_type |= rec->pt.attr.sample_type;
        other->attr.read_format = rec->pt.attr.read_format;
        other->attr.flags |= PTL_ATTR_SAMPLE_ID_ALL | (rec->pt.attr.flags & PTL_ATTR_INHERIT);
        if (!capture->event.kernel)
            other->attr.flags |= PTL_ATTR_EXCLUDE_KERNEL;
        rec->others++;
    }
    return 0;
}

int perf_open_all(struct perf_recorder *rec)
{
    const struct capture_options *options = rec->capture->options;
    char error[512];

    set_attrs(rec);
    if (options->filters.count &&
        filter_resolve(&rec->filter, &options->filters, error, sizeof(error))) {
        capture_error(rec->capture, "--filter: %s", error);
        return -1;
    }
    if (parse_others(rec) || find_tids(rec) || find_lanes(rec))
        return -1;
    perf_lane_fit(rec);
    if (open_lanes(rec))
        return -1;
    rec->polls = calloc(rec->pt.count + 1, sizeof(*rec->polls));
    for (size_t i = 0; rec->polls && i < rec->pt.count; i++) {
        rec->polls[i].fd = rec->pt.fds[i];
        rec->polls[i].events = POLLIN;
    }
    return rec->polls ? 0 : no_memory(rec);
}

void perf_turn(struct perf_recorder *rec, int fd, int on)
{
    if (!ioctl(fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) || rec->failed)
        return;
    capture_error(rec->capture, "cannot switch tracing %s: %s.", on ? "on" : "off",
                  strerror(errno));
    rec->failed = 1;
}

void perf_switch(struct perf_recorder *rec, int on)
{
    for (size_t i = 0; i < rec->pt.count; i++)
        perf_turn(rec, rec->pt.fds[i], on);
    rec->tracing = (uint8_t)on;
}

static void close_events(struct perf_events *events)
{
    for (size_t i = 0; i < events->count; i++)
        close(events->fds[i]);
    free(events->fds);
    free(events->lane_of);
    free(events->ids);
}

void perf_close_all(struct perf_recorder *rec)
{
    for (size_t i = 0; i < rec->lane_count; i++)
        perf_lane_unmap(&rec->lanes[i]);
    for (size_t i = 0; i < rec->others; i++)
        close_events(&rec->other[i]);
    close_events(&rec->dummy);
    close_events(&rec->pt);
    free(rec->lanes);
    free(rec->tids);
    free(rec->polls);
    filter_free(&rec->filter);
}
