/* SPDX-License-Identifier: BSD-3-Clause */
/* symbols.c - from addresses to names, through mapping and file offset. */
#include "image/symbols.h"

#include "base/alloc.h"
#include "image/below.h"
#include "image/load.h"
#include "image/section.h"
#include "image/space.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The index of the section in the list, or where it belongs. */
static size_t index_of(const struct ptl_symbols *symbols, const struct ptl_section *section)
{
    size_t low = 0, high = symbols->count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if ((uintptr_t)symbols->list[mid].section < (uintptr_t)section)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static const struct ptl__symfile *entry_of(const struct ptl_symbols *symbols,
                                           const struct ptl_section *section)
{
    size_t i = index_of(symbols, section);

    return i < symbols->count && symbols->list[i].section == section ? &symbols->list[i] : NULL;
}

static int insert(struct ptl_symbols *symbols, struct ptl_section *section,
                  struct ptl__symtab *table, int owns)
{
    void *list = symbols->list;
    size_t i;

    if (ptl__grow(&list, &symbols->cap, symbols->count + 1, SIZE_MAX / sizeof(*symbols->list),
                  sizeof(*symbols->list)) < 0)
        return PTL_NOMEM;
    symbols->list = list;
    i = index_of(symbols, section);
    memmove(&symbols->list[i + 1], &symbols->list[i],
            (symbols->count - i) * sizeof(*symbols->list));
    symbols->list[i] = (struct ptl__symfile){ptl_section_ref(section), table, owns};
    symbols->count++;
    return 0;
}

/* The symbols of this file are missing: it is there, and cannot be read (errno). One that is not
 * there is no failure. Returns 0 or PTL_NOMEM. */
static int miss(struct ptl_symbols *symbols, const char *path)
{
    int error = errno;

    if (error == ENOENT || error == ENOTDIR)
        return 0;
    if (!symbols->unread_path) {
        symbols->unread_path = ptl__strdup(path);
        symbols->unread_error = error;
        if (!symbols->unread_path)
            return PTL_NOMEM;
    }
    symbols->unread++;
    return 0;
}

size_t ptl_symbols_unread(const struct ptl_symbols *symbols, const char **path, int *error)
{
    size_t unread = symbols ? symbols->unread : 0;

    if (path)
        *path = unread ? symbols->unread_path : NULL;
    if (error)
        *error = unread ? symbols->unread_error : 0;
    return unread;
}

/* --- symbols that were split off ------------------------------------------------------------- */

#define ID_MAX 64

/* "usr/lib/debug/.build-id/ab/cdef.debug", as gdb and distributions have it. */
static int debug_path(char *path, size_t size, const char *root, const uint8_t *id, size_t len)
{
    char name[sizeof("/usr/lib/debug/.build-id//.debug") + 2 * ID_MAX];
    int n = snprintf(name, sizeof(name), "/usr/lib/debug/.build-id/%02x/", id[0]);

    for (size_t i = 1; i < len; i++)
        n += snprintf(name + n, sizeof(name) - (size_t)n, "%02x", id[i]);
    snprintf(name + n, sizeof(name) - (size_t)n, ".debug");
    return ptl__below(path, size, root, name);
}

/* Is it of this build? */
static int has_id(const struct ptl_section *section, const uint8_t *id, size_t len)
{
    uint8_t other[ID_MAX];
    size_t n = sizeof(other);

    return ptl_section_build_id(section, other, &n) == 0 && n == len && !memcmp(other, id, len);
}

/* The table of the file that was split off; *table stays NULL if there is none that can be used.
 * Returns 0 or PTL_NOMEM. */
static int read_split(struct ptl_symbols *symbols, const struct ptl_section *section,
                      const struct ptl__elf *elf, struct ptl__symtab **table)
{
    struct ptl_section *split;
    struct ptl__elf tables;
    uint8_t id[ID_MAX];
    size_t len = sizeof(id);
    char path[PATH_MAX];
    int status;

    if (!symbols->debug_root || !ptl__symtab_is_stripped(elf) ||
        ptl_section_build_id(section, id, &len) < 0 || len < 2 ||
        debug_path(path, sizeof(path), symbols->debug_root, id, len) < 0)
        return 0;
    status = ptl__load_open(&split, &tables, path);
    if (status == PTL_BAD_FILE)
        return miss(symbols, path);
    if (status < 0)
        return status == PTL_NOMEM ? status : 0;
    if (has_id(split, id, len))
        status = ptl__symtab_split(table, elf, &tables);
    ptl__load_close(split, &tables);
    return status == PTL_NOMEM ? status : 0;
}

int ptl_symbols_set_debug_root(struct ptl_symbols *symbols, const char *root)
{
    char *copy;

    if (!symbols)
        return PTL_INVALID;
    copy = ptl__strdup(root ? root : "");
    if (!copy)
        return PTL_NOMEM;
    ptl__free(symbols->debug_root);
    symbols->debug_root = copy;
    return 0;
}

/* --- files -------------------------------------------------------------------------------------
 */

/* A file that is whole, or bytes in memory that may be one, e.g. a vdso. */
static int add_whole(struct ptl_symbols *symbols, struct ptl_section *section)
{
    struct ptl__symtab *table = NULL;
    struct ptl__elf elf;
    int status;

    if (entry_of(symbols, section))
        return 0;
    status = ptl__elf_open_section(&elf, section);
    if (status == 0) {
        status = read_split(symbols, section, &elf, &table);
        if (status == 0 && !table)
            status = ptl__symtab_elf(&table, &elf);
        ptl__elf_close(&elf);
    } else if (status != PTL_NOMEM) { /* not ELF */
        if (section->kind != PTL__SECTION_FILE)
            return 0;
        status = 0;
    }
    if (status == 0)
        status = insert(symbols, section, table, 1);
    if (status < 0)
        ptl__symtab_free(table);
    return status;
}

/* Part of a file: the symbols are those of the whole file. That it cannot be opened any
 * more only costs its symbols. */
static int add_part(struct ptl_symbols *symbols, struct ptl_section *section)
{
    const struct ptl__symfile *entry = NULL;
    struct ptl_section *whole;
    int status;

    if (entry_of(symbols, section))
        return 0;
    status = ptl_files_get(symbols->files, section->name, &whole);
    if (status == 0) {
        status = add_whole(symbols, whole);
        entry = entry_of(symbols, whole);
    } else if (status == PTL_BAD_FILE) {
        status = miss(symbols, section->name);
    }
    return status == PTL_NOMEM ? status : insert(symbols, section, entry ? entry->table : NULL, 0);
}

static int add_range(void *context, const struct ptl__range *range)
{
    struct ptl_section *section = range->section;

    if (section->kind == PTL__SECTION_FILE && section->size != section->file_size)
        return add_part(context, section);
    return section->bytes ? add_whole(context, section) : 0;
}

int ptl_symbols_add_space(struct ptl_symbols *symbols, const struct ptl_space *space)
{
    if (!symbols || !space)
        return PTL_INVALID;
    return ptl__tree_each(space->tree, add_range, symbols);
}

int ptl_symbols_new(struct ptl_symbols **symbols, const struct ptl_space *space)
{
    struct ptl_symbols *s;
    int status;

    if (!symbols)
        return PTL_INVALID;
    s = ptl__calloc(1, sizeof(*s));
    if (!s)
        return PTL_NOMEM;
    status = ptl_files_new(&s->files);
    if (status == 0)
        status = space ? ptl_space_clone(&s->space, space) : ptl_space_new(&s->space);
    if (status == 0)
        status = ptl_symbols_add_space(s, s->space);
    if (status < 0) {
        ptl_symbols_free(s);
        return status;
    }
    *symbols = s;
    return 0;
}

void ptl_symbols_free(struct ptl_symbols *symbols)
{
    if (!symbols)
        return;
    for (size_t i = 0; i < symbols->count; i++) {
        ptl_section_unref(symbols->list[i].section);
        if (symbols->list[i].owns)
            ptl__symtab_free(symbols->list[i].table);
    }
    ptl__free(symbols->list);
    ptl__free(symbols->debug_root);
    ptl__free(symbols->unread_path);
    ptl__symtab_free(symbols->kernel);
    ptl_files_free(symbols->files);
    ptl_space_free(symbols->space);
    ptl__free(symbols);
}

/* The symbol of a byte of the section, NULL if there is none. */
static const char *find_in_section(const struct ptl_symbols *symbols, const struct ptl_mapping *map,
                                   uint64_t at, uint64_t *offset)
{
    const struct ptl__symfile *file = entry_of(symbols, map->section);

    if (file)
        return file->table ? ptl__symtab_find(file->table, map->section->offset + at, offset)
                           : NULL;
    if ((map->section->kind != PTL__SECTION_MEMORY && map->section->kind != PTL__SECTION_COPY) ||
        !map->section->name[0])
        return NULL;
    *offset = at; /* bytes with a name, e.g. a function made at run time */
    return map->section->name;
}

const char *ptl_symbols_find_in(const struct ptl_symbols *symbols, const struct ptl_space *space,
                                uint64_t vaddr, uint64_t *offset)
{
    struct ptl_mapping map;
    uint64_t ignored;
    const char *name = NULL;

    if (!offset)
        offset = &ignored;
    if (ptl_space_find(space, vaddr, &map) == 0)
        name = find_in_section(symbols, &map, map.offset + (vaddr - map.begin), offset);
    if (!name && symbols->kernel)
        name = ptl__symtab_find(symbols->kernel, vaddr, offset);
    return name;
}

const char *ptl_symbols_find(const struct ptl_symbols *symbols, uint64_t vaddr, uint64_t *offset)
{
    return ptl_symbols_find_in(symbols, symbols->space, vaddr, offset);
}
