/* SPDX-License-Identifier: BSD-3-Clause */
/* alloc.c - see alloc.h. */
#include "base/alloc.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_SIZE_ 4096u /* the least; where pages are larger the kernel refuses */

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

void *ptl__calloc_pages(size_t count, size_t size)
{
    void *p = ptl__calloc(count, size);
#ifdef MADV_POPULATE_WRITE
    uintptr_t begin = ((uintptr_t)p + PAGE_SIZE_ - 1) & ~(uintptr_t)(PAGE_SIZE_ - 1);
    uintptr_t end = ((uintptr_t)p + count * size) & ~(uintptr_t)(PAGE_SIZE_ - 1);
    int saved = errno;

    if (p && end > begin + PAGE_SIZE_) /* older kernels know nothing of it: then pages fault */
        (void)madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
    errno = saved;
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
    p = ptl__realloc(*array, n * elem);
    if (!p)
        return -1;
    *array = p;
    *cap = n;
    return 0;
}
