/* SPDX-License-Identifier: BSD-3-Clause */
/* below.h - names that a recording tells of, looked up below a directory that they cannot leave. */
#ifndef LIBPT_IMAGE_BELOW_H
#define LIBPT_IMAGE_BELOW_H

#include <stddef.h>

/* The path of `name` as a process whose root directory is `root` would find it: "..", symbolic
 * links and absolute links stay below `root`; no link is left in `path`. `root` NULL or empty: the
 * name as it is. Returns 0, or PTL_BAD_FILE with errno (ENOENT, ELOOP, ENAMETOOLONG, ...). */
int ptl__below(char *path, size_t size, const char *root, const char *name);

#endif
