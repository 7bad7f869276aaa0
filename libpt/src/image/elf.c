/* SPDX-License-Identifier: BSD-3-Clause */
/* elf.c - see elf.h. */
#include "image/elf.h"

#include "image/section.h"

static const size_t phdr_size[2] = {sizeof(Elf32_Phdr), sizeof(Elf64_Phdr)};
static const size_t shdr_size[2] = {sizeof(Elf32_Shdr), sizeof(Elf64_Shdr)};
static const size_t sym_size[2] = {sizeof(Elf32_Sym), sizeof(Elf64_Sym)};

/* An address, offset or size: as wide as the class. */
static uint64_t word(const struct ptl__elf *elf, struct ptl__cursor *at)
{
    return ptl__taken(at, elf->is64 ? 8 : 4);
}

static uint32_t half(struct ptl__cursor *at)
{
    return (uint32_t)ptl__taken(at, 4);
}

static uint16_t quarter(struct ptl__cursor *at)
{
    return (uint16_t)ptl__taken(at, 2);
}

struct ptl__cursor ptl__elf_range(const struct ptl__elf *elf, uint64_t offset, uint64_t size)
{
    struct ptl__cursor at = {elf->bytes, elf->bytes, 0};

    if (offset >= elf->size)
        return at;
    if (size > elf->size - offset)
        size = elf->size - offset;
    at.pos += offset;
    at.end = at.pos + size;
    return at;
}

static int table_fits(const struct ptl__elf *elf, uint64_t offset, uint64_t count, uint64_t size)
{
    return offset <= elf->size && count <= (elf->size - offset) / size;
}

/* gABI "ELF Header": counts that do not fit their field are in section header 0. */
static void extended_counts(struct ptl__elf *elf, uint32_t shnum)
{
    struct ptl__cursor at = ptl__elf_range(elf, elf->shoff, shdr_size[elf->is64]);
    uint64_t size;
    uint32_t info;

    if (elf->shoff == 0 || (elf->phnum != PN_XNUM && shnum != 0))
        return;
    (void)ptl__take(&at, 8); /* name, type */
    (void)word(elf, &at);    /* flags, addr, offset */
    (void)word(elf, &at);
    (void)word(elf, &at);
    size = word(elf, &at);
    (void)half(&at); /* link */
    info = half(&at);
    if (at.bad)
        return;
    if (elf->phnum == PN_XNUM)
        elf->phnum = info;
    if (shnum == 0)
        elf->shnum = size > UINT32_MAX ? 0 : (uint32_t)size;
}

int ptl__elf_open(struct ptl__elf *elf, const uint8_t *bytes, uint64_t size)
{
    struct ptl__cursor at;

    *elf = (struct ptl__elf){.bytes = bytes, .size = size};
    if (size < EI_NIDENT || memcmp(bytes, ELFMAG, SELFMAG) != 0 ||
        (bytes[EI_CLASS] != ELFCLASS32 && bytes[EI_CLASS] != ELFCLASS64))
        return PTL_BAD_IMAGE;
    if (bytes[EI_DATA] != ELFDATA2LSB)
        return PTL_NOT_SUPPORTED;
    elf->is64 = bytes[EI_CLASS] == ELFCLASS64;
    at = ptl__elf_range(elf, EI_NIDENT, size);
    elf->type = quarter(&at);
    elf->machine = quarter(&at);
    (void)half(&at);      /* version */
    (void)word(elf, &at); /* entry */
    elf->phoff = word(elf, &at);
    elf->shoff = word(elf, &at);
    (void)half(&at);    /* flags */
    (void)quarter(&at); /* ehsize */
    elf->phentsize = quarter(&at);
    elf->phnum = quarter(&at);
    elf->shentsize = quarter(&at);
    elf->shnum = quarter(&at);
    if (at.bad)
        return PTL_BAD_IMAGE;
    if (elf->machine != EM_X86_64 && elf->machine != EM_386)
        return PTL_NOT_SUPPORTED;
    extended_counts(elf, elf->shnum);
    if (elf->phnum && (elf->phentsize != phdr_size[elf->is64] ||
                       !table_fits(elf, elf->phoff, elf->phnum, elf->phentsize)))
        return PTL_BAD_IMAGE;
    if (elf->shoff == 0 || elf->shentsize != shdr_size[elf->is64] ||
        !table_fits(elf, elf->shoff, elf->shnum, elf->shentsize))
        elf->shnum = 0;
    return 0;
}

int ptl__elf_open_section(struct ptl__elf *elf, const struct ptl_section *section)
{
    if (!section->bytes || section->offset != 0)
        return PTL_BAD_IMAGE;
    return ptl__elf_open(elf, section->bytes, section->size);
}

struct ptl__phdr ptl__elf_phdr(const struct ptl__elf *elf, uint32_t i)
{
    struct ptl__cursor at =
        ptl__elf_range(elf, elf->phoff + (uint64_t)i * elf->phentsize, elf->phentsize);
    struct ptl__phdr ph = {0};

    ph.type = half(&at);
    if (elf->is64)
        ph.flags = half(&at);
    ph.offset = word(elf, &at);
    ph.vaddr = word(elf, &at);
    (void)word(elf, &at); /* paddr */
    ph.filesz = word(elf, &at);
    (void)word(elf, &at); /* memsz */
    if (!elf->is64)
        ph.flags = half(&at);
    ph.align = word(elf, &at);
    return ph;
}

struct ptl__shdr ptl__elf_shdr(const struct ptl__elf *elf, uint32_t i)
{
    struct ptl__cursor at =
        ptl__elf_range(elf, elf->shoff + (uint64_t)i * elf->shentsize, elf->shentsize);
    struct ptl__shdr sh = {0};

    (void)half(&at); /* name */
    sh.type = half(&at);
    (void)word(elf, &at); /* flags */
    sh.addr = word(elf, &at);
    sh.offset = word(elf, &at);
    sh.size = word(elf, &at);
    sh.link = half(&at);
    (void)half(&at); /* info */
    sh.align = word(elf, &at);
    sh.entsize = word(elf, &at);
    return sh;
}

size_t ptl__elf_sym_size(const struct ptl__elf *elf)
{
    return sym_size[elf->is64];
}

struct ptl__elfsym ptl__elf_sym(const struct ptl__elf *elf, struct ptl__cursor *at)
{
    struct ptl__elfsym sym = {0};
    uint8_t info;

    sym.name = half(at);
    if (!elf->is64) {
        sym.value = word(elf, at);
        sym.size = word(elf, at);
    }
    info = (uint8_t)ptl__taken(at, 1);
    (void)ptl__take(at, 1); /* visibility */
    sym.shndx = quarter(at);
    if (elf->is64) {
        sym.value = word(elf, at);
        sym.size = word(elf, at);
    }
    sym.type = info & 0xf;
    sym.bind = info >> 4;
    return sym;
}
