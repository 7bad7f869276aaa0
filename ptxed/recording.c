/* SPDX-License-Identifier: BSD-3-Clause */
/* recording.c - see recording.h. */
#include "recording.h"

#include "json.h"
#include "report.h"
#include "sb_print.h"
#include "text_event.h"
#include "unzip.h"

#include <pt/packet.h>
#include <pt/session.h>
#include <stdio.h>
#include <stdlib.h>

#define BATCH 256 /* items a call */

struct recording;

/* One queue, being decoded. */
struct stream {
    struct recording *rec;
    const struct ptl_perf_queue *queue;
    const struct ptl_sideband *sb;
    struct ptl_decoder *decoder;
    struct sb_print sideband;
    size_t piece; /* the next one */
    int n, i;     /* items read, and used */
    int shown;    /* the task is selected */
    int done;
    int in_window;
    int between; /* the marks */
    uint32_t index, pid, tid;
    uint64_t time; /* ticks, of the item at hand */
    struct ptl_item items[BATCH];
};

struct recording {
    struct ptxed *x;
    struct printer *printer;
    struct ptl_session *session;
    struct stream **streams;
    size_t stream_count;
    uint64_t from, to; /* ticks: the window */
    uint64_t syncs;
    int by_task; /* some tasks are not selected */
    int any;     /* something was */
    struct report report;
    struct stream *lead_of; /* for whom `lead` was made, and when */
    uint64_t lead_time;
    char lead[PRINT_LEAD_MAX];
};

/* --- opening ------------------------------------------------------------------------------ */

static void configure(const struct ptxed *x, struct ptl_session_config *config)
{
    const struct recording_options *o = &x->recording;
    const struct ptl_sideband_source *raw = &x->sideband.next;

    *config = (struct ptl_session_config){
        .size = sizeof(*config),
        .unzip = &zstd_unzip,
        .sysroot = o->sysroot ? o->sysroot : raw->sysroot,
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

/* From the first record with a time to the end of the last piece. */
static void find_window(struct recording *rec)
{
    const struct ptl_perf_queue *queues;
    struct ptl_sb_record record = {0};
    uint64_t first, last = 0;
    size_t count, i = 0;

    queues = ptl_perf_queues(ptl_session_perf(rec->session), &count);
    for (size_t q = 0; q < count; q++)
        for (size_t k = 0; k < queues[q].piece_count; k++)
            if (queues[q].pieces[k].time > last)
                last = queues[q].pieces[k].time;
    while (ptl_sideband_get(ptl_session_sideband(rec->session, 0), i, &record) && !record.tsc)
        i++;
    first = record.tsc ? ptl_session_ns(rec->session, record.tsc) : 0;
    select_window(&rec->x->recording.select, first, last > first ? last : first, &rec->from,
                  &rec->to);
    rec->from = rec->from ? ptl_session_ticks(rec->session, rec->from) : 0;
    rec->to = rec->to == UINT64_MAX ? rec->to : ptl_session_ticks(rec->session, rec->to);
}

static int is_selected(const struct recording *rec, const struct ptl_perf_queue *queue)
{
    const struct opts_select *s = &rec->x->recording.select;

    return select_has(&s->idxs, queue->idx) &&
           (!s->cpus.count || queue->cpu == PTL_PERF_ANY || select_has(&s->cpus, queue->cpu)) &&
           (!s->tids.count || queue->tid == PTL_PERF_ANY || select_has(&s->tids, queue->tid));
}

static int add_stream(struct recording *rec, const struct ptl_perf_queue *queue, uint32_t index)
{
    struct stream *s = calloc(1, sizeof(*s));

    if (!s)
        return PTL_NOMEM;
    s->rec = rec;
    s->queue = queue;
    s->index = index;
    s->pid = s->tid = UINT32_MAX;
    s->shown = !rec->by_task;
    s->in_window = !rec->from;
    s->between = marks_begin(&rec->x->marks);
    s->sb = ptl_session_sideband(rec->session, index);
    if (rec->x->sideband.print) /* else problems are reported once, at the end */
        s->sideband = (struct sb_print){.sb = s->sb, .flags = ptxed_sideband(rec->x)};
    rec->streams[rec->stream_count++] = s;
    return 0;
}

static int add_streams(struct recording *rec)
{
    const struct ptl_perf_queue *queues;
    size_t count;
    int status = 0;

    queues = ptl_perf_queues(ptl_session_perf(rec->session), &count);
    rec->streams = calloc(count + 1, sizeof(struct stream *));
    if (!rec->streams)
        return PTL_NOMEM;
    for (size_t i = 0; i < count && !status; i++)
        if (is_selected(rec, &queues[i]))
            status = add_stream(rec, &queues[i], (uint32_t)i);
    return status;
}

/* --- reading items ---------------------------------------------------------------------------- */

/* Records of other CPUs are shown with those, or by time if all are merged. */
static void divide_sideband(struct stream *s)
{
    if (s->rec->x->recording.merge || s->rec->stream_count < 2)
        return;
    s->sideband.by_cpu = s->queue->cpu != PTL_PERF_ANY;
    s->sideband.cpu = s->queue->cpu;
}

static int begin_stream(struct stream *s)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): all of stream_count are there */
    int status = ptl_decoder_new(&s->decoder, s->rec->session, s->index);

    if (status == 0)
        ptl_flow_on_free(ptl_decoder_flow(s->decoder), lines_free);
    divide_sideband(s);
    return status;
}

static void end_stream(struct stream *s)
{
    if (s->decoder)
        s->rec->printer->stats.losses.count[PTL_LOSS_SKIPPED] +=
            ptl_flow_skipped(ptl_decoder_flow(s->decoder));
    ptl_decoder_free(s->decoder);
    s->decoder = NULL;
}

static int is_quiet(const struct stream *s)
{
    return (s->rec->x->print & PRINT_QUIET) != 0;
}

/* "[cpu: 3]", or with JSON {"type":"stream","cpu":3} */
static void say_stream(const struct stream *s, const char *what, uint32_t n)
{
    struct out *out = &s->rec->printer->out;
    struct json json;

    if (is_quiet(s))
        return;
    if (!(s->rec->x->print & PRINT_JSON)) {
        out_printf(out, "[%s: %u]\n", what, n);
        return;
    }
    json_begin(&json, out, "stream");
    json_count(&json, what, n);
    json_end(&json);
}

static void say_lost(const struct stream *s, const char *what)
{
    struct out *out = &s->rec->printer->out;
    struct json json;

    if (is_quiet(s))
        return;
    if (!(s->rec->x->print & PRINT_JSON)) {
        out_printf(out, "[trace lost: %s]\n", what);
        return;
    }
    json_begin(&json, out, "lost");
    json_string(&json, "what", what);
    json_end(&json);
}

/* --- pieces ---------------------------------------------------------------------------- */

/* What the recorder lost before a piece, and in the one that has ended. */
static void say_missing(const struct stream *s, size_t piece)
{
    char what[32];

    snprintf(what, sizeof(what), "%llu bytes", (unsigned long long)s->queue->pieces[piece].missing);
    if (s->queue->pieces[piece].missing)
        say_lost(s, what);
}

static void say_flags(const struct stream *s, size_t piece)
{
    uint32_t flags = s->queue->pieces[piece].flags;

    if (flags & PTL_AUX_TRUNCATED)
        say_lost(s, "buffer full");
    if (flags & PTL_AUX_PARTIAL)
        say_lost(s, "partial");
    if (flags & PTL_AUX_COLLISION)
        say_lost(s, "collision");
}

/* What lies before the window is not decoded. Returns 1, 0 if that is all, or PTL_NOMEM. */
static int first_piece(struct stream *s)
{
    size_t piece;
    int status = ptl_decoder_seek(s->decoder, s->rec->from, &piece);

    if (status == PTL_EOS)
        s->piece = s->queue->piece_count;
    if (status < 0)
        return status == PTL_EOS ? 0 : status;
    s->piece = piece + 1;
    return 1;
}

/* Is the last packet of the piece cut, with nothing that could be its other half? */
static void count_cut(const struct stream *s, size_t piece)
{
    const struct ptl_perf_piece *p = &s->queue->pieces[piece];
    uint64_t at = ptl_flow_offset(ptl_decoder_flow(s->decoder)) - p->offset;
    struct ptl_packet packet;

    if (at < p->size && !ptl_decoder_goes_on(s->decoder, piece + 1) &&
        ptl_packet_decode(&packet, p->bytes + at, (size_t)(p->size - at), 0) == PTL_EOS)
        s->rec->printer->stats.losses.count[PTL_LOSS_CUT]++;
}

static void count_unsynced(const struct stream *s, size_t piece)
{
    const struct ptl_perf_piece *p = &s->queue->pieces[piece];

    if (p->size && !ptl_decoder_goes_on(s->decoder, piece) &&
        ptl_psb_find(p->bytes, (size_t)p->size, 0) == p->size)
        s->rec->printer->stats.losses.count[PTL_LOSS_UNSYNCED]++;
}

static int next_piece(struct stream *s)
{
    if (!s->piece && s->rec->from && s->queue->piece_count)
        return first_piece(s);
    if (s->piece && s->piece <= s->queue->piece_count) {
        say_flags(s, s->piece - 1);
        count_cut(s, s->piece - 1);
    }
    if (s->piece >= s->queue->piece_count)
        return 0;
    say_missing(s, s->piece);
    count_unsynced(s, s->piece);
    return ptl_decoder_piece(s->decoder, s->piece++) < 0 ? PTL_NOMEM : 1;
}

/* Is there an item? Returns 1, 0 at the end, or a negative status. */
static int have_item(struct stream *s)
{
    int status = 1;

    while (s->i == s->n && status > 0) {
        s->i = 0;
        s->n = s->piece ? ptl_flow_next(ptl_decoder_flow(s->decoder), s->items, BATCH) : 0;
        if (s->n < 0)
            return s->n;
        if (s->n == 0)
            status = next_piece(s);
    }
    return status;
}

/* --- printing items
 * ------------------------------------------------------------------------------- */

static const char *comm_of(const struct stream *s)
{
    return ptl_sideband_comm(s->sb, s->tid, s->time);
}

/* The same as fields of JSON. */
static size_t json_lead(struct stream *s, char *buf, size_t size)
{
    unsigned fields = s->rec->x->recording.fields;
    uint64_t ns = ptl_session_ns(s->rec->session, s->time);
    const char *comm = fields & FIELD_COMM ? comm_of(s) : NULL;
    struct json json = {.comma = 1};
    char time[32];
    struct out out;
    size_t n;

    if (out_open_memory(&out))
        return 0;
    json.out = &out;
    if (fields & FIELD_COMM)
        json_string(&json, "comm", comm ? comm : "?");
    if (fields & FIELD_PID && s->pid != UINT32_MAX)
        json_count(&json, "pid", s->pid);
    if (fields & FIELD_TID && s->tid != UINT32_MAX)
        json_count(&json, "tid", s->tid);
    if (fields & FIELD_CPU && s->queue->cpu != PTL_PERF_ANY)
        json_count(&json, "cpu", s->queue->cpu);
    snprintf(time, sizeof(time), "%llu.%09llu", (unsigned long long)(ns / 1000000000),
             (unsigned long long)(ns % 1000000000));
    if (fields & FIELD_TIME)
        json_string(&json, "time", time);
    n = out.len <= size && !out.error ? out.len : 0;
    memcpy(buf, out.buf, n);
    free(out.buf);
    return n;
}

/* "hello 26530/26531 [003] 1234.567890123: " as far as asked for. */
static void make_lead(struct stream *s)
{
    struct recording *rec = s->rec;
    unsigned fields = rec->x->recording.fields;
    uint64_t ns = ptl_session_ns(rec->session, s->time);
    const char *comm = fields & FIELD_COMM ? comm_of(s) : NULL;
    char *p = rec->lead, *end = rec->lead + sizeof(rec->lead);

    if (fields & FIELD_COMM)
        p += snprintf(p, (size_t)(end - p), "%.16s ", comm ? comm : "?");
    if (fields & FIELD_PID)
        p += snprintf(p, (size_t)(end - p), "%d%s", (int)s->pid, fields & FIELD_TID ? "/" : " ");
    if (fields & FIELD_TID)
        p += snprintf(p, (size_t)(end - p), "%d ", (int)s->tid);
    if (fields & FIELD_CPU && s->queue->cpu == PTL_PERF_ANY)
        p += snprintf(p, (size_t)(end - p), "[---] ");
    else if (fields & FIELD_CPU)
        p += snprintf(p, (size_t)(end - p), "[%03u] ", s->queue->cpu);
    if (fields & FIELD_TIME)
        p += snprintf(p, (size_t)(end - p), "%llu.%09llu: ", (unsigned long long)(ns / 1000000000),
                      (unsigned long long)(ns % 1000000000));
    rec->printer->lead = rec->lead;
    rec->printer->lead_len = (size_t)(p - rec->lead);
    if (rec->x->print & PRINT_JSON)
        rec->printer->lead_len = json_lead(s, rec->lead, sizeof(rec->lead));
    rec->lead_of = s;
    rec->lead_time = s->time;
}

static void update_lead(struct stream *s)
{
    if (s->rec->x->recording.fields && (s->rec->lead_of != s || s->rec->lead_time != s->time))
        make_lead(s);
}

/* The task changes, and with it what is shown. */
static void on_context(struct stream *s, const struct ptl_event *event)
{
    s->pid = event->u.context.pid;
    s->tid = event->u.context.tid;
    s->rec->lead_of = NULL;
    if (s->rec->by_task)
        s->shown = select_task(&s->rec->x->recording.select, s->pid, s->tid, comm_of(s));
}

/* An end that the next piece goes on from is none. */
static int is_false_end(const struct stream *s, const struct ptl_item *item)
{
    return item->kind == PTL_ITEM_END && s->piece < s->queue->piece_count &&
           ptl_decoder_goes_on(s->decoder, s->piece);
}

static int print_one(struct stream *s, const struct ptl_item *item)
{
    struct printer *p = s->rec->printer;
    int status = 0;

    s->time = item->tsc;
    if (item->kind == PTL_ITEM_EVENT)
        s->rec->syncs += item->u.event->type == PTL_EV_SYNC;
    if (item->kind == PTL_ITEM_EVENT && item->u.event->type == PTL_EV_CONTEXT)
        on_context(s, item->u.event);
    if (item->kind == PTL_ITEM_ERROR && item->u.error->status == PTL_NOMAP)
        report_missing(&s->rec->report, s->sb, s->pid, item->u.error->ip);
    if (!s->in_window)
        s->in_window = item->tsc >= s->rec->from;
    if (s->shown && s->in_window && !is_false_end(s, item)) {
        s->rec->any = 1;
        update_lead(s);
        p->between = &s->between;
        status = print_item(p, item);
    }
    if (item->kind == PTL_ITEM_EVENT)
        sb_print_until(&s->sideband, &p->out, item->tsc);
    return status == 0 && p->out.error ? PTL_IO : status;
}

/* Behind the window nothing more comes. Returns as have_item(). */
static int stream_status(struct stream *s)
{
    int status = s->done ? 0 : have_item(s);

    if (status > 0 && s->items[s->i].tsc > s->rec->to)
        status = 0;
    if (status == 0)
        s->done = 1;
    return status;
}

/* --- all queues
 * ---------------------------------------------------------------------------------------- */

static void print_heading(const struct stream *s)
{
    const struct recording *rec = s->rec;

    if (rec->stream_count < 2 || rec->x->recording.fields)
        return;
    if (s->queue->cpu != PTL_PERF_ANY)
        say_stream(s, "cpu", s->queue->cpu);
    else
        say_stream(s, "tid", s->queue->tid);
}

static int one_by_one(struct recording *rec)
{
    int status = 0;

    for (size_t i = 0; i < rec->stream_count && status == 0; i++) {
        struct stream *s = rec->streams[i];

        status = begin_stream(s);
        if (status == 0)
            print_heading(s);
        while (status == 0 && (status = stream_status(s)) > 0)
            status = print_one(s, &s->items[s->i++]);
        end_stream(s);
    }
    return status;
}

/* The stream with the earliest item; NULL: none is left. */
static struct stream *earliest(struct recording *rec, int *status)
{
    struct stream *first = NULL;

    for (size_t i = 0; i < rec->stream_count; i++) {
        struct stream *s = rec->streams[i];
        int has = stream_status(s);

        if (has < 0)
            *status = has;
        if (has > 0 && (!first || s->items[s->i].tsc < first->items[first->i].tsc))
            first = s;
    }
    return first;
}

static int by_time(struct recording *rec)
{
    struct stream *s;
    int status = 0;

    if (!rec->x->recording.fields)
        rec->x->recording.fields = FIELD_CPU | FIELD_TID | FIELD_TIME;
    for (size_t i = 0; i < rec->stream_count && status == 0; i++)
        status = begin_stream(rec->streams[i]);
    while (status == 0 && (s = earliest(rec, &status)) != NULL)
        status = print_one(s, &s->items[s->i++]);
    for (size_t i = 0; i < rec->stream_count; i++)
        end_stream(rec->streams[i]);
    return status;
}

/* Names of kernel code lie beside the kernel's code. */
static int open_symbols(struct recording *rec)
{
    const char *dir = ptl_perf_directory(ptl_session_perf(rec->session));
    char path[4096];
    int known =
        dir && (size_t)snprintf(path, sizeof(path), "%s/kcore_dir/kallsyms", dir) < sizeof(path);

    if (!ptxed_wants_symbols(rec->x))
        return 0;
    rec->printer->style.by_section = section_symbols_new(known ? path : NULL);
    return rec->printer->style.by_section ? 0 : PTL_NOMEM;
}

static void close_recording(struct recording *rec)
{
    for (size_t i = 0; i < rec->stream_count; i++) {
        ptl_decoder_free(rec->streams[i]->decoder);
        free(rec->streams[i]);
    }
    free(rec->streams);
    section_symbols_free(rec->printer->style.by_section);
    rec->printer->style.by_section = NULL;
    ptl_session_close(rec->session);
}

/* Was less than the whole asked for? */
static int is_partial(const struct recording *rec)
{
    return !rec->stream_count || rec->by_task || rec->from || rec->to != UINT64_MAX;
}

static int conclude(struct recording *rec)
{
    const struct print_stats *stats = &rec->printer->stats;
    const char *prog = rec->x->prog, *path = rec->x->recording.path;
    struct ptl_losses losses = stats->losses;
    unsigned line = rec->x->print & PRINT_QUIET ? 0 : LOSSES_LINE;

    losses.insns = stats->insns;
    losses.count[PTL_LOSS_IMAGES] = rec->report.count;
    ptl_losses_add(&losses, ptl_session_losses(rec->session));
    report_end(&rec->report, prog, rec->session);
    if (losses_report(&rec->x->losses, path, &losses, line))
        return EXIT_PARTLY;
    if (marks_report(&rec->x->marks, prog, path))
        return EXIT_NOTHING;
    if (!rec->any)
        opts_error(prog, "%s: nothing %s.", path,
                   rec->syncs || is_partial(rec) ? "is selected"
                                                 : "to decode: no whole PSB+ in the trace");
    if (stats->errors)
        opts_error(prog, "%s: %llu decode error%s, the first at offset 0x%llx: %s (ip 0x%llx).",
                   path, (unsigned long long)stats->errors, stats->errors > 1 ? "s" : "",
                   (unsigned long long)stats->first.offset, ptl_strstatus(stats->first.status),
                   (unsigned long long)stats->first.ip);
    if (!rec->any || (stats->errors && !stats->insns))
        return EXIT_NOTHING;
    return losses_status(&rec->x->losses, &losses, stats->errors ? EXIT_PARTLY : EXIT_ALL);
}

int decode_recording(struct ptxed *x, struct printer *printer)
{
    struct recording rec = {
        .x = x, .printer = printer, .by_task = select_by_task(&x->recording.select)};
    int status, exit_status = EXIT_NOTHING;

    if (open_session(&rec))
        return EXIT_NOTHING;
    report_notes(x->prog, x->recording.path, rec.session, x->verbose);
    if (x->sideband.show_switches)
        printer->event_flags |= TEXT_EVENT_CONTEXT;
    find_window(&rec);
    status = open_symbols(&rec);
    if (status == 0)
        status = add_streams(&rec);
    if (status == 0)
        status = x->recording.merge ? by_time(&rec) : one_by_one(&rec);
    printer->lead_len = 0;
    print_statistics(printer);
    out_flush(&printer->out); /* before what stderr says about it */
    if (status == 0)
        exit_status = conclude(&rec);
    else if (status == PTL_IO)
        exit_status = EXIT_PARTLY; /* reported when the output is closed */
    else
        opts_error(x->prog, "%s.", ptl_strstatus(status));
    close_recording(&rec);
    return exit_status;
}
