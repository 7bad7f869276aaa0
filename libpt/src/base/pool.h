/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool.h - zeroed memory in pieces of some pages, out of huge pages.
 *
 * The first touch of a small page costs many times what is done with the page; of a huge page it
 * costs no more than that. So whoever fills tables that grow takes all of them out of one pool.
 */
#ifndef LIBPT_BASE_POOL_H
#define LIBPT_BASE_POOL_H

#include <stddef.h>

#define POOL_PAGE    ((size_t)4 << 10) /* the least piece; all sizes are this times a power of two */
#define POOL_CLASSES 40

/* All zero is an empty pool. */
struct ptl__pool {
    struct ptl__region *regions; /* what the kernel gave */
    size_t count, cap;
    unsigned char *at; /* in the last one of them: not handed out yet */
    size_t left;
    void *unused[POOL_CLASSES]; /* pieces given back, by size: each begins with the next */
};

/* How large a piece of at least `size` bytes is. 0: there is none so large. */
size_t ptl__pool_size(size_t size);

/* A piece for `size` bytes, all of it zero, at the beginning of a page. NULL: no memory. */
void *ptl__pool_get(struct ptl__pool *pool, size_t size);
/* It is not used any more; `size` as it was asked for. NULL is fine. */
void ptl__pool_put(struct ptl__pool *pool, void *piece, size_t size);
/* All pieces have been put back, or are not used any more. */
void ptl__pool_free(struct ptl__pool *pool);

#endif
