/* SPDX-License-Identifier: BSD-3-Clause */
/* strand.c - see strand.h. */
#include "strand.h"

#include "coverage.h"
#include "json.h"
#include "plain.h"

#include <pt/io.h>
#include <stdio.h>
#include <stdlib.h>

void strand_init(struct strand *s, const struct recording *rec, struct printer *printer)
{
    memset(s, 0, sizeof(*s));
    s->rec = rec;
    s->printer = printer;
    s->index = UINT32_MAX;
}

void strand_close(struct strand *s)
{
    coverage_take(s->printer, s->decoder);
    ptl_decoder_free(s->decoder);
    report_clear(&s->found.report);
}

/* --- what is said between items ----------------------------------------------------------- */

static int is_quiet(const struct strand *s)
{
    return s->muted || (s->rec->x->print & PRINT_QUIET);
}

/* "[cpu: 3]", or with JSON {"type":"stream","cpu":3} */
static void say_stream(const struct strand *s, const char *what, uint32_t n)
{
    struct out *out = &s->printer->out;
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

static void say_lost(const struct strand *s, const char *what)
{
    struct out *out = &s->printer->out;
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

/* What the recorder lost before a piece, and in the one that has ended. */
static void say_missing(const struct strand *s, size_t piece)
{
    char what[32];

    snprintf(what, sizeof(what), "%llu bytes", (unsigned long long)s->queue->pieces[piece].missing);
    if (s->queue->pieces[piece].missing)
        say_lost(s, what);
}

static void say_flags(const struct strand *s, size_t piece)
{
    uint32_t flags = s->queue->pieces[piece].flags;

    if (flags & PTL_AUX_TRUNCATED)
        say_lost(s, "buffer full");
    if (flags & PTL_AUX_PARTIAL)
        say_lost(s, "partial");
    if (flags & PTL_AUX_COLLISION)
        say_lost(s, "collision");
}

/* --- reading items -------------------------------------------------------------------------- */

/* Get ready for another queue. */
static int open_queue(struct strand *s, uint32_t index)
{
    const struct recording *rec = s->rec;
    size_t count;
    int status;

    coverage_take(s->printer, s->decoder);
    ptl_decoder_free(s->decoder);
    s->decoder = NULL;
    if (s->printer->style.memory)
        lines_forget(s->printer->style.memory);
    status = ptl_decoder_new(&s->decoder, rec->session, index);
    if (status < 0)
        return status;
    ptl_flow_on_free(ptl_decoder_flow(s->decoder), lines_free);
    s->index = index;
    s->queue = &ptl_perf_queues(ptl_session_perf(rec->session), &count)[index];
    s->sb = ptl_session_sideband(rec->session, index);
    s->state = (struct strand_state){
        .pid = UINT32_MAX, .tid = UINT32_MAX, .shown = !rec->by_task, .in_window = !rec->from};
    s->between = marks_begin(&rec->x->marks);
    s->begun = s->have_lead = 0;
    s->path.valid = 0;
    s->sideband = (struct sb_print){0};
    if (!rec->x->sideband.print) /* else problems are reported once, at the end */
        return 0;
    s->sideband = (struct sb_print){.sb = s->sb, .flags = ptxed_sideband(rec->x) | SB_PRINT_ALL};
    /* Records of other CPUs are shown with those, or by time if all are merged. */
    s->sideband.by_cpu =
        !rec->x->recording.merge && rec->queues > 1 && s->queue->cpu != PTL_PERF_ANY;
    s->sideband.cpu = s->queue->cpu;
    return 0;
}

/* Is the last packet of the piece cut, with nothing that could be its other half? */
static void count_cut(const struct strand *s, size_t piece)
{
    const struct ptl_perf_piece *p = &s->queue->pieces[piece];
    uint64_t at = ptl_flow_offset(ptl_decoder_flow(s->decoder)) - p->offset, size;
    struct ptl_packet packet;

    size = ptl_map_left(p->bytes, p->size);
    if (!s->muted && at < size && !ptl_decoder_goes_on(s->decoder, piece + 1) &&
        ptl_packet_decode(&packet, p->bytes + at, (size_t)(size - at), 0) == PTL_EOS)
        s->printer->stats.losses.count[PTL_LOSS_CUT]++;
}

static void count_unsynced(const struct strand *s, size_t piece)
{
    const struct ptl_perf_piece *p = &s->queue->pieces[piece];
    size_t size = ptl_map_left(p->bytes, p->size); /* a piece that is gone counts elsewhere */

    if (!s->muted && size && !ptl_decoder_goes_on(s->decoder, piece) &&
        ptl_psb_find(p->bytes, size, 0) == size)
        s->printer->stats.losses.count[PTL_LOSS_UNSYNCED]++;
}

/* From one piece to the next. Returns 1, 0 at the end of the segment, or PTL_NOMEM. */
static int next_piece(struct strand *s)
{
    size_t next = ptl_decoder_next_piece(s->decoder), count = s->queue->piece_count;

    if (s->begun && (next != SIZE_MAX || s->to_end)) {
        say_flags(s, (next != SIZE_MAX ? next : count) - 1);
        count_cut(s, (next != SIZE_MAX ? next : count) - 1);
    }
    if (next == SIZE_MAX)
        return 0;
    say_missing(s, next);
    count_unsynced(s, next);
    s->begun = 1;
    return ptl_decoder_piece(s->decoder, next) < 0 ? PTL_NOMEM : 1;
}

/* Is there an item? Returns 1, 0 at the end of the segment, or a negative status. */
static int have_item(struct strand *s)
{
    int status = 1;

    while (s->i == s->n && status > 0) {
        s->i = 0;
        s->n = s->begun ? ptl_flow_next(ptl_decoder_flow(s->decoder), s->items, STRAND_BATCH) : 0;
        if (s->n < 0)
            return s->n;
        if (s->n == 0)
            status = next_piece(s);
        else
            ptl_decoder_release(s->decoder);
    }
    return status;
}

/* --- printing items -------------------------------------------------------------------------- */

static const char *comm_of(const struct strand *s)
{
    return ptl_sideband_comm(s->sb, s->state.tid, s->time);
}

/* The same as fields of JSON. */
static size_t json_lead(struct strand *s, char *buf, size_t size)
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
    if (fields & FIELD_PID && s->state.pid != UINT32_MAX)
        json_count(&json, "pid", s->state.pid);
    if (fields & FIELD_TID && s->state.tid != UINT32_MAX)
        json_count(&json, "tid", s->state.tid);
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
static void make_lead(struct strand *s)
{
    const struct recording *rec = s->rec;
    unsigned fields = rec->x->recording.fields;
    uint64_t ns = ptl_session_ns(rec->session, s->time);
    const char *comm = fields & FIELD_COMM ? comm_of(s) : NULL;
    char *p = s->lead, *end = s->lead + sizeof(s->lead);

    if (fields & FIELD_COMM) {
        p += snprintf(p, (size_t)(end - p), "%.16s ", comm ? comm : "?");
        plain_mask(s->lead);
    }
    if (fields & FIELD_PID)
        p += snprintf(p, (size_t)(end - p), "%d%s", (int)s->state.pid,
                      fields & FIELD_TID ? "/" : " ");
    if (fields & FIELD_TID)
        p += snprintf(p, (size_t)(end - p), "%d ", (int)s->state.tid);
    if (fields & FIELD_CPU && s->queue->cpu == PTL_PERF_ANY)
        p += snprintf(p, (size_t)(end - p), "[---] ");
    else if (fields & FIELD_CPU)
        p += snprintf(p, (size_t)(end - p), "[%03u] ", s->queue->cpu);
    if (fields & FIELD_TIME)
        p += snprintf(p, (size_t)(end - p), "%llu.%09llu: ", (unsigned long long)(ns / 1000000000),
                      (unsigned long long)(ns % 1000000000));
    s->lead_len = (size_t)(p - s->lead);
    if (rec->x->print & PRINT_JSON)
        s->lead_len = json_lead(s, s->lead, sizeof(s->lead));
    s->have_lead = 1;
    s->lead_for = s->time;
}

static void update_lead(struct strand *s)
{
    if (!s->rec->x->recording.fields)
        return;
    if (!s->have_lead || s->lead_for != s->time)
        make_lead(s);
    s->printer->lead = s->lead;
    s->printer->lead_len = s->lead_len;
}

/* The task changes, and with it what is shown. */
static void on_context(struct strand *s, const struct ptl_event *event)
{
    s->state.pid = event->u.context.pid;
    s->state.tid = event->u.context.tid;
    s->have_lead = 0;
    if (s->rec->by_task)
        s->state.shown =
            select_task(&s->rec->x->recording.select, s->state.pid, s->state.tid, comm_of(s));
}

/* An end that the next piece goes on from is none. */
static int is_false_end(const struct strand *s, const struct ptl_item *item)
{
    size_t next;

    if (item->kind != PTL_ITEM_END)
        return 0;
    next = ptl_decoder_next_piece(s->decoder);
    return next != SIZE_MAX && ptl_decoder_goes_on(s->decoder, next);
}

/* What the item says about those that follow. */
static void listen(struct strand *s, const struct ptl_item *item)
{
    s->time = item->tsc;
    if (item->kind == PTL_ITEM_EVENT && item->u.event->type == PTL_EV_CONTEXT)
        on_context(s, item->u.event);
    if (!s->state.in_window)
        s->state.in_window = item->tsc >= s->rec->from;
}

static void report(struct strand *s, const struct ptl_error *error)
{
    if (error->status == PTL_NOMAP)
        report_missing(&s->found.report, s->sb, s->state.pid, error->ip);
    else
        report_error(&s->found.report, s->rec->session, error->ip);
}

static int is_hidden(const struct strand *s, const struct ptl_item *item)
{
    return is_false_end(s, item) || (s->rec->x->hide_ticks && item->kind == PTL_ITEM_EVENT &&
                                     item->u.event->type == PTL_EV_TICK);
}

static int print_one(struct strand *s, const struct ptl_item *item)
{
    struct printer *p = s->printer;
    int status = 0;

    listen(s, item);
    if (item->kind == PTL_ITEM_EVENT)
        s->found.syncs += item->u.event->type == PTL_EV_SYNC;
    if (s->state.shown && s->state.in_window && !is_hidden(s, item)) {
        if (item->kind == PTL_ITEM_ERROR)
            report(s, item->u.error);
        s->found.any = 1;
        update_lead(s);
        p->skip = s->skip;
        p->between = &s->between;
        p->path = &s->path;
        status = print_item(p, item);
        s->skip = p->skip;
        p->skip = 0;
    } else if (!s->state.shown || !s->state.in_window) {
        s->path.valid = 0; /* no edge leads over what is not shown */
    }
    if (item->kind == PTL_ITEM_EVENT)
        sb_print_until(&s->sideband, &p->out, item->tsc);
    return status == 0 && p->out.error ? PTL_IO : status;
}

/* Behind the window nothing more comes, and before the first segment there is nothing yet. */
int strand_item(struct strand *s)
{
    int status = s->over || !s->decoder ? 0 : have_item(s);

    if (status > 0 && s->items[s->i].tsc > s->rec->to) {
        s->over = 1;
        status = 0;
    }
    return status;
}

/* Blocks that say nothing about what follows, and that lines alone are printed of. */
static void print_blocks(struct strand *s)
{
    int done;

    if (!s->state.shown || !s->state.in_window || s->skip || s->rec->x->recording.fields ||
        s->rec->to != UINT64_MAX)
        return;
    done = print_plain(s->printer, s->items + s->i, s->n - s->i);
    if (!done)
        return;
    s->i += done;
    s->time = s->items[s->i - 1].tsc;
    s->found.any = 1;
}

int strand_print(struct strand *s)
{
    return print_one(s, &s->items[s->i++]);
}

int strand_print_all(struct strand *s)
{
    int status;

    while ((status = strand_item(s)) > 0) {
        print_blocks(s);
        if (s->i < s->n)
            status = strand_print(s);
        if (status < 0)
            return status;
    }
    return status;
}

void strand_heading(const struct strand *s)
{
    if (s->rec->queues < 2 || s->rec->x->recording.fields)
        return;
    if (s->queue->cpu != PTL_PERF_ANY)
        say_stream(s, "cpu", s->queue->cpu);
    else
        say_stream(s, "tid", s->queue->tid);
}

/* --- segments ------------------------------------------------------------------------------ */

/* From the PSB before it to the beginning of the segment. */
static int warm_up(struct strand *s, const struct ptl_segment *segment)
{
    int status = ptl_decoder_start(s->decoder, segment->warm, segment->begin);

    s->begun = s->muted = 1;
    if (status == 0)
        while ((status = have_item(s)) > 0)
            listen(s, &s->items[s->i++]);
    s->muted = 0;
    return status;
}

int strand_enter(struct strand *s, const struct jobs_segment *segment)
{
    const struct ptl_segment *part = &segment->part;
    int at_start = !part->begin.piece && !part->begin.at, status = 0;

    if (segment->stream != s->index || at_start)
        status = open_queue(s, segment->stream);
    s->n = s->i = s->over = s->to_end = 0;
    s->skip = segment->skip;
    if (status == 0 && !at_start && part->begin.piece < s->queue->piece_count)
        status = warm_up(s, part);
    return status;
}

void strand_extend(struct strand *s, const struct ptl_segment *part)
{
    s->to_end = part->end.piece == s->queue->piece_count;
    ptl_decoder_extend(s->decoder, part->end);
}
