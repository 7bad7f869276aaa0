/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * module.c - kernel modules: relocatable files whose sections the kernel has laid out and
 * relocated.
 *
 * The kernel puts the code sections first, in the order of the file, each aligned as it asks; those
 * of initialisation (".init...") go elsewhere and are gone after loading. Calls of __fentry__ are
 * NOPs unless a function is being traced by ftrace.
 *
 * Source: gABI "Relocation"; x86-64 psABI "Relocation Types"; the kernel's documentation of modules
 * (/sys/module/NAME/sections).
 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "image/load.h"
#include "image/section.h"
#include "image/space.h"

#include <stdio.h>
#include <string.h>

#define MAX_SECTIONS 4096 /* real modules have some hundreds at most */

struct module {
    const struct ptl_module *config;
    const struct ptl__elf *elf;
    const struct ptl_section *file;
    Elf_Data *strings;      /* names of sections */
    Elf_Data *syms, *names; /* the symbol table, and the names in it; NULL: none */
    uint64_t budget; /* bytes that may still be copied: sections of real files do not overlap */
    uint64_t *addr;  /* of each section; 0: not in memory, or not known */
};

/* --- sections ------------------------------------------------------------------------ */

static const char *string_at(const Elf_Data *strings, uint64_t at)
{
    const char *s;

    if (!strings || at >= strings->d_size)
        return "";
    s = (const char *)strings->d_buf + at;
    return memchr(s, 0, strings->d_size - at) ? s : "";
}

static int is_code(const GElf_Shdr *sh)
{
    const uint64_t flags = SHF_ALLOC | SHF_EXECINSTR;

    return (sh->sh_flags & flags) == flags && sh->sh_type == SHT_PROGBITS && sh->sh_size;
}

static int read_strings(struct module *m)
{
    size_t i;

    if (elf_getshdrstrndx(m->elf->handle, &i) != 0 || i >= m->elf->shnum)
        return PTL_BAD_IMAGE;
    return ptl__elf_data(m->elf, ptl__elf_shdr(m->elf, (uint32_t)i).sh_offset,
                         ptl__elf_shdr(m->elf, (uint32_t)i).sh_size, ELF_T_BYTE, &m->strings);
}

static int read_symbols(struct module *m)
{
    for (uint32_t i = 0; i < m->elf->shnum; i++) {
        GElf_Shdr sh = ptl__elf_shdr(m->elf, i), names;
        int status;

        if (sh.sh_type != SHT_SYMTAB || sh.sh_link >= m->elf->shnum)
            continue;
        names = ptl__elf_shdr(m->elf, sh.sh_link);
        status = ptl__elf_data(m->elf, sh.sh_offset, sh.sh_size, ELF_T_SYM, &m->syms);
        return status < 0
                   ? status
                   : ptl__elf_data(m->elf, names.sh_offset, names.sh_size, ELF_T_BYTE, &m->names);
    }
    return 0;
}

static int place_sections(struct module *m)
{
    uint64_t at = m->config->base;

    m->addr = ptl__calloc(m->elf->shnum, sizeof(*m->addr));
    if (!m->addr)
        return PTL_NOMEM;
    for (uint32_t i = 0; i < m->elf->shnum; i++) {
        GElf_Shdr sh = ptl__elf_shdr(m->elf, i);
        const char *name = string_at(m->strings, sh.sh_name);
        uint64_t align = sh.sh_addralign ? sh.sh_addralign : 1, told;

        if (m->config->where && m->config->where(m->config->context, name, &told) == 0) {
            m->addr[i] = told;
        } else if (is_code(&sh) && strncmp(name, ".init", 5) != 0 && !(align & (align - 1))) {
            at = (at + align - 1) & ~(align - 1);
            m->addr[i] = at;
            at += sh.sh_size;
        }
    }
    return 0;
}

/* --- relocations ------------------------------------------------------------------------ */

/* Where a symbol is. Returns its name for those of the kernel, and 0 if it is not known. */
static int symbol_value(const struct module *m, size_t i, uint64_t *value, const char **name)
{
    GElf_Sym sym;

    *name = "";
    if (!m->syms || i > INT32_MAX || !gelf_getsym(m->syms, (int)i, &sym))
        return 0;
    if (sym.st_shndx == SHN_UNDEF) {
        *name = string_at(m->names, sym.st_name);
        return **name && m->config->resolve &&
               m->config->resolve(m->config->context, *name, value) == 0;
    }
    *value = sym.st_value;
    if (sym.st_shndx == SHN_ABS)
        return 1;
    if (sym.st_shndx >= m->elf->shnum || !m->addr[sym.st_shndx])
        return 0;
    *value += m->addr[sym.st_shndx];
    return 1;
}

/* Put `value` at `at` of the section, as the type says. */
static void store(uint8_t *bytes, uint64_t size, uint64_t at, uint64_t type, uint64_t value,
                  uint64_t place)
{
    int relative = type == R_X86_64_PC32 || type == R_X86_64_PLT32 || type == R_X86_64_PC64;
    int wide = type == R_X86_64_64 || type == R_X86_64_PC64;
    unsigned len = wide ? 8 : 4;

    if (!relative && !wide && type != R_X86_64_32 && type != R_X86_64_32S)
        return;
    if (at > size || size - at < len)
        return;
    value -= relative ? place : 0;
    for (unsigned i = 0; i < len; i++)
        bytes[at + i] = (uint8_t)(value >> (8 * i));
}

static void relocate_one(const struct module *m, const GElf_Rela *rela, uint8_t *bytes,
                         uint64_t size, uint64_t addr)
{
    static const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0, 0};
    const char *name;
    uint64_t value, at = rela->r_offset;
    int known = symbol_value(m, GELF_R_SYM(rela->r_info), &value, &name);

    if (strcmp(name, "__fentry__") == 0 && at && at < size && size - at >= 4 &&
        bytes[at - 1] == 0xe8)
        memcpy(bytes + at - 1, nop, sizeof(nop));
    else if (known)
        store(bytes, size, at, GELF_R_TYPE(rela->r_info), value + (uint64_t)rela->r_addend,
              addr + at);
}

static int relocate(const struct module *m, uint32_t section, uint8_t *bytes, uint64_t size)
{
    for (uint32_t i = 0; i < m->elf->shnum; i++) {
        GElf_Shdr sh = ptl__elf_shdr(m->elf, i);
        GElf_Rela rela;
        Elf_Data *data;
        int status;

        if (sh.sh_type != SHT_RELA || sh.sh_info != section)
            continue;
        status = ptl__elf_data(m->elf, sh.sh_offset, sh.sh_size, ELF_T_RELA, &data);
        if (status < 0)
            return status;
        for (int k = 0; data && gelf_getrela(data, k, &rela); k++)
            relocate_one(m, &rela, bytes, size, m->addr[section]);
    }
    return 0;
}

/* --- mapping ------------------------------------------------------------------------------- */

/* The section's bytes as they are in memory: "file.ko:.text" by name. */
static int make_section(const struct module *m, uint32_t i, const GElf_Shdr *sh,
                        struct ptl_section **section)
{
    const char *path = m->file->name, *slash = strrchr(path, '/');
    uint8_t *bytes = ptl__malloc((size_t)sh->sh_size);
    char name[256];
    int status;

    if (!bytes)
        return PTL_NOMEM;
    memcpy(bytes, m->file->bytes + sh->sh_offset, (size_t)sh->sh_size);
    status = relocate(m, i, bytes, sh->sh_size);
    snprintf(name, sizeof(name), "%s:%s", slash ? slash + 1 : path,
             string_at(m->strings, sh->sh_name));
    if (status == 0)
        status = ptl_section_memory(section, bytes, (size_t)sh->sh_size, 1, name);
    ptl__free(bytes);
    return status;
}

static int map_section(struct ptl_space *space, struct module *m, uint32_t i)
{
    GElf_Shdr sh = ptl__elf_shdr(m->elf, i);
    struct ptl_section *section = NULL;
    int status;

    if (!m->addr[i] || !is_code(&sh))
        return 0;
    if (sh.sh_offset > m->elf->size || sh.sh_size > m->elf->size - sh.sh_offset ||
        sh.sh_size > m->budget)
        return PTL_BAD_IMAGE;
    m->budget -= sh.sh_size;
    status = make_section(m, i, &sh, &section);
    if (status < 0)
        return status;
    status = ptl_space_map(space, m->addr[i], section, 0, sh.sh_size);
    ptl_section_unref(section);
    return status == PTL_INVALID ? PTL_BAD_IMAGE : status < 0 ? status : 1;
}

static int load(struct ptl_space *space, struct module *m)
{
    struct ptl__node *before;
    int status = 0, mapped = 0;

    if (m->elf->type != ET_REL || !m->elf->is64 || !m->elf->shnum || m->elf->shnum > MAX_SECTIONS)
        return PTL_BAD_IMAGE;
    m->budget = m->elf->size;
    if ((status = read_strings(m)) < 0 || (status = read_symbols(m)) < 0 ||
        (status = place_sections(m)) < 0)
        return status;
    before = ptl__tree_ref(space->tree);
    for (uint32_t i = 0; i < m->elf->shnum && status >= 0; i++) {
        status = map_section(space, m, i);
        mapped |= status > 0;
    }
    return ptl__load_end(space, before, status < 0 ? status : mapped);
}

int ptl_space_load_module_section(struct ptl_space *space, struct ptl_section *section,
                                  const struct ptl_module *config)
{
    struct module m = {.config = config, .file = section};
    struct ptl__elf elf;
    int status;

    if (!space || !section || !config || config->size != sizeof(*config))
        return PTL_INVALID;
    status = ptl__elf_open_section(&elf, section);
    if (status < 0)
        return status;
    m.elf = &elf;
    status = load(space, &m);
    ptl__free(m.addr);
    ptl__elf_close(&elf);
    return status;
}

int ptl_space_load_module(struct ptl_space *space, const char *path,
                          const struct ptl_module *config)
{
    struct ptl_section *section;
    int status;

    if (!space || !path || !config || config->size != sizeof(*config))
        return PTL_INVALID;
    status = ptl_section_file(&section, path, 0, UINT64_MAX);
    if (status < 0)
        return status == PTL_INVALID ? PTL_BAD_IMAGE : status;
    status = ptl_space_load_module_section(space, section, config);
    ptl_section_unref(section);
    return status;
}
