/* SPDX-License-Identifier: BSD-3-Clause */
/* ring.c - see ring.h. */
#include "ring.h"

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

void ring_take(struct ring *ring, uint64_t head)
{
    __atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}
