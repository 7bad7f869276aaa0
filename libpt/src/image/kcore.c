/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kcore.c - kernel memory: /proc/kcore, or a copy that perf made of it. An ELF core file
 * whose PT_LOAD segments have the addresses the kernel ran at.
 */
#include "base/alloc.h"
#include "image/load.h"
#include "image/section.h"

#define HEADERS ((size_t)64 << 10) /* those of /proc/kcore are at its beginning */

static int load(struct ptl_space *space, struct ptl_section *section, const struct ptl__elf *elf)
{
    struct ptl__load all = {0};

    return elf->type == ET_CORE ? ptl__load(space, section, elf, &all) : PTL_BAD_IMAGE;
}

/* /proc/kcore cannot be mapped: read the headers, and its contents when they are needed. */
static int load_by_reading(struct ptl_space *space, const char *path)
{
    struct ptl_section *section;
    struct ptl__elf elf;
    uint8_t *headers;
    int n, status = ptl__section_pread(&section, path);

    if (status < 0)
        return status;
    headers = ptl__malloc(HEADERS);
    if (!headers) {
        ptl_section_unref(section);
        return PTL_NOMEM;
    }
    n = ptl_section_read(section, headers, HEADERS, 0);
    status = n < 0 ? PTL_BAD_FILE : ptl__elf_open(&elf, headers, (uint64_t)n);
    if (status == 0) {
        status = load(space, section, &elf);
        ptl__elf_close(&elf);
    }
    ptl__free(headers);
    ptl_section_unref(section);
    return status;
}

int ptl_space_load_kcore(struct ptl_space *space, const char *path)
{
    struct ptl_section *section;
    struct ptl__elf elf;
    int status;

    if (!space || !path)
        return PTL_INVALID;
    status = ptl__load_open(&section, &elf, path);
    if (status == PTL_BAD_FILE)
        return load_by_reading(space, path);
    if (status < 0)
        return status;
    status = load(space, section, &elf);
    ptl__load_close(section, &elf);
    return status;
}
