/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perf_error.c - refusals of perf_event_open() and mmap() in words.
 *
 * Source: perf_event_open(2), "ERRORS" and "perf_event related configuration files".
 */
#include "machine.h"
#include "perf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"
#define MLOCK_KB "/proc/sys/kernel/perf_event_mlock_kb"

static void explain_access(const struct ptl_attr *attr, pid_t tid, char *text, size_t size)
{
    long paranoid = machine_number(PARANOID, 2);
    int needs = tid < 0 ? 0 : !(attr->flags & PTL_ATTR_EXCLUDE_KERNEL) ? 1 : 2;
    const char *what = needs == 0   ? "recording whole CPUs (-a, -C)"
                       : needs == 1 ? "tracing the kernel"
                                    : "tracing this task";

    if (paranoid > needs)
        snprintf(text, size,
                 "%s is not permitted: kernel.perf_event_paranoid is %ld and must be at most %d. "
                 "Fix: sysctl kernel.perf_event_paranoid=%d, or run with CAP_PERFMON%s.",
                 what, paranoid, needs, needs,
                 needs == 1 ? ", or trace user code only: -e intel_pt//u" : "");
    else
        snprintf(text, size,
                 "%s is not permitted: %s %d belongs to another user. Fix: run as that user or "
                 "with CAP_PERFMON and CAP_SYS_PTRACE.",
                 what, tid < 0 ? "CPU" : "task", (int)tid);
}

void perf_explain_open(const struct perf_recorder *rec, const struct ptl_attr *attr, pid_t tid,
                       int cpu, int err, char *text, size_t size)
{
    int is_pt = attr == &rec->pt.attr;
    struct rlimit files;

    switch (err) {
    case EACCES:
    case EPERM:
        explain_access(attr, tid, text, size);
        return;
    case EBUSY:
        snprintf(text, size,
                 "Intel PT is in use%s: only one event can have it at a time. Fix: end the other "
                 "recorder (perf record, a debugger, a hypervisor with pt_mode=1).",
                 cpu >= 0 ? " on this CPU" : "");
        return;
    case ESRCH:
        snprintf(text, size, "there is no task %d (any more).", (int)tid);
        return;
    case ENODEV:
        snprintf(text, size, "CPU %d is not online.", cpu);
        return;
    case EMFILE:
        memset(&files, 0, sizeof(files));
        getrlimit(RLIMIT_NOFILE, &files);
        snprintf(text, size,
                 "too many events: RLIMIT_NOFILE is %llu, and %zu tasks on %zu CPUs need two "
                 "descriptors each. Fix: ulimit -n, or --per-thread.",
                 (unsigned long long)files.rlim_cur, rec->tid_count, rec->lane_count);
        return;
    case EINVAL:
        if (attr->sample_type & PTL_SAMPLE_AUX) {
            snprintf(text, size,
                     "--aux-sample: this kernel or its intel_pt driver cannot attach trace to "
                     "samples: needs Linux 5.5 or newer. Fix: --snapshot, or a full trace.");
            return;
        }
        snprintf(text, size, "the kernel rejects %s (config 0x%llx): %s.",
                 is_pt ? rec->pt.name : "an event", (unsigned long long)attr->config,
                 is_pt ? "a term or a combination of terms that this CPU lacks; --check lists what "
                         "it has"
                       : "it does not know some of its attributes");
        return;
    case EOPNOTSUPP:
        snprintf(text, size, "the PMU cannot do this: %s.",
                 is_pt ? "no such event" : "events with samples need a PMU that interrupts");
        return;
    default:
        snprintf(text, size, "cannot open an event for task %d on CPU %d: %s.", (int)tid, cpu,
                 strerror(err));
    }
}

static void limit_text(char *text, size_t size)
{
    struct rlimit memlock;

    memset(&memlock, 0, sizeof(memlock));
    getrlimit(RLIMIT_MEMLOCK, &memlock);
    if (memlock.rlim_cur == RLIM_INFINITY)
        snprintf(text, size, "unlimited");
    else
        snprintf(text, size, "%llu KiB", (unsigned long long)memlock.rlim_cur / 1024);
}

void perf_explain_map(const struct perf_recorder *rec, const char *what, uint64_t bytes, int err,
                      char *text, size_t size)
{
    char memlock[64];

    limit_text(memlock, sizeof(memlock));
    if (err == EPERM)
        snprintf(text, size,
                 "cannot map %llu KiB of %s for each of %zu rings: this user may lock "
                 "kernel.perf_event_mlock_kb = %ld KiB for each CPU and then RLIMIT_MEMLOCK = %s. "
                 "Fix: sysctl kernel.perf_event_mlock_kb=%llu, or ulimit -l, or CAP_IPC_LOCK, or a "
                 "smaller -m.",
                 (unsigned long long)bytes / 1024, what, rec->lane_count,
                 machine_number(MLOCK_KB, 516), memlock,
                 (unsigned long long)(rec->data_size + rec->aux_size) / 1024 + 64);
    else if (err == ENOMEM)
        snprintf(text, size,
                 "no memory for %llu KiB of %s for each of %zu rings. Fix: a smaller -m.",
                 (unsigned long long)bytes / 1024, what, rec->lane_count);
    else if (err == EBUSY)
        snprintf(text, size, "the %s of this event is in use by another recorder.", what);
    else
        snprintf(text, size, "cannot map %llu KiB of %s: %s.", (unsigned long long)bytes / 1024,
                 what, strerror(err));
}
