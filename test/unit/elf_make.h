/* SPDX-License-Identifier: BSD-3-Clause */
/* elf_make.h - ELF files made by tests: headers by hand, contents by a rule. */
#ifndef TEST_ELF_MAKE_H
#define TEST_ELF_MAKE_H

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ELF_CODE 0x1000 /* contents begin here */
#define ELF_TAIL 0x3000 /* and end here; then symbols, strings, section headers */
#define ELF_MAX  0x8000

struct elf_seg {
    uint32_t type, flags;
    uint64_t offset, vaddr, filesz, align;
};

struct elf_symbol {
    const char *name;
    uint64_t value, size;
    uint8_t bind, type;
    uint16_t shndx;
};

struct elf_spec {
    int is64;
    uint16_t type, machine; /* 0: ET_EXEC, x86 of the class */
    const struct elf_seg *segs;
    unsigned nsegs;
    const struct elf_symbol *syms; /* section 1: the symbols' code, [0x1000, 0x2000) */
    unsigned nsyms;
    uint32_t symtab; /* SHT_SYMTAB, or SHT_DYNSYM; 0: no section headers */
};

static inline uint8_t elf_content(uint64_t offset)
{
    return (uint8_t)(offset * 13 + (offset >> 8));
}

#define ELF_PUT(type32, type64, at, ...)                                                           \
    do {                                                                                           \
        if (spec->is64) {                                                                          \
            type64 h_ = {__VA_ARGS__};                                                             \
            memcpy(at, &h_, sizeof(h_));                                                           \
        } else {                                                                                   \
            type32 h_ = {__VA_ARGS__};                                                             \
            memcpy(at, &h_, sizeof(h_));                                                           \
        }                                                                                          \
    } while (0)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wconstant-conversion"
#endif

static inline size_t elf_make_sections(uint8_t *buf, const struct elf_spec *spec)
{
    size_t symsz = spec->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    size_t shsz = spec->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    size_t str = ELF_TAIL + (spec->nsyms + 1) * symsz, end = str + 1, sh;

    memset(buf + ELF_TAIL, 0, symsz);
    buf[str] = 0;
    for (unsigned i = 0; i < spec->nsyms; i++) {
        const struct elf_symbol *s = &spec->syms[i];
        uint8_t info = (uint8_t)(s->bind << 4 | s->type);
        ELF_PUT(Elf32_Sym, Elf64_Sym, buf + ELF_TAIL + (i + 1) * symsz, .st_name = end - str,
                .st_info = info, .st_shndx = s->shndx, .st_value = s->value, .st_size = s->size);
        strcpy((char *)buf + end, s->name);
        end += strlen(s->name) + 1;
    }
    sh = (end + 7) & ~(size_t)7;
    memset(buf + end, 0, sh - end + shsz);
    ELF_PUT(Elf32_Shdr, Elf64_Shdr, buf + sh + shsz, .sh_type = SHT_PROGBITS, .sh_addr = 0x401000,
            .sh_offset = ELF_CODE, .sh_size = 0x1000);
    ELF_PUT(Elf32_Shdr, Elf64_Shdr, buf + sh + 2 * shsz, .sh_type = spec->symtab,
            .sh_offset = ELF_TAIL, .sh_size = (spec->nsyms + 1) * symsz, .sh_link = 3,
            .sh_entsize = symsz);
    ELF_PUT(Elf32_Shdr, Elf64_Shdr, buf + sh + 3 * shsz, .sh_type = SHT_STRTAB, .sh_offset = str,
            .sh_size = end - str);
    return sh + 4 * shsz;
}

/* Returns the size. `buf` has ELF_MAX bytes. */
static inline size_t elf_make(uint8_t *buf, const struct elf_spec *spec)
{
    size_t ehsz = spec->is64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr), size = ELF_TAIL, sh = 0;
    size_t phsz = spec->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);

    for (size_t i = 0; i < ELF_TAIL; i++)
        buf[i] = elf_content(i);
    if (spec->symtab) {
        size = elf_make_sections(buf, spec);
        sh = size - 4 * (spec->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
    }
    ELF_PUT(Elf32_Ehdr, Elf64_Ehdr, buf, .e_type = spec->type ? spec->type : ET_EXEC,
            .e_machine = spec->machine ? spec->machine
                         : spec->is64  ? EM_X86_64
                                       : EM_386,
            .e_version = EV_CURRENT, .e_phoff = ehsz, .e_phentsize = phsz, .e_phnum = spec->nsegs,
            .e_ehsize = ehsz, .e_shoff = sh, .e_shnum = sh ? 4 : 0,
            .e_shentsize = spec->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
    memcpy(buf, ELFMAG, SELFMAG);
    buf[EI_CLASS] = spec->is64 ? ELFCLASS64 : ELFCLASS32;
    buf[EI_DATA] = ELFDATA2LSB;
    buf[EI_VERSION] = EV_CURRENT;
    for (unsigned i = 0; i < spec->nsegs; i++) {
        const struct elf_seg *s = &spec->segs[i];
        ELF_PUT(Elf32_Phdr, Elf64_Phdr, buf + ehsz + i * phsz, .p_type = s->type,
                .p_flags = s->flags, .p_offset = s->offset, .p_vaddr = s->vaddr,
                .p_filesz = s->filesz, .p_memsz = s->filesz, .p_align = s->align);
    }
    return size;
}

#pragma GCC diagnostic pop

/* Write bytes to a file of its own in the test's directory; the name is static. */
static inline const char *elf_write(const void *buf, size_t size)
{
    static char path[64];
    int fd;

    strcpy(path, "/tmp/pt_test_XXXXXX");
    fd = mkstemp(path);
    if (fd < 0 || write(fd, buf, size) != (ssize_t)size || close(fd) < 0)
        abort();
    return path;
}

#endif
