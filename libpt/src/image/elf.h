/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * elf.h - an ELF file that lies in memory, read through libelf.
 *
 * Source: System V ABI (gABI), chapters "Object Files" and "Program Loading"; i386 and
 * x86-64 psABI. Nothing in the file is believed before it has been compared with the
 * file's size; damaged section headers only cost the symbols.
 *
 * A handle belongs to one call in one thread and is closed before the bytes go.
 */
#ifndef LIBPT_IMAGE_ELF_H
#define LIBPT_IMAGE_ELF_H

#include <gelf.h>
#include <pt/image.h>

struct ptl__elf {
    Elf *handle;
    uint64_t size;
    int is64;
    uint16_t type;
    uint32_t phnum, shnum; /* that many headers lie within the file */
};

/* Returns 0; PTL_BAD_IMAGE: not ELF, or headers beyond the file; PTL_NOT_SUPPORTED: for
 * another machine than x86; PTL_NOMEM. Close what has been opened. */
int ptl__elf_open(struct ptl__elf *elf, const uint8_t *bytes, uint64_t size);
int ptl__elf_open_section(struct ptl__elf *elf, const struct ptl_section *section);
void ptl__elf_close(struct ptl__elf *elf);

GElf_Phdr ptl__elf_phdr(const struct ptl__elf *elf, uint32_t i); /* i < phnum */
GElf_Shdr ptl__elf_shdr(const struct ptl__elf *elf, uint32_t i); /* i < shnum */

/* `size` bytes at `offset` of the file, cut to its end, as items of that type; NULL if
 * nothing is there. They live as long as the handle, which remembers each of them: ask for
 * few. Returns 0, or PTL_NOMEM. */
int ptl__elf_data(const struct ptl__elf *elf, uint64_t offset, uint64_t size, Elf_Type type,
                  Elf_Data **data);

/* Call `fn` for each symbol of .symtab, else .dynsym, in order. Names that do not end are left out.
 * Stops when `fn` returns other than 0, and returns that; else 0 or PTL_NOMEM. elf_syms.c */
int ptl__elf_each_symbol(const struct ptl__elf *elf,
                         int (*fn)(void *context, const char *name, const GElf_Sym *sym),
                         void *context);

/* Is this segment one that the loader fills from the file? */
static inline int ptl__is_load(const GElf_Phdr *ph)
{
    return ph->p_type == PT_LOAD && ph->p_filesz != 0;
}

#endif
