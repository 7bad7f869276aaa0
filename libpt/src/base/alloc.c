/* SPDX-License-Identifier: BSD-3-Clause */
/* alloc.c - see alloc.h. */
#include "base/alloc.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define LARGE     ((size_t)4 << 20)

void *ptl__malloc(size_t size)
{
    return malloc(size ? size : 1);
}

void *ptl__calloc(size_t count, size_t size)
{
    return calloc(count ? count : 1, size ? size : 1);
}

void *ptl__realloc(void *p, size_t size)
{
    return realloc(p, size ? size : 1);
}

void *ptl__malloc_large(size_t size)
{
    void *p;

    if (size < LARGE)
        return ptl__malloc(size);
    if (size > SIZE_MAX - HUGE_PAGE)
        return NULL;
    p = aligned_alloc(HUGE_PAGE, (size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
#ifdef MADV_HUGEPAGE
    if (p) /* may be refused: then pages are small, and fault one by one */
        (void)madvise(p, size, MADV_HUGEPAGE);
#endif
    return p;
}

void ptl__free(void *p)
{
    int saved = errno;
    free(p);
    errno = saved;
}

char *ptl__strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = ptl__malloc(n);
    return copy ? memcpy(copy, s, n) : NULL;
}

int ptl__grow(void **array, size_t *cap, size_t need, size_t max, size_t elem)
{
    size_t n = *cap ? *cap : 16;
    void *p;

    if (need <= *cap)
        return 0;
    if (need > max || max > SIZE_MAX / elem)
        return -1;
    while (n < need)
        n = n > max / 2 ? max : n * 2;
    p = n * elem < LARGE ? ptl__realloc(*array, n * elem) : ptl__malloc_large(n * elem);
    if (!p)
        return -1;
    if (n * elem >= LARGE && *cap) { /* moving huge pages would break them up */
        memcpy(p, *array, *cap * elem);
        ptl__free(*array);
    }
    *array = p;
    *cap = n;
    return 0;
}
