/* SPDX-License-Identifier: BSD-3-Clause */
/* cache.c - see cache.h. */
#include "sideband/cache.h"

#include <stdio.h>

int ptl__sb_cached(char *path, size_t size, const char *dir, const uint8_t *id, size_t id_size,
                   unsigned n)
{
    static const char *const ends[] = {"/elf", "/vdso", "/vmlinux", ""};
    char hex[2 * 64 + 1] = "";
    int len;

    if (n >= sizeof(ends) / sizeof(*ends) || !id_size || id_size > 64)
        return 0;
    for (size_t i = 0; i < id_size; i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    len = snprintf(path, size, "%s/.build-id/%.2s/%s%s", dir, hex, hex + 2, ends[n]);
    return len > 0 && (size_t)len < size;
}
