/* SPDX-License-Identifier: BSD-3-Clause */
/* unpack.h - files that are compressed, e.g. kernel modules (.ko.xz). */
#ifndef LIBPT_SESSION_UNPACK_H
#define LIBPT_SESSION_UNPACK_H

#include <pt/session.h>

/* A file's bytes as they are, or unpacked. */
struct ptl__unpacked {
    struct ptl_section *section;
    uint8_t *bytes; /* of the section, if they had to be made */
    size_t cap;
};

/* Open a file; unpack it if it begins with the signature of an unpacker (`unpack` as in the
 * session's configuration). *budget is what may be unpacked in all, and becomes less. Returns 0;
 * PTL_BAD_FILE (cannot be read, or the packed stream is damaged or cut), PTL_BAD_IMAGE (more than
 * any module has, or than the budget allows), PTL_NOMEM. */
int ptl__unpack(struct ptl__unpacked *unpacked, const char *path, const struct ptl_unpack *unpack,
                uint64_t *budget);
void ptl__unpack_free(struct ptl__unpacked *unpacked);

#endif
