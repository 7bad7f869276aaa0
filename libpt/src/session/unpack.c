/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unpack.c - see unpack.h. The library has no decompressor: the caller brings them. A small
 * file may unpack to anything, so what it may become is bounded, for one file and for all.
 */
#include "session/unpack.h"

#include "base/alloc.h"

#include <string.h>

#define FILE_MAX ((size_t)256 << 20) /* one module, with all that debuggers like to know */
#define STEP     ((size_t)256 << 10)

static const struct ptl_unpack *unpacker_of(const struct ptl_unpack *unpack,
                                            const struct ptl_section *section)
{
    for (; unpack && unpack->magic_size; unpack++)
        if (unpack->magic_size <= sizeof(unpack->magic) &&
            ptl_section_size(section) >= unpack->magic_size &&
            memcmp(ptl_section_bytes(section), unpack->magic, unpack->magic_size) == 0)
            return unpack;
    return NULL;
}

/* Returns how many bytes were made, or a negative status. */
static int64_t feed_all(struct ptl__unpacked *u, const struct ptl_unzip *unzip, void *stream,
                        size_t max)
{
    const uint8_t *in = ptl_section_bytes(u->section);
    size_t left = (size_t)ptl_section_size(u->section), len = 0, before;
    int64_t n;

    do {
        before = left;
        if (ptl__grow((void **)&u->bytes, &u->cap, len + STEP, FILE_MAX + STEP, 1) < 0)
            return PTL_NOMEM;
        n = unzip->feed(stream, &in, &left, u->bytes + len, u->cap - len);
        if (n < 0 || (uint64_t)n > u->cap - len)
            return n < 0 ? n : PTL_BAD_FILE;
        len += (size_t)n;
        if (len > max)
            return PTL_BAD_IMAGE;
    } while (n || left != before);
    return (int64_t)len;
}

static int unpack_with(struct ptl__unpacked *u, const struct ptl_unzip *unzip, uint64_t *budget)
{
    void *stream = unzip->open(unzip->context);
    char name[4096];
    int64_t n;

    if (!stream)
        return PTL_NOMEM;
    n = feed_all(u, unzip, stream, *budget < FILE_MAX ? (size_t)*budget : FILE_MAX);
    unzip->close(stream);
    if (n <= 0)
        return n ? (int)n : PTL_BAD_FILE;
    *budget -= (uint64_t)n;
    strncpy(name, ptl_section_name(u->section), sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    ptl_section_unref(u->section);
    u->section = NULL;
    return ptl_section_memory(&u->section, u->bytes, (size_t)n, 0, name);
}

int ptl__unpack(struct ptl__unpacked *unpacked, const char *path, const struct ptl_unpack *unpack,
                uint64_t *budget)
{
    const struct ptl_unpack *with;
    int status;

    *unpacked = (struct ptl__unpacked){NULL, NULL, 0};
    status = ptl_section_file(&unpacked->section, path, 0, UINT64_MAX);
    if (status < 0) {
        unpacked->section = NULL;
        return status == PTL_INVALID ? PTL_BAD_IMAGE : status; /* empty */
    }
    with = unpacker_of(unpack, unpacked->section);
    if (with)
        status = unpack_with(unpacked, &with->unzip, budget);
    if (status < 0)
        ptl__unpack_free(unpacked);
    return status;
}

void ptl__unpack_free(struct ptl__unpacked *unpacked)
{
    ptl_section_unref(unpacked->section);
    ptl__free(unpacked->bytes);
    *unpacked = (struct ptl__unpacked){NULL, NULL, 0};
}
