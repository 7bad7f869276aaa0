/* SPDX-License-Identifier: BSD-3-Clause */
/* sideband.c - see sideband.h. */
#include "sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef PERF_COUNT_SW_DUMMY
#define PERF_COUNT_SW_DUMMY 9
#endif

#define DUMMY_SAMPLE_TYPE                                                                          \
    (PTL_SAMPLE_IP | PTL_SAMPLE_TID | PTL_SAMPLE_TIME | PTL_SAMPLE_CPU | PTL_SAMPLE_IDENTIFIER)

static int online_cpus(struct sideband *sideband)
{
    long n = sysconf(_SC_NPROCESSORS_CONF);

    if (n <= 0)
        n = 1;
    sideband->rings = calloc((size_t)n, sizeof(*sideband->rings));
    sideband->cpu_fd = calloc((size_t)n, sizeof(*sideband->cpu_fd));
    sideband->cpu_of = calloc((size_t)n, sizeof(*sideband->cpu_of));
    if (!sideband->rings || !sideband->cpu_fd || !sideband->cpu_of) {
        errno = ENOMEM;
        return -1;
    }
    for (long cpu = 0; cpu < n; cpu++) {
        sideband->cpu_fd[sideband->cpus] = -1;
        sideband->cpu_of[sideband->cpus++] = (int)cpu;
    }
    return 0;
}

int sideband_init(struct sideband *sideband, int inherit, uint64_t ring_size)
{
    struct ptl_attr *attr = &sideband->attr;

    memset(sideband, 0, sizeof(*sideband));
    sideband->ring_size = ring_size;
    attr->type = PERF_TYPE_SOFTWARE;
    attr->config = PERF_COUNT_SW_DUMMY;
    attr->sample_period = 1;
    attr->sample_type = DUMMY_SAMPLE_TYPE;
    attr->read_format = PTL_READ_ID;
    attr->flags = PTL_ATTR_EXCLUDE_KERNEL | PTL_ATTR_EXCLUDE_HV | PTL_ATTR_MMAP | PTL_ATTR_COMM |
                  PTL_ATTR_TASK | PTL_ATTR_SAMPLE_ID_ALL | PTL_ATTR_MMAP2 | PTL_ATTR_COMM_EXEC;
    if (inherit)
        attr->flags |= PTL_ATTR_INHERIT;
    return online_cpus(sideband);
}

/* The file's attr does not say use_clockid: TIME_CONV and AUXTRACE_INFO tell how these times
 * relate to the trace's, and readers take a clockid to mean that there is no such relation. */
static int open_event(const struct sideband *sideband, pid_t tid, int cpu)
{
    struct ptl_attr attr = sideband->attr;
    uint8_t raw[PTL_ATTR_SIZE];

    attr.flags |= PTL_ATTR_USE_CLOCKID;
    attr.clockid = CLOCK_MONOTONIC;
    if (ptl_attr_encode(raw, sizeof(raw), &attr) < 0) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_perf_event_open, raw, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int remember(struct sideband *sideband, int fd)
{
    uint64_t id = 0;

    if (sideband->fd_count == sideband->fd_cap) {
        size_t cap = sideband->fd_cap ? 2 * sideband->fd_cap : 16;
        int *fds = realloc(sideband->fds, cap * sizeof(*fds));
        uint64_t *ids;

        if (!fds)
            return -1;
        sideband->fds = fds;
        ids = realloc(sideband->ids, cap * sizeof(*ids));
        if (!ids)
            return -1;
        sideband->ids = ids;
        sideband->fd_cap = cap;
    }
    if (ioctl(fd, PERF_EVENT_IOC_ID, &id))
        return -1;
    sideband->fds[sideband->fd_count] = fd;
    sideband->ids[sideband->fd_count++] = id;
    return 0;
}

static int add_on_cpu(struct sideband *sideband, pid_t tid, size_t i)
{
    int fd = open_event(sideband, tid, sideband->cpu_of[i]);

    if (fd < 0)
        return errno == ENODEV ? 0 : -1; /* the CPU is offline */
    if (remember(sideband, fd)) {
        close(fd);
        return -1;
    }
    if (sideband->cpu_fd[i] >= 0)
        return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, sideband->cpu_fd[i]);
    if (ring_map(&sideband->rings[i], fd, sideband->ring_size))
        return -1;
    sideband->cpu_fd[i] = fd;
    return 0;
}

int sideband_add(struct sideband *sideband, pid_t tid)
{
    for (size_t i = 0; i < sideband->cpus; i++) {
        if (add_on_cpu(sideband, tid, i))
            return -1;
    }
    return 0;
}

void sideband_close(struct sideband *sideband)
{
    for (size_t i = 0; i < sideband->cpus; i++)
        ring_unmap(&sideband->rings[i]);
    for (size_t i = 0; i < sideband->fd_count; i++)
        close(sideband->fds[i]);
    free(sideband->rings);
    free(sideband->cpu_fd);
    free(sideband->cpu_of);
    free(sideband->fds);
    free(sideband->ids);
    memset(sideband, 0, sizeof(*sideband));
}

uint64_t sideband_seen(const struct sideband *sideband)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < sideband->cpus; i++) {
        if (sideband->rings[i].page)
            sum += ring_head(&sideband->rings[i]);
    }
    return sum;
}

int sideband_pressing(const struct sideband *sideband)
{
    for (size_t i = 0; i < sideband->cpus; i++) {
        if (sideband->rings[i].page &&
            ring_pending(&sideband->rings[i]) > sideband->rings[i].size / 2)
            return 1;
    }
    return 0;
}

int sideband_drain(struct sideband *sideband, struct ptl_perf_writer *writer)
{
    struct ptl_losses losses = {0};
    int any = 0;

    for (size_t i = 0; i < sideband->cpus; i++) {
        struct ring *ring = &sideband->rings[i];
        struct iovec parts[2];
        uint64_t head;
        int n = ring->page ? ring_peek(ring, parts, &head) : 0, status;

        if (!n)
            continue;
        ring_count_losses(parts, n, &losses);
        status = ptl_perf_write_ring(writer, parts, (size_t)n);
        ring_take(ring, head);
        if (status)
            return status;
        any = 1;
    }
    sideband->lost += losses.count[PTL_LOSS_RECORDS];
    return any;
}
