/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * elf_syms.c - the code symbols of an ELF file, by file offset: then they hold wherever and
 * however often the file is mapped.
 *
 * Source: gABI "Symbol Table"; STT_GNU_IFUNC: GNU gABI extensions.
 */
#include "base/alloc.h"
#include "image/elf.h"
#include "image/load.h"
#include "image/symtab.h"

#include <stdlib.h>
#include <string.h>

struct loader {
    const struct ptl__elf *elf;
    struct ptl__symlist list;
    struct ptl__phdr *loads; /* by vaddr */
    size_t nloads;
};

static int compare_vaddr(const void *va, const void *vb)
{
    const struct ptl__phdr *a = va, *b = vb;

    return a->vaddr < b->vaddr ? -1 : a->vaddr > b->vaddr;
}

static int read_loads(struct loader *l)
{
    if (!l->elf->phnum)
        return 0;
    l->loads = ptl__calloc(l->elf->phnum, sizeof(*l->loads));
    if (!l->loads)
        return PTL_NOMEM;
    for (uint32_t i = 0; i < l->elf->phnum; i++) {
        struct ptl__phdr ph = ptl__elf_phdr(l->elf, i);
        if (ptl__is_load(&ph) && ph.offset < l->elf->size) {
            if (ph.filesz > l->elf->size - ph.offset)
                ph.filesz = l->elf->size - ph.offset;
            l->loads[l->nloads++] = ph;
        }
    }
    if (l->nloads)
        qsort(l->loads, l->nloads, sizeof(*l->loads), compare_vaddr);
    return 0;
}

/* The segment that holds `vaddr`, or NULL. */
static const struct ptl__phdr *load_of(const struct loader *l, uint64_t vaddr)
{
    size_t low = 0, high = l->nloads;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (l->loads[mid].vaddr <= vaddr)
            low = mid + 1;
        else
            high = mid;
    }
    if (!low || vaddr - l->loads[low - 1].vaddr >= l->loads[low - 1].filesz)
        return NULL;
    return &l->loads[low - 1];
}

static int is_code(const struct ptl__elfsym *sym)
{
    return (sym->type == STT_FUNC || sym->type == STT_GNU_IFUNC || sym->type == STT_NOTYPE) &&
           sym->shndx != SHN_UNDEF && sym->shndx != SHN_ABS && sym->shndx != SHN_COMMON;
}

static uint8_t rank_of(const struct ptl__elfsym *sym)
{
    uint8_t rank = sym->bind == STB_WEAK    ? PTL__RANK_WEAK
                   : sym->bind == STB_LOCAL ? PTL__RANK_LOCAL
                                            : PTL__RANK_GLOBAL;

    return (uint8_t)(rank + (sym->type == STT_NOTYPE ? 0 : PTL__RANK_FUNCTION));
}

/* A symbol without a size goes no further than its section. */
static uint64_t bytes_left(const struct loader *l, const struct ptl__elfsym *sym, uint64_t left)
{
    struct ptl__shdr sh;

    if (sym->shndx >= l->elf->shnum)
        return left;
    sh = ptl__elf_shdr(l->elf, sym->shndx);
    if (sym->value - sh.addr < sh.size && sh.size - (sym->value - sh.addr) < left)
        left = sh.size - (sym->value - sh.addr);
    return left;
}

static int add(struct loader *l, const struct ptl__elfsym *elfsym, const char *name)
{
    const struct ptl__phdr *ph = load_of(l, elfsym->value);
    struct ptl__sym sym = {.name = name, .rank = rank_of(elfsym)};
    uint64_t left; /* bytes of the segment from the symbol on */

    if (!ph || !*name)
        return 0;
    left = ph->filesz - (elfsym->value - ph->vaddr);
    sym.start = ph->offset + (elfsym->value - ph->vaddr);
    sym.end = sym.start + (elfsym->size < left ? elfsym->size : left);
    sym.limit = sym.start + bytes_left(l, elfsym, left);
    return ptl__symlist_add(&l->list, &sym);
}

static int read_table(struct loader *l, const struct ptl__shdr *sh, const char *names, size_t size)
{
    struct ptl__cursor at = ptl__elf_range(l->elf, sh->offset, sh->size);
    int status = 0;

    while (status == 0 && ptl__left(&at) >= ptl__elf_sym_size(l->elf)) {
        struct ptl__elfsym sym = ptl__elf_sym(l->elf, &at);
        if (is_code(&sym) && sym.name < size)
            status = add(l, &sym, names + sym.name);
    }
    return status;
}

/* What the reader needs of one symbol table: the first one of its type. */
struct source {
    struct ptl__shdr sh;
    struct ptl__cursor names;
    int found;
};

static struct source find_table(const struct ptl__elf *elf, uint32_t type)
{
    struct source s = {0};

    for (uint32_t i = 0; i < elf->shnum && !s.found; i++) {
        s.sh = ptl__elf_shdr(elf, i);
        if (s.sh.type == type && s.sh.entsize == ptl__elf_sym_size(elf) && s.sh.link < elf->shnum) {
            struct ptl__shdr strings = ptl__elf_shdr(elf, s.sh.link);
            s.names = ptl__elf_range(elf, strings.offset, strings.size);
            s.found = 1;
        }
    }
    return s;
}

int ptl__symtab_elf(struct ptl__symtab **table, const struct ptl__elf *elf)
{
    struct source sources[2] = {find_table(elf, SHT_SYMTAB), find_table(elf, SHT_DYNSYM)};
    struct loader l = {.elf = elf};
    size_t done = 0, sizes[2] = {0, 0};
    char *names;
    int status;

    *table = NULL;
    if (!sources[0].found && !sources[1].found)
        return 0;
    /* Copies, each with a NUL of its own: a name stays a string whatever becomes of the
     * file. */
    for (int i = 0; i < 2; i++)
        sizes[i] = sources[i].found ? ptl__left(&sources[i].names) : 0;
    names = ptl__calloc(1, sizes[0] + sizes[1] + 2);
    if (!names)
        return PTL_NOMEM;
    status = read_loads(&l);
    for (int i = 0; i < 2 && status == 0; i++) {
        if (sizes[i])
            memcpy(names + done, sources[i].names.pos, sizes[i]);
        if (sources[i].found)
            status = read_table(&l, &sources[i].sh, names + done, sizes[i]);
        done += sizes[i] + 1;
    }
    ptl__free(l.loads);
    if (status == 0 && l.list.count)
        return ptl__symlist_finish(&l.list, names, table);
    ptl__free(l.list.syms);
    ptl__free(names);
    return status;
}

/* The value of the symbol `name` in one table. */
static int value_in(const struct ptl__elf *elf, struct source *s, const char *name, uint64_t *value)
{
    struct ptl__cursor at = ptl__elf_range(elf, s->sh.offset, s->sh.size);
    size_t len = strlen(name) + 1, left = ptl__left(&s->names);

    while (ptl__left(&at) >= ptl__elf_sym_size(elf)) {
        struct ptl__elfsym sym = ptl__elf_sym(elf, &at);
        if (sym.shndx == SHN_UNDEF || sym.name >= left || len > left - sym.name ||
            memcmp(s->names.pos + sym.name, name, len) != 0)
            continue;
        *value = sym.value;
        return 0;
    }
    return PTL_NOMAP;
}

int ptl_elf_symbol(const char *path, const char *name, uint64_t *value)
{
    static const uint32_t types[2] = {SHT_SYMTAB, SHT_DYNSYM};
    struct ptl_section *section;
    struct ptl__elf elf;
    int status;

    if (!path || !name || !value)
        return PTL_INVALID;
    status = ptl__load_open(&section, &elf, path);
    if (status < 0)
        return status;
    status = PTL_NOMAP;
    for (int i = 0; i < 2 && status < 0; i++) {
        struct source s = find_table(&elf, types[i]);
        if (s.found)
            status = value_in(&elf, &s, name, value);
    }
    ptl_section_unref(section);
    return status;
}

/* The symbol of that name with the best rank in the file's table. */
static int find_function(const struct ptl__symtab *table, const char *name, uint64_t *offset,
                         uint64_t *size)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct ptl__symrange *r = &table->ranges[i];
        size_t last = i;

        if (!r->name || strcmp(r->name, name) != 0)
            continue;
        /* Others may lie inside it: it goes on behind them. */
        for (size_t j = i; j < table->count; j++) {
            if (table->ranges[j].name && table->ranges[j].sym_start == r->sym_start &&
                !strcmp(table->ranges[j].name, name))
                last = j;
        }
        if (last + 1 >= table->count)
            return PTL_NOMAP;
        *offset = r->sym_start;
        *size = table->ranges[last + 1].start - r->sym_start;
        return 0;
    }
    return PTL_NOMAP;
}

int ptl_elf_function(const char *path, const char *name, uint64_t *offset, uint64_t *size)
{
    struct ptl_section *section;
    struct ptl__symtab *table = NULL;
    struct ptl__elf elf;
    int status;

    if (!path || !name || !offset || !size)
        return PTL_INVALID;
    status = ptl__load_open(&section, &elf, path);
    if (status < 0)
        return status;
    status = ptl__symtab_elf(&table, &elf);
    if (status == 0)
        status = table ? find_function(table, name, offset, size) : PTL_NOMAP;
    if (table)
        ptl__symtab_free(table);
    ptl_section_unref(section);
    return status;
}
