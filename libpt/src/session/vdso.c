/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vdso.c - the [vdso] of this process, for recordings of this machine.
 *
 * The kernel maps the same image into every 64-bit process. It is used if the recording has
 * its build id or, where recorders do not store one, was made by this kernel on this host.
 */
#include "session/session.h"

#include <string.h>
#include <sys/auxv.h>

#define EHDR_SIZE   64 /* ELF64, and where in it: */
#define E_SHOFF     40
#define E_SHENTSIZE 58
#define E_SHNUM     60

static uint64_t get(const uint8_t *p, size_t n)
{
    uint64_t v = 0;

    memcpy(&v, p, n);
    return v;
}

/* The image ends with its section headers; 0 if it has none. */
static size_t image_size(const uint8_t *elf)
{
    uint64_t at = get(elf + E_SHOFF, 8);

    return at ? (size_t)(at + get(elf + E_SHENTSIZE, 2) * get(elf + E_SHNUM, 2)) : 0;
}

/* 1: yes; 0: no; -1: the recording has no id. */
static int has_id(const struct ptl_session *s, const uint8_t *id, size_t len)
{
    const struct ptl_perf_build_id *ids;
    size_t count;
    int known = -1;

    ids = ptl_perf_build_ids(s->perf, &count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(ids[i].filename, "[vdso]") != 0)
            continue;
        known = 0;
        if (len <= ids[i].size && memcmp(ids[i].id, id, len) == 0)
            return 1;
    }
    return known;
}

int ptl__session_vdso(struct ptl_session *s)
{
    const uint8_t *elf = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    uint8_t id[64];
    size_t len = sizeof(id);
    int status, known;

    if (!elf || memcmp(elf, "\177ELF\2", 5) != 0 || image_size(elf) < EHDR_SIZE)
        return 0;
    status = ptl_section_memory(&s->vdso, elf, image_size(elf), 1, "[vdso]");
    if (status < 0)
        return status;
    known = ptl_section_build_id(s->vdso, id, &len) == 0 ? has_id(s, id, len) : -1;
    if (known == 0 || (known < 0 && !ptl__session_is_here(s))) {
        ptl_section_unref(s->vdso);
        s->vdso = NULL;
    }
    return 0;
}
