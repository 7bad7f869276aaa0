/* SPDX-License-Identifier: BSD-3-Clause */
/* kallsyms.h - the text of /proc/kallsyms, line by line. */
#ifndef LIBPT_IMAGE_KALLSYMS_H
#define LIBPT_IMAGE_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

struct ptl__kallsym {
    uint64_t value;
    const char *name; /* in the line */
    char type;
};

/* The whole file, NUL-terminated; ptl__free() it. Returns 0, PTL_BAD_FILE (errno tells) or
 * PTL_NOMEM. */
int ptl__kallsyms_read(const char *path, char **text, size_t *len);

/* One line, NUL-terminated; it is changed. Returns 0 for one that names no place. */
int ptl__kallsyms_line(char *line, struct ptl__kallsym *sym);

#endif
