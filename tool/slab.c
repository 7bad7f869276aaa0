/* SPDX-License-Identifier: BSD-3-Clause */
/* slab.c - see slab.h. */
#include "slab.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ALIGN     16u
#define FIRST     ((size_t)64 << 10) /* little code needs little memory */
#define HUGE_PAGE ((size_t)2 << 20)

struct slab_chunk {
    struct slab_chunk *next;
    size_t size;
    _Alignas(ALIGN) char bytes[];
};

void *slab_malloc(size_t size)
{
    void *p;

    if (size < HUGE_PAGE || size > SIZE_MAX - HUGE_PAGE)
        return malloc(size);
    p = aligned_alloc(HUGE_PAGE, (size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
#ifdef MADV_HUGEPAGE
    if (p) /* may be refused: then pages are small */
        (void)madvise(p, size, MADV_HUGEPAGE);
#endif
    return p;
}

static int add_chunk(struct slab *slab, size_t size)
{
    size_t least = slab->chunks ? HUGE_PAGE : FIRST;
    struct slab_chunk *chunk;

    size = size + sizeof(*chunk) > least ? size + sizeof(*chunk) : least;
    chunk = slab_malloc(size);
    if (!chunk)
        return -1;
    chunk->next = slab->chunks;
    chunk->size = size - sizeof(*chunk);
    slab->chunks = chunk;
    slab->used = 0;
    return 0;
}

void *slab_alloc(struct slab *slab, size_t size)
{
    char *p;

    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if ((!slab->chunks || size > slab->chunks->size - slab->used) && add_chunk(slab, size))
        return NULL;
    p = slab->chunks->bytes + slab->used;
    slab->used += size;
    return p;
}

static void free_chunks(struct slab_chunk *chunk)
{
    while (chunk) {
        struct slab_chunk *next = chunk->next;

        free(chunk);
        chunk = next;
    }
}

void slab_reset(struct slab *slab)
{
    if (slab->chunks) {
        free_chunks(slab->chunks->next);
        slab->chunks->next = NULL;
    }
    slab->used = 0;
}

void slab_free(struct slab *slab)
{
    free_chunks(slab->chunks);
    slab->chunks = NULL;
    slab->used = 0;
}
