/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kcore.c - kernel memory as perf copies it from /proc/kcore: an ELF core file whose PT_LOAD
 * segments have the addresses the kernel ran at.
 */
#include "image/load.h"

int ptl_space_load_kcore(struct ptl_space *space, const char *path)
{
    struct ptl__load load = {0};
    struct ptl_section *section;
    struct ptl__elf elf;
    int status;

    if (!space || !path)
        return PTL_INVALID;
    status = ptl__load_open(&section, &elf, path);
    if (status < 0)
        return status;
    status = elf.type == ET_CORE ? ptl__load(space, section, &elf, &load) : PTL_BAD_IMAGE;
    ptl_section_unref(section);
    return status;
}
