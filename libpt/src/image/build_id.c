/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * build_id.c - the build id of an ELF file: a note of type NT_GNU_BUILD_ID, name "GNU".
 *
 * Source: gABI "Note Section"; entries are padded to 4 bytes (8 where the segment says so).
 */
#include "image/load.h"

#include <string.h>

#define RANGES 256 /* of notes that are looked at: real files have a handful */

/* Where notes are searched. Hostile headers may name the same bytes again and again: all of
 * them together get as many bytes as the file has. */
struct search {
    const struct ptl__elf *elf;
    uint64_t budget;
    unsigned ranges;
    uint8_t *id;
    size_t room, len; /* `len` is 0 until the id is found */
};

static void find_in(struct search *s, Elf_Data *data)
{
    size_t at = 0, name, desc;
    GElf_Nhdr note;

    while (!s->len && (at = gelf_getnote(data, at, &note, &name, &desc)) != 0) {
        const uint8_t *bytes = data->d_buf;
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof(ELF_NOTE_GNU) ||
            memcmp(bytes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) != 0)
            continue;
        s->len = note.n_descsz;
        if (s->len <= s->room)
            memcpy(s->id, bytes + desc, s->len);
    }
}

static int find_within(struct search *s, uint64_t offset, uint64_t size, uint64_t align)
{
    Elf_Data *data;
    int status = ptl__elf_data(s->elf, offset, size < s->budget ? size : s->budget,
                               align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR, &data);

    if (!data)
        return status;
    s->budget -= data->d_size;
    s->ranges++;
    find_in(s, data);
    return 0;
}

static int find(struct search *s)
{
    int status = 0;

    for (uint32_t i = 0; i < s->elf->phnum && s->ranges < RANGES && !s->len && !status; i++) {
        GElf_Phdr ph = ptl__elf_phdr(s->elf, i);
        if (ph.p_type == PT_NOTE)
            status = find_within(s, ph.p_offset, ph.p_filesz, ph.p_align);
    }
    for (uint32_t i = 0; i < s->elf->shnum && s->ranges < RANGES && !s->len && !status; i++) {
        GElf_Shdr sh = ptl__elf_shdr(s->elf, i);
        if (sh.sh_type == SHT_NOTE)
            status = find_within(s, sh.sh_offset, sh.sh_size, sh.sh_addralign);
    }
    if (status == 0 && (!s->len || s->len > s->room))
        status = PTL_NOMAP;
    return status;
}

static int id_of(const struct ptl__elf *elf, uint8_t *id, size_t *len)
{
    struct search s = {.elf = elf, .budget = elf->size, .id = id, .room = *len};
    int status = find(&s);

    if (status == 0)
        *len = s.len;
    return status;
}

int ptl_section_build_id(const struct ptl_section *section, uint8_t *id, size_t *len)
{
    struct ptl__elf elf;
    int status;

    if (!section || !id || !len)
        return PTL_INVALID;
    status = ptl__elf_open_section(&elf, section);
    if (status < 0)
        return status;
    status = id_of(&elf, id, len);
    ptl__elf_close(&elf);
    return status;
}

int ptl_elf_build_id(const char *path, uint8_t *id, size_t *len)
{
    struct ptl_section *section;
    struct ptl__elf elf;
    int status;

    if (!path || !id || !len)
        return PTL_INVALID;
    status = ptl__load_open(&section, &elf, path);
    if (status < 0)
        return status;
    status = id_of(&elf, id, len);
    ptl__load_close(section, &elf);
    return status;
}
