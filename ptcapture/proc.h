/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * proc.h - what /proc tells about processes that already run, as the records that the kernel
 * would have written had we watched from their start.
 */
#ifndef PTCAPTURE_PROC_H
#define PTCAPTURE_PROC_H

#include <pt/perfdata.h>
#include <sys/types.h>

/* One line of /proc/PID/maps. */
struct proc_map {
    uint64_t from, to, pgoff, inode;
    uint32_t prot, flags; /* PROT_*, MAP_SHARED or MAP_PRIVATE */
    uint32_t major, minor;
    char name[4096]; /* path, "[vdso]", "//anon" for none */
};

/* Call `each` for every line, until it returns non-zero. Returns that, 0, or -1 with errno. */
int proc_maps(pid_t pid, int (*each)(void *context, const struct proc_map *map), void *context);

/* Call `each` for the threads of a process. As proc_maps(). */
int proc_threads(pid_t pid, int (*each)(void *context, pid_t tid), void *context);
/* The same for all processes. */
int proc_each(int (*each)(void *context, pid_t pid), void *context);

/* The process a thread belongs to, and its parent; 0 with errno if it has gone, or that cannot be
 * read. */
pid_t proc_tgid(pid_t tid);
pid_t proc_parent(pid_t pid);
/* Has it ended, though somebody still waits for its status? */
int proc_is_zombie(pid_t tid);
/* Name of a thread, at most 16 bytes. Returns 0 or -1 with errno. */
int proc_comm(pid_t tid, char comm[32]);

/* Is this errno one that takes something from the recording? Not if the process has gone, or if
 * this user may not look at it. */
int proc_missed(int err);

/* An MMAP2 record. `id`: its trailer; NULL: all zero, i.e. before everything. */
int proc_write_map(struct ptl_perf_writer *writer, const struct ptl_layout *layout,
                   const struct proc_map *map, pid_t pid, pid_t tid,
                   const struct ptl_sample_id *id);

#define PROC_UNREAD 1 /* no negative status: errno tells */

/* Write COMM, FORK and the executable MMAP2s of a process and its threads, time 0 as perf does.
 * Returns 0, a negative status, or PROC_UNREAD with errno if not all of it could be read. */
int proc_synthesize(struct ptl_perf_writer *writer, const struct ptl_layout *layout, pid_t pid);

#endif
