/* SPDX-License-Identifier: BSD-3-Clause */
/* load.h - mapping the segments of an ELF file; what sorts of files have in common. */
#ifndef LIBPT_IMAGE_LOAD_H
#define LIBPT_IMAGE_LOAD_H

#include "image/elf.h"
#include "image/tree.h"

struct ptl__load {
    uint64_t slide; /* added to each vaddr, modulo 2^64 */
    uint64_t low;   /* segments below this vaddr are left out */
    uint32_t flags; /* and those that lack one of these PF_* */
    void (*report)(void *context, const struct ptl_elf_segment *segment);
    void *context;
};

/* Map what `load` selects of the whole file in `section`. Returns 0, PTL_BAD_IMAGE (nothing
 * to map, or a segment wraps around), PTL_NOMEM; then the space is unchanged. */
int ptl__load(struct ptl_space *space, struct ptl_section *section, const struct ptl__elf *elf,
              const struct ptl__load *load);

/* The end of loading: `status` says how many parts were mapped, or what is wrong; without any the
 * space is again as in `before` (a reference, given up). Returns 0, PTL_BAD_IMAGE or the status. */
int ptl__load_end(struct ptl_space *space, struct ptl__node *before, int status);

/* The whole file as a section, and its headers. An empty file is a bad image. */
int ptl__load_open(struct ptl_section **section, struct ptl__elf *elf, const char *path);
void ptl__load_close(struct ptl_section *section, struct ptl__elf *elf);

#endif
