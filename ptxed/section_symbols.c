/* SPDX-License-Identifier: BSD-3-Clause */
/* section_symbols.c - see section_symbols.h. */
#include "section_symbols.h"

#include "opts.h"

#include <stdlib.h>
#include <string.h>

/* A section in a space of its own, where it was first seen. */
struct place {
    const struct ptl_section *section;
    struct ptl_space *space;
    uint64_t base; /* address of its first byte */
};

struct section_symbols {
    struct ptl_symbols *symbols;
    struct place *places;
    size_t count, cap, last;
    int failed; /* there was no memory */
};

struct section_symbols *section_symbols_new(const char *kallsyms, const char *root)
{
    struct section_symbols *s = calloc(1, sizeof(*s));

    if (!s || ptl_symbols_new(&s->symbols, NULL)) {
        free(s);
        return NULL;
    }
    if (ptl_symbols_set_debug_root(s->symbols, root)) {
        section_symbols_free(s);
        return NULL;
    }
    /* Without it kernel code has no names; that is no failure. */
    if (kallsyms && ptl_symbols_add_kallsyms(s->symbols, kallsyms) == PTL_NOMEM) {
        section_symbols_free(s);
        return NULL;
    }
    return s;
}

void section_symbols_free(struct section_symbols *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        ptl_space_free(s->places[i].space);
    free(s->places);
    ptl_symbols_free(s->symbols);
    free(s);
}

static int add_place(struct section_symbols *s, const struct ptl_section *section, uint64_t base)
{
    struct place place = {.section = section, .base = base};
    int status = ptl_space_new(&place.space);

    /* Mapping only takes a reference. */
    if (!status)
        status = ptl_space_map(place.space, base, (struct ptl_section *)(uintptr_t)section, 0,
                               ptl_section_size(section));
    if (!status)
        status = ptl_symbols_add_space(s->symbols, place.space);
    if (status) {
        s->failed |= status == PTL_NOMEM;
        ptl_space_free(place.space);
        return status;
    }
    s->places[s->count] = place;
    s->last = s->count++;
    return 0;
}

static struct place *find_place(struct section_symbols *s, const struct ptl_section *section,
                                uint64_t base)
{
    if (s->last < s->count && s->places[s->last].section == section)
        return &s->places[s->last];
    for (s->last = 0; s->last < s->count; s->last++)
        if (s->places[s->last].section == section)
            return &s->places[s->last];
    if (s->count == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 16;
        struct place *more = realloc(s->places, cap * sizeof(*more));

        if (!more) {
            s->failed = 1;
            return NULL;
        }
        s->places = more;
        s->cap = cap;
    }
    return add_place(s, section, base) ? NULL : &s->places[s->last];
}

const char *section_symbols_find(struct section_symbols *s, const struct ptl_section *section,
                                 const uint8_t *bytes, uint64_t ip, uint64_t *offset)
{
    const uint8_t *begin = ptl_section_bytes(section);
    const struct place *place;
    uint64_t at;

    /* Code across two sections is a copy, and in neither. */
    if (!begin || bytes < begin || (uint64_t)(bytes - begin) >= ptl_section_size(section))
        return NULL;
    at = (uint64_t)(bytes - begin);
    place = find_place(s, section, ip > at ? ip - at : 0);
    return place ? ptl_symbols_find_in(s->symbols, place->space, place->base + at, offset) : NULL;
}

int section_symbols_failed(const struct section_symbols *s)
{
    return s->failed;
}

int symbols_report(const char *prog, const struct ptl_symbols *symbols)
{
    const char *path;
    int error;
    size_t unread = ptl_symbols_unread(symbols, &path, &error);

    if (unread == 1)
        opts_error(prog, "cannot read %s: %s. Names are missing.", path, strerror(error));
    else if (unread)
        opts_error(prog, "cannot read %s (and %zu more): %s. Names are missing.", path, unread - 1,
                   strerror(error));
    return unread != 0;
}

int section_symbols_report(const char *prog, const struct section_symbols *s)
{
    return s && symbols_report(prog, s->symbols);
}
