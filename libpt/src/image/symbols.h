/* SPDX-License-Identifier: BSD-3-Clause */
/* symbols.h - the tables a ptl_symbols holds. */
#ifndef LIBPT_IMAGE_SYMBOLS_H
#define LIBPT_IMAGE_SYMBOLS_H

#include "image/symtab.h"

#include <pt/image.h>

/* A section and its symbols by file offset; no table: it was looked at in vain. */
struct ptl__symfile {
    struct ptl_section *section;
    struct ptl__symtab *table;
    int owns; /* else the table belongs to the entry of the whole file */
};

struct ptl_symbols {
    struct ptl_space *space; /* as it was */
    struct ptl_files *files; /* whole files, for sections that are parts of one */
    struct ptl__symfile *list;
    size_t count, cap;          /* sorted by section */
    struct ptl__symtab *kernel; /* by address */
    char *debug_root;           /* NULL: files without symbols have none */
    size_t unread;              /* files that could not be read */
    char *unread_path;          /* the first of them */
    int unread_error;           /* and its errno */
};

#endif
