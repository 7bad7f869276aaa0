/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timeline.c - building a timeline.
 */
#include "image/timeline.h"
#include "base/alloc.h"

#include <string.h>

#define MAX_ROWS ((size_t)1 << 30)

int ptl_timeline_new(struct ptl_timeline **timeline, const struct ptl_space *base, unsigned flags)
{
    struct ptl_timeline *tl;
    int status;

    if (!timeline)
        return PTL_INVALID;
    tl = ptl__calloc(1, sizeof(*tl));
    if (!tl)
        return PTL_NOMEM;
    tl->flags = flags;
    status = base ? ptl_space_clone(&tl->base, base) : 0;
    if (status < 0) {
        ptl__free(tl);
        return status;
    }
    *timeline = tl;
    return 0;
}

static void free_rows(struct ptl__map_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        ptl_section_unref(rows->row[i].section);
    ptl__free(rows->row);
}

void ptl_timeline_free(struct ptl_timeline *timeline)
{
    if (!timeline)
        return;
    free_rows(&timeline->kernel);
    for (size_t i = 0; i < timeline->nspaces; i++)
        free_rows(&timeline->space[i].rows);
    for (size_t i = 0; i < timeline->nlanes; i++)
        ptl__free(timeline->lane[i].row);
    ptl__free(timeline->space);
    ptl__free(timeline->lane);
    if (timeline->base)
        ptl_space_free(timeline->base);
    ptl__free(timeline);
}

/* --- address spaces -------------------------------------------------------- */

int ptl_timeline_space(struct ptl_timeline *timeline, uint32_t parent, uint32_t *space)
{
    struct ptl__tl_space *s;

    if (!timeline || !space || (parent != PTL_TIMELINE_NONE && parent >= timeline->nspaces))
        return PTL_INVALID;
    if (ptl__grow((void **)&timeline->space, &timeline->spaces_cap, timeline->nspaces + 1, MAX_ROWS,
                  sizeof(*timeline->space)) < 0)
        return PTL_NOMEM;
    s = &timeline->space[timeline->nspaces];
    *s = (struct ptl__tl_space){.parent = PTL_TIMELINE_NONE};
    if (parent != PTL_TIMELINE_NONE) {
        const struct ptl__tl_space *p = &timeline->space[parent];

        /* A parent that has no rows of its own passes its own parent on: chains of forks
         * stay short. */
        s->parent = p->rows.n ? parent : p->parent;
        s->parent_rows = p->rows.n ? p->rows.n : p->parent_rows;
    }
    *space = (uint32_t)timeline->nspaces++;
    return 0;
}

static struct ptl__map_rows *rows_of(struct ptl_timeline *timeline, uint32_t space)
{
    if (!timeline)
        return NULL;
    if (space == PTL_TIMELINE_KERNEL)
        return &timeline->kernel;
    return space < timeline->nspaces ? &timeline->space[space].rows : NULL;
}

static int add_row(struct ptl_timeline *timeline, uint32_t space, const struct ptl__map_row *row)
{
    struct ptl__map_rows *rows = rows_of(timeline, space);
    uint64_t last;

    if (!rows || !row->size || row->vaddr + row->size - 1 < row->vaddr)
        return PTL_INVALID;
    if (ptl__grow((void **)&rows->row, &rows->cap, rows->n + 1, MAX_ROWS, sizeof(*rows->row)) < 0)
        return PTL_NOMEM;
    last = rows->n ? rows->row[rows->n - 1].when : 0;
    rows->row[rows->n] = *row;
    if (row->when < last)
        rows->row[rows->n].when = last;
    rows->n++;
    return 0;
}

int ptl_timeline_map(struct ptl_timeline *timeline, uint32_t space, uint64_t when, uint64_t vaddr,
                     struct ptl_section *section, uint64_t offset, uint64_t size)
{
    const struct ptl__map_row row = {
        .when = when, .vaddr = vaddr, .size = size, .offset = offset, .section = section};
    int status;

    if (!section || size > ptl_section_size(section) || offset > ptl_section_size(section) - size)
        return PTL_INVALID;
    status = add_row(timeline, space, &row);
    if (status == 0)
        ptl_section_ref(section);
    return status;
}

int ptl_timeline_unmap(struct ptl_timeline *timeline, uint32_t space, uint64_t when, uint64_t vaddr,
                       uint64_t size)
{
    return add_row(timeline, space,
                   &(struct ptl__map_row){.when = when, .vaddr = vaddr, .size = size});
}

/* --- lanes ----------------------------------------------------------------- */

/* Index of the lane, or where it belongs: lanes are sorted by id. */
static size_t lane_index(const struct ptl_timeline *timeline, uint32_t id)
{
    size_t lo = 0, hi = timeline->nlanes;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (timeline->lane[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const struct ptl__lane *ptl__timeline_lane(const struct ptl_timeline *timeline, uint32_t id)
{
    size_t i = lane_index(timeline, id);

    return i < timeline->nlanes && timeline->lane[i].id == id ? &timeline->lane[i] : NULL;
}

static struct ptl__lane *lane_for(struct ptl_timeline *timeline, uint32_t id)
{
    struct ptl__lane *lane;
    size_t *known = &timeline->known_lane[id % PTL__KNOWN_LANES], i = *known;

    if (i < timeline->nlanes && timeline->lane[i].id == id)
        return &timeline->lane[i];
    *known = i = lane_index(timeline, id);
    if (i < timeline->nlanes && timeline->lane[i].id == id)
        return &timeline->lane[i];
    if (ptl__grow((void **)&timeline->lane, &timeline->lanes_cap, timeline->nlanes + 1, MAX_ROWS,
                  sizeof(*timeline->lane)) < 0)
        return NULL;
    lane = &timeline->lane[i];
    memmove(lane + 1, lane, (timeline->nlanes - i) * sizeof(*lane));
    timeline->nlanes++;
    *lane = (struct ptl__lane){.id = id};
    return lane;
}

int ptl_timeline_switch(struct ptl_timeline *timeline, uint32_t lane, uint64_t when, uint32_t space,
                        uint32_t pid, uint32_t tid, int at_once)
{
    struct ptl__lane *l;

    if (!timeline || (space != PTL_TIMELINE_NONE && space >= timeline->nspaces))
        return PTL_INVALID;
    l = lane_for(timeline, lane);
    if (!l || (l->n == l->cap &&
               ptl__grow((void **)&l->row, &l->cap, l->n + 1, MAX_ROWS, sizeof(*l->row)) < 0))
        return PTL_NOMEM;
    if (l->n && when < l->row[l->n - 1].when)
        when = l->row[l->n - 1].when;
    l->row[l->n++] = (struct ptl__switch_row){
        .when = when, .space = space, .pid = pid, .tid = tid, .at_once = at_once != 0};
    return 0;
}

int ptl_timeline_task(const struct ptl_timeline *timeline, uint32_t lane, size_t i,
                      struct ptl_timeline_task *task)
{
    const struct ptl__lane *l = ptl__timeline_lane(timeline, lane);

    if (!l || i >= l->n)
        return 0;
    *task = (struct ptl_timeline_task){l->row[i].when, l->row[i].pid, l->row[i].tid};
    return 1;
}
