/* SPDX-License-Identifier: BSD-3-Clause */
/* elf.c - see elf.h. */
#include "image/elf.h"

#include "image/section.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* libelf has no number for "out of memory", but malloc() leaves one: for calls that were
 * made with errno 0. */
static int why(void)
{
    return errno == ENOMEM ? PTL_NOMEM : PTL_BAD_IMAGE;
}

/* gABI "ELF Identification". Asked before libelf, which also opens archives, and what it
 * knows nothing of. */
static int check_ident(const uint8_t *bytes, uint64_t size)
{
    if (size < EI_NIDENT || memcmp(bytes, ELFMAG, SELFMAG) != 0 ||
        (bytes[EI_CLASS] != ELFCLASS32 && bytes[EI_CLASS] != ELFCLASS64))
        return PTL_BAD_IMAGE;
    return bytes[EI_DATA] == ELFDATA2LSB ? 0 : PTL_NOT_SUPPORTED;
}

/* Section headers are of use if they are all there. libelf does not look at their size, and
 * takes offset 0 for one like any other. */
static int open_shdrs(struct ptl__elf *elf, const GElf_Ehdr *eh)
{
    GElf_Shdr first;
    size_t n;

    if (eh->e_shoff == 0 || eh->e_shentsize != gelf_fsize(elf->handle, ELF_T_SHDR, 1, EV_CURRENT) ||
        elf_getshdrnum(elf->handle, &n) < 0 || n > UINT32_MAX)
        return 0;
    errno = 0;
    if (n == 0 || !gelf_getshdr(elf_getscn(elf->handle, 0), &first))
        return errno == ENOMEM ? PTL_NOMEM : 0;
    elf->shnum = (uint32_t)n;
    return 0;
}

/* Program headers have to be all there. libelf counts those that are within the file. */
static int open_phdrs(struct ptl__elf *elf, const GElf_Ehdr *eh)
{
    uint32_t want = eh->e_phnum;
    GElf_Phdr first;
    size_t n = 0;

    if (want == PN_XNUM) { /* gABI "ELF Header": the count is in section header 0 */
        if (!elf->shnum)
            return PTL_BAD_IMAGE;
        want = ptl__elf_shdr(elf, 0).sh_info;
    }
    if (want == 0)
        return 0;
    errno = 0;
    if (want > INT_MAX /* libelf's index */ ||
        eh->e_phentsize != gelf_fsize(elf->handle, ELF_T_PHDR, 1, EV_CURRENT) ||
        elf_getphdrnum(elf->handle, &n) < 0 || n != want || !gelf_getphdr(elf->handle, 0, &first))
        return why();
    elf->phnum = want;
    return 0;
}

static int open_headers(struct ptl__elf *elf)
{
    GElf_Ehdr eh;
    int status;

    if (!gelf_getehdr(elf->handle, &eh))
        return PTL_BAD_IMAGE;
    if (eh.e_machine != EM_X86_64 && eh.e_machine != EM_386)
        return PTL_NOT_SUPPORTED;
    elf->type = eh.e_type;
    elf->is64 = gelf_getclass(elf->handle) == ELFCLASS64;
    status = open_shdrs(elf, &eh);
    return status < 0 ? status : open_phdrs(elf, &eh);
}

int ptl__elf_open(struct ptl__elf *elf, const uint8_t *bytes, uint64_t size)
{
    int status = check_ident(bytes, size);

    *elf = (struct ptl__elf){.size = size};
    if (status < 0)
        return status;
    (void)elf_version(EV_CURRENT);
    errno = 0;
    /* The pointer is not const as the handle could be asked to write. */
    elf->handle = elf_memory((char *)(uintptr_t)bytes, size);
    if (!elf->handle)
        return why();
    status = open_headers(elf);
    if (status < 0)
        ptl__elf_close(elf);
    return status;
}

int ptl__elf_open_section(struct ptl__elf *elf, const struct ptl_section *section)
{
    if (!section->bytes || section->offset != 0)
        return PTL_BAD_IMAGE;
    return ptl__elf_open(elf, section->bytes, section->size);
}

void ptl__elf_close(struct ptl__elf *elf)
{
    (void)elf_end(elf->handle);
    elf->handle = NULL;
}

/* These two cannot fail: open has made libelf look at the whole table. */

GElf_Phdr ptl__elf_phdr(const struct ptl__elf *elf, uint32_t i)
{
    GElf_Phdr ph = {0};

    (void)gelf_getphdr(elf->handle, (int)i, &ph);
    return ph;
}

GElf_Shdr ptl__elf_shdr(const struct ptl__elf *elf, uint32_t i)
{
    GElf_Shdr sh = {0};

    (void)gelf_getshdr(elf_getscn(elf->handle, i), &sh);
    return sh;
}

int ptl__elf_data(const struct ptl__elf *elf, uint64_t offset, uint64_t size, Elf_Type type,
                  Elf_Data **data)
{
    *data = NULL;
    if (offset >= elf->size || size == 0)
        return 0;
    if (size > elf->size - offset)
        size = elf->size - offset;
    errno = 0;
    *data = elf_getdata_rawchunk(elf->handle, (int64_t)offset, size, type);
    return *data || errno != ENOMEM ? 0 : PTL_NOMEM;
}
