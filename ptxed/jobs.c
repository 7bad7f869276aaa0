/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobs.c - segments of a trace, decoded at the same time and printed in order.
 *
 * Each worker has a flow and a printer. It takes the next segment (pt/segments.h), keeps its
 * text until all segments before have been written, and then writes itself. The worker
 * whose turn it is also judges the segment after its own: if that began in another state than
 * this one ended in, its text is thrown away and the worker goes on through it. So the text is
 * that of one flow from the beginning, whatever the trace holds.
 *
 * Memory: text of one segment a worker, up to TEXT_MAX; a worker with more waits for its turn.
 */
#include "jobs.h"

#include "text_event.h"

#include <errno.h>
#include <pt/segments.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX   ((size_t)16 << 20)
#define TEXT_SMALL ((size_t)256 << 10) /* when it is written at once */

/* Bytes of trace that a worker takes at a time. As text they are 300 times as many, and that
 * is best written while it is in the processor's cache. */
#define SEGMENT_QUIET ((size_t)512 << 10)
#define SEGMENT_TEXT  ((size_t)8 << 10)

struct worker {
    struct jobs *jobs;
    struct ptl_flow *flow;
    struct printer printer;
    struct ptl_segment segment;
    struct ptl_flow_state start; /* the state at its beginning, once `ready` */
    uint64_t index;              /* of the segment */
    int busy;                    /* has a segment */
    int ready;
    int dropped; /* another worker decodes the segment */
    pthread_t thread;
    int started;
};

struct jobs {
    struct ptxed *x;
    struct printer *printer;
    struct worker *workers;
    unsigned n;
    size_t limit; /* where the last segment ends */
    size_t size;  /* of segments */
    int with_time;
    uint64_t end; /* where decoding ended */

    pthread_mutex_t mutex;
    pthread_cond_t change;
    struct ptl_segment next; /* the last segment taken */
    uint64_t taken;          /* number of segments taken */
    uint64_t turn;           /* the segment whose text may be written */
    uint64_t dropped;        /* segments decoded again */
    int status;              /* what went wrong */
};

/* --- options ------------------------------------------------------------------------------ */

/* What is counted or judged over the whole trace is not known in the middle of it. */
static int in_one_piece(const struct ptxed *x)
{
    return (x->flow.flags & PTL_FLOW_COLD_BLOCKS) ||
           (x->print & (PRINT_CHECK | PRINT_BLOCKS | PRINT_STAT_FUNCTIONS)) ||
           marks_given(&x->marks) || x->flow.cursor;
}

/* By default text is made by one thread: it is made about as fast as memory takes it. */
static unsigned threads(const struct ptxed *x)
{
    long n = x->jobs ? (long)x->jobs : 1;

    if (!x->jobs && (x->print & PRINT_QUIET))
        n = sysconf(_SC_NPROCESSORS_ONLN);

    return n > 1 && !in_one_piece(x) ? (unsigned)n : 1;
}

static size_t segment_size(const struct ptxed *x)
{
    if (x->segment_size)
        return x->segment_size < SIZE_MAX / 2 ? (size_t)x->segment_size : SIZE_MAX / 2;
    return x->print & PRINT_QUIET ? SEGMENT_QUIET : SEGMENT_TEXT;
}

int jobs_check(const struct ptxed *x)
{
    if (!x->shard || !(in_one_piece(x) || x->sideband.file_count))
        return 0;
    opts_error(x->prog, "--shard: not with --check, numbers or lines of blocks, or sideband.");
    return EXIT_NOTHING;
}

int jobs_apply(const struct ptxed *x)
{
    return x->shard || (threads(x) > 1 && x->trace.len > segment_size(x));
}

/* --- turns -------------------------------------------------------------------------------- */

static void fail(struct jobs *j, int status)
{
    pthread_mutex_lock(&j->mutex);
    if (!j->status)
        j->status = status;
    pthread_cond_broadcast(&j->change);
    pthread_mutex_unlock(&j->mutex);
}

/* Wait until the text of the worker's segment may be written. Returns 0, or -1 if it is not
 * wanted. The mutex is held. */
static int await_turn(struct worker *w)
{
    struct jobs *j = w->jobs;

    while (j->turn != w->index && !w->dropped && !j->status)
        pthread_cond_wait(&j->change, &j->mutex);
    return w->dropped || j->status ? -1 : 0;
}

/* The gate of the worker's output. */
static int gate(void *context)
{
    struct worker *w = context;
    int status;

    pthread_mutex_lock(&w->jobs->mutex);
    status = await_turn(w);
    pthread_mutex_unlock(&w->jobs->mutex);
    w->printer.out.cap = TEXT_SMALL;
    return status ? ECANCELED : 0;
}

/* Take the next segment. Returns 0 if there is none. The mutex is held. */
static int take(struct worker *w)
{
    struct jobs *j = w->jobs;

    w->busy = 0;
    if (j->status || !ptl_segments_next(j->x->trace.bytes, j->limit, j->size, &j->next))
        return 0;
    w->segment = j->next;
    w->index = j->taken++;
    w->busy = 1;
    w->ready = w->dropped = 0;
    return 1;
}

/* The worker that has this segment. NULL: none. The mutex is held. */
static struct worker *holder(struct jobs *j, uint64_t index)
{
    for (unsigned i = 0; i < j->n; i++) {
        struct worker *w = &j->workers[i];
        if (w->busy && !w->dropped && w->index == index)
            return w;
    }
    return NULL;
}

/* The segment has been written: whose turn is it? Returns 1 if this worker goes on into the
 * next one, 0 if its holder has begun it well. The mutex is held. */
static int pass_turn(struct worker *w)
{
    struct jobs *j = w->jobs;
    struct worker *next = holder(j, w->index + 1);
    struct ptl_flow_state state;

    if (!next)
        return take(w) ? 1 : 0;
    while (!next->ready && !j->status)
        pthread_cond_wait(&j->change, &j->mutex);
    if (j->status)
        return 0;
    ptl_flow_get_state(w->flow, j->with_time, &state);
    if (ptl_flow_state_same(&state, &next->start))
        return 0;
    next->dropped = 1;
    j->dropped++;
    w->segment = next->segment;
    w->index++;
    return 1;
}

/* --- decoding ----------------------------------------------------------------------------- */

/* Get ready for the segment just taken. */
static int enter(struct worker *w)
{
    struct jobs *j = w->jobs;
    const struct infile *trace = &j->x->trace;
    int status =
        ptl_segments_enter(w->flow, trace->bytes, trace->len, j->x->flow.offset, &w->segment);

    memset(&w->printer.stats, 0, sizeof(w->printer.stats));
    w->printer.out.len = 0;
    w->printer.out.error = 0;
    w->printer.out.cap = TEXT_MAX;
    /* A part that begins in the middle has been synchronised before. */
    w->printer.stats.syncs = w->segment.begin && !w->index;
    pthread_mutex_lock(&j->mutex);
    ptl_flow_get_state(w->flow, j->with_time, &w->start);
    w->ready = 1;
    pthread_cond_broadcast(&j->change);
    pthread_mutex_unlock(&j->mutex);
    return status;
}

/* Decode the segment. Returns 0, or what went wrong for all. */
static int decode(struct worker *w)
{
    struct jobs *j = w->jobs;
    int status;

    ptl_segments_go_on(w->flow, j->x->trace.len, j->x->flow.offset, &w->segment);
    status = print_flow(&w->printer, w->flow, NULL);
    return status == PTL_IO && w->printer.out.error == ECANCELED ? 0 : status;
}

/* Write the text and count the numbers, in turn. Returns 1 if the worker goes on into the next
 * segment. */
static int finish(struct worker *w)
{
    struct jobs *j = w->jobs;
    int go_on = 0;

    out_flush(&w->printer.out);
    if (w->printer.out.error && w->printer.out.error != ECANCELED)
        return PTL_IO;
    pthread_mutex_lock(&j->mutex);
    if (!await_turn(w)) {
        print_add_stats(j->printer, &w->printer.stats);
        memset(&w->printer.stats, 0, sizeof(w->printer.stats));
        infile_done(&j->x->trace, w->segment.begin);
        j->end = ptl_flow_offset(w->flow);
        go_on = pass_turn(w);
        j->turn++;
        pthread_cond_broadcast(&j->change);
    }
    if (!go_on)
        w->busy = 0;
    pthread_mutex_unlock(&j->mutex);
    return go_on;
}

static void *work(void *context)
{
    struct worker *w = context;
    struct jobs *j = w->jobs;
    int more, status;

    for (;;) {
        pthread_mutex_lock(&j->mutex);
        more = take(w);
        pthread_mutex_unlock(&j->mutex);
        if (!more)
            return NULL;
        status = enter(w);
        do {
            if (status == 0)
                status = decode(w);
            more = status < 0 ? status : finish(w);
            status = 0;
        } while (more > 0);
        if (more < 0) {
            if (more == PTL_IO)
                w->printer.out.error = w->printer.out.error ? w->printer.out.error : EIO;
            fail(j, more);
            return NULL;
        }
    }
}

/* --- making ------------------------------------------------------------------------------- */

static int open_worker(struct worker *w, struct jobs *j)
{
    int status;

    w->jobs = j;
    w->printer = *j->printer;
    w->printer.style.text = NULL;
    memset(&w->printer.stats, 0, sizeof(w->printer.stats));
    if (out_open(&w->printer.out, STDOUT_FILENO, TEXT_MAX))
        return PTL_NOMEM;
    w->printer.out.gate = gate;
    w->printer.out.context = w;
    status = ptl_flow_new(&w->flow, &j->x->flow);
    if (status)
        return status;
    ptl_flow_on_free(w->flow, lines_free);
    if (j->printer->style.text && text_insn_new(&w->printer.style.text, j->x->att))
        return PTL_NOMEM;
    return 0;
}

static void close_worker(struct worker *w)
{
    struct jobs *j = w->jobs;

    if (!j)
        return;
    if (w->printer.out.error && w->printer.out.error != ECANCELED)
        j->printer->out.error = w->printer.out.error;
    w->printer.out.len = 0; /* all that is wanted has been written */
    (void)out_close(&w->printer.out);
    ptl_flow_free(w->flow);
    text_insn_free(w->printer.style.text);
}

/* Let all work. */
static void run(struct jobs *j)
{
    for (unsigned i = 1; i < j->n; i++)
        j->workers[i].started = !pthread_create(&j->workers[i].thread, NULL, work, &j->workers[i]);
    (void)work(&j->workers[0]);
    for (unsigned i = 1; i < j->n; i++)
        if (j->workers[i].started)
            pthread_join(j->workers[i].thread, NULL);
}

int jobs_print(struct ptxed *x, struct printer *printer, uint64_t *end)
{
    struct jobs j = {.x = x, .printer = printer, .n = threads(x), .size = segment_size(x)};
    struct ptl_segment share = {.end = x->trace.len};

    if (x->shard)
        ptl_segments_share(x->trace.bytes, x->trace.len, x->shard - 1, x->share, &share);
    j.limit = share.end;
    j.next = (struct ptl_segment){.end = share.begin, .warm_next = share.warm};
    j.with_time = (x->print & PRINT_TIME) || (x->events & TEXT_EVENT_TIME) ||
                  (x->flow.flags & PTL_FLOW_TICKS);
    j.end = x->flow.offset + share.end;
    if (share.begin == share.end && share.begin)
        printer->stats.syncs = 1; /* nothing to decode, and nothing wrong with that */
    j.workers = calloc(j.n, sizeof(*j.workers));
    if (!j.workers)
        return PTL_NOMEM;
    out_flush(&printer->out);
    if (printer->style.text)
        text_insn_prepare(printer->style.text);
    pthread_mutex_init(&j.mutex, NULL);
    pthread_cond_init(&j.change, NULL);
    for (unsigned i = 0; i < j.n && !j.status; i++)
        j.status = open_worker(&j.workers[i], &j);
    if (!j.status)
        run(&j);
    for (unsigned i = 0; i < j.n; i++)
        close_worker(&j.workers[i]);
    pthread_mutex_destroy(&j.mutex);
    pthread_cond_destroy(&j.change);
    free(j.workers);
    *end = j.end;
    if (x->verbose)
        opts_error(x->prog, "%llu segments, %llu of them decoded again, %u threads.",
                   (unsigned long long)j.taken, (unsigned long long)j.dropped, j.n);
    return j.status;
}
