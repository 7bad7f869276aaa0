/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coverage.c - what flows have counted, added up. Added at the end of a list, which is sorted and
 * folded when somebody looks.
 *
 * Items come one by one and mostly again: for them each list has an index, in which what is in it
 * already is found. What flows add is not looked up, and folded when it is sorted.
 */
#include "base/alloc.h"
#include "flow/unfold.h"
#include "flow/walk.h"

#include <pt/coverage.h>
#include <stdlib.h>

/* Blocks or edges. */
struct list {
    void *rows;
    size_t count, cap;
    uint32_t *index; /* of rows, plus 1; 0: free */
    size_t nindex;   /* a power of two, or 0 */
};

struct ptl_coverage {
    struct list blocks, edges;
};

/* Where counts of a flow go. */
struct adding {
    struct ptl_coverage *coverage;
    int status;
};

typedef int compare_fn(const void *a, const void *b);

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
    ptl__free(coverage->blocks.rows);
    ptl__free(coverage->blocks.index);
    ptl__free(coverage->edges.rows);
    ptl__free(coverage->edges.index);
    ptl__free(coverage);
}

/* --- lists ------------------------------------------------------------------------------ */

#define MIN_INDEX 1024
#define MAX_ROWS  ((size_t)UINT32_MAX / 4)

static void *row_at(const struct list *l, size_t i, size_t size)
{
    return (char *)l->rows + i * size;
}

/* Returns 0 or PTL_NOMEM. */
static int append(struct list *l, const void *row, size_t size)
{
    if (ptl__grow(&l->rows, &l->cap, l->count + 1, MAX_ROWS, size) < 0)
        return PTL_NOMEM;
    memcpy(row_at(l, l->count++, size), row, size);
    return 0;
}

/* How rows of a list are found. */
struct kind {
    size_t size;
    uint64_t (*hash)(const void *row);
    compare_fn *compare;
};

/* The slot of the index where the row is, or would be. */
static uint32_t *slot_of(const struct list *l, const struct kind *kind, const void *row)
{
    size_t i = (size_t)(kind->hash(row) * 0x9e3779b97f4a7c15u >> 32);

    while (l->index[i &= l->nindex - 1] &&
           kind->compare(row_at(l, l->index[i] - 1, kind->size), row))
        i++;
    return &l->index[i];
}

/* Room in the index for one row more. */
static int grow_index(struct list *l, const struct kind *kind)
{
    struct list bigger = *l;

    if (l->count * 2 < l->nindex)
        return 0;
    do
        bigger.nindex = bigger.nindex ? bigger.nindex * 4 : MIN_INDEX;
    while (l->count * 2 >= bigger.nindex);
    bigger.index = ptl__calloc(bigger.nindex, sizeof(*bigger.index));
    if (!bigger.index)
        return PTL_NOMEM;
    for (size_t i = 0; i < l->count; i++)
        *slot_of(&bigger, kind, row_at(l, i, kind->size)) = (uint32_t)i + 1;
    ptl__free(l->index);
    *l = bigger;
    return 0;
}

/* The row that is as this one: this one if there is none. NULL without memory. */
static void *find(struct list *l, const struct kind *kind, const void *row)
{
    uint32_t *slot;

    if (grow_index(l, kind) < 0)
        return NULL;
    slot = slot_of(l, kind, row);
    if (!*slot) {
        if (append(l, row, kind->size) < 0)
            return NULL;
        *slot = (uint32_t)l->count;
    }
    return row_at(l, *slot - 1, kind->size);
}

/* Sort, and add up what is the same. */
static void fold(struct list *l, const struct kind *kind, void (*add)(void *to, const void *from))
{
    size_t n = 0, size = kind->size;

    if (l->count)
        qsort(l->rows, l->count, size, kind->compare);
    for (size_t i = 0; i < l->count; i++) {
        if (n && !kind->compare(row_at(l, n - 1, size), row_at(l, i, size)))
            add(row_at(l, n - 1, size), row_at(l, i, size));
        else
            memmove(row_at(l, n++, size), row_at(l, i, size), size);
    }
    l->count = n;
    ptl__free(l->index); /* made anew when it is needed */
    l->index = NULL;
    l->nindex = 0;
}

#define COMPARE(a, b)                                                                              \
    if ((a) != (b))                                                                                \
    return (a) < (b) ? -1 : 1

/* --- blocks ----------------------------------------------------------------------------- */

static int compare_blocks(const void *x, const void *y)
{
    const struct ptl_coverage_block *a = x, *b = y;

    COMPARE(a->ip, b->ip);
    COMPARE(a->size, b->size);
    COMPARE(a->mode, b->mode);
    COMPARE((uintptr_t)a->section, (uintptr_t)b->section);
    COMPARE(a->offset, b->offset);
    return 0;
}

static uint64_t hash_block(const void *row)
{
    const struct ptl_coverage_block *block = row;
    return block->ip ^ (uint64_t)block->size << 40;
}

static const struct kind block_kind = {sizeof(struct ptl_coverage_block), hash_block,
                                       compare_blocks};

static void add_blocks(void *to, const void *from)
{
    ((struct ptl_coverage_block *)to)->count += ((const struct ptl_coverage_block *)from)->count;
}

static struct ptl_coverage_block block_of(const struct ptl__code *code, uint64_t count)
{
    return (struct ptl_coverage_block){.ip = code->block.ip,
                                       .count = count,
                                       .size = code->block.size,
                                       .ninsn = code->block.ninsn,
                                       .mode = code->block.mode,
                                       .iclass = code->block.iclass,
                                       .section = code->block.section,
                                       .offset = code->offset,
                                       .bytes = code->own ? NULL : code->block.bytes};
}

static void add_code(void *context, void *item)
{
    struct adding *a = context;
    struct ptl__code *code = item;
    struct ptl_coverage_block block;

    if (!code->runs || a->status)
        return;
    block = block_of(code, code->runs);
    a->status = append(&a->coverage->blocks, &block, sizeof(block));
    if (!a->status)
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

const struct ptl_coverage_block *ptl_coverage_blocks(struct ptl_coverage *c, size_t *count)
{
    fold(&c->blocks, &block_kind, add_blocks);
    *count = c->blocks.count;
    return *count ? c->blocks.rows : NULL;
}

/* --- edges ------------------------------------------------------------------------------ */

static int compare_edges(const void *x, const void *y)
{
    const struct ptl_coverage_edge *a = x, *b = y;

    COMPARE(a->from, b->from);
    COMPARE(a->to, b->to);
    COMPARE((uintptr_t)a->from_section, (uintptr_t)b->from_section);
    COMPARE((uintptr_t)a->to_section, (uintptr_t)b->to_section);
    return 0;
}

static void add_edges(void *to, const void *from)
{
    ((struct ptl_coverage_edge *)to)->count += ((const struct ptl_coverage_edge *)from)->count;
}

static uint64_t hash_edge(const void *row)
{
    const struct ptl_coverage_edge *edge = row;
    return edge->from ^ (edge->to << 21 | edge->to >> 43);
}

static const struct kind edge_kind = {sizeof(struct ptl_coverage_edge), hash_edge, compare_edges};

static int add_edge(struct list *edges, const struct ptl_coverage_path *path,
                    const struct ptl_coverage_block *block)
{
    struct ptl_coverage_edge edge = {.from = path->from,
                                     .to = block->ip,
                                     .from_section = path->section,
                                     .to_section = block->section,
                                     .from_bytes = path->bytes,
                                     .to_bytes = block->bytes};
    struct ptl_coverage_edge *known = find(edges, &edge_kind, &edge);

    if (!known)
        return PTL_NOMEM;
    known->count++;
    return 0;
}

/* Does the event move execution? */
static int moves(const struct ptl_event *event)
{
    return (UINT64_C(1) << event->type &
            (UINT64_C(1) << PTL_EV_ENABLED | UINT64_C(1) << PTL_EV_DISABLED |
             UINT64_C(1) << PTL_EV_ASYNC_DISABLED | UINT64_C(1) << PTL_EV_ASYNC_BRANCH |
             UINT64_C(1) << PTL_EV_OVERFLOW | UINT64_C(1) << PTL_EV_SYNC |
             UINT64_C(1) << PTL_EV_CONTEXT)) != 0;
}

static int add_item(struct ptl_coverage *c, struct ptl_coverage_path *path,
                    const struct ptl_item *item)
{
    const struct ptl__code *code = (const struct ptl__code *)(const void *)item->u.block;
    struct ptl_coverage_block block = block_of(code, 0), *known;
    int status = path->valid ? add_edge(&c->edges, path, &block) : 0;

    known = find(&c->blocks, &block_kind, &block);
    if (!known || status < 0)
        return PTL_NOMEM;
    known->count++;
    path->valid = !(item->flags & PTL_ITEM_PARTIAL);
    path->from = block.ip + block.size - code->block.last_size;
    path->section = block.section;
    path->bytes = block.bytes ? block.bytes + block.size - code->block.last_size : NULL;
    return 0;
}

int ptl_coverage_item(struct ptl_coverage *coverage, struct ptl_coverage_path *path,
                      const struct ptl_item *item)
{
    switch (item->kind) {
    case PTL_ITEM_BLOCK:
        return add_item(coverage, path, item);
    case PTL_ITEM_EVENT:
        path->valid = path->valid && !moves(item->u.event);
        return 0;
    default:
        path->valid = 0;
        return 0;
    }
}

const struct ptl_coverage_edge *ptl_coverage_edges(struct ptl_coverage *c, size_t *count)
{
    fold(&c->edges, &edge_kind, add_edges);
    *count = c->edges.count;
    return *count ? c->edges.rows : NULL;
}
