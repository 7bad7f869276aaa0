/* SPDX-License-Identifier: BSD-3-Clause */
/* raw.c - see raw.h. */
#include "raw.h"

#include "coverage.h"
#include "mapped.h"
#include "plan.h"
#include "print_json.h"
#include "raw_sideband.h"
#include "text_event.h"

#include <pt/io.h>
#include <pt/session.h>
#include <stdio.h>
#include <stdlib.h>

/* The trace, and what threads that decode it share. */
struct raw {
    struct ptxed *x;
    struct raw_sideband sideband;
    struct ptl_perf_piece piece;
    struct plan plan;
    uint64_t end; /* where decoding ended */
};

/* A thread's. */
struct worker {
    struct raw *raw;
    struct printer *printer;
    struct ptl_cursor *cursor;
    struct ptl_decoder *decoder;
};

/* --- what to say about the input as a whole ------------------------------------------- */

/* The trace ends inside a packet. */
static int is_cut(const struct ptxed *x, uint64_t offset)
{
    struct ptl_packet packet;

    return offset < x->trace.len && ptl_packet_decode(&packet, x->trace.bytes + offset,
                                                      x->trace.len - (size_t)offset, 0) == PTL_EOS;
}

static void explain_errors(const struct ptxed *x, const struct print_stats *stats)
{
    const struct ptl_error *first = &stats->first;

    opts_error(x->prog, "%s: %llu decode error%s, the first at offset 0x%llx: %s (ip 0x%llx).",
               x->trace.name, (unsigned long long)stats->errors, stats->errors > 1 ? "s" : "",
               (unsigned long long)first->offset, ptl_strstatus(first->status),
               (unsigned long long)first->ip);
    if (first->status == PTL_NOMAP)
        opts_error(x->prog, "name the code at 0x%llx with --elf or --raw.",
                   (unsigned long long)first->ip);
}

/* Returns the exit status. */
static int conclude(const struct ptxed *x, const struct print_stats *stats, uint64_t end)
{
    const char *name = x->trace.name;
    struct losses_options options = x->losses;
    struct ptl_losses losses = stats->losses;
    int cut = is_cut(x, end), unsynced, unwritten;

    unsynced = !stats->syncs && ptl_psb_find(x->trace.bytes, x->trace.len, 0) == x->trace.len;
    losses.insns = stats->insns;
    if (x->flow.flags & PTL_FLOW_PROVEN)
        options.withheld = &stats->withheld;
    losses.count[PTL_LOSS_CUT] = (uint64_t)(cut && !unsynced);
    losses.count[PTL_LOSS_UNSYNCED] = (uint64_t)unsynced;
    losses.count[PTL_LOSS_DAMAGED] = mapped_report(x->prog) + opts_sideband_report(&x->sideband);
    if (stats->errors)
        explain_errors(x, stats);
    unwritten = losses_report(&options, name, &losses, 0);
    if (marks_report(&x->marks, x->prog, name))
        return EXIT_NOTHING;
    if (unsynced) {
        opts_error(x->prog, "%s: no PSB packet in %zu bytes from offset 0x%llx: nothing to decode.",
                   name, x->trace.len, (unsigned long long)x->trace.from);
        return EXIT_NOTHING;
    }
    if (!stats->syncs && !stats->errors) {
        opts_error(x->prog, "%s: no whole PSB+ (PSB...PSBEND): nothing to decode.", name);
        return EXIT_NOTHING;
    }
    if (cut)
        opts_error(x->prog, "%s: cut inside the packet at offset 0x%llx.", name,
                   (unsigned long long)end);
    if (stats->errors && !stats->insns && !(x->flow.flags & FLOW_LISTENS))
        return EXIT_NOTHING;
    return losses_status(&options, &losses,
                         stats->errors || cut || unwritten ? EXIT_PARTLY : EXIT_ALL);
}

/* --- segments ----------------------------------------------------------------------------- */

static struct ptl_stream stream_of(const void *context, uint32_t number)
{
    (void)number;
    return (struct ptl_stream){&((const struct raw *)context)->piece, 1};
}

static int source_next(void *context, struct jobs_segment *segment)
{
    return plan_next(&((struct raw *)context)->plan, segment);
}

static void source_close(void *worker)
{
    struct worker *w = worker;

    coverage_take(w->printer, w->decoder);
    ptl_decoder_free(w->decoder);
    ptl_cursor_free(w->cursor);
    free(w);
}

static int source_open(void *context, struct printer *printer, void **worker)
{
    struct raw *raw = context;
    struct ptl_flow_config config = raw->x->flow;
    struct worker *w = calloc(1, sizeof(*w));
    int status = 0;

    if (!w)
        return PTL_NOMEM;
    *worker = w;
    w->raw = raw;
    w->printer = printer;
    raw->sideband.printer = printer; /* with sideband there is one thread */
    if (raw->sideband.sb)
        status = ptl_cursor_new(&w->cursor, ptl_sideband_timeline(raw->sideband.sb), 0,
                                raw->x->sideband.kernel_start);
    config.cursor = w->cursor;
    if (status == 0)
        status = ptl_decoder_raw(&w->decoder, &config);
    if (status == 0)
        ptl_flow_on_free(ptl_decoder_flow(w->decoder), lines_free);
    return status;
}

static int source_enter(void *worker, const struct jobs_segment *segment)
{
    struct worker *w = worker;
    const struct ptl_segment *part = &segment->part;
    struct ptl_item items[64];
    int n = 0;

    w->printer->skip = segment->skip;
    if (part->begin.piece) /* an empty share */
        return 0;
    n = ptl_decoder_start(w->decoder, part->warm, part->begin);
    while (n == 0 && part->begin.at &&
           (n = ptl_flow_next(ptl_decoder_flow(w->decoder), items, 64)) > 0)
        n = 0;
    return n;
}

static int source_print(void *worker, const struct jobs_segment *segment)
{
    struct worker *w = worker;

    ptl_decoder_extend(w->decoder, segment->part.end);
    return print_flow(w->printer, ptl_decoder_flow(w->decoder));
}

static void source_state(const void *worker, struct jobs_state *state)
{
    const struct ptxed *x = ((const struct worker *)worker)->raw->x;
    int with_time = (x->print & PRINT_TIME) || (x->events & TEXT_EVENT_TIME) ||
                    (x->flow.flags & PTL_FLOW_TICKS);

    *state = (struct jobs_state){.more = {((const struct worker *)worker)->printer->skip}};
    ptl_decoder_get_state(((const struct worker *)worker)->decoder, with_time, &state->flow);
}

static int source_finish(void *worker, const struct jobs_segment *segment)
{
    struct worker *w = worker;

    infile_done(&w->raw->x->trace, (size_t)segment->part.begin.at);
    w->raw->end = ptl_flow_offset(ptl_decoder_flow(w->decoder));
    return 0;
}

/* --- decoding ---------------------------------------------------------------------------- */

/* An unknown processor is decoded without workarounds. */
static void choose_errata(struct ptxed *x, struct printer *printer)
{
    int status = opts_timing_errata(&x->timing, &x->flow.errata);
    char what[64];

    snprintf(what, sizeof(what), "config error: %s", ptl_strstatus(status));
    if (status && x->shard <= 1 && x->print & PRINT_JSON)
        print_json_check(printer, 0, what);
    else if (status && x->shard <= 1)
        out_printf(&printer->out, "[0, 0: %s]\n", what);
    x->timing.clock.errata = x->flow.errata;
    x->flow.clock = x->timing.clock;
}

/* All of it, or what was asked for. */
static int make_plan(struct raw *raw, const struct jobs_source *source, struct printer *printer)
{
    const struct ptxed *x = raw->x;
    const struct ptl_place begin = {0, 0}, end = {1, 0};
    int status;

    raw->piece = (struct ptl_perf_piece){.bytes = x->trace.bytes, .size = x->trace.len};
    raw->plan.stream = stream_of;
    raw->plan.context = raw;
    status = plan_add(&raw->plan, 0, begin, begin, end);
    if (status == 0)
        status = plan_narrow(&raw->plan, x, source, printer);
    /* What begins in the middle, or is empty, has been synchronised before. */
    if (!raw->plan.count || raw->plan.ranges[0].begin.at)
        printer->stats.syncs = 1;
    return status;
}

static int print_trace(struct raw *raw, struct printer *printer)
{
    struct ptxed *x = raw->x;
    const struct jobs_source source = {.context = raw,
                                       .next = source_next,
                                       .open = source_open,
                                       .close = source_close,
                                       .enter = source_enter,
                                       .print = source_print,
                                       .get_state = source_state,
                                       .finish = source_finish};
    int status;

    x->flow.begin = x->trace.bytes;
    x->flow.len = x->trace.len;
    x->flow.space = x->space;
    raw->end = x->trace.len;
    status = make_plan(raw, &source, printer);
    return status ? status : plan_run(&raw->plan, x, &source, printer);
}

int decode_trace(struct ptxed *x, struct printer *printer)
{
    struct raw raw = {.x = x};
    int status;

    status = plan_check(x);
    if (status)
        return status;
    choose_errata(x, printer);
    status = raw_sideband_open(&raw.sideband, x, printer);
    if (status == 0)
        status = print_trace(&raw, printer);
    raw_sideband_close(&raw.sideband);
    plan_free(&raw.plan);
    if (status == PTL_IO)
        return EXIT_PARTLY; /* reported when the output is closed */
    if (status) {
        opts_error(x->prog, "%s.", ptl_strstatus(status));
        return EXIT_NOTHING;
    }
    coverage_print(printer);
    print_statistics(printer);
    out_flush(&printer->out); /* before what stderr says about it */
    x->trace.len = ptl_map_left(x->trace.bytes, x->trace.len);
    return conclude(x, &printer->stats, raw.end);
}
