/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tasks.c - processes, threads and their names.
 *
 * A process is created by whatever mentions it first: records may be lost, and recordings
 * begin in the middle of things.
 */
#include "base/alloc.h"
#include "sideband/sideband.h"

#include <stdlib.h>

const struct process *ptl__sb_find_process(const struct ptl_sideband *sb, uint32_t pid)
{
    uint32_t i = ptl__map_get(&sb->by_pid, pid);

    return i == PTL__MAP_NONE ? NULL : &sb->processes[i];
}

struct process *ptl__sb_process(struct ptl_sideband *sb, uint32_t pid)
{
    uint32_t i = ptl__map_get(&sb->by_pid, pid);
    struct process *process;
    uint32_t space;

    if (i != PTL__MAP_NONE)
        return &sb->processes[i];
    process = MORE(sb, processes);
    if (!process || ptl_timeline_space(sb->timeline, PTL_TIMELINE_NONE, &space) < 0 ||
        ptl__map_put(&sb->by_pid, pid, (uint32_t)sb->processes_count) < 0)
        return NULL;
    *process = (struct process){.pid = pid, .space = space};
    sb->processes_count++;
    return process;
}

int ptl__sb_thread(struct ptl_sideband *sb, uint32_t tid, uint32_t pid)
{
    uint32_t i = ptl__map_get(&sb->by_tid, tid);
    struct thread *thread;

    if (i != PTL__MAP_NONE) {
        sb->threads[i].pid = pid;
        return 0;
    }
    thread = MORE(sb, threads);
    if (!thread || ptl__map_put(&sb->by_tid, tid, (uint32_t)sb->threads_count) < 0)
        return PTL_NOMEM;
    *thread = (struct thread){tid, pid};
    sb->threads_count++;
    return 0;
}

uint32_t ptl_sideband_pid(const struct ptl_sideband *sideband, uint32_t tid)
{
    uint32_t i = ptl__map_get(&sideband->by_tid, tid);

    if (tid == 0)
        return 0; /* idle, on any CPU */
    return i == PTL__MAP_NONE ? UINT32_MAX : sideband->threads[i].pid;
}

/* --- names ------------------------------------------------------------------------ */

int ptl__sb_name(struct ptl_sideband *sb, uint32_t tid, uint64_t tsc, const char *comm)
{
    struct name *name = MORE(sb, names);

    if (!name)
        return PTL_NOMEM;
    *name = (struct name){tsc, tid, (uint32_t)sb->names_count, comm};
    sb->names_count++;
    return 0;
}

/* By thread, time, and the order in which they were given. */
static int by_thread(const void *a, const void *b)
{
    const struct name *x = a, *y = b;

    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    if (x->tsc != y->tsc)
        return x->tsc < y->tsc ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

void ptl__sb_sort_names(struct ptl_sideband *sb)
{
    if (sb->names_count)
        qsort(sb->names, sb->names_count, sizeof(*sb->names), by_thread);
}

const char *ptl_sideband_comm(const struct ptl_sideband *sideband, uint32_t tid, uint64_t tsc)
{
    size_t lo = 0, hi = sideband->names_count;

    /* The last one of the thread not later than `tsc`, else its first. */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct name *name = &sideband->names[mid];

        if (name->tid < tid || (name->tid == tid && name->tsc <= tsc))
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo && sideband->names[lo - 1].tid == tid)
        return sideband->names[lo - 1].comm;
    if (lo < sideband->names_count && sideband->names[lo].tid == tid)
        return sideband->names[lo].comm;
    return tid == 0 ? "swapper" : NULL;
}
