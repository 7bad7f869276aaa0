/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.c - from the name in a mapping to a file with the bytes that were mapped.
 *
 * The file of that name below the sysroot, if it is the build that ran; else perf's build-id
 * cache.
 *
 * Each name is looked for once.
 */
#include "base/alloc.h"
#include "image/below.h"
#include "sideband/cache.h"
#include "sideband/sideband.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PATH_SIZE 4096

/* --- build ids --------------------------------------------------------------------------- */

/* Recorders pad ids to 20 bytes with zeros. */
static int same_id(const uint8_t *wanted, size_t wanted_size, const uint8_t *id, size_t size)
{
    if (size > wanted_size || memcmp(wanted, id, size) != 0)
        return 0;
    while (size < wanted_size && wanted[size] == 0)
        size++;
    return size == wanted_size;
}

/* Is this another build than the one wanted? A file without an id is taken at its word. */
static int is_other(const struct file *file, const struct ptl_section *section)
{
    uint8_t id[64];
    size_t len = sizeof(id);

    return file->id_size && ptl_section_build_id(section, id, &len) == 0 &&
           !same_id(file->id, file->id_size, id, len);
}

static const struct known_id *known_id(const struct ptl_sideband *sb, const char *name)
{
    uint32_t i = ptl__map_get(&sb->by_known, ptl__sb_hash(sb, 0, name));

    while (i != PTL__MAP_NONE && strcmp(sb->ids[i].name, name) != 0)
        i = sb->ids[i].next;
    return i == PTL__MAP_NONE ? NULL : &sb->ids[i];
}

int ptl__sb_know_id(struct ptl_sideband *sb, const char *name, const void *id, size_t size)
{
    uint32_t hash = ptl__sb_hash(sb, 0, name);
    struct known_id *known;

    if (known_id(sb, name))
        return 0;
    known = MORE(sb, ids);
    if (!known)
        return PTL_NOMEM;
    *known = (struct known_id){.name = ptl__strdup(name),
                               .next = ptl__map_get(&sb->by_known, hash),
                               .size = (uint8_t)size};
    if (!known->name)
        return PTL_NOMEM;
    memcpy(known->id, id, size);
    return ptl__map_put(&sb->by_known, hash, (uint32_t)sb->ids_count++);
}

/* --- opening ------------------------------------------------------------------------------- */

static int in_cache(struct ptl_sideband *sb, const struct file *file, struct ptl_section **section)
{
    char path[PATH_SIZE];

    *section = NULL;
    if (!sb->buildid_dir || !file->id_size)
        return 0;
    for (unsigned n = 0;
         ptl__sb_cached(path, sizeof(path), sb->buildid_dir, file->id, file->id_size, n); n++)
        if (ptl_files_get(sb->cache, path, section) == 0 && !is_other(file, *section))
            return 1;
    *section = NULL;
    return 0;
}

/* The file below the sysroot. `len` of the name counts. Returns 0, or a status with errno. */
static int in_sysroot(struct ptl_sideband *sb, uint32_t source, const char *name, size_t len,
                      struct ptl_section **section)
{
    const char *root = sb->sources[source].sysroot;
    char path[PATH_SIZE], plain[PATH_SIZE];

    *section = NULL;
    if (len >= sizeof(plain)) {
        errno = ENAMETOOLONG;
        return PTL_BAD_FILE;
    }
    memcpy(plain, name, len);
    plain[len] = '\0';
    errno = 0;
    if (ptl__below(path, sizeof(path), root, plain) < 0)
        return PTL_BAD_FILE;
    return ptl_files_get(sb->cache, path, section);
}

static int give_up(struct ptl_sideband *sb, struct file *file, uint8_t cause, int err)
{
    file->section = NULL;
    return ptl__sb_problem(sb, file->name, cause, err, &file->problem);
}

static int find_vdso(struct ptl_sideband *sb, struct file *file, uint8_t abi)
{
    const char *path = sb->sources[file->source].vdso[abi];

    if (path) {
        if (ptl_files_get(sb->cache, path, &file->section) == 0)
            return 0;
    } else if (in_cache(sb, file, &file->section)) {
        return 0;
    } else if (sb->vdso && abi == ABI_X64 && !is_other(file, sb->vdso)) {
        file->section = sb->vdso;
        return 0;
    }
    return give_up(sb, file, PTL_SB_CAUSE_VDSO, 0);
}

/* A file that was deleted while it was mapped, e.g. by an update: its name may be another
 * build's now, so only an id can tell. */
static int find_deleted(struct ptl_sideband *sb, struct file *file)
{
    size_t len = strlen(file->name) - strlen(" (deleted)");

    if (file->id_size) {
        uint8_t id[64];
        size_t size = sizeof(id);

        if (in_sysroot(sb, file->source, file->name, len, &file->section) == 0 &&
            ptl_section_build_id(file->section, id, &size) == 0 && !is_other(file, file->section))
            return 0;
        if (in_cache(sb, file, &file->section))
            return 0;
    }
    return give_up(sb, file, PTL_SB_CAUSE_DELETED, 0);
}

static int find_file(struct ptl_sideband *sb, struct file *file)
{
    int status = in_sysroot(sb, file->source, file->name, strlen(file->name), &file->section);
    int err = errno;

    if (status == 0 && !is_other(file, file->section))
        return 0;
    if (in_cache(sb, file, &file->section))
        return 0;
    if (status == PTL_NOMEM)
        return status;
    return give_up(sb, file, status == 0 ? PTL_SB_CAUSE_BUILD_ID : PTL_SB_CAUSE_MISSING, err);
}

static int find(struct ptl_sideband *sb, struct file *file, uint8_t abi)
{
    uint8_t cause = ptl__sb_name_cause(file->name);

    switch (cause) {
    case PTL_SB_CAUSE_UNKNOWN:
        return find_file(sb, file);
    case PTL_SB_CAUSE_VDSO:
        return find_vdso(sb, file, abi);
    case PTL_SB_CAUSE_DELETED:
        return find_deleted(sb, file);
    default:
        return give_up(sb, file, cause, 0);
    }
}

/* --- the table of names ------------------------------------------------------------------------
 */

static uint32_t hash_of(const struct ptl_sideband *sb, const struct wanted *wanted)
{
    return ptl__sb_hash(sb, wanted->source ^ ((uint32_t)wanted->abi << 16), wanted->name);
}

/* There may be any number of builds of one name. */
static uint32_t hash_with_id(uint32_t hash, const uint8_t *id, uint8_t size)
{
    for (uint8_t i = 0; i < size; i++)
        hash = (hash ^ id[i]) * 0x01000193u; /* FNV-1a */
    return hash;
}

static int is_wanted(const struct file *file, const struct wanted *wanted)
{
    return file->source == wanted->source && file->abi == wanted->abi &&
           strcmp(file->name, wanted->name) == 0 &&
           (!wanted->id_size || (file->id_size == wanted->id_size &&
                                 memcmp(file->id, wanted->id, wanted->id_size) == 0));
}

static int enter(struct ptl_sideband *sb, struct file *file, uint32_t hash)
{
    uint32_t with_id = hash_with_id(hash, file->id, file->id_size);
    int status;

    file->next = ptl__map_get(&sb->by_name, hash);
    file->next_id = ptl__map_get(&sb->by_id, with_id);
    status = ptl__map_put(&sb->by_name, hash, (uint32_t)sb->files_count);
    return status < 0 ? status : ptl__map_put(&sb->by_id, with_id, (uint32_t)sb->files_count);
}

static int new_file(struct ptl_sideband *sb, const struct wanted *wanted, uint32_t hash)
{
    struct file *file = MORE(sb, files);
    const struct known_id *known;
    int status;

    if (!file)
        return PTL_NOMEM;
    *file = (struct file){
        .name = ptl__strdup(wanted->name), .source = wanted->source, .abi = wanted->abi};
    if (!file->name)
        return PTL_NOMEM;
    known = known_id(sb, wanted->name);
    if (wanted->id_size && wanted->id_size <= sizeof(file->id)) {
        memcpy(file->id, wanted->id, wanted->id_size);
        file->id_size = wanted->id_size;
    } else if (known) {
        memcpy(file->id, known->id, known->size);
        file->id_size = known->size;
    }
    status = find(sb, file, wanted->abi);
    if (status < 0) {
        ptl__free(file->name);
        return status;
    }
    status = enter(sb, file, hash);
    sb->files_count++;
    return status;
}

int ptl__sb_file(struct ptl_sideband *sb, const struct wanted *wanted, struct ptl_section **section,
                 uint32_t *problem)
{
    uint32_t hash = hash_of(sb, wanted), i;

    if (wanted->id_size)
        i = ptl__map_get(&sb->by_id, hash_with_id(hash, wanted->id, wanted->id_size));
    else
        i = ptl__map_get(&sb->by_name, hash);
    while (i != PTL__MAP_NONE && !is_wanted(&sb->files[i], wanted))
        i = wanted->id_size ? sb->files[i].next_id : sb->files[i].next;
    if (i == PTL__MAP_NONE) {
        int status = new_file(sb, wanted, hash);

        if (status < 0)
            return status;
        i = (uint32_t)sb->files_count - 1;
    }
    *section = sb->files[i].section;
    *problem = sb->files[i].problem;
    return 0;
}

void ptl__sb_free_files(struct ptl_sideband *sb)
{
    for (size_t i = 0; i < sb->files_count; i++)
        ptl__free(sb->files[i].name);
    ptl__free(sb->files);
}
