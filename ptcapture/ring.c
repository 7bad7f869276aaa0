/* SPDX-License-Identifier: BSD-3-Clause */
/* ring.c - see ring.h. */
#include "ring.h"

#include <pt/record.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int ring_map(struct ring *ring, int fd, uint64_t data_size)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), size = page;
    void *map;

    memset(ring, 0, sizeof(*ring));
    while (size < data_size)
        size <<= 1;
    map = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return -1;
    ring->page = map;
    ring->data = (uint8_t *)map + page;
    ring->size = size;
    return 0;
}

void ring_unmap(struct ring *ring)
{
    if (ring->page)
        munmap(ring->page, (size_t)(ring->data - (uint8_t *)ring->page) + ring->size);
    ring->page = NULL;
}

int ring_peek(const struct ring *ring, struct iovec parts[2], uint64_t *head)
{
    uint64_t tail = ring->page->data_tail, from, len;

    *head = ring_head(ring);
    len = *head - tail;
    if (!len)
        return 0;
    from = tail & (ring->size - 1);
    parts[0].iov_base = ring->data + from;
    parts[0].iov_len = len <= ring->size - from ? len : ring->size - from;
    parts[1].iov_base = ring->data;
    parts[1].iov_len = len - parts[0].iov_len;
    return parts[1].iov_len ? 2 : 1;
}

/* Up to `n` bytes at `at` of the parts put together; what is missing is 0. */
static void copy_out(const struct iovec *parts, int count, size_t at, uint8_t *bytes, size_t n)
{
    memset(bytes, 0, n);
    for (int i = 0; i < count && n; i++) {
        size_t len = parts[i].iov_len, take;

        if (at >= len) {
            at -= len;
            continue;
        }
        take = len - at < n ? len - at : n;
        memcpy(bytes, (const uint8_t *)parts[i].iov_base + at, take);
        bytes += take;
        n -= take;
        at = 0;
    }
}

void ring_count_losses(const struct iovec *parts, int count, struct ptl_losses *losses)
{
    uint64_t *lost = losses->count;
    size_t total = 0, at = 0;

    for (int i = 0; i < count; i++)
        total += parts[i].iov_len;
    while (total - at >= sizeof(struct perf_event_header)) {
        struct perf_event_header header;
        uint64_t body[3];
        uint8_t bytes[sizeof(header) + sizeof(body)];

        copy_out(parts, count, at, bytes, sizeof(bytes));
        memcpy(&header, bytes, sizeof(header));
        memcpy(body, bytes + sizeof(header), sizeof(body));
        if (header.type == PTL_REC_LOST)
            lost[PTL_LOSS_RECORDS] += body[1];
        else if (header.type == PTL_REC_LOST_SAMPLES)
            lost[PTL_LOSS_SAMPLES] += body[0];
        else if (header.type == PTL_REC_AUX) {
            lost[PTL_LOSS_TRUNCATED] += !!(body[2] & PTL_AUX_TRUNCATED);
            lost[PTL_LOSS_PARTIAL] += !!(body[2] & PTL_AUX_PARTIAL);
            lost[PTL_LOSS_COLLISION] += !!(body[2] & PTL_AUX_COLLISION);
        }
        if (header.size < sizeof(header) || header.size > total - at)
            return;
        at += header.size;
    }
}

void ring_take(struct ring *ring, uint64_t head)
{
    __atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}
