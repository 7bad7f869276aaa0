/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_elf.c - an ELF file of any kind: segments, build id, symbols, addresses.
 *
 * The input lies in a heap block of its own size, so that ASan sees every byte read
 * beyond it.
 */
#include <pt/image.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct walk {
    const struct ptl_space *space;
    const struct ptl_symbols *symbols;
    uint64_t next;
    unsigned count;
};

/* Mappings are in order, within the section, and findable at both ends. */
static int check(void *context, const struct ptl_mapping *map)
{
    struct walk *w = context;
    struct ptl_mapping again;
    uint64_t last = map->end - 1, offset;
    uint8_t buf[32];

    if (map->begin < w->next || last < map->begin ||
        map->offset + (last - map->begin) >= ptl_section_size(map->section))
        abort();
    w->next = map->end ? map->end : UINT64_MAX;
    if (ptl_space_find(w->space, last, &again) != 0 || again.begin != map->begin ||
        ptl_space_read(w->space, buf, sizeof(buf), map->begin) < 1 || buf[0] != map->bytes[0])
        abort();
    for (unsigned i = 0; i < 16; i++) {
        uint64_t at = map->begin + (last - map->begin) / 16 * i;
        const char *name = ptl_symbols_find(w->symbols, at, &offset);
        if (name && (!strlen(name) || offset > ptl_section_size(map->section)))
            abort();
    }
    return ++w->count >= 64;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ptl_section *section;
    struct ptl_symbols *symbols;
    struct ptl_space *space;
    struct walk walk = {0};
    uint8_t id[64];
    size_t len = sizeof(id);

    if (ptl_section_memory(&section, data, size, 0, "fuzz") < 0)
        return 0;
    if (ptl_space_new(&space) < 0)
        abort();
    (void)!ptl_section_build_id(section, id, &len);
    if (ptl_space_load_elf_section(space, section, size & 1 ? 0x10000 : 0, NULL, NULL) == 0) {
        if (ptl_symbols_new(&symbols, space) < 0)
            abort();
        walk.space = space;
        walk.symbols = symbols;
        (void)ptl_space_each(space, check, &walk);
        ptl_symbols_free(symbols);
    }
    ptl_space_free(space);
    ptl_section_unref(section);
    return 0;
}
