/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perf_lane.c - the data ring and the AUX area of one lane.
 *
 * Full trace (the area is mapped writable): aux_head runs freely; what is taken is given
 * back through aux_tail, and a full area stops the event until it is enabled again.
 *
 * Snapshot (mapped read-only): aux_head is the position inside the area where the next byte
 * goes; nothing tells how often it has gone round. Until the last bytes of the area have
 * been written (it begins zeroed) there is only [0, head). A snapshot knows the one
 * before by the bytes in front of that one's head: as long as they stand, less than a
 * whole round has been written since, and only [old head, new head) is new.
 */
#include "check.h"
#include "perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

/* --- mapping ------------------------------------------------------------------------------ */

static int map_aux(struct perf_lane *lane, int fd, uint64_t size, int writable)
{
    struct perf_event_mmap_page *page = lane->ring.page;
    void *area;

    page->aux_offset = page->data_offset + page->data_size;
    page->aux_size = size;
    area = mmap(NULL, size, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd,
                (off_t)page->aux_offset);
    if (area == MAP_FAILED)
        return -1;
    lane->aux = area;
    lane->aux_size = size;
    return 0;
}

static uint64_t round_up(uint64_t size)
{
    uint64_t pages = (uint64_t)sysconf(_SC_PAGESIZE);

    while (pages < size)
        pages <<= 1;
    return pages;
}

static int too_much(int err)
{
    return err == EPERM || err == ENOMEM || err == EAGAIN;
}

static int refuse(const struct perf_recorder *rec, const char *what, uint64_t bytes)
{
    char text[1024];

    perf_explain_map(rec, what, bytes, errno, text, sizeof(text));
    capture_error(rec->capture, "%s", text);
    return -1;
}

void perf_lane_fit(struct perf_recorder *rec)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), each = check_lockable();

    if (rec->sized || each == UINT64_MAX || !rec->lane_count)
        return;
    each /= rec->lane_count;
    while (page + rec->data_size + rec->aux_size > each && rec->aux_size > 2 * page) {
        if (rec->aux_size > rec->data_size || rec->data_size <= page)
            rec->aux_size /= 2;
        else
            rec->data_size /= 2;
    }
    capture_debug(rec->capture, "for each ring %llu KiB of sideband and %llu KiB of trace.",
                  (unsigned long long)rec->data_size / 1024,
                  (unsigned long long)rec->aux_size / 1024);
}

/* What perf_lane_fit() could not know of may still take room: sizes that nobody asked for shrink
 * until the kernel grants them. */
int perf_lane_map(struct perf_recorder *rec, struct perf_lane *lane)
{
    const struct capture_options *options = rec->capture->options;
    int writable = !options->snapshot && !options->aux_sample;
    uint64_t least = 2 * (uint64_t)sysconf(_SC_PAGESIZE);

    rec->aux_size = round_up(rec->aux_size);
    if (writable && rec->aux_size < least)
        rec->aux_size = least; /* one half is written while the other is read */
    while (ring_map(&lane->ring, lane->fd, rec->data_size)) {
        if (rec->sized || !too_much(errno) || rec->data_size <= least)
            return refuse(rec, "data ring", rec->data_size);
        rec->data_size /= 2;
    }
    while (map_aux(lane, lane->fd, rec->aux_size, writable)) {
        if (rec->sized || !too_much(errno) || rec->aux_size <= least)
            return refuse(rec, "AUX area", rec->aux_size);
        rec->aux_size /= 2;
        capture_debug(rec->capture, "AUX area reduced to %llu KiB by the limits of this user.",
                      (unsigned long long)rec->aux_size / 1024);
    }
    return 0;
}

void perf_lane_unmap(struct perf_lane *lane)
{
    if (lane->aux)
        munmap(lane->aux, lane->aux_size);
    if (lane->ring.page)
        ring_unmap(&lane->ring);
    lane->aux = NULL;
}

/* --- to the file --------------------------------------------------------------------------- */

static int write_trace(struct perf_recorder *rec, struct perf_lane *lane, const struct iovec *parts,
                       size_t count, uint64_t len)
{
    struct ptl_rec_auxtrace auxtrace;
    int status;

    memset(&auxtrace, 0, sizeof(auxtrace));
    auxtrace.offset = lane->position;
    auxtrace.reference = __rdtsc();
    auxtrace.idx = (uint32_t)(lane - rec->lanes);
    auxtrace.tid = lane->tid < 0 ? PERF_NOBODY : (uint32_t)lane->tid;
    auxtrace.cpu = lane->cpu < 0 ? PERF_NOBODY : (uint32_t)lane->cpu;
    status = ptl_perf_write_auxtrace(rec->capture->file.writer, &auxtrace, parts, count);
    lane->position += len;
    rec->capture->totals.trace_bytes += len;
    return status;
}

/* [from, from + len) of the area, in one or two parts. */
static size_t area_parts(const struct perf_lane *lane, uint64_t from, uint64_t len,
                         struct iovec parts[2])
{
    uint64_t at = from & (lane->aux_size - 1);
    uint64_t first = len <= lane->aux_size - at ? len : lane->aux_size - at;

    parts[0].iov_base = lane->aux + at;
    parts[0].iov_len = first;
    parts[1].iov_base = lane->aux;
    parts[1].iov_len = len - first;
    return parts[1].iov_len ? 2 : 1;
}

/* After TRUNCATED the event is off. A kernel bug before 6.16 leaves it half on when it ran
 * on CPU 0, so switch it off first. */
static void restart(struct perf_recorder *rec, const struct perf_lane *lane, int was_full)
{
    size_t index = (size_t)(lane - rec->lanes);

    for (size_t i = 0; i < rec->pt.count; i++) {
        if (rec->pt.lane_of[i] != index)
            continue;
        if (was_full)
            perf_turn(rec, rec->pt.fds[i], 0);
        perf_turn(rec, rec->pt.fds[i], 1);
    }
}

static int drain_data(struct perf_recorder *rec, struct perf_lane *lane)
{
    struct iovec parts[2];
    uint64_t head;
    int n = ring_peek(&lane->ring, parts, &head), status;

    if (!n)
        return 0;
    ring_count_losses(parts, n, &lane->losses);
    status = ptl_perf_write_ring(rec->capture->file.writer, parts, (size_t)n);
    ring_take(&lane->ring, head);
    return status ? status : 1;
}

static uint64_t aux_head(const struct perf_lane *lane)
{
    return __atomic_load_n(&lane->ring.page->aux_head, __ATOMIC_ACQUIRE);
}

/* Grows when the area was full: TRUNCATED, or records lost that may have said so. */
static uint64_t gaps_told(const struct perf_lane *lane)
{
    return lane->losses.count[PTL_LOSS_TRUNCATED] + lane->losses.count[PTL_LOSS_RECORDS];
}

int perf_lane_drain(struct perf_recorder *rec, struct perf_lane *lane)
{
    const struct capture_options *options = rec->capture->options;
    uint64_t gaps = gaps_told(lane), head, len;
    struct iovec parts[2];
    int status, any, was_full;

    if (!lane->ring.page)
        return 0;
    /* The head first: the AUX records about all before it are then in the data ring, and so
     * before the trace in the file. */
    head = aux_head(lane);
    any = drain_data(rec, lane);
    if (any < 0 || options->snapshot || options->aux_sample)
        return any;
    was_full = gaps_told(lane) != gaps;
    if (was_full)
        head = aux_head(lane); /* what was written before it stopped must go, too */
    len = head - lane->seen;
    was_full |= len == lane->aux_size;
    if (len) {
        status = write_trace(rec, lane, parts, area_parts(lane, lane->seen, len, parts), len);
        lane->seen = head;
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        __atomic_store_n(&lane->ring.page->aux_tail, head, __ATOMIC_RELEASE);
        if (status)
            return status;
    }
    if (rec->tracing && (len || was_full))
        restart(rec, lane, was_full);
    return any || len;
}

/* --- snapshots ------------------------------------------------------------------------------- */

#define MARK_LEAST 16 /* fewer equal bytes may be chance */

static int has_wrapped(const struct perf_lane *lane)
{
    const uint8_t *end = lane->aux + lane->aux_size;

    for (const uint8_t *p = end - 512; p < end; p++) {
        if (*p)
            return 1;
    }
    return 0;
}

/* Copy the `len` bytes that stand before `head`. */
static void take_mark(const struct perf_lane *lane, uint64_t head, uint8_t *mark, size_t len)
{
    struct iovec parts[2];
    size_t n = len ? area_parts(lane, head - len, len, parts) : 0;

    if (n)
        memcpy(mark, parts[0].iov_base, parts[0].iov_len);
    if (n > 1)
        memcpy(mark + parts[0].iov_len, parts[1].iov_base, parts[1].iov_len);
}

/* How much has been written since the last snapshot? More than one round looks like one: the
 * whole area. What was written first overwrites the mark from its beginning, so if the head
 * stands inside the mark only the part behind it is still there. */
static uint64_t written(const struct perf_lane *lane, uint64_t head, int wrapped)
{
    uint64_t len = (head - lane->seen) & (lane->aux_size - 1);
    size_t stands = lane->mark_len;
    uint8_t now[PERF_MARK];

    if (!wrapped)
        return len;
    if (len && lane->aux_size - len < stands)
        stands = (size_t)(lane->aux_size - len);
    take_mark(lane, lane->seen, now, stands);
    if (stands < MARK_LEAST || memcmp(now, lane->mark + (lane->mark_len - stands), stands) != 0)
        return lane->aux_size;
    return len;
}

int perf_lane_snapshot(struct perf_recorder *rec, struct perf_lane *lane)
{
    uint64_t wanted = rec->capture->options->snapshot_size, head, len;
    struct iovec parts[2];
    int any, wrapped, status;

    if (!lane->ring.page)
        return 0;
    head = aux_head(lane) & (lane->aux_size - 1);
    any = drain_data(rec, lane);
    if (any < 0)
        return any;
    wrapped = has_wrapped(lane);
    len = written(lane, head, wrapped);
    if (len == lane->aux_size)
        lane->position += lane->position != 0; /* a gap of unknown size */
    if (wanted && wanted < len) {
        lane->position += len - wanted;
        len = wanted;
    }
    lane->seen = head;
    lane->mark_len = wrapped || head > PERF_MARK ? PERF_MARK : head;
    take_mark(lane, head, lane->mark, lane->mark_len);
    if (!len)
        return any;
    status = write_trace(rec, lane, parts, area_parts(lane, head - len, len, parts), len);
    return status ? status : 1;
}
