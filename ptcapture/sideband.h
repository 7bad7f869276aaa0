/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sideband.h - what the kernel tells about tasks beside the trace (maps, names, forks, exits):
 * a dummy event for each task and CPU, one ring for each CPU.
 */
#ifndef PTCAPTURE_SIDEBAND_H
#define PTCAPTURE_SIDEBAND_H

#include "ring.h"

#include <pt/perfdata.h>
#include <sys/types.h>

struct sideband {
    struct ptl_attr attr; /* as it goes into the file */
    struct ring *rings;   /* one for each CPU */
    int *fds;
    uint64_t *ids; /* of the events, for the file */
    size_t cpus, fd_count, fd_cap;
    int *cpu_fd; /* the event that owns the ring of the CPU, -1: none yet */
    int *cpu_of; /* number of the CPU */
    uint64_t ring_size;
    uint64_t lost; /* records that the kernel could not write */
};

/* Prepare for the CPUs that are online; times of records are CLOCK_MONOTONIC.
 * Returns 0 or -1 with errno. */
int sideband_init(struct sideband *sideband, int inherit, uint64_t ring_size);
/* Add a task. Returns 0, or -1 with errno (EACCES, EPERM, ENOSYS: not permitted here). */
int sideband_add(struct sideband *sideband, pid_t tid);
void sideband_close(struct sideband *sideband);

/* Changes whenever the kernel has written a record. */
uint64_t sideband_seen(const struct sideband *sideband);
/* Is a ring half full? */
int sideband_pressing(const struct sideband *sideband);
/* Move everything to the file. Returns 1 if there was something, 0, or a negative status. */
int sideband_drain(struct sideband *sideband, struct ptl_perf_writer *writer);

#endif
