/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow.c - the public door of pt/flow.h.
 */
#include "flow/memo.h"

#include "base/alloc.h"
#include "base/mapping.h"

#include <string.h>

/* --- making -------------------------------------------------------------------------- */

static void start(struct ptl_flow *f)
{
    f->state = FLOW_SEEK;
    f->seek = f->bind.base;
    ptl__flow_skip_from(f, f->bind.base);
    f->have_step = 0;
    f->block_empty = 1;
    f->block_ip = f->last_ip = f->last_next = 0;
    f->ev_tsc = 0;
    f->enabled = f->speculative = f->joined = f->paused = 0;
    f->since = 0;
    ptl__flow_goto(f, 0);
    ptl__tasks_clear(&f->tasks, &f->rets);
}

static void enter_file(struct ptl_flow *f)
{
    f->file = ptl__mapping_of(f->bind.begin);
    f->cut = 0;
}

/* The code of the moment. */
static int open_view(struct ptl_flow *f)
{
    struct ptl_context context;

    if (!f->cursor)
        return f->space ? ptl__flow_view(f, f->space, ptl_space_generation(f->space)) : 0;
    context = ptl_cursor_context(f->cursor);
    ptl__tasks_keep(&f->tasks, context.tid);
    return ptl__flow_view(f, context.space, context.version);
}

/* Can what such a flow tells be held back, and contradicted? */
static int may_be_proven(uint32_t flags)
{
    return !(flags & PTL_FLOW_PROVEN) || !(flags & (PTL_FLOW_COVERAGE | PTL_FLOW_DISTNT |
                                                    PTL_FLOW_NO_BRANCH | PTL_FLOW_PSB_ONLY));
}

int ptl_flow_new(struct ptl_flow **flow, const struct ptl_flow_config *config)
{
    struct ptl_flow_config c;
    struct ptl__pool pool = {0};
    struct ptl_flow *f;

    if (!flow || !config || config->size < offsetof(struct ptl_flow_config, space))
        return PTL_INVALID;
    memset(&c, 0, sizeof(c));
    memcpy(&c, config, config->size < sizeof(c) ? config->size : sizeof(c));
    if ((!c.begin && c.len) || !may_be_proven(c.flags))
        return PTL_INVALID;
    f = ptl__pool_get(&pool, sizeof(*f));
    if (!f) {
        ptl__pool_free(&pool);
        return PTL_NOMEM;
    }
    f->cache.pool = pool;
    if (c.flags & PTL_FLOW_COVERAGE)
        c.flags |= PTL_FLOW_COUNT;
    if (c.flags & PTL_FLOW_PROVEN && !(f->hold = ptl__hold_new())) {
        ptl_flow_free(f);
        return PTL_NOMEM;
    }
    f->flags = c.flags;
    f->errata = c.errata;
    f->credit = 65536;
    f->counts = (c.flags & PTL_FLOW_COUNT) != 0;
    f->nowalk = (c.flags & (PTL_FLOW_DISTNT | PTL_FLOW_NO_BRANCH | PTL_FLOW_PSB_ONLY)) != 0;
    f->fast = !f->nowalk && !(c.flags & (PTL_FLOW_SLOW | PTL_FLOW_TICKS));
    f->cache.cold = (c.flags & PTL_FLOW_COLD_BLOCKS) != 0;
    f->space = c.space;
    f->cursor = c.cursor;
    memcpy(f->addr, c.addr, sizeof(f->addr));
    f->more_addr = c.more_addr;
    f->more_addr_count = c.more_addr ? c.more_addr_count : 0;
    ptl__bind_init(&f->bind, &c);
    enter_file(f);
    start(f);
    if (f->counts && f->fast)
        f->seen = ptl__pool_get(&f->cache.pool, SEEN_SIZE);
    if (open_view(f) < 0 || (f->counts && f->fast && !f->seen)) {
        ptl_flow_free(f);
        return PTL_NOMEM;
    }
    *flow = f;
    return 0;
}

void ptl_flow_free(struct ptl_flow *flow)
{
    struct ptl__pool pool;

    if (!flow)
        return;
    ptl__pool_put(&flow->cache.pool, flow->seen, SEEN_SIZE);
    ptl__cache_free(&flow->cache);
    ptl__cold_free(&flow->cold);
    ptl__tasks_free(&flow->tasks);
    ptl__hold_free(flow->hold);
    pool = flow->cache.pool; /* the flow itself is out of it */
    ptl__pool_put(&pool, flow, sizeof(*flow));
    ptl__pool_free(&pool);
}

void ptl_flow_on_free(struct ptl_flow *flow, void (*free_user)(void *user))
{
    flow->cache.free_user = free_user;
}

int ptl_flow_restart(struct ptl_flow *flow, const uint8_t *begin, size_t len, uint64_t offset)
{
    if (!begin && len)
        return PTL_INVALID;
    ptl__bind_restart(&flow->bind, begin, len, offset);
    enter_file(flow);
    if (flow->hold)
        ptl__hold_restart(flow->hold);
    start(flow);
    return open_view(flow);
}

int ptl_flow_continue(struct ptl_flow *flow, const uint8_t *begin, size_t len, uint64_t offset)
{
    if (!begin && len)
        return PTL_INVALID;
    ptl__bind_continue(&flow->bind, begin, len, offset);
    enter_file(flow);
    if (flow->state == FLOW_END)
        flow->state = flow->ended_in;
    if (flow->state == FLOW_SEEK)
        flow->seek = offset;
    if (flow->state != FLOW_DECODE)
        ptl__flow_skip_from(flow, offset);
    return 0;
}

uint64_t ptl_flow_offset(const struct ptl_flow *flow)
{
    return ptl__bind_offset(&flow->bind, flow->bind.pos);
}

uint64_t ptl_flow_sync_offset(const struct ptl_flow *flow)
{
    return flow->bind.psb;
}

uint64_t ptl_flow_skipped(const struct ptl_flow *flow)
{
    return flow->skipped;
}

uint64_t ptl_flow_withheld(const struct ptl_flow *flow)
{
    return flow->hold ? flow->hold->withheld + flow->hold->waiting : 0;
}

/* What ranges say of an address. */
struct filtered {
    int filters, inside, stopped;
};

static void ask(struct filtered *f, const struct ptl_addr_range *ranges, size_t count, uint64_t ip)
{
    for (const struct ptl_addr_range *r = ranges; r < ranges + count; r++) {
        int in = ip >= r->a && ip <= r->b;

        f->filters |= r->config == 1;
        f->inside |= r->config == 1 && in;
        f->stopped |= r->config == 2 && in;
    }
}

int ptl__flow_filter(const struct ptl_flow *f, uint64_t ip)
{
    struct filtered found = {0};

    ask(&found, f->addr, sizeof(f->addr) / sizeof(f->addr[0]), ip);
    if (f->more_addr_count)
        ask(&found, f->more_addr, f->more_addr_count, ip);
    return !found.stopped && (found.inside || !found.filters);
}

/* --- decoding ------------------------------------------------------------------------ */

static void seek(struct ptl_flow *f)
{
    struct ptl__bind *b = &f->bind;
    size_t len = (size_t)(b->end - b->begin);
    size_t at =
        f->seek - b->base < len ? ptl_psb_find(b->begin, len, (size_t)(f->seek - b->base)) : len;
    uint64_t offset;
    int status;

    if (at == len) {
        ptl__flow_end(f);
        return;
    }
    if (b->base + at >= b->pause) {
        f->paused = 1;
        return;
    }
    b->psb = b->base + at;
    status = ptl__bind_sync(b, b->psb);
    if (status == 0) {
        f->state = FLOW_DECODE;
        ptl__flow_skip_to(f, f->bind.psb);
    } else if (status == PTL_EOS) {
        ptl__flow_end(f);
    } else {
        offset = ptl__bind_offset(b, b->here);
        ptl__put_error(f, status, PTL_PHASE_SYNC, offset);
        ptl__flow_seek(f, offset);
    }
}

static void put_end(struct ptl_flow *f)
{
    struct ptl_item *item;

    ptl__flow_end(f);
    if (!f->enabled ||
        (f->cut && f->bind.end == f->bind.begin)) /* a piece that is gone: told before */
        return;
    ptl__put_ran(f);
    item = &f->items[f->n++];
    memset(item, 0, sizeof(*item));
    item->kind = PTL_ITEM_END;
    item->offset = ptl__bind_offset(&f->bind, f->bind.end);
    item->tsc = f->ev_tsc;
}

/* Is the next step TNT or TIP for all that is known? */
static int may_be_fast(const struct ptl_flow *f)
{
    return f->fast && f->enabled && f->view && !f->at.unresolved &&
           (!f->have_step || f->step.kind == STEP_TNT) && ptl__bind_idle(&f->bind);
}

/* As much as can be walked fast. Returns 0 or PTL_NOMEM. */
static int walk_fast(struct ptl_flow *f)
{
    if (!f->counts)
        ptl__walk_fast(f);
    else if (!f->run && !f->loop_hops && !f->joined)
        return ptl__walk_count(f);
    return 0;
}

/* All of a PSB+ has been told, and nothing else is wanted. */
static int wants_psb(const struct ptl_flow *f)
{
    return (f->flags & PTL_FLOW_PSB_ONLY) && !f->have_step && !f->bind.count && !f->bind.mnt;
}

/* One unit of decoding. */
static int decode(struct ptl_flow *f)
{
    int status;

    if (ptl__flow_pauses(f)) {
        f->paused = 1;
        return 0;
    }
    if (wants_psb(f)) {
        f->seek = ptl__bind_offset(&f->bind, f->bind.pos);
        f->state = FLOW_SEEK;
        return 0;
    }
    if (may_be_fast(f)) {
        status = walk_fast(f);
        if (status < 0 || ptl__flow_full(f))
            return status;
    }
    if (!f->have_step) {
        status = ptl__bind_next(&f->bind, &f->step);
        if (status == PTL_EOS) {
            put_end(f);
            return 0;
        }
        if (status < 0) {
            ptl__flow_fail(f, status, 1);
            return 0;
        }
        f->have_step = 1;
    }
    status = ptl__walk_step(f);
    if (status == PTL_NOMEM)
        return status;
    if (status == PTL_EOS)
        put_end(f);
    else if (status < 0)
        ptl__flow_fail(f, status, 0);
    return 0;
}

/* What has been counted is told in time, so that the caller knows how far decoding is. */
static const uint8_t *progress(const struct ptl__bind *b)
{
    return b->end - b->pos > (ptrdiff_t)FLOW_PROGRESS ? b->pos + FLOW_PROGRESS : b->end;
}

/* Is there no more to do in this call? */
static int is_done(const struct ptl_flow *f)
{
    return f->state == FLOW_END || f->paused || ptl__flow_full(f) ||
           (f->ran.runs && f->bind.pos >= f->progress && f->progress < f->bind.end);
}

/* --- files that become shorter ---------------------------------------------------------- */

/* The trace ends where its file ends by now. A byte that is not 0, behind all that this call will
 * read, tells that it does not (base/mapping.h). */
static void end_with_file(struct ptl_flow *f)
{
    struct ptl__bind *b = &f->bind;
    size_t len = (size_t)(b->end - b->pos), left;

    if (!len || f->progress[-1])
        return;
    left = ptl__mapping_left(f->file, b->pos, len);
    f->cut = left < len;
    b->end = b->pos + left;
}

/* So far bytes have been read: errors are about a packet that has not been passed, and who has come
 * to the end has looked for a PSB up to there. */
static const uint8_t *read_to(const struct ptl_flow *f)
{
    const struct ptl__bind *b = &f->bind;
    const uint8_t *last = b->here > b->pos ? b->here : b->pos;

    if (f->state == FLOW_END)
        return b->end;
    if (!f->nerrors)
        return b->pos;
    return b->end - last > PTL_PACKET_MAX_SIZE ? last + PTL_PACKET_MAX_SIZE : b->end;
}

/* The file may have become shorter during the call: nothing is told of what was not its bytes. The
 * packet in which they ended is not known: it was no longer than any. */
static void take_back(struct ptl_flow *f)
{
    struct ptl__bind *b = &f->bind;
    const uint8_t *to = read_to(f);
    size_t done = (size_t)(to - b->begin), left;
    uint64_t end;

    if (!done || to[-1])
        return;
    left = ptl__mapping_left(f->file, b->begin, done);
    if (left == done)
        return;
    end = b->base + (left > PTL_PACKET_MAX_SIZE ? left - PTL_PACKET_MAX_SIZE : 0);
    while (f->n && f->items[f->n - 1].offset >= end)
        f->n--;
    f->cut = 1;
    b->end = b->pos;
    if (f->state != FLOW_END)
        ptl__flow_end(f);
}

/* --- a call ------------------------------------------------------------------------------ */

/* Fill up to `cap` items with what is decoded. */
static int tell(struct ptl_flow *flow, struct ptl_item *items, size_t cap)
{
    int status = 0;

    flow->items = items;
    flow->cap = cap < INT32_MAX ? cap : INT32_MAX;
    flow->n = 0;
    flow->nevents = flow->nerrors = flow->nrans = 0;
    flow->progress = progress(&flow->bind);
    if (flow->file && !flow->cut)
        end_with_file(flow);
    while (status == 0 && !is_done(flow)) {
        switch (flow->state) {
        case FLOW_SEEK:
            seek(flow);
            break;
        case FLOW_LOST:
            flow->paused = (uint8_t)ptl__flow_pauses(flow);
            if (!flow->paused)
                status = ptl__flow_lost(flow);
            break;
        default:
            status = decode(flow);
            break;
        }
    }
    if (flow->counts)
        ptl__put_ran(flow);
    if (flow->file && !flow->cut)
        take_back(flow);
    return status < 0 ? status : (int)flow->n;
}

/* The trace ends and tracing was off: nothing contradicts what waits. Returns 1 if there is any. */
static int ends_proven(const struct ptl_flow *f)
{
    if (f->state != FLOW_END || f->ended_in != FLOW_DECODE || f->enabled ||
        f->hold->proven == f->hold->count)
        return 0;
    ptl__hold_prove(f->hold);
    return 1;
}

/* The same, of what is proven. */
static int tell_proven(struct ptl_flow *flow, struct ptl_item *items, size_t cap)
{
    struct ptl__hold *hold = flow->hold;

    for (;;) {
        size_t given = ptl__hold_give(hold, items, cap);
        int n;

        if (given)
            return (int)given;
        n = tell(flow, hold->batch, HOLD_BATCH);
        if (n > 0)
            n = ptl__hold_take(hold, (size_t)n, (flow->flags & PTL_FLOW_FEW_EVENTS) != 0);
        else if (n == 0 && !ends_proven(flow))
            return (int)ptl__hold_give(hold, items, cap);
        if (n < 0)
            return n;
    }
}

int ptl_flow_next(struct ptl_flow *flow, struct ptl_item *items, size_t cap)
{
    if (!items || cap < 16)
        return PTL_INVALID;
    return flow->hold ? tell_proven(flow, items, cap < INT32_MAX ? cap : INT32_MAX)
                      : tell(flow, items, cap);
}
