/* SPDX-License-Identifier: BSD-3-Clause */
/* alloc.c - see alloc.h. */
#include "base/alloc.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
