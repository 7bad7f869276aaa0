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

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct loader {
    const struct ptl__elf *elf;    /* whose segments are meant */
    const struct ptl__elf *tables; /* where the symbols are: the same, or what was split off it */
    struct ptl__symlist list;
    GElf_Phdr *loads; /* by vaddr */
    size_t nloads;
};

static int compare_vaddr(const void *va, const void *vb)
{
    const GElf_Phdr *a = va, *b = vb;

    return a->p_vaddr < b->p_vaddr ? -1 : a->p_vaddr > b->p_vaddr;
}

static int read_loads(struct loader *l)
{
    if (!l->elf->phnum)
        return 0;
    l->loads = ptl__calloc(l->elf->phnum, sizeof(*l->loads));
    if (!l->loads)
        return PTL_NOMEM;
    for (uint32_t i = 0; i < l->elf->phnum; i++) {
        GElf_Phdr ph = ptl__elf_phdr(l->elf, i);
        if (ptl__is_load(&ph) && ph.p_offset < l->elf->size) {
            if (ph.p_filesz > l->elf->size - ph.p_offset)
                ph.p_filesz = l->elf->size - ph.p_offset;
            l->loads[l->nloads++] = ph;
        }
    }
    if (l->nloads)
        qsort(l->loads, l->nloads, sizeof(*l->loads), compare_vaddr);
    return 0;
}

/* The segment that holds `vaddr`, or NULL. */
static const GElf_Phdr *load_of(const struct loader *l, uint64_t vaddr)
{
    size_t low = 0, high = l->nloads;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (l->loads[mid].p_vaddr <= vaddr)
            low = mid + 1;
        else
            high = mid;
    }
    if (!low || vaddr - l->loads[low - 1].p_vaddr >= l->loads[low - 1].p_filesz)
        return NULL;
    return &l->loads[low - 1];
}

static int is_code(const GElf_Sym *sym)
{
    unsigned type = GELF_ST_TYPE(sym->st_info);

    return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
           sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS && sym->st_shndx != SHN_COMMON;
}

static uint8_t rank_of(const GElf_Sym *sym)
{
    unsigned bind = GELF_ST_BIND(sym->st_info);
    uint8_t rank = bind == STB_WEAK    ? PTL__RANK_WEAK
                   : bind == STB_LOCAL ? PTL__RANK_LOCAL
                                       : PTL__RANK_GLOBAL;

    return (uint8_t)(rank + (GELF_ST_TYPE(sym->st_info) == STT_NOTYPE ? 0 : PTL__RANK_FUNCTION));
}

/* A symbol without a size goes no further than its section. */
static uint64_t bytes_left(const struct loader *l, const GElf_Sym *sym, uint64_t left)
{
    GElf_Shdr sh;

    if (sym->st_shndx >= l->tables->shnum)
        return left;
    sh = ptl__elf_shdr(l->tables, sym->st_shndx);
    if (sym->st_value - sh.sh_addr < sh.sh_size && sh.sh_size - (sym->st_value - sh.sh_addr) < left)
        left = sh.sh_size - (sym->st_value - sh.sh_addr);
    return left;
}

static int add(struct loader *l, const GElf_Sym *elfsym, const char *name)
{
    const GElf_Phdr *ph = load_of(l, elfsym->st_value);
    struct ptl__sym sym = {.name = name, .rank = rank_of(elfsym)};
    uint64_t left; /* bytes of the segment from the symbol on */

    if (!ph || !*name)
        return 0;
    left = ph->p_filesz - (elfsym->st_value - ph->p_vaddr);
    sym.start = ph->p_offset + (elfsym->st_value - ph->p_vaddr);
    sym.end = sym.start + (elfsym->st_size < left ? elfsym->st_size : left);
    sym.limit = sym.start + bytes_left(l, elfsym, left);
    return ptl__symlist_add(&l->list, &sym);
}

/* One symbol table - the first one of its type - and its names, which need not end. */
struct source {
    Elf_Data *syms, *names; /* NULL: none */
    int count;
};

static int source_data(struct source *s, const struct ptl__elf *elf, const GElf_Shdr *sh)
{
    GElf_Shdr names = ptl__elf_shdr(elf, sh->sh_link);
    size_t count;
    int status = ptl__elf_data(elf, sh->sh_offset, sh->sh_size, ELF_T_SYM, &s->syms);

    if (status == 0)
        status = ptl__elf_data(elf, names.sh_offset, names.sh_size, ELF_T_BYTE, &s->names);
    if (status < 0 || !s->syms || !s->names)
        return status;
    count = s->syms->d_size / sh->sh_entsize;
    s->count = count < INT_MAX ? (int)count : INT_MAX; /* libelf's index */
    return 0;
}

static int find_table(struct source *s, const struct ptl__elf *elf, uint32_t type)
{
    size_t entsize = gelf_fsize(elf->handle, ELF_T_SYM, 1, EV_CURRENT);

    *s = (struct source){0};
    for (uint32_t i = 0; i < elf->shnum; i++) {
        GElf_Shdr sh = ptl__elf_shdr(elf, i);
        if (sh.sh_type == type && sh.sh_entsize == entsize && sh.sh_link < elf->shnum)
            return source_data(s, elf, &sh);
    }
    return 0;
}

static int find_tables(struct source s[2], const struct ptl__elf *elf)
{
    int status = find_table(&s[0], elf, SHT_SYMTAB);

    return status < 0 ? status : find_table(&s[1], elf, SHT_DYNSYM);
}

static int read_table(struct loader *l, const struct source *s, const char *names)
{
    GElf_Sym sym;
    int status = 0;

    for (int i = 0; i < s->count && status == 0 && gelf_getsym(s->syms, i, &sym); i++)
        if (is_code(&sym) && sym.st_name < s->names->d_size)
            status = add(l, &sym, names + sym.st_name);
    return status;
}

static int read_tables(struct loader *l, const struct source sources[2], char *names)
{
    int status = read_loads(l);

    for (int i = 0; i < 2 && status == 0; i++) {
        if (!sources[i].count)
            continue;
        memcpy(names, sources[i].names->d_buf, sources[i].names->d_size);
        status = read_table(l, &sources[i], names);
        names += sources[i].names->d_size + 1;
    }
    return status;
}

int ptl__symtab_is_stripped(const struct ptl__elf *elf)
{
    for (uint32_t i = 0; i < elf->shnum; i++)
        if (ptl__elf_shdr(elf, i).sh_type == SHT_SYMTAB)
            return 0;
    return 1;
}

int ptl__symtab_elf(struct ptl__symtab **table, const struct ptl__elf *elf)
{
    return ptl__symtab_split(table, elf, elf);
}

int ptl__symtab_split(struct ptl__symtab **table, const struct ptl__elf *elf,
                      const struct ptl__elf *split)
{
    struct loader l = {.elf = elf, .tables = split};
    struct source sources[2];
    size_t size = 0;
    char *names;
    int status = find_tables(sources, split);

    *table = NULL;
    for (int i = 0; i < 2 && status == 0; i++)
        size += sources[i].count ? sources[i].names->d_size + 1 : 0;
    if (status < 0 || !size)
        return status;
    /* Copies, each with a NUL of its own: a name stays a string whatever becomes of the
     * file. */
    names = ptl__calloc(1, size);
    if (!names)
        return PTL_NOMEM;
    status = read_tables(&l, sources, names);
    ptl__free(l.loads);
    if (status == 0 && l.list.count)
        return ptl__symlist_finish(&l.list, names, table);
    ptl__free(l.list.syms);
    ptl__free(names);
    return status;
}

int ptl__elf_each_symbol(const struct ptl__elf *elf,
                         int (*fn)(void *context, const char *name, const GElf_Sym *sym),
                         void *context)
{
    struct source sources[2];
    GElf_Sym sym;
    int status = find_tables(sources, elf);
    const struct source *s = sources[0].count ? &sources[0] : &sources[1];

    for (int i = 0; i < s->count && status == 0 && gelf_getsym(s->syms, i, &sym); i++) {
        const char *name = (const char *)s->names->d_buf + sym.st_name;

        if (sym.st_name < s->names->d_size && memchr(name, 0, s->names->d_size - sym.st_name))
            status = fn(context, name, &sym);
    }
    return status;
}

/* The value of the symbol `name` in one table. */
static int value_in(const struct source *s, const char *name, uint64_t *value)
{
    size_t len = strlen(name) + 1;
    GElf_Sym sym;

    for (int i = 0; i < s->count && gelf_getsym(s->syms, i, &sym); i++) {
        const char *names = s->names->d_buf;
        size_t left = s->names->d_size;
        if (sym.st_shndx == SHN_UNDEF || sym.st_name >= left || len > left - sym.st_name ||
            memcmp(names + sym.st_name, name, len) != 0)
            continue;
        *value = sym.st_value;
        return 0;
    }
    return PTL_NOMAP;
}

int ptl_elf_symbol(const char *path, const char *name, uint64_t *value)
{
    struct ptl_section *section;
    struct source sources[2];
    struct ptl__elf elf;
    int status;

    if (!path || !name || !value)
        return PTL_INVALID;
    status = ptl__load_open(&section, &elf, path);
    if (status < 0)
        return status;
    status = find_tables(sources, &elf);
    if (status == 0)
        status = value_in(&sources[0], name, value);
    if (status == PTL_NOMAP)
        status = value_in(&sources[1], name, value);
    ptl__load_close(section, &elf);
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
    ptl__load_close(section, &elf);
    return status;
}
