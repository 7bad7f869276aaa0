/* SPDX-License-Identifier: BSD-3-Clause */
/* files.c - each file opened once, however many mappings it has: an open-addressed table. */
#include "base/alloc.h"

#include <errno.h>
#include <pt/image.h>
#include <string.h>

struct file {
    char *path; /* NULL: a free slot */
    struct ptl_section *section;
    int status, error;
};

struct ptl_files {
    struct file *slots;
    size_t cap, used; /* cap: a power of two, at least twice `used` */
};

int ptl_files_new(struct ptl_files **files)
{
    if (!files)
        return PTL_INVALID;
    *files = ptl__calloc(1, sizeof(**files));
    return *files ? 0 : PTL_NOMEM;
}

void ptl_files_free(struct ptl_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->cap; i++) {
        ptl_section_unref(files->slots[i].section);
        ptl__free(files->slots[i].path);
    }
    ptl__free(files->slots);
    ptl__free(files);
}

/* FNV-1a, 64 bits. The names come from recordings: the address of the cache keeps those who
 * write them from choosing names that collide. */
static uint64_t hash(const struct ptl_files *files, const char *s)
{
    uint64_t h = 0xcbf29ce484222325 ^ (uintptr_t)files;

    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 0x100000001b3;
    return h ^ (h >> 32);
}

static struct file *slot_of(const struct ptl_files *files, struct file *slots, size_t cap,
                            const char *path)
{
    size_t i = (size_t)hash(files, path) & (cap - 1);

    while (slots[i].path && strcmp(slots[i].path, path) != 0)
        i = (i + 1) & (cap - 1);
    return &slots[i];
}

static int make_room(struct ptl_files *files)
{
    size_t cap = files->cap ? files->cap * 2 : 64;
    struct file *slots;

    if (files->used < files->cap / 2)
        return 0;
    slots = ptl__calloc(cap, sizeof(*slots));
    if (!slots)
        return PTL_NOMEM;
    for (size_t i = 0; i < files->cap; i++)
        if (files->slots[i].path)
            *slot_of(files, slots, cap, files->slots[i].path) = files->slots[i];
    ptl__free(files->slots);
    files->slots = slots;
    files->cap = cap;
    return 0;
}

static int enter(struct ptl_files *files, struct file *file, const char *path)
{
    struct file fresh = {0};

    errno = 0;
    fresh.status = ptl_section_file(&fresh.section, path, 0, UINT64_MAX);
    fresh.error = errno;
    if (fresh.status == PTL_NOMEM) /* may work the next time */
        return PTL_NOMEM;
    if (fresh.status < 0)
        fresh.section = NULL;
    fresh.path = ptl__strdup(path);
    if (!fresh.path) {
        ptl_section_unref(fresh.section);
        return PTL_NOMEM;
    }
    *file = fresh;
    files->used++;
    return 0;
}

int ptl_files_get(struct ptl_files *files, const char *path, struct ptl_section **section)
{
    struct file *file;

    if (!files || !path || !section)
        return PTL_INVALID;
    if (make_room(files) < 0)
        return PTL_NOMEM;
    file = slot_of(files, files->slots, files->cap, path);
    if (!file->path && enter(files, file, path) < 0)
        return PTL_NOMEM;
    if (file->status < 0) {
        errno = file->error;
        return file->status;
    }
    *section = file->section;
    return 0;
}
