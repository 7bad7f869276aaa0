/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cursor.c - one decoder's position in a timeline.
 *
 * The cursor owns real address spaces ("views"), one for each that its lane has run so far,
 * made when first needed by replaying rows. A view lags behind while other tasks run and
 * catches up when its task comes back. `next` is the earliest time at which anything could
 * change, so that nearly every move is one comparison.
 *
 * Views that have not run for long are dropped, and replayed if they come back: memory does
 * not grow with the number of processes that a recording saw.
 */
#include "base/alloc.h"
#include "image/timeline.h"

#define MAX_VIEWS 64

struct view {
    struct ptl_space *space;
    uint32_t id;
    uint8_t stale;       /* ahead of the cursor: made anew before use */
    size_t rows, kernel; /* applied so far */
    uint64_t version, used;
};

struct ptl_cursor {
    const struct ptl_timeline *timeline;
    const struct ptl__lane *lane; /* may be NULL */
    uint64_t kernel_start;
    uint64_t now, next;
    size_t pos;                            /* rows of the lane that have been read */
    const struct ptl__switch_row *pending; /* read, waiting for its moment */
    struct view *view;                     /* the current one */
    uint32_t pid, tid;
    uint64_t versions, uses; /* counters */
    struct view *views[MAX_VIEWS];
    size_t nviews;
};

int ptl_moment_may_switch(const struct ptl_moment *moment, uint64_t kernel_start)
{
    return moment->leaves || moment->sync || !moment->have_ip || moment->ip >= kernel_start ||
           (moment->have_from && moment->from >= kernel_start);
}

/* --- views ------------------------------------------------------------------ */

static int apply_row(struct ptl_space *space, const struct ptl__map_row *row)
{
    if (row->section)
        return ptl_space_map(space, row->vaddr, row->section, row->offset, row->size);
    return ptl_space_unmap(space, row->vaddr, row->size);
}

static int apply_rows(struct ptl_space *space, const struct ptl__map_rows *rows, size_t from,
                      size_t to)
{
    int status = 0;

    for (size_t i = from; i < to && status >= 0; i++)
        status = apply_row(space, &rows->row[i]);
    return status;
}

/* What an address space is born with: the rows its ancestors had, the oldest first. The chain
 * is walked once for each generation instead of recursively: it may be long. */
static int apply_ancestors(const struct ptl_timeline *tl, struct ptl_space *space, uint32_t id)
{
    size_t depth = 0;
    int status = 0;

    for (uint32_t i = tl->space[id].parent; i != PTL_TIMELINE_NONE; i = tl->space[i].parent)
        depth++;
    for (; depth && status >= 0; depth--) {
        const struct ptl__tl_space *s = &tl->space[id];

        for (size_t up = 1; up < depth; up++)
            s = &tl->space[s->parent];
        status = apply_rows(space, &tl->space[s->parent].rows, 0, s->parent_rows);
    }
    return status;
}

static const struct ptl__map_rows *rows_of(const struct ptl_timeline *tl, uint32_t id)
{
    static const struct ptl__map_rows none = {NULL, 0, 0};

    return id == PTL_TIMELINE_NONE ? &none : &tl->space[id].rows;
}

static void free_view(struct view *view)
{
    if (view)
        ptl_space_free(view->space);
    ptl__free(view);
}

/* Room for one more view; the current one is the youngest and so stays. */
static void make_room(struct ptl_cursor *c)
{
    size_t oldest = 0;

    if (c->nviews < MAX_VIEWS)
        return;
    for (size_t i = 1; i < c->nviews; i++)
        if (c->views[i]->used < c->views[oldest]->used)
            oldest = i;
    free_view(c->views[oldest]);
    c->views[oldest] = c->views[--c->nviews];
}

static struct view *find_view(const struct ptl_cursor *c, uint32_t id)
{
    for (size_t i = 0; i < c->nviews; i++)
        if (c->views[i]->id == id)
            return c->views[i];
    return NULL;
}

/* After a fork the parent's view often stands where the child begins: a copy is cheaper than
 * a replay. Returns 1 if so. */
static int copy_parent(const struct ptl_cursor *c, struct view *view)
{
    const struct ptl__tl_space *s = &c->timeline->space[view->id];
    const struct view *parent = find_view(c, s->parent);
    int status;

    if (!parent || parent->stale || parent->rows != s->parent_rows)
        return 0;
    status = ptl_space_clone(&view->space, parent->space);
    view->kernel = parent->kernel;
    return status < 0 ? status : 1;
}

/* Fill in the space of a new view. */
static int fill_view(const struct ptl_cursor *c, struct view *view)
{
    const struct ptl_timeline *tl = c->timeline;
    int status = view->id == PTL_TIMELINE_NONE ? 0 : copy_parent(c, view);

    if (status != 0)
        return status;
    status = tl->base ? ptl_space_clone(&view->space, tl->base) : ptl_space_new(&view->space);
    if (status == 0 && view->id != PTL_TIMELINE_NONE)
        status = apply_ancestors(tl, view->space, view->id);
    return status;
}

static int make_view(struct ptl_cursor *c, uint32_t id)
{
    struct view *view = ptl__calloc(1, sizeof(*view));
    int status = PTL_NOMEM;

    if (view) {
        view->id = id;
        view->version = ++c->versions;
        status = fill_view(c, view);
    }
    if (status < 0) {
        free_view(view);
        return status;
    }
    make_room(c);
    c->views[c->nviews++] = view;
    return 0;
}

/* Replace a view that is ahead. */
static int remake_view(struct ptl_cursor *c, struct view *view)
{
    struct view fresh = {.id = view->id, .version = ++c->versions};
    int status = fill_view(c, &fresh);

    if (status < 0) {
        ptl_space_free(fresh.space);
        return status;
    }
    ptl_space_free(view->space);
    *view = fresh;
    return 0;
}

/* Make the view of `id` the current one. */
static int select_view(struct ptl_cursor *c, uint32_t id)
{
    struct view *view = find_view(c, id);
    int status = 0;

    if (!view) {
        status = make_view(c, id);
        view = status < 0 ? NULL : c->views[c->nviews - 1];
    } else if (view->stale) {
        status = remake_view(c, view);
    }
    if (status < 0)
        return status;
    c->view = view;
    view->used = ++c->uses;
    return 0;
}

/* Apply rows up to the cursor's time. Returns 1 if there were any. */
static int catch_up(struct ptl_cursor *c, const struct ptl__map_rows *rows, size_t *done)
{
    size_t to = *done;
    int status;

    while (to < rows->n && rows->row[to].when <= c->now)
        to++;
    if (to == *done)
        return 0;
    status = apply_rows(c->view->space, rows, *done, to);
    *done = to;
    return status < 0 ? status : 1;
}

/* User and kernel code lie apart, so their order does not matter. */
static int update_view(struct ptl_cursor *c)
{
    struct view *v = c->view;
    int user = catch_up(c, rows_of(c->timeline, v->id), &v->rows);
    int kernel = user < 0 ? user : catch_up(c, &c->timeline->kernel, &v->kernel);

    if (kernel < 0)
        return kernel;
    if (!(user | kernel))
        return 0;
    v->version = ++c->versions;
    return PTL_CURSOR_REMAPPED;
}

/* --- moving ------------------------------------------------------------------ */

/* What runs in a lane of which nothing is known yet. */
static const struct ptl__switch_row nobody = {
    .space = PTL_TIMELINE_NONE, .pid = UINT32_MAX, .tid = UINT32_MAX, .at_once = 1};

/* Forget what was read after `when`, and which views are ahead of it. */
static void go_back(struct ptl_cursor *c, uint64_t when)
{
    c->now = when;
    c->pending = NULL;
    while (c->lane && c->pos && c->lane->row[c->pos - 1].when > when)
        c->pos--;
    for (size_t i = 0; i < c->nviews; i++) {
        struct view *v = c->views[i];
        const struct ptl__map_rows *rows = rows_of(c->timeline, v->id);

        if ((v->rows && rows->row && rows->row[v->rows - 1].when > when) ||
            (v->kernel && c->timeline->kernel.row[v->kernel - 1].when > when))
            v->stale = 1;
    }
}

/* Read the lane up to the cursor's time. Returns the task to switch to at once, if any; any
 * other waits in `pending`. */
static const struct ptl__switch_row *read_lane(struct ptl_cursor *c)
{
    const struct ptl__switch_row *now = NULL;

    for (; c->lane && c->pos < c->lane->n && c->lane->row[c->pos].when <= c->now; c->pos++) {
        const struct ptl__switch_row *row = &c->lane->row[c->pos];

        c->pending = row->at_once ? NULL : row;
        if (row->at_once)
            now = row;
    }
    return now;
}

/* The task that the moment switches to, or NULL. */
static const struct ptl__switch_row *find_switch(struct ptl_cursor *c,
                                                 const struct ptl_moment *moment)
{
    const struct ptl__switch_row *row = read_lane(c);

    if (moment->sync) {
        row = c->lane && c->pos ? &c->lane->row[c->pos - 1] : &nobody;
        c->pending = NULL;
    } else if (c->pending && ptl_moment_may_switch(moment, c->kernel_start)) {
        row = c->pending;
        c->pending = NULL;
    }
    return row;
}

static int switch_to(struct ptl_cursor *c, const struct ptl__switch_row *row)
{
    uint64_t version = c->view->version;
    int mask = row->pid != c->pid || row->tid != c->tid ? PTL_CURSOR_SWITCHED : 0;
    int status = select_view(c, row->space);

    if (status < 0)
        return status;
    c->pid = row->pid;
    c->tid = row->tid;
    return mask | (c->view->version != version ? PTL_CURSOR_REMAPPED : 0);
}

static uint64_t next_when(const struct ptl__map_rows *rows, size_t done)
{
    return done < rows->n ? rows->row[done].when : UINT64_MAX;
}

static void find_next(struct ptl_cursor *c)
{
    uint64_t next = next_when(rows_of(c->timeline, c->view->id), c->view->rows);
    uint64_t kernel = next_when(&c->timeline->kernel, c->view->kernel);

    if (kernel < next)
        next = kernel;
    if (c->lane && c->pos < c->lane->n && c->lane->row[c->pos].when < next)
        next = c->lane->row[c->pos].when;
    c->next = next;
}

static int move(struct ptl_cursor *c, const struct ptl_moment *moment)
{
    const struct ptl__switch_row *row = find_switch(c, moment);
    int mask = row ? switch_to(c, row) : 0;
    int remapped = mask < 0 ? mask : update_view(c);

    if (remapped < 0)
        return remapped;
    find_next(c);
    return mask | remapped;
}

int ptl_cursor_move(struct ptl_cursor *cursor, const struct ptl_moment *moment)
{
    int by_position = (cursor->timeline->flags & PTL_TIMELINE_POSITIONS) != 0;
    int have = by_position || moment->have_tsc;
    uint64_t now = by_position ? moment->offset : moment->tsc;

    if (have && now > cursor->now)
        cursor->now = now;
    if (have && now < cursor->now && moment->sync)
        go_back(cursor, now);
    else if (cursor->now < cursor->next && !cursor->pending)
        return 0;
    return move(cursor, moment);
}

struct ptl_context ptl_cursor_context(const struct ptl_cursor *cursor)
{
    return (struct ptl_context){.space = cursor->view->space,
                                .version = cursor->view->version,
                                .pid = cursor->pid,
                                .tid = cursor->tid};
}

void ptl__cursor_get_state(const struct ptl_cursor *c, struct ptl__cursor_state *state)
{
    *state = (struct ptl__cursor_state){
        .now = c->now,
        .pos = c->pos,
        .pending = c->pending ? (uint64_t)(c->pending - c->lane->row) + 1 : 0,
        .rows = c->view->rows,
        .kernel = c->view->kernel,
        .view = c->view->id,
        .pid = c->pid,
        .tid = c->tid,
    };
}

/* --- life -------------------------------------------------------------------- */

int ptl_cursor_new(struct ptl_cursor **cursor, const struct ptl_timeline *timeline, uint32_t lane,
                   uint64_t kernel_start)
{
    struct ptl_cursor *c;
    int status;

    if (!cursor || !timeline)
        return PTL_INVALID;
    c = ptl__calloc(1, sizeof(*c));
    if (!c)
        return PTL_NOMEM;
    c->timeline = timeline;
    c->lane = ptl__timeline_lane(timeline, lane);
    c->kernel_start = kernel_start ? kernel_start : (uint64_t)1 << 63;
    c->pid = nobody.pid;
    c->tid = nobody.tid;
    status = select_view(c, nobody.space);
    if (status < 0) {
        ptl_cursor_free(c);
        return status;
    }
    *cursor = c;
    return 0;
}

void ptl_cursor_free(struct ptl_cursor *cursor)
{
    if (!cursor)
        return;
    for (size_t i = 0; i < cursor->nviews; i++)
        free_view(cursor->views[i]);
    ptl__free(cursor);
}
