/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * alloc.h - the one door to the heap, so that tests can make every allocation fail.
 */
#ifndef LIBPT_BASE_ALLOC_H
#define LIBPT_BASE_ALLOC_H

#include <stddef.h>

void *ptl__malloc(size_t size);
void *ptl__calloc(size_t count, size_t size);
void *ptl__realloc(void *p, size_t size);
/* Memory that will soon be used throughout: if it is large, in huge pages, because a fault on each
 * small one costs many times what is done with it. */
void *ptl__malloc_large(size_t size);
void ptl__free(void *p); /* keeps errno */
char *ptl__strdup(const char *s);

/* Grow an array so that it holds at least `need` elements: doubles, never beyond `max`.
 * Returns 0 or -1 (the array is unchanged). */
int ptl__grow(void **array, size_t *cap, size_t need, size_t max, size_t elem);

#endif
