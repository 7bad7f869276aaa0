/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coverage.c - what flows have counted, added up. Added at the end of a list, which is sorted and
 * folded when somebody looks.
 */
#include "base/alloc.h"
#include "flow/unfold.h"
#include "flow/walk.h"

#include <pt/coverage.h>
#include <stdlib.h>

struct ptl_coverage {
    struct ptl_coverage_block *blocks;
    size_t count, cap;
};

/* Where counts of a flow go. */
struct adding {
    struct ptl_coverage *coverage;
    int status;
};

int ptl_coverage_new(struct ptl_coverage **coverage)
{
    if (!coverage)
        return PTL_INVALID;
    *coverage = ptl__calloc(1, sizeof(**coverage));
    return *coverage ? 0 : PTL_NOMEM;
}

void ptl_coverage_free(struct ptl_coverage *coverage)
{
    if (!coverage)
        return;
    ptl__free(coverage->blocks);
    ptl__free(coverage);
}

static void add_code(void *context, void *item)
{
    struct adding *a = context;
    struct ptl_coverage *c = a->coverage;
    struct ptl__code *code = item;

    if (!code->runs || a->status)
        return;
    if (ptl__grow((void **)&c->blocks, &c->cap, c->count + 1, SIZE_MAX / sizeof(*c->blocks),
                  sizeof(*c->blocks)) < 0) {
        a->status = PTL_NOMEM;
        return;
    }
    c->blocks[c->count++] =
        (struct ptl_coverage_block){.ip = code->block.ip,
                                    .count = code->runs,
                                    .size = code->block.size,
                                    .ninsn = code->block.ninsn,
                                    .mode = code->block.mode,
                                    .iclass = code->block.iclass,
                                    .section = code->block.section,
                                    .offset = code->offset,
                                    .bytes = code->own ? NULL : code->block.bytes};
    code->runs = 0;
}

int ptl_coverage_add(struct ptl_coverage *coverage, struct ptl_flow *flow)
{
    struct adding adding = {.coverage = coverage};

    for (struct ptl__view *view = flow->cache.views; view; view = view->next)
        ptl__unfold(view);
    ptl__chunks_each(flow->cache.chunks, sizeof(struct ptl__code), add_code, &adding);
    return adding.status;
}

#define COMPARE(a, b)                                                                              \
    if ((a) != (b))                                                                                \
    return (a) < (b) ? -1 : 1

static int compare(const void *x, const void *y)
{
    const struct ptl_coverage_block *a = x, *b = y;

    COMPARE(a->ip, b->ip);
    COMPARE(a->size, b->size);
    COMPARE(a->mode, b->mode);
    COMPARE((uintptr_t)a->section, (uintptr_t)b->section);
    COMPARE(a->offset, b->offset);
    return 0;
}

const struct ptl_coverage_block *ptl_coverage_blocks(struct ptl_coverage *c, size_t *count)
{
    size_t n = 0;

    if (c->count)
        qsort(c->blocks, c->count, sizeof(*c->blocks), compare);
    for (size_t i = 0; i < c->count; i++) {
        if (n && !compare(&c->blocks[n - 1], &c->blocks[i]))
            c->blocks[n - 1].count += c->blocks[i].count;
        else
            c->blocks[n++] = c->blocks[i];
    }
    c->count = n;
    *count = n;
    return n ? c->blocks : NULL;
}
