/* SPDX-License-Identifier: BSD-3-Clause */
/* recording.c - see recording.h. */
#include "recording.h"

#include "coverage.h"
#include "mapped.h"
#include "recording_plan.h"
#include "strand.h"
#include "text_event.h"
#include "unpack.h"
#include "unzip.h"
#include "window.h"

#include <stdio.h>
#include <stdlib.h>

/* --- opening ------------------------------------------------------------------------------ */

static const char *sysroot_of(const struct ptxed *x)
{
    return x->recording.sysroot ? x->recording.sysroot : x->sideband.next.sysroot;
}

static void configure(const struct ptxed *x, struct ptl_session_config *config)
{
    const struct recording_options *o = &x->recording;
    const struct ptl_sideband_source *raw = &x->sideband.next;

    *config = (struct ptl_session_config){
        .size = sizeof(*config),
        .unzip = &zstd_unzip,
        .unpack = file_unpackers,
        .sysroot = sysroot_of(x),
        .buildid_dir = o->buildid_dir,
        .vdso_x64 = raw->vdso_x64,
        .vdso_x32 = raw->vdso_x32,
        .vdso_ia32 = raw->vdso_ia32,
        .kcore = o->kcore ? o->kcore : x->sideband.kcore,
        .vmlinux = o->vmlinux,
        .base = x->space,
        .kernel_start = x->sideband.kernel_start,
        .tsc_offset = raw->tsc_offset,
        .flow_flags = x->flow.flags,
        .cpu = x->timing.have_cpu ? &x->timing.cpu : NULL,
        .clock = x->timing.clock,
    };
    if (x->sideband.print)
        config->flags |= PTL_SESSION_KEEP_RECORDS;
    if (o->no_time)
        config->flags |= PTL_SESSION_NO_TIME;
    memcpy(config->addr, x->flow.addr, sizeof(config->addr));
}

static int open_session(struct recording *rec)
{
    const char *path = rec->x->recording.path, *home = getenv("HOME");
    struct ptl_session_config config;
    struct ptl_perf_problem problem = {0};
    char cache[4096];
    int status;

    configure(rec->x, &config);
    if (!config.buildid_dir && home &&
        (size_t)snprintf(cache, sizeof(cache), "%s/.debug", home) < sizeof(cache))
        config.buildid_dir = cache;
    status = ptl_session_open(&rec->session, path, &config, &problem);
    if (status)
        opts_error(rec->x->prog, "%s: %s%s%s.", path,
                   problem.text[0] ? problem.text : ptl_strstatus(status), problem.err ? ": " : "",
                   problem.err ? strerror(problem.err) : "");
    return status;
}

/* Returns 0, or -1 if there is no time to select by: the message has been printed. */
static int find_window(struct recording *rec)
{
    const struct ptxed *x = rec->x;
    struct window window;
    int timeless = window_find(&window, &x->recording.select, ptl_session_perf(rec->session)) != 0;

    if (timeless || (select_by_time(&x->recording.select) && !window.in_trace)) {
        opts_error(x->prog, "%s: --select:time: %s.", x->recording.path,
                   timeless ? "no record in it has a time"
                            : "the trace has no time that can be compared with the records'");
        return -1;
    }
    rec->from = window.tsc_from;
    rec->to = window.tsc_to;
    return 0;
}

/* --- one queue after the other ------------------------------------------------------------ */

/* What the threads have found. */
struct all {
    struct recording *rec;
    struct plan plan;
    struct strand_found found;
    struct symbols_node *symbols; /* of all threads: names are told of until the end */
};

struct symbols_node {
    struct symbols_node *next;
    struct section_symbols *symbols;
};

/* A thread's. */
struct worker {
    struct strand strand;
    struct all *all;
};

static int open_symbols(struct all *all, struct printer *printer)
{
    struct symbols_node *node;

    if (!ptxed_wants_symbols(all->rec->x))
        return 0;
    node = calloc(1, sizeof(*node));
    if (!node)
        return PTL_NOMEM;
    node->next = all->symbols;
    all->symbols = node;
    node->symbols = section_symbols_new(all->rec->kallsyms, sysroot_of(all->rec->x));
    printer->style.by_section = node->symbols;
    return node->symbols ? 0 : PTL_NOMEM;
}

/* Returns whether symbols are missing, which is said. */
static int close_symbols(struct all *all)
{
    int missing = 0;

    while (all->symbols) {
        struct symbols_node *node = all->symbols;

        all->symbols = node->next;
        /* What one thread met, others will have met, too. */
        missing = missing || section_symbols_report(all->rec->x->prog, node->symbols);
        section_symbols_free(node->symbols);
        free(node);
    }
    return missing;
}

static int source_next(void *context, struct jobs_segment *segment)
{
    return plan_next(&((struct all *)context)->plan, segment);
}

static void source_close(void *worker)
{
    struct worker *w = worker;

    strand_close(&w->strand);
    free(w);
}

static int source_open(void *context, struct printer *printer, void **worker)
{
    struct all *all = context;
    struct worker *w = calloc(1, sizeof(*w));

    if (!w)
        return PTL_NOMEM;
    *worker = w;
    w->all = all;
    strand_init(&w->strand, all->rec, printer);
    return open_symbols(all, printer);
}

static int source_enter(void *worker, const struct jobs_segment *segment)
{
    struct strand *s = &((struct worker *)worker)->strand;

    s->found.syncs = 0; /* what a segment that was dropped has found does not count */
    s->found.any = 0;
    s->found.report.count = 0;
    s->found.report.kernel_errors = 0;
    return strand_enter(s, segment);
}

static int source_print(void *worker, const struct jobs_segment *segment)
{
    struct strand *s = &((struct worker *)worker)->strand;
    uint64_t skipped = ptl_flow_skipped(ptl_decoder_flow(s->decoder));
    uint64_t withheld = ptl_flow_withheld(ptl_decoder_flow(s->decoder));
    int status;

    if (segment->first)
        strand_heading(s);
    strand_extend(s, &segment->part);
    status = strand_print_all(s);
    if (status < 0)
        return status;
    s->printer->stats.losses.count[PTL_LOSS_SKIPPED] +=
        ptl_flow_skipped(ptl_decoder_flow(s->decoder)) - skipped;
    s->printer->stats.withheld += ptl_flow_withheld(ptl_decoder_flow(s->decoder)) - withheld;
    return status;
}

static void source_state(const void *worker, struct jobs_state *state)
{
    const struct strand *s = &((const struct worker *)worker)->strand;

    *state = (struct jobs_state){
        .more = {(uint64_t)s->state.pid << 32 | s->state.tid,
                 (uint64_t)s->state.shown << 1 | (uint64_t)s->state.in_window, s->skip}};
    if (s->decoder)
        ptl_decoder_get_state(s->decoder, 1, &state->flow);
}

static void add_found(struct strand_found *all, struct strand_found *more)
{
    all->syncs += more->syncs;
    all->any |= more->any;
    report_merge(&all->report, &more->report);
    more->syncs = 0;
    more->any = 0;
}

static int source_finish(void *worker, const struct jobs_segment *segment)
{
    struct worker *w = worker;

    (void)segment;
    add_found(&w->all->found, &w->strand.found);
    return w->strand.over;
}

static int one_by_one(struct all *all, struct printer *printer)
{
    const struct ptxed *x = all->rec->x;
    const struct jobs_source source = {.context = all,
                                       .next = source_next,
                                       .open = source_open,
                                       .close = source_close,
                                       .enter = source_enter,
                                       .print = source_print,
                                       .get_state = source_state,
                                       .finish = source_finish};
    int status = plan_narrow(&all->plan, x, &source, printer);

    return status ? status : plan_run(&all->plan, x, &source, printer);
}

/* --- all by time -------------------------------------------------------------------------- */

/* A queue. */
struct lane {
    struct strand strand;
    struct plan plan;
};

/* The item at hand. Returns 1, 0 at the end of the queue, or a negative status. */
static int lane_item(struct lane *lane)
{
    struct jobs_segment segment;
    int status;

    while ((status = lane->strand.decoder ? strand_item(&lane->strand) : 0) == 0) {
        if (lane->strand.over || !plan_next(&lane->plan, &segment))
            return 0;
        if (segment.apart)
            status = strand_enter(&lane->strand, &segment);
        if (status < 0)
            return status;
        strand_extend(&lane->strand, &segment.part);
    }
    return status;
}

/* The lane with the earliest item; NULL: none is left. */
static struct lane *earliest(struct lane *lanes, size_t count, int *status)
{
    struct lane *first = NULL;
    uint64_t time = 0;

    for (struct lane *l = lanes; l < lanes + count && *status == 0; l++) {
        int has = lane_item(l);

        if (has < 0)
            *status = has;
        if (has > 0 && (!first || l->strand.items[l->strand.i].tsc < time)) {
            first = l;
            time = l->strand.items[l->strand.i].tsc;
        }
    }
    return *status < 0 ? NULL : first;
}

/* Give each queue its part of the plan. Returns the number of lanes. */
static size_t divide(struct all *all, struct printer *printer, struct lane *lanes)
{
    struct plan *plan = &all->plan;
    size_t count = 0;

    plan->segment_size = UINT64_MAX / 2;
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_range *range = &plan->ranges[i];

        if (range->first) {
            strand_init(&lanes[count].strand, all->rec, printer);
            lanes[count].plan = *plan;
            lanes[count].plan.ranges = range;
            lanes[count++].plan.count = 0;
        }
        lanes[count - 1].plan.count++;
    }
    return count;
}

static int by_time(struct all *all, struct printer *printer)
{
    struct recording *rec = all->rec;
    struct lane *lanes = calloc(rec->queues + 1, sizeof(*lanes)), *l;
    size_t count;
    int status = 0;

    if (!lanes)
        return PTL_NOMEM;
    if (!rec->x->recording.fields)
        rec->x->recording.fields = FIELD_CPU | FIELD_TID | FIELD_TIME;
    status = open_symbols(all, printer);
    count = divide(all, printer, lanes);
    while (status == 0 && (l = earliest(lanes, count, &status)) != NULL)
        status = strand_print(&l->strand);
    for (l = lanes; l < lanes + count; l++) {
        add_found(&all->found, &l->strand.found);
        if (l->strand.decoder) {
            const struct ptl_flow *flow = ptl_decoder_flow(l->strand.decoder);

            printer->stats.losses.count[PTL_LOSS_SKIPPED] += ptl_flow_skipped(flow);
            printer->stats.withheld += ptl_flow_withheld(flow);
        }
        strand_close(&l->strand);
    }
    free(lanes);
    return status;
}

/* --- the end -------------------------------------------------------------------------------- */

/* Was less than the whole asked for? */
static int is_partial(const struct recording *rec)
{
    return !rec->queues || rec->by_task || rec->from || rec->to != UINT64_MAX;
}

/* Also if that is how it was recorded. */
static int listens(const struct recording *rec)
{
    struct ptl_flow_config config;

    return ptl_session_flow_config(rec->session, 0, &config) == 0 && config.flags & FLOW_LISTENS;
}

static int conclude(struct all *all, struct printer *printer)
{
    struct recording *rec = all->rec;
    const struct print_stats *stats = &printer->stats;
    const char *prog = rec->x->prog, *path = rec->x->recording.path;
    struct losses_options options = rec->x->losses;
    struct ptl_losses losses = stats->losses;
    unsigned line = rec->x->print & PRINT_QUIET ? 0 : LOSSES_LINE;
    int nothing = !all->found.any && !rec->x->shard; /* a share may well be empty */
    int unwritten;

    losses.insns = stats->insns;
    if (rec->x->flow.flags & PTL_FLOW_PROVEN)
        options.withheld = &stats->withheld;
    losses.count[PTL_LOSS_IMAGES] = all->found.report.count;
    ptl_losses_add(&losses, ptl_session_losses(rec->session));
    losses.count[PTL_LOSS_DAMAGED] += mapped_report(prog);
    report_end(&all->found.report, prog, rec->session);
    unwritten = losses_report(&options, path, &losses, line);
    if (marks_report(&rec->x->marks, prog, path))
        return EXIT_NOTHING;
    if (nothing)
        opts_error(prog, "%s: nothing %s.", path,
                   all->found.syncs || is_partial(rec) ? "is selected"
                                                       : "to decode: no whole PSB+ in the trace");
    if (stats->errors)
        opts_error(prog, "%s: %llu decode error%s, the first at offset 0x%llx: %s (ip 0x%llx).",
                   path, (unsigned long long)stats->errors, stats->errors > 1 ? "s" : "",
                   (unsigned long long)stats->first.offset, ptl_strstatus(stats->first.status),
                   (unsigned long long)stats->first.ip);
    if (nothing || (stats->errors && !stats->insns && !listens(rec)))
        return EXIT_NOTHING;
    return losses_status(&options, &losses, stats->errors || unwritten ? EXIT_PARTLY : EXIT_ALL);
}

/* Names of kernel code lie beside the kernel's code. */
static void find_symbols(struct recording *rec, char *path, size_t size)
{
    const char *dir = ptl_perf_directory(ptl_session_perf(rec->session));

    if (dir && (size_t)snprintf(path, size, "%s/kcore_dir/kallsyms", dir) < size)
        rec->kallsyms = path;
}

static int check_options(const struct ptxed *x)
{
    if (x->recording.no_time && select_by_time(&x->recording.select)) {
        opts_error(x->prog, "--select:time: not with --no-trace-time.");
        return EXIT_NOTHING;
    }
    if (x->shard && x->recording.merge) {
        opts_error(x->prog, "--shard: not with --merge.");
        return EXIT_NOTHING;
    }
    if (x->tail && x->recording.merge) {
        opts_error(x->prog, "--tail: not with --merge.");
        return EXIT_NOTHING;
    }
    return plan_check(x);
}

int decode_recording(struct ptxed *x, struct printer *printer)
{
    struct recording rec = {.x = x, .by_task = select_by_task(&x->recording.select)};
    struct all all = {.rec = &rec};
    char kallsyms[4096];
    int status = check_options(x), exit_status = EXIT_NOTHING;

    if (status || open_session(&rec))
        return EXIT_NOTHING;
    if (find_window(&rec)) {
        ptl_session_close(rec.session);
        return EXIT_NOTHING;
    }
    report_notes(x->prog, x->recording.path, rec.session, x->verbose);
    if (x->sideband.show_switches)
        printer->event_flags |= TEXT_EVENT_CONTEXT;
    find_symbols(&rec, kallsyms, sizeof(kallsyms));
    status = recording_plan(&rec, &all.plan);
    if (status == 0)
        status = x->recording.merge ? by_time(&all, printer) : one_by_one(&all, printer);
    printer->lead_len = 0;
    if (x->coverage && status == 0)
        status = open_symbols(&all, printer);
    coverage_print(printer);
    print_statistics(printer);
    out_flush(&printer->out); /* before what stderr says about it */
    if (status == 0)
        exit_status = conclude(&all, printer);
    else if (status == PTL_IO)
        exit_status = EXIT_PARTLY; /* reported when the output is closed */
    else
        opts_error(x->prog, "%s.", ptl_strstatus(status));
    if (close_symbols(&all) && exit_status == 0)
        exit_status = EXIT_PARTLY;
    printer->style.by_section = NULL;
    report_clear(&all.found.report);
    plan_free(&all.plan);
    ptl_session_close(rec.session);
    return exit_status;
}
