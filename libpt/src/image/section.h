/* SPDX-License-Identifier: BSD-3-Clause */
/* section.h - what a section is inside the library. */
#ifndef LIBPT_IMAGE_SECTION_H
#define LIBPT_IMAGE_SECTION_H

#include <pt/image.h>
#include <stdatomic.h>

enum ptl__section_kind {
    PTL__SECTION_FILE,   /* `map` is what ptl_unmap() needs */
    PTL__SECTION_MEMORY, /* borrowed bytes */
    PTL__SECTION_COPY,   /* `map` is on the heap */
    PTL__SECTION_READER, /* `read` */
    PTL__SECTION_PREAD   /* a reader of our own, from `fd` */
};

/* Everything but `refs` is const once the section is made. */
struct ptl_section {
    atomic_size_t refs;
    enum ptl__section_kind kind;
    const uint8_t *bytes; /* NULL for a reader */
    uint64_t size;
    uint64_t offset;    /* of the first byte in its file */
    uint64_t file_size; /* 0 unless a file */
    void *map;
    size_t map_size;
    ptl_read_fn read;
    void *context;
    int fd;
    char name[]; /* path or name */
};

/* Open a regular file for reading, without ever waiting for or touching anything else (a
 * FIFO, a device). Returns the descriptor and the size, or PTL_BAD_FILE with errno. */
int ptl__open_regular(const char *path, uint64_t *size);

/* A whole file that is read instead of mapped, e.g. /proc/kcore. */
int ptl__section_pread(struct ptl_section **section, const char *path);

/* How many of these bytes in memory, which have just been read, are still those of the section's
 * file. Cheap. */
size_t ptl__section_left(const struct ptl_section *section, const uint8_t *bytes, size_t len);

#endif
