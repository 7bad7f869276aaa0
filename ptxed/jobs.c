/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobs.c - segments of a trace, decoded at the same time and printed in order.
 *
 * Each worker takes the next segment, keeps its text until all segments before have been
 * written, and then writes itself. The worker whose turn it is also judges the segment after its
 * own: if that began in another state than this one ended in, its text is thrown away and the
 * worker goes on through it. So the text is that of one decoder from the beginning, whatever the
 * trace holds.
 *
 * Text that waits is mostly not text yet: two words a block, which say where its lines are
 * (out_hold). Memory: that of one segment a worker, up to TEXT_MAX; a worker with more waits for
 * its turn.
 */
#include "jobs.h"

#include "opts.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TEXT_MAX   ((size_t)8 << 20)
#define PARTS_MAX  ((size_t)128 << 10)
#define PARTS_PIPE ((size_t)4 << 10) /* some 2 MiB of text: a reader should not wait long */
#define TEXT_SMALL                                                                                 \
    ((size_t)256 << 10) /* when it is written at once: fits the second level cache                 \
                         */
#define NEVER UINT32_MAX

struct worker {
    struct jobs *jobs;
    struct printer printer;
    struct lines_memory memory;
    void *own; /* the source's */
    struct jobs_segment segment;
    struct jobs_state start; /* the state at its beginning, once `ready` */
    uint64_t index;          /* of the segment */
    int busy;                /* has a segment */
    int ready;
    int dropped; /* another worker decodes the segment, or it is not wanted */
    pthread_t thread;
    int started;
};

struct jobs {
    const struct jobs_config *config;
    const struct jobs_source *source;
    struct printer *printer;
    struct worker *workers;
    unsigned n;

    pthread_mutex_t mutex;
    pthread_cond_t change;
    uint64_t taken;   /* number of segments taken */
    uint64_t turn;    /* the segment whose text may be written */
    uint64_t dropped; /* segments decoded again */
    int progress;     /* is shown */
    uint64_t done;    /* bytes, for the progress */
    time_t shown;     /* when it was shown */
    uint32_t over;    /* the stream of which no more is wanted */
    int status;       /* what went wrong */
};

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

/* Text waits for its turn, or is written at once. */
static void set_waiting(struct out *out, int waiting)
{
    out->cap = waiting ? TEXT_MAX : TEXT_SMALL;
    out->part_cap = waiting || out->is_device ? PARTS_MAX : out->is_pipe ? PARTS_PIPE : 0;
}

/* The gate of the worker's output. */
static int gate(void *context)
{
    struct worker *w = context;
    int status;

    pthread_mutex_lock(&w->jobs->mutex);
    status = await_turn(w);
    pthread_mutex_unlock(&w->jobs->mutex);
    set_waiting(&w->printer.out, 0);
    return status ? ECANCELED : 0;
}

/* Take the next segment. Returns 0 if there is none. The mutex is held. */
static int take(struct worker *w)
{
    struct jobs *j = w->jobs;

    w->busy = 0;
    do {
        if (j->status || !j->source->next(j->source->context, &w->segment))
            return 0;
    } while (w->segment.stream == j->over);
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

int jobs_same_state(const struct jobs_state *a, const struct jobs_state *b)
{
    return ptl_flow_state_same(&a->flow, &b->flow) && !memcmp(a->more, b->more, sizeof(a->more));
}

/* Take the segment away from its holder. The mutex is held. */
static void drop(struct worker *w, struct worker *next)
{
    next->dropped = 1;
    w->segment = next->segment;
    w->index++;
}

enum then {
    DONE,   /* look for another segment */
    EXTEND, /* go on into this one, which follows */
    ENTER   /* begin this one, which has been taken already */
};

/* The segment has been written: whose turn is it? The mutex is held. */
static enum then pass_turn(struct worker *w)
{
    struct jobs *j = w->jobs;
    struct worker *next;
    struct jobs_state state;

    while ((next = holder(j, w->index + 1)) != NULL && next->segment.stream == j->over) {
        drop(w, next);
        j->turn++;
    }
    if (!next) {
        j->turn = w->index + 1;
        if (!take(w))
            return DONE;
        return w->segment.apart ? ENTER : EXTEND;
    }
    while (!next->ready && !j->status)
        pthread_cond_wait(&j->change, &j->mutex);
    j->turn = w->index + 1;
    if (j->status || next->segment.apart)
        return DONE;
    j->source->get_state(w->own, &state);
    if (jobs_same_state(&state, &next->start))
        return DONE;
    drop(w, next);
    j->dropped++;
    return EXTEND;
}

/* --- progress ----------------------------------------------------------------------------- */

/* How far the text has been written, now and then. The mutex is held. */
static void show_progress(struct jobs *j, uint64_t bytes)
{
    struct timespec now;

    j->done += bytes;
    if (!j->progress || clock_gettime(CLOCK_MONOTONIC_COARSE, &now))
        return;
    if (!j->shown)
        j->shown = now.tv_sec; /* not for what takes no time */
    if (now.tv_sec == j->shown)
        return;
    j->shown = now.tv_sec;
    fprintf(stderr, "\r%3.0f %% ", 100. * (double)j->done / (double)j->config->size);
    fflush(stderr);
}

static void end_progress(const struct jobs *j)
{
    if (j->progress)
        fputs("\r      \r", stderr);
}

/* --- decoding ----------------------------------------------------------------------------- */

/* Get ready for a segment. Returns as the source does. */
static int enter(struct worker *w)
{
    struct jobs *j = w->jobs;
    struct out *out = &w->printer.out;
    int status;

    /* Text may lie in blocks that go when another stream is entered. */
    if (j->n == 1) {
        out_flush(out);
    } else {
        out_drop(out);
        out->error = 0;
        set_waiting(out, 1);
    }
    status = j->source->enter(w->own, &w->segment);
    w->printer.stats = (struct print_stats){.decoded = w->segment.before};
    pthread_mutex_lock(&j->mutex);
    j->source->get_state(w->own, &w->start);
    w->ready = 1;
    pthread_cond_broadcast(&j->change);
    pthread_mutex_unlock(&j->mutex);
    return status;
}

/* Decode the segment. Returns 0, or what went wrong for all. */
static int decode(struct worker *w)
{
    int status = w->jobs->source->print(w->own, &w->segment);

    w->printer.stats.decoded += w->segment.bytes;
    return status == PTL_IO && w->printer.out.error == ECANCELED ? 0 : status;
}

/* Write the text and count the numbers, in turn. Returns an enum then, or a negative status. */
static int finish(struct worker *w)
{
    struct jobs *j = w->jobs;
    enum then then = DONE;

    if (j->n > 1)
        out_flush(&w->printer.out);
    if (w->printer.out.error && w->printer.out.error != ECANCELED)
        return PTL_IO;
    pthread_mutex_lock(&j->mutex);
    if (!await_turn(w)) {
        print_add_stats(j->printer, &w->printer.stats);
        w->printer.stats = (struct print_stats){0};
        if (j->source->finish(w->own, &w->segment))
            j->over = w->segment.stream;
        show_progress(j, w->segment.bytes);
        then = pass_turn(w);
        pthread_cond_broadcast(&j->change);
    }
    if (then == DONE)
        w->busy = 0;
    pthread_mutex_unlock(&j->mutex);
    return (int)then;
}

/* One segment, and those that this worker goes on into. Returns 0 or a negative status. */
static int work_on(struct worker *w)
{
    int then = ENTER, status = 0;

    while (then > 0) {
        if (then == ENTER)
            status = enter(w);
        if (status == 0)
            status = decode(w);
        then = status < 0 ? status : finish(w);
    }
    return then;
}

static void *work(void *context)
{
    struct worker *w = context;
    struct jobs *j = w->jobs;
    int status;

    for (;;) {
        pthread_mutex_lock(&j->mutex);
        status = take(w);
        pthread_mutex_unlock(&j->mutex);
        if (!status)
            return NULL;
        status = work_on(w);
        if (status == PTL_IO && !w->printer.out.error)
            w->printer.out.error = EIO;
        if (status < 0) {
            fail(j, status);
            return NULL;
        }
    }
}

/* --- making ------------------------------------------------------------------------------- */

/* A single worker writes through the printer's own buffer. */
static int open_out(struct worker *w)
{
    struct jobs *j = w->jobs;
    struct out *out = &w->printer.out;
    size_t parts = 0;

    if (j->n > 1) {
        if (out_open(out, j->printer->out.fd, TEXT_MAX))
            return PTL_NOMEM;
        out->gate = gate;
        out->context = w;
    }
    /* With marks there are blocks that do not stay. */
    if (j->n > 1 || (out->is_device && !j->printer->marks))
        parts = PARTS_MAX;
    else if (out->is_pipe && !j->printer->marks)
        parts = PARTS_PIPE;
    if (parts && out_hold_parts(out, parts))
        return PTL_NOMEM;
    return 0;
}

static int open_worker(struct worker *w, struct jobs *j)
{
    w->jobs = j;
    w->printer = *j->printer;
    w->printer.stats = (struct print_stats){0};
    if (j->n > 1)
        w->printer.style.text = NULL;
    if (!j->printer->marks)
        w->printer.style.memory = &w->memory;
    if (open_out(w))
        return PTL_NOMEM;
    if (j->n > 1 && j->printer->style.text && text_insn_new(&w->printer.style.text, j->config->att))
        return PTL_NOMEM;
    return j->source->open(j->source->context, &w->printer, &w->own);
}

static void close_worker(struct worker *w)
{
    struct jobs *j = w->jobs;

    if (!j)
        return;
    if (j->n == 1)
        out_flush(&w->printer.out); /* while the lines of blocks are still there */
    else
        out_drop(&w->printer.out); /* all that is wanted has been written */
    if (w->own)
        j->source->close(w->own);
    lines_close(&w->memory);
    if (j->n == 1) {
        j->printer->out = w->printer.out;
        return;
    }
    if (w->printer.out.error && w->printer.out.error != ECANCELED)
        j->printer->out.error = w->printer.out.error;
    (void)out_close(&w->printer.out);
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

int jobs_run(const struct jobs_config *config, const struct jobs_source *source,
             struct printer *printer)
{
    struct jobs j = {.config = config,
                     .source = source,
                     .printer = printer,
                     .n = config->threads,
                     .over = NEVER};

    /* On a terminal that shows nothing else. */
    j.progress = config->size && isatty(STDERR_FILENO) && !isatty(printer->out.fd);

    j.workers = calloc(j.n, sizeof(*j.workers));
    if (!j.workers)
        return PTL_NOMEM;
    if (j.n > 1)
        out_flush(&printer->out);
    if (j.n > 1 && printer->style.text)
        text_insn_prepare(printer->style.text);
    pthread_mutex_init(&j.mutex, NULL);
    pthread_cond_init(&j.change, NULL);
    for (unsigned i = 0; i < j.n && !j.status; i++)
        j.status = open_worker(&j.workers[i], &j);
    if (!j.status)
        run(&j);
    for (unsigned i = 0; i < j.n; i++)
        close_worker(&j.workers[i]);
    end_progress(&j);
    pthread_mutex_destroy(&j.mutex);
    pthread_cond_destroy(&j.change);
    free(j.workers);
    if (config->verbose && j.n > 1)
        opts_error(config->prog, "%llu segments, %llu of them decoded again, %u threads.",
                   (unsigned long long)j.taken, (unsigned long long)j.dropped, j.n);
    return j.status;
}
