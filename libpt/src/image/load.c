/* SPDX-License-Identifier: BSD-3-Clause */
/* load.c - ELF files and address spaces: executables, shared objects, vmlinux. */
#include "image/load.h"

#include "image/section.h"
#include "image/space.h"

/* Returns 1 if it mapped the segment, 0 if there was nothing to map. */
static int map_segment(struct ptl_space *space, struct ptl_section *section, const GElf_Phdr *ph,
                       const struct ptl__load *load)
{
    struct ptl_elf_segment segment = {ph->p_offset, ph->p_filesz, ph->p_vaddr};
    int status;

    if (!ptl__is_load(ph) || ph->p_offset >= section->size || ph->p_vaddr < load->low ||
        (ph->p_flags & load->flags) != load->flags)
        return 0;
    if (segment.size > section->size - ph->p_offset)
        segment.size = section->size - ph->p_offset;
    status = ptl_space_map(space, ph->p_vaddr + load->slide, section, ph->p_offset, segment.size);
    if (status < 0) /* the range is within the section: it wraps around */
        return status == PTL_INVALID ? PTL_BAD_IMAGE : status;
    if (load->report)
        load->report(load->context, &segment);
    return 1;
}

int ptl__load_end(struct ptl_space *space, struct ptl__node *before, int status)
{
    if (status > 0) {
        ptl__tree_unref(before);
        return 0;
    }
    ptl__tree_unref(space->tree);
    space->tree = before;
    return status < 0 ? status : PTL_BAD_IMAGE;
}

int ptl__load(struct ptl_space *space, struct ptl_section *section, const struct ptl__elf *elf,
              const struct ptl__load *load)
{
    struct ptl__node *before = ptl__tree_ref(space->tree);
    int mapped = 0, status = 0;

    for (uint32_t i = 0; i < elf->phnum && status >= 0; i++) {
        GElf_Phdr ph = ptl__elf_phdr(elf, i);
        status = map_segment(space, section, &ph, load);
        mapped |= status > 0;
    }
    return ptl__load_end(space, before, status < 0 ? status : mapped);
}

int ptl__load_open(struct ptl_section **section, struct ptl__elf *elf, const char *path)
{
    int status = ptl_section_file(section, path, 0, UINT64_MAX);

    if (status < 0)
        return status == PTL_INVALID ? PTL_BAD_IMAGE : status;
    status = ptl__elf_open_section(elf, *section);
    if (status < 0)
        ptl_section_unref(*section);
    return status;
}

void ptl__load_close(struct ptl_section *section, struct ptl__elf *elf)
{
    ptl__elf_close(elf);
    ptl_section_unref(section);
}

static uint64_t lowest_vaddr(const struct ptl__elf *elf)
{
    uint64_t low = UINT64_MAX;

    for (uint32_t i = 0; i < elf->phnum; i++) {
        GElf_Phdr ph = ptl__elf_phdr(elf, i);
        if (ptl__is_load(&ph) && ph.p_vaddr < low)
            low = ph.p_vaddr;
    }
    return low;
}

static int load_at(struct ptl_space *space, struct ptl_section *section, const struct ptl__elf *elf,
                   uint64_t base, struct ptl__load *load)
{
    if (base)
        load->slide = base - lowest_vaddr(elf);
    return ptl__load(space, section, elf, load);
}

int ptl_space_load_elf_section(struct ptl_space *space, struct ptl_section *section, uint64_t base,
                               void (*report)(void *context, const struct ptl_elf_segment *segment),
                               void *context)
{
    struct ptl__load load = {.report = report, .context = context};
    struct ptl__elf elf;
    int status;

    if (!space || !section)
        return PTL_INVALID;
    status = ptl__elf_open_section(&elf, section);
    if (status < 0)
        return status;
    status = load_at(space, section, &elf, base, &load);
    ptl__elf_close(&elf);
    return status;
}

int ptl_space_load_elf(struct ptl_space *space, const char *path, uint64_t base,
                       void (*report)(void *context, const struct ptl_elf_segment *segment),
                       void *context)
{
    struct ptl__load load = {.report = report, .context = context};
    struct ptl_section *section;
    struct ptl__elf elf;
    int status;

    if (!space || !path)
        return PTL_INVALID;
    status = ptl__load_open(&section, &elf, path);
    if (status < 0)
        return status;
    status = load_at(space, section, &elf, base, &load);
    ptl__load_close(section, &elf);
    return status;
}

int ptl_space_load_vmlinux(struct ptl_space *space, const char *path, uint64_t slide)
{
    /* Code only: the per-CPU segment of older kernels is linked at 0, and data is not read
     * from the file at run time. */
    struct ptl__load load = {.slide = slide, .low = (uint64_t)1 << 63, .flags = PF_X};
    struct ptl_section *section;
    struct ptl__elf elf;
    int status;

    if (!space || !path)
        return PTL_INVALID;
    status = ptl__load_open(&section, &elf, path);
    if (status < 0)
        return status;
    if (!elf.is64) /* the kernel half begins at 3 GiB, or wherever it was configured */
        load.low = 0x40000000;
    status = ptl__load(space, section, &elf, &load);
    ptl__load_close(section, &elf);
    return status;
}
