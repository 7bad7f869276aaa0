/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * elf.h - the headers of an ELF file that lies in memory.
 *
 * Source: System V ABI (gABI), chapters "Object Files" and "Program Loading"; i386 and
 * x86-64 psABI. Nothing in the file is believed before it has been compared with the
 * file's size; damaged section headers only cost the symbols.
 */
#ifndef LIBPT_IMAGE_ELF_H
#define LIBPT_IMAGE_ELF_H

#include "base/bytes.h"

#include <elf.h> /* the constants only */
#include <pt/image.h>

struct ptl__elf {
    const uint8_t *bytes;
    uint64_t size;
    int is64;
    uint16_t type, machine;
    uint64_t phoff, shoff;
    uint32_t phnum, shnum; /* that many headers lie within the file */
    uint16_t phentsize, shentsize;
};

struct ptl__phdr {
    uint32_t type, flags;
    uint64_t offset, vaddr, filesz, align;
};

struct ptl__shdr {
    uint32_t type, link;
    uint64_t addr, offset, size, entsize, align;
};

struct ptl__elfsym {
    uint32_t name;
    uint8_t type, bind; /* STT_*, STB_* */
    uint16_t shndx;
    uint64_t value, size;
};

/* Returns 0; PTL_BAD_IMAGE: not ELF, or headers beyond the file; PTL_NOT_SUPPORTED: for
 * another machine than x86. */
int ptl__elf_open(struct ptl__elf *elf, const uint8_t *bytes, uint64_t size);
int ptl__elf_open_section(struct ptl__elf *elf, const struct ptl_section *section);

struct ptl__phdr ptl__elf_phdr(const struct ptl__elf *elf, uint32_t i); /* i < phnum */
struct ptl__shdr ptl__elf_shdr(const struct ptl__elf *elf, uint32_t i); /* i < shnum */

/* `size` bytes at `offset` of the file, cut to its end. Empty if nothing is there. */
struct ptl__cursor ptl__elf_range(const struct ptl__elf *elf, uint64_t offset, uint64_t size);

size_t ptl__elf_sym_size(const struct ptl__elf *elf);
struct ptl__elfsym ptl__elf_sym(const struct ptl__elf *elf, struct ptl__cursor *at);

/* Is this segment one that the loader fills from the file? */
static inline int ptl__is_load(const struct ptl__phdr *ph)
{
    return ph->type == PT_LOAD && ph->filesz != 0;
}

#endif
