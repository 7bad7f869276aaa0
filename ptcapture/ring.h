/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ring.h - the data ring of a perf event: mapped, looked into, emptied.
 *
 * Source: linux/perf_event.h, struct perf_event_mmap_page ("data_head", "data_tail").
 */
#ifndef PTCAPTURE_RING_H
#define PTCAPTURE_RING_H

#include <linux/perf_event.h>
#include <pt/losses.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct ring {
    struct perf_event_mmap_page *page; /* NULL: not mapped */
    uint8_t *data;
    uint64_t size; /* of data, a power of two */
};

/* Map the ring of `fd` with `data_size` bytes (rounded up to a power of two of pages).
 * Returns 0 or -1 with errno. */
int ring_map(struct ring *ring, int fd, uint64_t data_size);
void ring_unmap(struct ring *ring);

/* Where the kernel writes next; records before it are complete. */
static inline uint64_t ring_head(const struct ring *ring)
{
    return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

static inline uint64_t ring_pending(const struct ring *ring)
{
    return ring_head(ring) - ring->page->data_tail;
}

/* What has not been taken yet, in one or two parts; returns how many (0: nothing). */
int ring_peek(const struct ring *ring, struct iovec parts[2], uint64_t *head);

/* Add up what the whole records in these parts tell of losses. */
void ring_count_losses(const struct iovec *parts, int count, struct ptl_losses *losses);

/* Give everything before `head` back to the kernel. */
void ring_take(struct ring *ring, uint64_t head);

#endif
