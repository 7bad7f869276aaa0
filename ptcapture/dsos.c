/* SPDX-License-Identifier: BSD-3-Clause */
/* dsos.c - see dsos.h. */
#include "dsos.h"

#include "unzip.h"

#include <fcntl.h>
#include <pt/image.h>
#include <pt/io.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KERNEL_NOTES "/sys/kernel/notes"

/* Names, each once: open addressing, never full. */
struct names {
    char **slot;
    size_t cap, count;
};

static char **find(const struct names *names, const char *name)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    size_t i;

    for (const char *p = name; *p; p++)
        hash = (hash ^ (uint8_t)*p) * 1099511628211u;
    for (i = hash & (names->cap - 1); names->slot[i]; i = (i + 1) & (names->cap - 1)) {
        if (!strcmp(names->slot[i], name))
            break;
    }
    return &names->slot[i];
}

static int grow(struct names *names)
{
    struct names bigger = {NULL, names->cap ? 2 * names->cap : 64, names->count};

    if (names->cap > 2 * names->count)
        return 0;
    bigger.slot = calloc(bigger.cap, sizeof(*bigger.slot));
    if (!bigger.slot)
        return -1;
    for (size_t i = 0; i < names->cap; i++) {
        if (names->slot[i])
            *find(&bigger, names->slot[i]) = names->slot[i];
    }
    free(names->slot);
    *names = bigger;
    return 0;
}

/* Returns 1 if the name is new, PTL_NOMEM, or 0. */
static int add_name(struct names *names, const char *name)
{
    char **slot;

    if (grow(names))
        return PTL_NOMEM;
    slot = find(names, name);
    if (*slot)
        return 0;
    *slot = strdup(name);
    if (!*slot)
        return PTL_NOMEM;
    names->count++;
    return 1;
}

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->cap; i++)
        free(names->slot[i]);
    free(names->slot);
}

static int add_id(struct ptl_perf_writer *writer, struct ptl_perf_build_id *id, size_t len,
                  const char *name, uint16_t misc)
{
    id->size = (uint8_t)len;
    id->misc = misc;
    id->pid = -1;
    id->filename = name;
    return ptl_perf_writer_build_id(writer, id);
}

int dsos_add_file(struct ptl_perf_writer *writer, const char *path, const char *name, uint16_t misc)
{
    struct ptl_perf_build_id id;
    size_t len = sizeof(id.id);
    int status;

    memset(&id, 0, sizeof(id));
    status = ptl_elf_build_id(path, id.id, &len);
    if (status)
        return status == PTL_NOMEM ? status : 0;
    return add_id(writer, &id, len, name, misc);
}

/* The note "GNU", type 3 (NT_GNU_BUILD_ID), of the running kernel: sizes of name and content,
 * type, name, content, each padded to 4 bytes. */
static int add_kernel(struct ptl_perf_writer *writer)
{
    struct ptl_perf_build_id id;
    uint32_t head[3];
    uint8_t notes[4096];
    int fd = ptl_open(KERNEL_NOTES, O_RDONLY, 0);
    ssize_t n = fd < 0 ? 0 : read(fd, notes, sizeof(notes));

    if (fd >= 0)
        close(fd);
    for (size_t at = 0, len = n > 0 ? (size_t)n : 0; len - at >= sizeof(head);) {
        size_t name = at + sizeof(head), content;
        memcpy(head, notes + at, sizeof(head));
        content = name + ((head[0] + 3u) & ~3u);
        at = content + ((head[1] + 3u) & ~3u);
        if (head[0] > sizeof(notes) || head[1] > sizeof(notes) || at > len)
            break;
        if (head[2] != 3 || head[0] != 4 || memcmp(notes + name, "GNU", 4) != 0 ||
            head[1] > sizeof(id.id))
            continue;
        memset(&id, 0, sizeof(id));
        memcpy(id.id, notes + content, head[1]);
        return add_id(writer, &id, head[1], "[kernel.kallsyms]", PTL_MISC_KERNEL);
    }
    return 0;
}

/* The name of the file that a record maps as code; "" for the kernel, NULL: none. */
static const char *mapped(const struct ptl_record *record)
{
    const struct ptl_rec_mmap *map = &record->u.mmap;

    if (!record->known || (record->type != PTL_REC_MMAP && record->type != PTL_REC_MMAP2))
        return NULL;
    if ((record->misc & PTL_MISC_CPUMODE) == PTL_MISC_KERNEL)
        return strncmp(map->filename, "[kernel.kallsyms]", 17) ? NULL : "";
    if (record->type == PTL_REC_MMAP2 && !(map->prot & PROT_EXEC))
        return NULL;
    return *map->filename == '/' && map->filename[1] != '/' ? map->filename : NULL;
}

int dsos_add(struct ptl_perf_writer *writer, const char *path)
{
    struct ptl_perf_config config = {sizeof(config), &zstd_unzip, NULL};
    struct ptl_perf_iter iter = {0, 0};
    struct names names = {NULL, 0, 0};
    struct ptl_perf_record record;
    struct ptl_perf *perf;
    int status = ptl_perf_open(&perf, path, &config, NULL);

    if (status)
        return status;
    while (!status && ptl_perf_next(perf, &iter, &record)) {
        const char *name = mapped(&record.record);

        status = name ? add_name(&names, name) : 0;
        if (status <= 0)
            continue;
        status = *name ? dsos_add_file(writer, name, name, PTL_MISC_USER) : add_kernel(writer);
    }
    free_names(&names);
    ptl_perf_close(perf);
    return status;
}
