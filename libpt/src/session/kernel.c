/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernel.c - finding the kernel's code.
 *
 * In this order: what the user names; kcore_dir of the recording (`perf record --kcore`); a
 * vmlinux with the build id that was recorded in perf's cache; a vmlinux of the release;
 * /proc/kcore, if this is the kernel that was recorded. A kcore holds the code as it ran, with
 * modules and patches; a vmlinux does not, so modules are loaded from their files (modules.c).
 */
#include "base/alloc.h"
#include "image/below.h"
#include "session/session.h"
#include "sideband/cache.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#define PATH_SIZE 4096

/* --- kcore ------------------------------------------------------------------------------ */

/* A file, or a directory that holds one. Returns 0 if it was loaded. */
static int load_kcore(struct ptl_session *s, const char *path)
{
    char inside[PATH_SIZE];
    struct stat st;
    int status;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        int n = snprintf(inside, sizeof(inside), "%s/kcore", path);

        if (n < 0 || (size_t)n >= sizeof(inside))
            return PTL_BAD_FILE;
        path = inside;
    }
    status = ptl_space_load_kcore(s->base, path);
    s->have_kcore = status == 0;
    return status;
}

static int load_kcore_dir(struct ptl_session *s)
{
    const char *dir = ptl_perf_directory(s->perf);
    char path[PATH_SIZE];
    int n = snprintf(path, sizeof(path), "%s/kcore_dir", dir ? dir : "");

    return !dir || n < 0 || (size_t)n >= sizeof(path) ? PTL_BAD_FILE : load_kcore(s, path);
}

int ptl__session_is_here(const struct ptl_session *s)
{
    const struct ptl_perf_info *info = ptl_perf_info(s->perf);
    struct utsname uts;

    return info->hostname && info->osrelease && uname(&uts) == 0 &&
           strcmp(uts.nodename, info->hostname) == 0 && strcmp(uts.release, info->osrelease) == 0;
}

/* --- vmlinux ------------------------------------------------------------------------------ */

/* How far above where it was linked the kernel ran: "[kernel.kallsyms]_text" says where `_text`
 * was. */
static uint64_t slide_of(const struct ptl_session *s, const char *path)
{
    struct ptl_rec_mmap map;
    const char *symbol;
    uint64_t linked;

    if (!ptl__session_kernel_map(s, &map))
        return 0;
    symbol = map.filename + strlen("[kernel.kallsyms]");
    return ptl_elf_symbol(path, *symbol ? symbol : "_text", &linked) < 0 ? 0 : map.addr - linked;
}

static int load_vmlinux(struct ptl_session *s, const char *path)
{
    uint64_t slide = slide_of(s, path);
    int status = ptl_space_load_vmlinux(s->base, path, slide);

    if (status < 0)
        return status;
    s->vmlinux = ptl__strdup(path);
    s->slide = slide;
    return s->vmlinux ? 0 : PTL_NOMEM;
}

static const char *const vmlinux_places[] = {
    "/usr/lib/debug/boot/vmlinux-%s",
    "/usr/lib/debug/lib/modules/%s/vmlinux",
    "/boot/vmlinux-%s",
    "/lib/modules/%s/build/vmlinux",
    "/lib/modules/%s/vmlinux",
};

/* The build id of the kernel that ran, or NULL. */
static const struct ptl_perf_build_id *kernel_id(const struct ptl_session *s)
{
    const struct ptl_perf_build_id *ids;
    size_t count;

    ids = ptl_perf_build_ids(s->perf, &count);
    for (size_t i = 0; i < count; i++)
        if (strncmp(ids[i].filename, "[kernel.kallsyms]", 17) == 0)
            return &ids[i];
    return NULL;
}

/* Is the build the one recorded? Without ids the release has to do. */
static int is_other_build(const struct ptl_session *s, const char *path)
{
    const struct ptl_perf_build_id *wanted = kernel_id(s);
    uint8_t id[64];
    size_t len = sizeof(id);

    if (!wanted || ptl_elf_build_id(path, id, &len) < 0)
        return 0;
    return len > wanted->size || memcmp(id, wanted->id, len) != 0;
}

static int find_cached(struct ptl_session *s, const char *dir)
{
    const struct ptl_perf_build_id *id = kernel_id(s);
    char path[PATH_SIZE];

    for (unsigned n = 0; dir && id && ptl__sb_cached(path, sizeof(path), dir, id->id, id->size, n);
         n++)
        if (!is_other_build(s, path) && load_vmlinux(s, path) == 0)
            return 0;
    return PTL_BAD_FILE;
}

static int find_vmlinux(struct ptl_session *s, const char *sysroot)
{
    const char *release = ptl_perf_info(s->perf)->osrelease;
    char path[PATH_SIZE], name[PATH_SIZE / 2];

    for (size_t i = 0; release && i < sizeof(vmlinux_places) / sizeof(*vmlinux_places); i++) {
        const char *place = vmlinux_places[i], *hole = strchr(place, '%');
        int n =
            snprintf(name, sizeof(name), "%.*s%s%s", (int)(hole - place), place, release, hole + 2);

        if (n < 0 || (size_t)n >= sizeof(name))
            return PTL_BAD_FILE;
        if (ptl__below(path, sizeof(path), sysroot, name) == 0 && !is_other_build(s, path) &&
            load_vmlinux(s, path) == 0)
            return 0;
    }
    return PTL_BAD_FILE;
}

/* --- all ------------------------------------------------------------------------------------ */

static int named(struct ptl_session *s, const char *path, int status)
{
    if (status == 0 || status == PTL_NOMEM)
        return status;
    return ptl__session_note(s, 1, "kernel image %s: %s", path, ptl_strstatus(status));
}

static int is_traced(const struct ptl_session *s)
{
    return !s->pt->event || !(s->pt->event->attr.flags & PTL_ATTR_EXCLUDE_KERNEL);
}

static int find_kernel(struct ptl_session *s, const struct ptl_session_config *config)
{
    if (load_kcore_dir(s) == 0 || find_cached(s, config->buildid_dir) == 0 ||
        find_vmlinux(s, config->sysroot) == 0)
        return 0;
    return !config->sysroot && ptl__session_is_here(s) ? load_kcore(s, "/proc/kcore")
                                                       : PTL_BAD_FILE;
}

static int note_missing(struct ptl_session *s)
{
    const char *release = ptl_perf_info(s->perf)->osrelease;
    const char *dir = ptl_perf_directory(s->perf);

    return ptl__session_note(
        s, 1,
        "no kernel image: there is no %s%s, no vmlinux of Linux %s; code of the kernel cannot "
        "be shown. Record with --kcore, or name one with --kcore or --vmlinux",
        dir ? dir : "", dir ? "/kcore_dir/kcore" : "kcore_dir in the recording",
        release ? release : "(release not recorded)");
}

static int load_kernel(struct ptl_session *s, const struct ptl_session_config *config)
{
    if (config->kcore)
        return named(s, config->kcore, load_kcore(s, config->kcore));
    if (config->vmlinux)
        return named(s, config->vmlinux, load_vmlinux(s, config->vmlinux));
    return !is_traced(s) || find_kernel(s, config) == 0 ? 0 : note_missing(s);
}

int ptl__session_kernel(struct ptl_session *s, const struct ptl_session_config *config)
{
    int status = load_kernel(s, config);

    if (status < 0 || s->have_kcore || (!is_traced(s) && !config->vmlinux))
        return status;
    return ptl__session_modules(s, config);
}
