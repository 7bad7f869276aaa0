/* SPDX-License-Identifier: BSD-3-Clause */
/* bpf.c - the code of BPF programs, which the kernel has compiled. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "sideband/sideband.h"

#include <stdlib.h>

int ptl_sideband_bpf(struct ptl_sideband *sb, uint64_t addr, const void *bytes, size_t len,
                     const char *name)
{
    struct bpf *bpf;
    int status;

    if (!sb || !bytes || !len || sb->finished)
        return PTL_INVALID;
    bpf = MORE(sb, bpfs);
    if (!bpf)
        return PTL_NOMEM;
    *bpf = (struct bpf){.addr = addr, .size = len};
    status = ptl_section_memory(&bpf->section, bytes, len, 1, name);
    if (status == 0)
        sb->bpfs_count++;
    return status;
}

static int by_addr(const void *a, const void *b)
{
    const struct bpf *x = a, *y = b;

    return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* They are sorted before the first question. */
static struct bpf *find(const struct ptl_sideband *sb, uint64_t addr)
{
    const struct bpf key = {.addr = addr};

    return sb->bpfs_count ? bsearch(&key, sb->bpfs, sb->bpfs_count, sizeof(key), by_addr) : NULL;
}

const struct bpf *ptl__sb_bpf(const struct ptl_sideband *sb, uint64_t addr)
{
    return find(sb, addr);
}

static void note_told(struct ptl_sideband *sb)
{
    for (size_t i = 0; i < sb->items_count && sb->bpfs_count; i++) {
        struct ptl_record rec;
        struct bpf *bpf;

        if (sb->items[i].type != PTL_REC_KSYMBOL || ptl__sb_decode(&sb->items[i], &rec) < 0)
            continue;
        bpf = find(sb, rec.u.ksymbol.addr);
        if (bpf && !(rec.u.ksymbol.flags & 1))
            bpf->told = 1;
    }
}

int ptl__sb_bpf_untold(struct ptl_sideband *sb)
{
    int status = 0;

    if (sb->bpfs_count)
        qsort(sb->bpfs, sb->bpfs_count, sizeof(*sb->bpfs), by_addr);
    note_told(sb);
    for (size_t i = 0; i < sb->bpfs_count && status >= 0; i++) {
        const struct bpf *bpf = &sb->bpfs[i];

        if (bpf->told)
            continue;
        status = ptl_timeline_map(sb->timeline, PTL_TIMELINE_KERNEL, 0, bpf->addr, bpf->section, 0,
                                  bpf->size);
        if (status == PTL_INVALID)
            status = 0;
    }
    return status;
}

void ptl__sb_free_bpf(struct ptl_sideband *sb)
{
    for (size_t i = 0; i < sb->bpfs_count; i++)
        ptl_section_unref(sb->bpfs[i].section);
    ptl__free(sb->bpfs);
}
