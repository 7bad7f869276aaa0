/* SPDX-License-Identifier: BSD-3-Clause */
/* slab.c - see slab.h. */
#include "slab.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ALIGN     16u
#define CHUNK     ((size_t)512 << 10)
#define PAGE_SIZE 4096u /* the least; where pages are larger the kernel refuses */

struct slab_chunk {
    struct slab_chunk *next;
    size_t size;
    _Alignas(ALIGN) char bytes[];
};

void slab_populate(void *memory, size_t size)
{
#ifdef MADV_POPULATE_WRITE
    uintptr_t begin = ((uintptr_t)memory + PAGE_SIZE - 1) & ~(uintptr_t)(PAGE_SIZE - 1);
    uintptr_t end = ((uintptr_t)memory + size) & ~(uintptr_t)(PAGE_SIZE - 1);

    if (end > begin) /* older kernels know nothing of it: then pages fault */
        (void)madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
#else
    (void)memory;
    (void)size;
#endif
}

static int add_chunk(struct slab *slab, size_t size)
{
    struct slab_chunk *chunk = malloc(sizeof(*chunk) + size);

    if (!chunk)
        return -1;
    if (slab->chunks) /* a trace that runs little code needs little memory */
        slab_populate(chunk, sizeof(*chunk) + size);
    chunk->next = slab->chunks;
    chunk->size = size;
    slab->chunks = chunk;
    slab->used = 0;
    return 0;
}

void *slab_alloc(struct slab *slab, size_t size)
{
    char *p;

    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if ((!slab->chunks || size > slab->chunks->size - slab->used) &&
        add_chunk(slab, size > CHUNK ? size : CHUNK))
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
