/* SPDX-License-Identifier: BSD-3-Clause */
/* names.c - see names.h: a hash table with open addressing. */
#include "image/names.h"

#include "base/alloc.h"
#include "image/kallsyms.h"
#include "image/load.h"

#include <limits.h>
#include <string.h>

#define MAX_NAMES ((size_t)1 << 26)
#define MAX_TEXT  ((size_t)1 << 30)

/* --- the table ----------------------------------------------------------------------- */

static size_t place(const struct ptl__names *names, const char *name)
{
    uint32_t h = 0x811c9dc5u;
    size_t i;

    for (const char *s = name; *s; s++)
        h = (h ^ (uint8_t)*s) * 0x01000193u;
    for (i = h & (names->cap - 1); names->slot[i].name; i = (i + 1) & (names->cap - 1))
        if (strcmp(names->text + names->slot[i].name - 1, name) == 0)
            break;
    return i;
}

static int enlarge(struct ptl__names *names)
{
    struct ptl__names old = *names;

    if (old.cap >= MAX_NAMES)
        return PTL_NOMEM;
    names->cap = old.cap ? old.cap * 2 : 1024;
    names->slot = ptl__calloc(names->cap, sizeof(*names->slot));
    if (!names->slot) {
        *names = old;
        return PTL_NOMEM;
    }
    for (size_t i = 0; i < old.cap; i++)
        if (old.slot[i].name)
            names->slot[place(names, old.text + old.slot[i].name - 1)] = old.slot[i];
    ptl__free(old.slot);
    return 0;
}

int ptl__names_add(struct ptl__names *names, const char *name, uint64_t value)
{
    size_t len = strlen(name) + 1, i;

    if (names->used >= names->cap / 2 && enlarge(names) < 0)
        return PTL_NOMEM;
    i = place(names, name);
    if (names->slot[i].name)
        return 0;
    if (ptl__grow((void **)&names->text, &names->text_cap, names->text_len + len, MAX_TEXT, 1) < 0)
        return PTL_NOMEM;
    memcpy(names->text + names->text_len, name, len);
    names->slot[i] = (struct ptl__name_slot){names->text_len + 1, value};
    names->text_len += len;
    names->used++;
    return 0;
}

int ptl__names_find(const struct ptl__names *names, const char *name, uint64_t *value)
{
    size_t i;

    if (!names->cap)
        return PTL_NOMAP;
    i = place(names, name);
    if (!names->slot[i].name)
        return PTL_NOMAP;
    *value = names->slot[i].value;
    return 0;
}

void ptl__names_free(struct ptl__names *names)
{
    ptl__free(names->slot);
    ptl__free(names->text);
    memset(names, 0, sizeof(*names));
}

/* --- where they come from ------------------------------------------------------------- */

int ptl__names_kallsyms(struct ptl__names *names, const char *path)
{
    char *text, *at, *end;
    size_t len;
    int status = ptl__kallsyms_read(path, &text, &len);

    if (status < 0)
        return status;
    end = text + len;
    for (at = text; at < end && status == 0;) {
        char *nl = memchr(at, '\n', (size_t)(end - at));
        struct ptl__kallsym sym;

        if (!nl)
            nl = end;
        *nl = '\0';
        if (ptl__kallsyms_line(at, &sym))
            status = ptl__names_add(names, sym.name, sym.value);
        at = nl + 1;
    }
    ptl__free(text);
    return status;
}

struct into {
    struct ptl__names *names;
    uint64_t slide;
};

static int add_symbol(void *context, const char *name, const GElf_Sym *sym)
{
    const struct into *into = context;

    if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || !*name)
        return 0;
    return ptl__names_add(into->names, name, sym->st_value + into->slide);
}

int ptl__names_elf(struct ptl__names *names, const char *path, uint64_t slide)
{
    struct into into = {names, slide};
    struct ptl_section *section;
    struct ptl__elf elf;
    int status = ptl__load_open(&section, &elf, path);

    if (status < 0)
        return status;
    status = ptl__elf_each_symbol(&elf, add_symbol, &into);
    ptl__load_close(section, &elf);
    return status;
}
