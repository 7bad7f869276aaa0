/* SPDX-License-Identifier: BSD-3-Clause */
/* names.h - where the kernel's symbols are, by name: what its modules are linked against. */
#ifndef LIBPT_IMAGE_NAMES_H
#define LIBPT_IMAGE_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct ptl__names {
    struct ptl__name_slot {
        size_t name; /* in `text`, plus 1; 0: free */
        uint64_t value;
    } * slot;
    size_t cap, used;
    char *text;
    size_t text_len, text_cap;
};

/* Those of a file like /proc/kallsyms, or of an ELF file that ran `slide` bytes above where it was
 * linked. Of several of one name the first stays. Returns 0, or what reading the file says. */
int ptl__names_kallsyms(struct ptl__names *names, const char *path);
int ptl__names_elf(struct ptl__names *names, const char *path, uint64_t slide);

/* One more; the name is copied. Returns 0 or PTL_NOMEM. */
int ptl__names_add(struct ptl__names *names, const char *name, uint64_t value);

/* Returns 0, or PTL_NOMAP. */
int ptl__names_find(const struct ptl__names *names, const char *name, uint64_t *value);
void ptl__names_free(struct ptl__names *names);

#endif
