/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * modules.c - the code of kernel modules, from their files.
 *
 * The records of the kernel's mappings say where each module was. Its file is below the sysroot
 * under the name recorded, without .xz or the like if somebody has unpacked it, or in perf's
 * build-id cache; what is compressed is unpacked (unpack.c). Where its sections are says
 * /sys/module, of the sysroot or of this machine; else they are laid out as the kernel does. What
 * they call is found by name in kcore_dir/kallsyms, in the vmlinux, or in /proc/kallsyms of this
 * machine.
 */
#include "base/alloc.h"
#include "image/below.h"
#include "image/names.h"
#include "image/section.h"
#include "perfdata/skim.h"
#include "session/session.h"
#include "session/unpack.h"
#include "sideband/cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE  4096
#define UNPACK_ALL ((uint64_t)1 << 30) /* of all modules together */

struct modules {
    struct ptl_session *session;
    const char *root;        /* of /sys; NULL: not to be looked at */
    struct ptl__names names; /* symbols */
    struct ptl__names seen;  /* files: a module is loaded once */
    char name[256];          /* of the module at hand, as /sys has it */
    const struct ptl_unpack *unpack;
    uint64_t budget; /* of bytes that are unpacked */
    unsigned count, lost;
    char why[PATH_SIZE]; /* the first that could not be used */
};

/* --- questions of the loader ------------------------------------------------------------ */

static int where(void *context, const char *section, uint64_t *addr)
{
    const struct modules *m = context;
    char path[PATH_SIZE], name[PATH_SIZE / 2], text[32];
    uint64_t size;
    ssize_t got;
    int fd, n = snprintf(name, sizeof(name), "/sys/module/%s/sections/%s", m->name, section);

    if (!m->root || n < 0 || (size_t)n >= sizeof(name) || strchr(section, '/') ||
        ptl__below(path, sizeof(path), m->root, name) < 0)
        return PTL_NOMAP;
    fd = ptl__open_regular(path, &size);
    if (fd < 0)
        return PTL_NOMAP;
    do
        got = read(fd, text, sizeof(text) - 1);
    while (got < 0 && errno == EINTR);
    (void)close(fd);
    text[got > 0 ? got : 0] = '\0';
    *addr = strtoull(text, NULL, 16);
    return *addr ? 0 : PTL_NOMAP; /* 0: hidden from us */
}

static int resolve(void *context, const char *symbol, uint64_t *addr)
{
    const struct modules *m = context;

    return ptl__names_find(&m->names, symbol, addr);
}

static int read_names(struct modules *m)
{
    const struct ptl_session *s = m->session;
    const char *dir = ptl_perf_directory(s->perf);
    char path[PATH_SIZE];
    int n = snprintf(path, sizeof(path), "%s/kcore_dir/kallsyms", dir ? dir : "");

    if (dir && n > 0 && (size_t)n < sizeof(path) && ptl__names_kallsyms(&m->names, path) == 0)
        return 0;
    if (s->vmlinux)
        return ptl__names_elf(&m->names, s->vmlinux, s->slide);
    return ptl__session_is_here(s) ? ptl__names_kallsyms(&m->names, "/proc/kallsyms") : 0;
}

/* --- files -------------------------------------------------------------------------------- */

/* The length of a name without what says that it is compressed. */
static size_t plain_length(const char *name)
{
    static const char *const ends[] = {".xz", ".gz", ".zst"};
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        size_t k = strlen(ends[i]);

        if (n > k && strcmp(name + n - k, ends[i]) == 0)
            return n - k;
    }
    return n;
}

/* "/lib/modules/6.1/kernel/net/snd-pcm.ko.xz", "[snd_pcm]": snd_pcm. */
static void set_name(struct modules *m, const char *filename)
{
    const char *slash = strrchr(filename, '/'), *name = slash ? slash + 1 : filename;
    size_t n = plain_length(name), i;

    if (*name == '[')
        name++, n -= n > 2 ? 2 : n;
    else if (n > 3 && strncmp(name + n - 3, ".ko", 3) == 0)
        n -= 3;
    if (n >= sizeof(m->name))
        n = sizeof(m->name) - 1;
    for (i = 0; i < n; i++)
        m->name[i] = name[i] == '-' ? '_' : name[i];
    m->name[n] = '\0';
}

static const struct ptl_perf_build_id *id_of(const struct ptl_session *s, const char *filename)
{
    const struct ptl_perf_build_id *ids;
    size_t count;

    ids = ptl_perf_build_ids(s->perf, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(ids[i].filename, filename) == 0)
            return &ids[i];
    return NULL;
}

static int is_other_build(const struct ptl_perf_build_id *wanted, const struct ptl_section *section)
{
    uint8_t id[64];
    size_t len = sizeof(id);

    return wanted && ptl_section_build_id(section, id, &len) == 0 &&
           (len > wanted->size || memcmp(id, wanted->id, len) != 0);
}

/* One file. Returns 0 if it was loaded. */
static int try_file(struct modules *m, const char *path, uint64_t addr,
                    const struct ptl_perf_build_id *id)
{
    const struct ptl_module module = {
        .size = sizeof(module), .base = addr, .context = m, .where = where, .resolve = resolve};
    struct ptl__unpacked file;
    int status = ptl__unpack(&file, path, m->unpack, &m->budget);

    if (status < 0)
        return status;
    status = is_other_build(id, file.section)
                 ? PTL_BAD_CONFIG
                 : ptl_space_load_module_section(m->session->base, file.section, &module);
    ptl__unpack_free(&file);
    return status;
}

static int try_cache(struct modules *m, const char *dir, const struct ptl_perf_build_id *id,
                     uint64_t addr)
{
    char path[PATH_SIZE];

    for (unsigned n = 0; dir && id && ptl__sb_cached(path, sizeof(path), dir, id->id, id->size, n);
         n++)
        if (try_file(m, path, addr, id) == 0)
            return 0;
    return PTL_BAD_FILE;
}

/* The file of this name below the sysroot. */
static int try_name(struct modules *m, const char *root, const char *name, uint64_t addr,
                    const struct ptl_perf_build_id *id)
{
    char path[PATH_SIZE];

    return ptl__below(path, sizeof(path), root, name) < 0 ? PTL_BAD_FILE
                                                          : try_file(m, path, addr, id);
}

/* The file under the name recorded; one that somebody has unpacked beside it comes first. */
static int try_names(struct modules *m, const char *root, const char *name, uint64_t addr,
                     const struct ptl_perf_build_id *id)
{
    size_t plain = plain_length(name);
    char file[PATH_SIZE];
    int status = PTL_BAD_FILE;

    if (*name != '/' || plain >= sizeof(file))
        return PTL_BAD_FILE;
    if (name[plain]) {
        memcpy(file, name, plain);
        file[plain] = '\0';
        status = try_name(m, root, file, addr, id);
    }
    return status == 0 || status == PTL_NOMEM ? status : try_name(m, root, name, addr, id);
}

static const char *reason(const char *filename, int status)
{
    int packed = filename[plain_length(filename)] != 0;

    if (*filename == '[')
        return "its file is not recorded";
    if (status == PTL_BAD_CONFIG)
        return "the file is another build than the one that ran";
    if (status == PTL_BAD_FILE)
        return packed ? "the file is not there, or cannot be unpacked" : "the file is not there";
    if (status == PTL_BAD_IMAGE && packed)
        return "no module in it, or no unpacker for it: unpack it beside";
    return ptl_strstatus(status);
}

static int load_one(struct modules *m, const struct ptl_session_config *config,
                    const struct ptl_rec_mmap *map)
{
    const char *name = map->filename;
    const struct ptl_perf_build_id *id = id_of(m->session, name);
    int status;

    m->count++;
    set_name(m, name);
    status = try_names(m, config->sysroot, name, map->addr, id);
    if (status == 0 || status == PTL_NOMEM || try_cache(m, config->buildid_dir, id, map->addr) == 0)
        return status == PTL_NOMEM ? status : 0;
    if (!m->lost++)
        snprintf(m->why, sizeof(m->why), "%s: %s", name, reason(name, status));
    return 0;
}

/* --- all ------------------------------------------------------------------------------------- */

/* Mappings of the kernel that are neither itself nor a program of BPF, of a trampoline or the like.
 */
static int is_module(const struct ptl_perf_record *record)
{
    const struct ptl_rec_mmap *map = &record->record.u.mmap;

    if (record->status ||
        (record->record.type != PTL_REC_MMAP && record->record.type != PTL_REC_MMAP2) ||
        (record->record.misc & PTL_MISC_CPUMODE) != PTL_MISC_KERNEL)
        return 0;
    return map->filename[0] == '/' ||
           (map->filename[0] == '[' && strncmp(map->filename, "[kernel", 7) != 0 &&
            strncmp(map->filename, "[guest", 6) != 0);
}

static int is_new(struct modules *m, const char *filename)
{
    uint64_t value;

    if (ptl__names_find(&m->seen, filename, &value) == 0)
        return 0;
    return ptl__names_add(&m->seen, filename, 1) < 0 ? PTL_NOMEM : 1;
}

static int load_all(struct modules *m, const struct ptl_session_config *config)
{
    struct ptl__skim *skim = ptl__malloc(sizeof(*skim));
    struct ptl_perf_record record;
    int status = 0;

    if (!skim)
        return PTL_NOMEM;
    ptl__skim_begin(skim, m->session->perf, PTL__SKIM_MMAPS);
    while (status == 0 && ptl__skim_next(skim, &record) > 0) {
        int new;

        ptl__skim_decode(&record);
        new = is_module(&record) ? is_new(m, record.record.u.mmap.filename) : 0;

        if (new < 0 || (new && !m->count &&read_names(m) == PTL_NOMEM))
            status = PTL_NOMEM;
        else if (new)
            status = load_one(m, config, &record.record.u.mmap);
    }
    ptl__free(skim);
    return status;
}

int ptl__session_modules(struct ptl_session *s, const struct ptl_session_config *config)
{
    struct modules m = {.session = s, .unpack = config->unpack, .budget = UNPACK_ALL};
    int status;

    m.root = config->sysroot ? config->sysroot : ptl__session_is_here(s) ? "" : NULL;
    status = load_all(&m, config);
    ptl__names_free(&m.names);
    ptl__names_free(&m.seen);
    if (status < 0 || !m.lost)
        return status;
    return ptl__session_note(s, 0, "code of %u of %u kernel modules is not known, the first is %s",
                             m.lost, m.count, m.why);
}
