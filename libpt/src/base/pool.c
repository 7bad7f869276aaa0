/* SPDX-License-Identifier: BSD-3-Clause */
/* pool.c - see pool.h. */
#include "base/pool.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

struct ptl__region {
    void *p;
    size_t size;
};

/* The sanitizers want to see every piece: then each is the heap's. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BY_HEAP 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define BY_HEAP 1
#endif
#endif
#ifndef BY_HEAP
#define BY_HEAP 0
#endif

/* --- sizes ------------------------------------------------------------------------------ */

static unsigned class_of(size_t size)
{
    return size <= POOL_PAGE ? 0 : 64 - (unsigned)__builtin_clzll((size - 1) / POOL_PAGE);
}

size_t ptl__pool_size(size_t size)
{
    unsigned class = class_of(size);

    return class < POOL_CLASSES ? POOL_PAGE << class : 0;
}

/* --- regions ---------------------------------------------------------------------------- */

/* Zeroed memory of the kernel, at the beginning of a huge page. */
static unsigned char *map_huge(size_t size)
{
    size_t slack;
    unsigned char *p = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED)
        return NULL;
    slack = -(uintptr_t)p & (HUGE_PAGE - 1);
    if (slack)
        (void)munmap(p, slack);
    p += slack;
    if (slack < HUGE_PAGE)
        (void)munmap(p + size, HUGE_PAGE - slack);
#ifdef MADV_HUGEPAGE
    (void)madvise(p, size, MADV_HUGEPAGE); /* may be refused: then pages are small */
#endif
    return p;
}

/* One that has room for the piece. */
static int add_region(struct ptl__pool *pool, size_t piece)
{
    size_t size = piece > HUGE_PAGE ? piece : HUGE_PAGE;
    unsigned char *p;

    if (ptl__grow((void **)&pool->regions, &pool->cap, pool->count + 1, SIZE_MAX / 64,
                  sizeof(*pool->regions)) < 0)
        return -1;
    p = map_huge(size);
    if (!p)
        return -1;
    pool->regions[pool->count++] = (struct ptl__region){p, size};
    pool->at = p;
    pool->left = size;
    return 0;
}

/* --- pieces ----------------------------------------------------------------------------- */

static void *reuse(struct ptl__pool *pool, unsigned class)
{
    void *piece = pool->unused[class];

    if (piece) {
        memcpy(&pool->unused[class], piece, sizeof(pool->unused[class]));
        memset(piece, 0, POOL_PAGE << class);
    }
    return piece;
}

void *ptl__pool_get(struct ptl__pool *pool, size_t size)
{
    size_t whole = ptl__pool_size(size);
    unsigned char *piece;

    if (BY_HEAP || !whole)
        return whole ? ptl__calloc(1, size) : NULL;
    piece = reuse(pool, class_of(size));
    if (piece)
        return piece;
    if (pool->left < whole && add_region(pool, whole) < 0)
        return NULL;
    piece = pool->at;
    pool->at += whole;
    pool->left -= whole;
#ifdef MADV_POPULATE_WRITE
    /* Where pages are small they are had in one go. */
    (void)madvise(piece, whole, MADV_POPULATE_WRITE);
#endif
    return piece;
}

void ptl__pool_put(struct ptl__pool *pool, void *piece, size_t size)
{
    unsigned class = class_of(size);

    if (BY_HEAP) {
        ptl__free(piece);
    } else if (piece) {
        memcpy(piece, &pool->unused[class], sizeof(pool->unused[class]));
        pool->unused[class] = piece;
    }
}

void ptl__pool_free(struct ptl__pool *pool)
{
    int saved = errno;

    for (size_t i = 0; i < pool->count; i++)
        (void)munmap(pool->regions[i].p, pool->regions[i].size);
    ptl__free(pool->regions);
    memset(pool, 0, sizeof(*pool));
    errno = saved;
}
