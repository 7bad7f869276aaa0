/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_kcore.c - kernel memory and kernel images, through a file in memory. */
#include "fuzz_file.h"

#include <pt/image.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check(void *context, const struct ptl_mapping *map)
{
    uint64_t last = map->end - 1, *next = context;
    uint8_t buf[16];

    if (map->begin < *next || last < map->begin ||
        map->offset + (last - map->begin) >= ptl_section_size(map->section))
        abort();
    *next = map->end ? map->end : UINT64_MAX;
    return ptl_section_read(map->section, buf, sizeof(buf), map->offset) < 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz_file file;
    struct ptl_space *space;
    uint64_t next = 0, offset, length;

    fuzz_file_set(&file, data, size);
    if (ptl_space_new(&space) < 0)
        abort();
    if (ptl_space_load_kcore(space, file.path) == 0)
        (void)ptl_space_each(space, check, &next);
    ptl_space_free(space);
    if (ptl_space_new(&space) < 0)
        abort();
    next = 0;
    if (ptl_space_load_vmlinux(space, file.path, size & 1 ? UINT64_MAX << 20 : 0) == 0)
        (void)ptl_space_each(space, check, &next);
    (void)!ptl_elf_symbol(file.path, "_text", &offset);
    (void)!ptl_elf_function(file.path, "main", &offset, &length);
    ptl_space_free(space);
    return 0;
}
