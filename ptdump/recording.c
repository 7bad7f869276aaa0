/* SPDX-License-Identifier: BSD-3-Clause */
/* recording.c - see recording.h. */
#include "recording.h"

#include "dump_json.h"
#include "json.h"
#include "mapped.h"
#include "tail.h"
#include "unzip.h"
#include "window.h"

#include <pt/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NEAR       3 /* pieces, and bytes, before the one at hand */
#define NEAR_BYTES ((size_t)16 << 20)

struct view {
    struct options *options;
    const char *name;
    const struct ptl_perf *perf;
    struct out *out;
    struct dump dump;
    struct dump counter;                /* that only counts, for --tail */
    const struct ptl_perf_queue *queue; /* being dumped, and its piece */
    size_t piece;
    struct sb_print sideband;
    struct window window;
    uint64_t shown; /* pieces */
};

int recording_is_directory(const char *path)
{
    struct stat st;

    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int recording_is_file(const struct infile *file)
{
    static const char *const magics[] = {"PERFILE2", "2ELIFREP", "PERFFILE", "ELIFFREP"};

    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
        if (file->len >= 8 && !memcmp(file->bytes, magics[i], 8))
            return 1;
    return 0;
}

/* --- configuration -------------------------------------------------------------- */

/* What the recording says, where no option says otherwise. */
static void configure(struct opts_timing *timing, const struct ptl_perf *perf)
{
    const struct ptl_perf_info *info = ptl_perf_info(perf);
    const struct ptl_perf_pt *pt = ptl_perf_pt(perf);
    struct ptl_clock_config *clock = &timing->clock;

    if (!timing->have_cpu && info->intel) {
        timing->cpu.family = info->cpu_family;
        timing->cpu.model = info->cpu_model;
        timing->cpu.stepping = info->cpu_stepping;
        timing->have_cpu = 1;
    }
    if (!pt)
        return;
    if (!clock->mtc_freq && pt->mtc)
        clock->mtc_freq = pt->mtc_freq;
    if (!clock->nom_freq && pt->info.max_nonturbo <= UINT8_MAX)
        clock->nom_freq = (uint8_t)pt->info.max_nonturbo;
    if (!clock->cpuid_15_eax && !clock->cpuid_15_ebx && pt->info.ctc_num <= UINT32_MAX &&
        pt->info.ctc_den <= UINT32_MAX) {
        clock->cpuid_15_ebx = (uint32_t)pt->info.ctc_num;
        clock->cpuid_15_eax = (uint32_t)pt->info.ctc_den;
    }
}

static void show_sideband(void *context, uint64_t tsc)
{
    struct view *view = context;

    sb_print_until(&view->sideband, view->out, tsc);
}

/* Memory stays flat: what has been dumped of a piece may leave it, and what lies between it and the
 * ones before, which were looked at, too. */
static void forget(void *context, const uint8_t *pos)
{
    const struct view *view = context;
    const struct ptl_perf_piece *p = &view->queue->pieces[view->piece];
    const uint8_t *from = p->bytes;

    if (pos < p->bytes || (uint64_t)(pos - p->bytes) > p->size)
        return;
    for (size_t i = 1; i <= NEAR && i <= view->piece; i++)
        if (p[-i].bytes < from && (size_t)(p->bytes - p[-i].bytes) < NEAR_BYTES)
            from = p[-i].bytes;
    ptl_perf_release(view->perf, from, (uint64_t)(pos - from));
}

/* The records that concern a queue: of its CPU, or of none. */
static int queue_sideband(const struct view *view, const struct ptl_perf_queue *queue,
                          struct ptl_sideband **sideband)
{
    const struct ptl_sideband_config config = {.size = sizeof(config),
                                               .flags = PTL_SB_KEEP | PTL_SB_NO_IMAGES};
    struct ptl_sideband_source source = {
        .size = sizeof(source), .name = view->name, .lanes = PTL_SB_LANE_CPU};
    struct ptl_perf_iter iter = {0, 0};
    struct ptl_perf_record r;
    uint32_t index;
    int status;

    source.time = window_conv(view->perf);
    status = ptl_sideband_new(sideband, &config);
    if (!status)
        status = ptl_sideband_source(*sideband, &source, &index);
    while (!status && ptl_perf_next(view->perf, &iter, &r) > 0) {
        int elsewhere = r.record.id.have & PTL_SAMPLE_CPU && queue->cpu != PTL_PERF_ANY &&
                        r.record.id.cpu != queue->cpu;
        if (r.record.type < PTL_REC_USER && !elsewhere)
            status = ptl_sideband_add_record(*sideband, index, r.bytes, r.record.size, r.offset,
                                             r.event ? &r.event->layout : NULL, 0);
    }
    return status ? status : ptl_sideband_finish(*sideband);
}

/* --- selection ------------------------------------------------------------------ */

/* Returns 0, or -1 if there is no time to select by: the message has been printed. */
static int find_window(struct view *view)
{
    const struct opts_select *select = &view->options->select;

    if (window_find(&view->window, select, view->perf)) {
        opts_error(view->options->prog, "%s: --select:time: no record in it has a time.",
                   view->name);
        return -1;
    }
    if (select_by_time(select) && !view->window.in_trace)
        opts_error(view->options->prog,
                   "%s: --select:time: the trace has no time that can be compared with the "
                   "records': whole pieces of trace are shown.",
                   view->name);
    return 0;
}

/* To the packet, if trace and records have a common clock. */
static void set_window(struct view *view)
{
    const struct window *window = &view->window;

    if (!window->in_trace || (!window->from && window->to == UINT64_MAX))
        return;
    dump_window(&view->dump, window->tsc_from, window->tsc_to);
    dump_window(&view->counter, window->tsc_from, window->tsc_to);
}

static int selected_queue(const struct opts_select *select, const struct ptl_perf_queue *queue)
{
    return select_has(&select->idxs, queue->idx) && select_has(&select->cpus, queue->cpu);
}

static const char *name_of(const struct view *view, const struct ptl_perf_piece *p)
{
    struct ptl_time_conv conv = window_conv(view->perf);

    if (!view->sideband.sb)
        return NULL;
    return ptl_sideband_comm(view->sideband.sb, p->tid,
                             conv.mult ? ptl_ns_to_tsc(&conv, p->time) : p->time);
}

/* A piece is known by when it ended; it began when the one before it ended, at the earliest. */
static int selected_piece(const struct view *view, const struct ptl_perf_queue *queue, size_t i)
{
    const struct ptl_perf_piece *p = &queue->pieces[i];
    uint64_t before = i ? p[-1].time : 0;

    if (!select_task(&view->options->select, p->pid, p->tid, name_of(view, p)))
        return 0;
    return (!p->time || p->time >= view->window.from) && before <= view->window.to;
}

/* --- pieces ----------------------------------------------------------------------- */

static void number(struct out *out, const char *what, uint32_t value)
{
    if (value != PTL_PERF_ANY)
        out_printf(out, ", %s %u", what, value);
}

static void heading(const struct view *view, const struct ptl_perf_queue *queue, size_t i)
{
    const struct ptl_perf_piece *p = &queue->pieces[i];
    struct out *out = view->out;

    out_printf(out, "[aux %u, piece %zu of %zu: %llx-%llx", queue->idx, i + 1, queue->piece_count,
               (unsigned long long)p->offset, (unsigned long long)p->offset + p->size);
    number(out, "cpu", p->cpu);
    number(out, "pid", p->pid);
    number(out, "tid", p->tid);
    if (p->time)
        out_printf(out, ", until %llu.%09llu", (unsigned long long)(p->time / 1000000000),
                   (unsigned long long)(p->time % 1000000000));
    if (p->joined)
        out_str(out, ", goes on");
    out_str(out, "]\n");
    if (p->missing)
        out_printf(out, "[%llx: %llu bytes of trace before this are not in the file]\n",
                   (unsigned long long)p->offset, (unsigned long long)p->missing);
    if (p->kind == PTL_PIECE_UNTOLD)
        out_printf(out, "[%llx: no AUX record tells of this trace]\n",
                   (unsigned long long)p->offset);
    if (p->trimmed)
        out_printf(out, "[%llx: %llu bytes that the piece before has are left out]\n",
                   (unsigned long long)p->offset, (unsigned long long)p->trimmed);
}

/* What is said of a piece; the summary says what helps. */
static const struct flag_row {
    uint32_t flag;
    const char *name, *text;
} flag_rows[] = {
    {PTL_AUX_TRUNCATED, "TRUNCATED", "the buffer was full: trace is missing behind this"},
    {PTL_AUX_PARTIAL, "PARTIAL", "there are gaps in this: it was interrupted by the hypervisor"},
    {PTL_AUX_COLLISION, "COLLISION", "another user of the processor's trace was in the way"},
    {PTL_AUX_OVERWRITE, "OVERWRITE", "a snapshot: older trace was overwritten"},
};
#define FLAG_ROWS (sizeof(flag_rows) / sizeof(flag_rows[0]))

static void show_flags(const struct view *view, const struct ptl_perf_piece *p)
{
    for (const struct flag_row *row = flag_rows; row < flag_rows + FLAG_ROWS; row++)
        if (p->flags & row->flag)
            out_printf(view->out, "[%llx: %s: %s]\n", (unsigned long long)p->offset + p->size,
                       row->name, row->text);
}

static void json_known(struct json *json, const char *key, uint32_t value)
{
    if (value != PTL_PERF_ANY)
        json_count(json, key, value);
}

/* Heading and flags in one line. */
static void json_heading(const struct view *view, const struct ptl_perf_queue *queue, size_t i)
{
    const struct ptl_perf_piece *p = &queue->pieces[i];
    struct json json;
    char time[32];

    json_begin(&json, view->out, "piece");
    json_count(&json, "aux", queue->idx);
    json_count(&json, "piece", i + 1);
    json_count(&json, "pieces", queue->piece_count);
    json_count(&json, "offset", p->offset);
    json_count(&json, "size", p->size);
    json_known(&json, "cpu", p->cpu);
    json_known(&json, "pid", p->pid);
    json_known(&json, "tid", p->tid);
    if (p->time) {
        snprintf(time, sizeof(time), "%llu.%09llu", (unsigned long long)(p->time / 1000000000),
                 (unsigned long long)(p->time % 1000000000));
        json_string(&json, "until", time);
    }
    json_string(&json, "kind", piece_kind(p->kind));
    json_bool(&json, "joined", p->joined);
    json_count(&json, "missing", p->missing);
    json_count(&json, "trimmed", p->trimmed);
    json_open(&json, "flags", '[');
    for (const struct flag_row *row = flag_rows; row < flag_rows + FLAG_ROWS; row++)
        if (p->flags & row->flag)
            json_string(&json, NULL, row->name);
    json_close(&json, ']');
    json_end(&json);
}

static void begin_piece(struct view *view)
{
    if (view->options->dump.json)
        json_heading(view, view->queue, view->piece);
    else if (!view->options->dump.quiet)
        heading(view, view->queue, view->piece);
}

/* The first packet of --tail: its piece has been waiting for it. */
static void end_hiding(void *context)
{
    begin_piece(context);
}

/* A piece at which a window begins goes on from one that is not selected: decoding begins at the
 * last PSB before it. What comes before the window stays hidden. Returns 0 if there is none. */
static int lead_in(struct view *view, struct dump *dump, size_t i)
{
    const struct ptl_perf_piece *pieces = view->queue->pieces;
    size_t j = i, psb = 0;

    do {
        if (!j || !pieces[j].joined)
            return 0;
        j--;
        psb = ptl_psb_find_last(pieces[j].bytes, pieces[j].size, pieces[j].size);
    } while (psb >= pieces[j].size);
    view->piece = j;
    dump_range(dump, pieces[j].bytes + psb, pieces[j].size - psb, pieces[j].offset + psb);
    while (++j < i) {
        view->piece = j;
        if (pieces[j].size)
            dump_on(dump, pieces[j].bytes, pieces[j].size, pieces[j].offset);
    }
    return 1;
}

/* The file was truncated before it while we read. */
static int is_gone(const struct ptl_perf_piece *p)
{
    return p->size && !ptl_map_left(p->bytes, p->size);
}

/* From a place on. `counting`: nothing is printed. */
static void dump_pieces(struct view *view, struct dump *dump, struct ptl_place from, int counting)
{
    const struct ptl_perf_queue *queue = view->queue;
    int whole = 0; /* the piece before was dumped */

    for (size_t i = from.piece; i < queue->piece_count; i++) {
        const struct ptl_perf_piece *p = &queue->pieces[i];
        uint64_t at = i == from.piece ? from.at : 0;
        if (!selected_piece(view, queue, i) || is_gone(p)) {
            whole = 0;
            continue;
        }
        if (!whole && p->joined && !at && dump->windowed)
            whole = lead_in(view, dump, i);
        view->piece = i;
        if (!dump->hidden)
            begin_piece(view);
        if (p->size && p->joined && whole)
            dump_on(dump, p->bytes, p->size, p->offset);
        else if (p->size)
            dump_range(dump, p->bytes + at, p->size - at, p->offset + at);
        whole = p->size || (whole && p->joined); /* a sample may hold nothing new */
        if (counting)
            continue;
        forget(view, p->bytes + p->size);
        if (!view->options->dump.json && !dump->hidden)
            show_flags(view, p);
        view->shown++;
    }
}

static uint64_t count_packets(void *context, struct ptl_place from)
{
    struct view *view = context;

    dump_hide(&view->counter, UINT64_MAX);
    dump_pieces(view, &view->counter, from, 1);
    return UINT64_MAX - view->counter.hide;
}

static void dump_queue(struct view *view, const struct ptl_perf_queue *queue)
{
    const struct ptl_stream stream = {queue->pieces, queue->piece_count};
    struct ptl_place from = {0, 0};
    uint64_t hide = 0;

    view->queue = queue;
    if (view->options->tail)
        from = tail_find(&stream, view->options->tail, count_packets, view, &hide);
    dump_hide(&view->dump, hide);
    dump_pieces(view, &view->dump, from, 0);
}

static int all_queues(struct view *view)
{
    struct options *options = view->options;
    int with_sideband = options->sideband.print & (SB_PRINT_COMPACT | SB_PRINT_VERBOSE);
    const struct dump_hooks hooks = {.context = view,
                                     .upto = with_sideband ? show_sideband : NULL,
                                     .passed = forget,
                                     .begun = end_hiding,
                                     .sideband = &view->sideband};
    const struct ptl_perf_queue *queues;
    size_t count;

    if (opts_timing_errata(&options->timing, &options->timing.clock.errata))
        dump_unknown_cpu(&options->dump, view->out);
    dump_init(&view->dump, &options->dump, &options->timing.clock, view->out, &hooks);
    dump_init(&view->counter, &options->dump, &options->timing.clock, view->out, NULL);
    view->counter.track = view->counter.tell_time = 0;
    set_window(view);
    queues = ptl_perf_queues(view->perf, &count);
    for (size_t i = 0; i < count; i++) {
        struct ptl_sideband *sideband = NULL;
        int status = 0;
        if (!selected_queue(&options->select, &queues[i]))
            continue;
        if (with_sideband || options->select.comm_count)
            status = queue_sideband(view, &queues[i], &sideband);
        if (status) {
            opts_error(options->prog, "%s", ptl_strstatus(status));
            ptl_sideband_free(sideband);
            return EXIT_NONE;
        }
        memset(&view->sideband, 0, sizeof(view->sideband));
        view->sideband.sb = sideband;
        view->sideband.flags = options_sideband(options) | SB_PRINT_ALL;
        dump_queue(view, &queues[i]);
        if (with_sideband)
            sb_print_rest(&view->sideband, view->out);
        ptl_sideband_free(sideband);
    }
    return EXIT_ALL;
}

/* --- the end ------------------------------------------------------------------------ */

/* What was lost in all, and what helps. `cut`: files that became shorter. Returns the exit status,
 * given that of the dump. */
static int report_losses(const struct view *view, int status, uint64_t cut)
{
    const struct losses_options *options = &view->options->losses;
    unsigned line = view->options->dump.quiet ? 0 : LOSSES_LINE;
    struct ptl_losses losses = {0};

    ptl_losses_recording(&losses, view->perf);
    dump_losses(&view->dump, &losses);
    losses.count[PTL_LOSS_DAMAGED] += cut;
    if (losses_report(options, view->name, &losses, line) && !status)
        status = EXIT_PART;
    return losses_status(options, &losses, status);
}

/* After --list-* and --extract-*: what is in the file has been told or written as it is, so only
 * what is not there counts. */
static int report_extract(const struct view *view, int status)
{
    const struct losses_options *options = &view->options->losses;
    int with_trace = view->options->extract.what & (EXTRACT_AUX | EXTRACT_PIECES);
    uint64_t shortened = mapped_report(view->options->prog);
    struct ptl_losses losses = {0};

    ptl_losses_recording(&losses, view->perf);
    losses.count[PTL_LOSS_DAMAGED] += shortened;
    if (losses_report(options, view->name, &losses, 0) || shortened ||
        (with_trace && losses.count[PTL_LOSS_MISSING]))
        status = EXIT_PART;
    return options->strict ? losses_status(options, &losses, status) : status;
}

static int report_dump(const struct view *view)
{
    const struct dump_result *result = &view->dump.result;
    const char *prog = view->options->prog;

    if (result->unsynced)
        opts_error(prog, "%s: no PSB in %llu piece%s", view->name,
                   (unsigned long long)result->unsynced, result->unsynced == 1 ? "" : "s");
    if (result->cuts)
        opts_error(prog, "%s: 0x%llx: packet cut by the end of its piece (%llu in all)", view->name,
                   (unsigned long long)result->cut_offset, (unsigned long long)result->cuts);
    if (result->errors)
        opts_error(prog, "%s: %llu decode error%s", view->name, (unsigned long long)result->errors,
                   result->errors == 1 ? "" : "s");
    return result->unsynced || result->cuts || result->errors ? EXIT_PART : EXIT_ALL;
}

static int report_problems(const struct view *view)
{
    const struct ptl_perf_problem *problems;
    size_t count;

    problems = ptl_perf_problems(view->perf, &count);
    for (size_t i = 0; i < count; i++)
        opts_error(view->options->prog, "%s: 0x%llx: %s.", view->name,
                   (unsigned long long)problems[i].offset, problems[i].text);
    return count ? EXIT_PART : EXIT_ALL;
}

/* All records, if they are asked for. */
static int print_records(struct view *view)
{
    const struct ptl_perf_queue all = {.cpu = PTL_PERF_ANY};
    struct options *options = view->options;
    struct ptl_sideband *sideband = NULL;
    int status = 0;

    if (!(options->sideband.print & (SB_PRINT_COMPACT | SB_PRINT_VERBOSE)))
        return EXIT_NONE;
    status = queue_sideband(view, &all, &sideband);
    if (status) {
        opts_error(options->prog, "%s", ptl_strstatus(status));
    } else {
        memset(&view->sideband, 0, sizeof(view->sideband));
        view->sideband.sb = sideband;
        view->sideband.flags = options_sideband(options) | SB_PRINT_ALL;
        sb_print_rest(&view->sideband, view->out);
        out_flush(view->out);
    }
    ptl_sideband_free(sideband);
    return status ? EXIT_NONE : EXIT_PART;
}

static int no_trace(struct view *view)
{
    const struct ptl_perf_event *events;
    int status = view->options->extract.what ? EXIT_NONE : print_records(view);
    size_t count;

    events = ptl_perf_events(view->perf, &count);
    opts_error(view->options->prog, "%s: no Intel PT trace in it (%zu event%s%s%s).", view->name,
               count, count == 1 ? "" : "s", count ? ", the first is " : "",
               count ? events[0].name ? events[0].name : "unnamed" : "");
    return status;
}

static int run(struct view *view)
{
    int status = report_problems(view), dumped;
    size_t queues;
    uint64_t cut;

    ptl_perf_queues(view->perf, &queues);
    if (!queues && (!view->options->extract.what ||
                    view->options->extract.what & (EXTRACT_AUX | EXTRACT_PIECES)))
        return no_trace(view);
    if (view->options->extract.what)
        return extract_run(view->options, view->name, view->perf, view->out)
                   ? EXIT_NONE
                   : report_extract(view, status);
    configure(&view->options->timing, view->perf);
    if (find_window(view))
        return EXIT_NONE;
    dumped = all_queues(view);
    if (view->options->dump.json)
        dump_json_summary(view->out, &view->dump.result);
    out_flush(view->out);
    cut = mapped_report(view->options->prog);
    if (!dumped && !view->shown) {
        if (!cut)
            opts_error(view->options->prog, "%s: nothing is selected.", view->name);
        return EXIT_NONE;
    }
    if (!dumped)
        dumped = report_dump(view);
    return report_losses(view, dumped ? dumped : status, cut);
}

/* A whole file, or a directory, that can be opened by its name: then the library itself reads it,
 * and gives memory back. Else NULL. */
static const char *path_of(const struct options *options, const struct infile *file)
{
    int whole;

    if (!file)
        return options->file;
    whole = file->mapped && !file->from && file->len == file->base_len;
    return whole && strcmp(file->name, "-") != 0 ? file->name : NULL;
}

int recording_run(struct options *options, const struct infile *file, struct out *out)
{
    const char *path = path_of(options, file);
    const struct ptl_perf_config config = {.size = sizeof(config), .unzip = &zstd_unzip};
    struct view *view = calloc(1, sizeof(*view));
    struct ptl_perf_problem problem = {0, 0, 0, ""};
    struct ptl_perf *perf = NULL;
    int status = EXIT_NONE, failed;

    if (!view) {
        opts_error(options->prog, "out of memory");
        return EXIT_NONE;
    }
    view->options = options;
    view->name = file ? file->name : options->file;
    view->out = out;
    if (path)
        failed = ptl_perf_open(&perf, path, &config, &problem);
    else
        failed = ptl_perf_open_memory(&perf, file->bytes, file->len, &config, &problem);
    if (failed) {
        opts_error(options->prog, "%s: %s%s%s.", view->name, problem.text, problem.err ? ": " : "",
                   problem.err ? strerror(problem.err) : "");
    } else {
        view->perf = perf;
        status = run(view);
    }
    ptl_perf_close(perf);
    free(view);
    return status;
}
