/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache.h - the names of files in perf's build-id cache:
 *
 *     DIR/.build-id/ab/cdef...            link to the directory of the file, or
 *     DIR/.build-id/ab/cdef.../elf        (a file in older caches: the link itself)
 *     DIR/.build-id/ab/cdef.../vdso       for [vdso]
 *     DIR/.build-id/ab/cdef.../vmlinux    for the kernel
 */
#ifndef LIBPT_SIDEBAND_CACHE_H
#define LIBPT_SIDEBAND_CACHE_H

#include <stddef.h>
#include <stdint.h>

/* The `n`th place for a file with this build id. Returns 0 if there are no more. */
int ptl__sb_cached(char *path, size_t size, const char *dir, const uint8_t *id, size_t id_size,
                   unsigned n);

#endif
