/* SPDX-License-Identifier: BSD-3-Clause */
/* plan.c - see plan.h. */
#include "plan.h"

#include <stdlib.h>
#include <unistd.h>

/* Bytes of trace that a thread takes at a time: many enough for each to be begun at a PSB before
 * it, few enough for all threads to end at about the same time. */
#define SEGMENT_MAX  ((uint64_t)256 << 10)
#define SEGMENT_TEXT ((uint64_t)64 << 10) /* its text waits in little memory */
#define SEGMENT_MIN  ((uint64_t)16 << 10)
#define SEGMENTS     16 /* for each thread, at least */

/* A share begins where a decoder from so many bytes before is like one that begins there; so many
 * places are tried. */
#define FAR   ((uint64_t)64 << 10)
#define TRIES 64

/* --- options ------------------------------------------------------------------------------ */

/* What is counted or judged over the whole trace is not known in the middle of it. Records between
 * the lines come in one order. */
int plan_in_one_piece(const struct ptxed *x)
{
    return (x->flow.flags & (PTL_FLOW_COLD_BLOCKS | PTL_FLOW_PROVEN)) ||
           (x->print & (PRINT_CHECK | PRINT_BLOCKS | PRINT_STAT_FUNCTIONS)) ||
           marks_given(&x->marks) || x->sideband.print || x->sideband.file_count || x->coverage;
}

int plan_check(const struct ptxed *x)
{
    const char *what = x->shard ? "--shard" : x->tail ? "--tail" : NULL;

    if (x->tail && x->flow.flags & FLOW_LISTENS) {
        opts_error(x->prog, "--tail: not with --quick, which decodes no instructions.");
        return EXIT_NOTHING;
    }
    if (!what || !plan_in_one_piece(x))
        return 0;
    opts_error(x->prog,
               "%s: not with --check, --coverage, --proven, marks, functions, numbers or lines of "
               "blocks, or "
               "records (--sb:...).",
               what);
    return EXIT_NOTHING;
}

static unsigned threads_for(const struct ptxed *x, uint64_t size)
{
    long n = x->jobs ? (long)x->jobs : sysconf(_SC_NPROCESSORS_ONLN);

    if (n < 1 || plan_in_one_piece(x))
        return 1;
    /* Threads that find nothing to do would only cost. */
    if (!x->jobs && !x->segment_size && (uint64_t)n > size / SEGMENT_MIN + 1)
        n = (long)(size / SEGMENT_MIN + 1);
    return (unsigned)n;
}

static uint64_t segment_size(const struct ptxed *x, uint64_t size, unsigned threads)
{
    uint64_t n = size / threads / SEGMENTS;
    uint64_t max = x->print & PRINT_QUIET ? SEGMENT_MAX : SEGMENT_TEXT;

    if (x->segment_size)
        return x->segment_size;
    return n < SEGMENT_MIN ? SEGMENT_MIN : n > max ? max : n;
}

/* --- ranges --------------------------------------------------------------------------------- */

int plan_add(struct plan *plan, uint32_t stream, struct ptl_place warm, struct ptl_place begin,
             struct ptl_place end)
{
    const struct plan_range *last = plan->count ? &plan->ranges[plan->count - 1] : NULL;
    int first = !last || last->stream != stream;

    if (!first && ptl_place_compare(begin, last->end) <= 0) { /* it adjoins, or overlaps */
        if (ptl_place_compare(end, last->end) > 0)
            plan->ranges[plan->count - 1].end = end;
        return 0;
    }
    if (!plan->ranges || plan->count == plan->cap) {
        size_t cap = plan->cap ? plan->cap * 2 : 16;
        struct plan_range *more = realloc(plan->ranges, cap * sizeof(*more));

        if (!more)
            return PTL_NOMEM;
        plan->ranges = more;
        plan->cap = cap;
    }
    plan->ranges[plan->count++] = (struct plan_range){
        .stream = stream, .first = (uint8_t)first, .warm = warm, .begin = begin, .end = end};
    return 0;
}

void plan_free(struct plan *plan)
{
    free(plan->ranges);
    plan->ranges = NULL;
}

static uint64_t range_size(const struct plan *plan, const struct plan_range *range)
{
    struct ptl_stream stream = plan->stream(plan->context, range->stream);

    return ptl_place_compare(range->begin, range->end) < 0
               ? ptl_place_distance(&stream, range->begin, range->end)
               : 0;
}

uint64_t plan_size(const struct plan *plan)
{
    uint64_t size = 0;

    for (size_t i = 0; i < plan->count; i++)
        size += range_size(plan, &plan->ranges[i]);
    return size;
}

/* --- shares --------------------------------------------------------------------------------- */

/* A decoder that only listens. */
struct listener {
    const struct jobs_source *source;
    struct printer printer;
    void *worker;
    uint64_t decoded; /* bytes */
};

static int open_listener(struct listener *l, const struct jobs_source *source,
                         const struct printer *printer)
{
    *l = (struct listener){.source = source, .printer = *printer};
    l->printer.flags = PRINT_QUIET;
    l->printer.style.text = NULL;
    if (out_open_memory(&l->printer.out))
        return PTL_NOMEM;
    return source->open(source->context, &l->printer, &l->worker);
}

static void close_listener(struct listener *l)
{
    if (l->worker)
        l->source->close(l->worker);
    (void)out_close(&l->printer.out);
}

/* Where the ranges are cut in two at so many bytes: the range, and the place in it. */
struct cut {
    size_t range;
    struct ptl_place warm, begin;
};

/* Is a decoder that begins at `warm` like one that comes from far before it? */
static int is_settled(struct listener *l, const struct plan *plan, uint32_t number,
                      const struct cut *cut)
{
    struct ptl_stream stream = plan->stream(plan->context, number);
    struct jobs_segment segment = {
        .part = {.warm = cut->warm, .begin = cut->begin, .end = cut->begin},
        .stream = number,
        .apart = 1};
    struct jobs_state near, far;
    struct ptl_place begin;

    if (l->source->enter(l->worker, &segment))
        return 0;
    l->source->get_state(l->worker, &near);
    ptl_segments_cut_before(&stream, ptl_place_retreat(&stream, cut->warm, FAR), &segment.part.warm,
                            &begin);
    if (l->source->enter(l->worker, &segment))
        return 0;
    l->source->get_state(l->worker, &far);
    return jobs_same_state(&near, &far);
}

/* A place for a cut at or behind `at`, of the range. All who look for one there find the same. */
static void find_cut(struct listener *l, const struct plan *plan, struct ptl_place at,
                     struct cut *cut)
{
    const struct plan_range *range = &plan->ranges[cut->range];
    struct ptl_stream stream = plan->stream(plan->context, range->stream);

    for (int i = 0; i < TRIES; i++) {
        ptl_segments_cut(&stream, at, &cut->warm, &cut->begin);
        if (ptl_place_compare(cut->begin, range->end) >= 0 ||
            is_settled(l, plan, range->stream, cut))
            return;
        at = (struct ptl_place){cut->warm.piece, cut->warm.at + 1};
    }
}

static struct cut cut_at(struct listener *l, const struct plan *plan, uint64_t at)
{
    struct cut cut = {.range = 0};

    for (; cut.range < plan->count; cut.range++) {
        const struct plan_range *range = &plan->ranges[cut.range];
        struct ptl_stream stream = plan->stream(plan->context, range->stream);
        uint64_t size = range_size(plan, range);

        cut.warm = range->warm;
        cut.begin = range->begin;
        if (!at)
            break;
        if (at < size) {
            find_cut(l, plan, ptl_place_advance(&stream, range->begin, at), &cut);
            if (ptl_place_compare(cut.begin, range->end) < 0)
                break;
            at = 0; /* at the beginning of the next one */
        } else {
            at -= size;
        }
    }
    return cut;
}

static void keep(struct plan *plan, const struct cut *from, const struct cut *to)
{
    size_t count = 0;

    for (size_t i = from->range; i < plan->count && i <= to->range; i++) {
        struct plan_range range = plan->ranges[i];

        if (i == to->range)
            range.end = to->begin;
        if (i == from->range && ptl_place_compare(from->begin, range.begin) > 0) {
            range.warm = from->warm;
            range.begin = from->begin;
            range.first = 0; /* the heading is in the share before */
        }
        /* What is empty from the first has its heading, and belongs to one share. */
        if (i < to->range || ptl_place_compare(range.begin, range.end) < 0)
            plan->ranges[count++] = range;
    }
    plan->count = count;
}

/* Keep the k-th (from 1) of n shares. */
static int share(struct plan *plan, const struct jobs_source *source, const struct printer *printer,
                 uint32_t k, uint32_t n)
{
    uint64_t size = plan_size(plan);
    struct cut from, to = {.range = plan->count};
    struct listener l;
    int status = open_listener(&l, source, printer);

    if (status == 0) {
        from = cut_at(&l, plan, (uint64_t)((double)size * (k - 1) / n));
        if (k < n)
            to = cut_at(&l, plan, (uint64_t)((double)size * k / n));
        keep(plan, &from, &to);
    }
    close_listener(&l);
    return status;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Instructions of [begin, end) of the range. Returns 0 or a negative status. */
static int count_insns(struct listener *l, const struct plan *plan, const struct plan_range *range,
                       uint64_t *insns)
{
    struct ptl_stream stream = plan->stream(plan->context, range->stream);
    struct jobs_segment segment = {
        .part = {.warm = range->warm, .begin = range->begin, .end = range->end},
        .stream = range->stream,
        .apart = 1};
    int status;

    l->printer.stats = (struct print_stats){0};
    status = l->source->enter(l->worker, &segment);
    if (status == 0)
        status = l->source->print(l->worker, &segment);
    l->printer.out.len = 0;
    *insns = l->printer.stats.insns;
    l->decoded += ptl_place_distance(&stream, range->warm, range->end);
    return status;
}

/* Where the last `*left` instructions of the range begin; as many as it has are taken off. */
static int shorten(struct listener *l, const struct plan *plan, struct plan_range *range,
                   uint64_t *left)
{
    struct ptl_stream stream = plan->stream(plan->context, range->stream);
    const struct plan_range whole = *range;
    struct plan_range part = whole;
    uint64_t step = SEGMENT_MIN, insns;
    int status = 0;

    while (status == 0 && *left && ptl_place_compare(whole.begin, part.end) < 0) {
        ptl_segments_cut_before(&stream, ptl_place_retreat(&stream, part.end, step), &part.warm,
                                &part.begin);
        if (ptl_place_compare(part.begin, whole.begin) <= 0) {
            part.warm = whole.warm;
            part.begin = whole.begin;
        }
        status = count_insns(l, plan, &part, &insns);
        range->warm = part.warm;
        range->begin = part.begin;
        range->skip = insns > *left ? insns - *left : 0;
        *left -= insns < *left ? insns : *left;
        /* As much again as it takes at this rate, but no great leaps. */
        step = ptl_place_distance(&stream, part.begin, part.end);
        if (insns && *left / insns < 4)
            step = (uint64_t)((double)step * (double)*left / (double)insns) + SEGMENT_MIN;
        else
            step *= 4;
        part.end = part.begin;
    }
    return status;
}

/* Keep what holds the last instructions of each stream. */
static int tail(struct plan *plan, const struct jobs_source *source, struct printer *printer,
                uint64_t instructions)
{
    uint64_t left = instructions;
    size_t kept = plan->count;
    struct listener l;
    int status = open_listener(&l, source, printer);

    for (size_t i = plan->count; i-- && status == 0;) {
        struct plan_range *range = &plan->ranges[i];
        int first = range->first;

        if (left) {
            status = shorten(&l, plan, range, &left);
            plan->ranges[--kept] = *range;
        }
        if (first) {
            plan->ranges[kept].first = 1;
            left = instructions;
        }
    }
    printer->stats.decoded += l.decoded;
    close_listener(&l);
    memmove(plan->ranges, plan->ranges + kept, (plan->count - kept) * sizeof(*plan->ranges));
    plan->count -= kept;
    return status;
}

/* --- segments --------------------------------------------------------------------------------- */

int plan_next(void *context, struct jobs_segment *segment)
{
    struct plan *plan = context;

    for (; plan->at < plan->count; plan->at++, plan->begun = 0) {
        const struct plan_range *range = &plan->ranges[plan->at];
        struct ptl_stream stream = plan->stream(plan->context, range->stream);
        int begun = plan->begun, more;

        if (!begun)
            plan->last = (struct ptl_segment){.end = range->begin, .warm_next = range->warm};
        plan->begun = 1;
        more = ptl_segments_next(&stream, range->end, plan->segment_size, &plan->last);
        if (!more && (begun || !range->first))
            continue;
        if (!more) /* nothing but a heading */
            plan->last.warm = plan->last.begin = plan->last.end = range->end;
        *segment = (struct jobs_segment){.part = plan->last,
                                         .stream = range->stream,
                                         .apart = !begun,
                                         .first = !begun && range->first,
                                         .skip = begun ? 0 : range->skip};
        segment->bytes = ptl_place_distance(&stream, plan->last.begin, plan->last.end);
        segment->before = ptl_place_distance(&stream, plan->last.warm, plan->last.begin);
        return 1;
    }
    return 0;
}

/* --- all ----------------------------------------------------------------------------------------
 */

int plan_narrow(struct plan *plan, const struct ptxed *x, const struct jobs_source *source,
                struct printer *printer)
{
    int status = x->shard ? share(plan, source, printer, x->shard, x->share) : 0;

    return status == 0 && x->tail ? tail(plan, source, printer, x->tail) : status;
}

int plan_run(struct plan *plan, const struct ptxed *x, const struct jobs_source *source,
             struct printer *printer)
{
    struct jobs_config config = {
        .prog = x->prog, .att = x->att, .verbose = x->verbose, .size = plan_size(plan)};

    config.threads = threads_for(x, config.size);
    plan->segment_size = segment_size(x, config.size, config.threads);
    return jobs_run(&config, source, printer);
}
