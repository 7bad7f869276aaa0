/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * build_id.c - the build id of an ELF file: a note of type NT_GNU_BUILD_ID, name "GNU".
 *
 * Source: gABI "Note Section"; entries are name size, descriptor size, type, then name and
 * descriptor, each padded to 4 bytes (8 where the segment says so).
 */
#include "image/load.h"

static void skip_padding(struct ptl__cursor *at, size_t done, uint64_t align)
{
    size_t pad = (size_t)(-done & (align - 1));

    (void)ptl__take(at, pad < ptl__left(at) ? pad : ptl__left(at));
}

/* Look for the id in one range of notes. Returns its length, or 0. */
static size_t find_in(struct ptl__cursor at, uint64_t align, const uint8_t **id)
{
    if (align != 8)
        align = 4;
    while (ptl__left(&at) >= 12) {
        size_t namesz = (size_t)ptl__taken(&at, 4), descsz = (size_t)ptl__taken(&at, 4);
        uint64_t type = ptl__taken(&at, 4);
        const uint8_t *name = ptl__take(&at, namesz), *desc;

        skip_padding(&at, 12 + namesz, align);
        desc = ptl__take(&at, descsz);
        skip_padding(&at, descsz, align);
        if (at.bad)
            break;
        if (type == NT_GNU_BUILD_ID && namesz == 4 && memcmp(name, "GNU", 4) == 0 && descsz) {
            *id = desc;
            return descsz;
        }
    }
    return 0;
}

/* One of the note ranges. Hostile headers may name the same bytes again and again: all of
 * them together get as many bytes as the file has. */
static size_t find_within(const struct ptl__elf *elf, uint64_t offset, uint64_t size,
                          uint64_t align, uint64_t *budget, const uint8_t **id)
{
    struct ptl__cursor at = ptl__elf_range(elf, offset, size < *budget ? size : *budget);

    *budget -= ptl__left(&at);
    return find_in(at, align, id);
}

static size_t find(const struct ptl__elf *elf, const uint8_t **id)
{
    uint64_t budget = elf->size;
    size_t n = 0;

    for (uint32_t i = 0; i < elf->phnum && !n; i++) {
        struct ptl__phdr ph = ptl__elf_phdr(elf, i);
        if (ph.type == PT_NOTE)
            n = find_within(elf, ph.offset, ph.filesz, ph.align, &budget, id);
    }
    for (uint32_t i = 0; i < elf->shnum && !n; i++) {
        struct ptl__shdr sh = ptl__elf_shdr(elf, i);
        if (sh.type == SHT_NOTE)
            n = find_within(elf, sh.offset, sh.size, sh.align, &budget, id);
    }
    return n;
}

int ptl_section_build_id(const struct ptl_section *section, uint8_t *id, size_t *len)
{
    const uint8_t *found = NULL;
    struct ptl__elf elf;
    size_t n;
    int status;

    if (!section || !id || !len)
        return PTL_INVALID;
    status = ptl__elf_open_section(&elf, section);
    if (status < 0)
        return status;
    n = find(&elf, &found);
    if (!n || n > *len)
        return PTL_NOMAP;
    memcpy(id, found, n);
    *len = n;
    return 0;
}

int ptl_elf_build_id(const char *path, uint8_t *id, size_t *len)
{
    struct ptl_section *section;
    struct ptl__elf elf;
    int status;

    if (!path)
        return PTL_INVALID;
    status = ptl__load_open(&section, &elf, path);
    if (status < 0)
        return status;
    status = ptl_section_build_id(section, id, len);
    ptl_section_unref(section);
    return status;
}
