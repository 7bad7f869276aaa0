/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk.c - one pass over all records for structure: cuts streams into segments, unzips,
 * collects what perf's own records say. Records of the kernel are only stepped over.
 *
 * COMPRESSED records are pieces of one endless zstd stream per file; a record of the
 * kernel may begin in one piece and end in the next, so that a segment is what is whole
 * after a piece.
 */
#include "perfdata/internal.h"
#include "perfdata/skim.h"

#include <pt/io.h>

#define UNZIP_BLOCK ((size_t)128 << 10)
#define PEEK        4096
#define LONG_TRACE  ((uint64_t)128 << 10)
#define PLACES_MAX  ((size_t)1 << 18)

/* How far the unzipped bytes hold whole records. */
struct framing {
    uint64_t whole; /* offset in the spill behind the last whole record */
    uint64_t seen;
    uint8_t header[PTL_RECORD_HEADER];
    size_t header_len;
    size_t need; /* bytes of the current record still to come */
    uint8_t bad;
};

struct walk {
    struct ptl_perf *perf;
    struct stream *stream;
    struct framing framing;
    uint8_t *block; /* UNZIP_BLOCK bytes */
    uint64_t raw;   /* where the raw segment being built begins */
    /* Records behind a long trace, read because mapping a page for them would cost more. */
    uint64_t peek_at;
    size_t peek_len;
    uint8_t peek[PEEK];
    struct ptl__look look;
};

uint64_t ptl__perf_behind(const uint8_t *bytes, size_t size)
{
    switch (ptl__load32(bytes)) {
    case PTL_REC_AUXTRACE:
        return size >= 16 ? ptl__load64(bytes + 8) : 0;
    case PTL_REC_HEADER_TRACING_DATA:
        return size >= 12 ? ((uint64_t)ptl__load32(bytes + 8) + 7) & ~(uint64_t)7 : 0;
    default:
        return 0;
    }
}

/* --- segments --------------------------------------------------------------- */

/* The bytes from `at` on, if they have been read; else NULL. */
static const uint8_t *peeked(const struct walk *w, uint64_t at, uint64_t len)
{
    uint64_t from = at - w->peek_at;

    return at >= w->peek_at && from < w->peek_len && len <= w->peek_len - from ? w->peek + from
                                                                               : NULL;
}

static int close_raw(struct walk *w, uint64_t at)
{
    struct ptl_perf *perf = w->perf;
    const uint8_t *copy;
    struct segment *s;

    if (at == w->raw)
        return 0;
    if (GROW(perf->segments, perf->segment_cap, perf->segment_count))
        return PTL_NOMEM;
    s = &perf->segments[perf->segment_count++];
    memset(s, 0, sizeof(*s));
    s->bytes = w->stream->view.bytes + w->raw;
    s->len = at - w->raw;
    s->file = w->raw;
    s->stream = w->stream->number;
    copy = peeked(w, w->raw, s->len);
    if (!copy)
        return 0;
    s->copied = 1;
    s->spilled = perf->copies.len;
    return ptl__spill_add(&perf->copies, perf->tmpdir, copy, s->len);
}

/* The record at `at`: where it has been read, if all of it was. */
static const uint8_t *record_at(struct walk *w, uint64_t at)
{
    uint64_t left = w->stream->end - at;
    const uint8_t *p = peeked(w, at, PTL_RECORD_HEADER);
    size_t size;

    if (p && peeked(w, at, ptl__load16(p + 6)))
        return p;
    p = ptl__look(&w->look, &w->stream->view, at,
                  left < PTL_RECORD_HEADER ? (size_t)left : PTL_RECORD_HEADER);
    if (left < PTL_RECORD_HEADER || ptl__load32(p) < PTL_REC_USER)
        return p;
    size = ptl__load16(p + 6);
    return ptl__look(&w->look, &w->stream->view, at, size < left ? size : (size_t)left);
}

/* Behind the record that ends at `at` lies a long trace, up to `next`: what comes then is read. */
static int skip_trace(struct walk *w, uint64_t at, uint64_t next)
{
    int status = close_raw(w, at);

    w->raw = next;
    w->peek_at = next;
    w->peek_len = ptl__view_read(&w->stream->view, next, w->peek, sizeof(w->peek));
    return status;
}

static void frame(struct framing *f, const uint8_t *p, size_t n)
{
    while (n && !f->bad) {
        size_t part;
        if (!f->need) {
            part = PTL_RECORD_HEADER - f->header_len;
            part = part < n ? part : n;
            memcpy(f->header + f->header_len, p, part);
            f->header_len += part;
            if (f->header_len == PTL_RECORD_HEADER) {
                uint16_t size = ptl__load16(f->header + 6);
                f->header_len = 0;
                f->bad = size < PTL_RECORD_HEADER;
                f->need = f->bad ? 0 : size - PTL_RECORD_HEADER;
                if (!f->need && !f->bad)
                    f->whole = f->seen + part;
            }
        } else {
            part = f->need < n ? f->need : n;
            f->need -= part;
            if (!f->need)
                f->whole = f->seen + part;
        }
        f->seen += part;
        p += part;
        n -= part;
    }
}

static int unzip_refused(struct walk *w, uint64_t at, const char *why)
{
    if (!w->perf->unzip_refused)
        ptl__perf_complain(w->perf, PTL_NOT_SUPPORTED, at, "compressed records are left out: %s",
                           why);
    w->perf->unzip_refused = 1;
    return 0;
}

static int unzip(struct walk *w, uint64_t at, struct ptl_span in)
{
    struct ptl_perf *perf = w->perf;
    struct segment *s;
    uint64_t begin = w->framing.whole;

    if (perf->unzip_refused)
        return 0;
    if (!perf->unzip)
        return unzip_refused(w, at, "no decompressor is configured");
    if (!w->block)
        w->block = ptl__malloc(UNZIP_BLOCK);
    if (!perf->unzipping)
        perf->unzipping = perf->unzip->open(perf->unzip->context);
    if (!perf->unzipping || !w->block)
        return PTL_NOMEM;
    for (;;) {
        size_t left = in.len;
        int64_t n = perf->unzip->feed(perf->unzipping, &in.bytes, &left, w->block, UNZIP_BLOCK);
        in.len = left;
        if (n < 0)
            return unzip_refused(w, at, "the compressed stream is damaged");
        if (!n)
            break;
        if (ptl__spill_add(&perf->spill, perf->tmpdir, w->block, (size_t)n))
            return unzip_refused(w, at, "no room for them in the temporary directory");
        frame(&w->framing, w->block, (size_t)n);
        if (w->framing.bad)
            return unzip_refused(w, at, "the unzipped bytes are no records");
    }
    if (w->framing.whole == begin)
        return 0;
    if (GROW(perf->segments, perf->segment_cap, perf->segment_count))
        return PTL_NOMEM;
    perf->unindexed = 1;
    s = &perf->segments[perf->segment_count++];
    memset(s, 0, sizeof(*s));
    s->spilled = begin;
    s->len = w->framing.whole - begin;
    s->file = at;
    s->stream = w->stream->number;
    s->unzipped = 1;
    return 0;
}

/* --- perf's own records -------------------------------------------------------- */

static int add_buffer(struct walk *w, const struct ptl_rec_auxtrace *aux, uint64_t at, size_t size)
{
    struct ptl_perf *perf = w->perf;
    struct ptl_perf_buffer *b;
    uint64_t left = w->stream->end - at - size;

    if (GROW(perf->buffers, perf->buffer_cap, perf->buffer_count))
        return PTL_NOMEM;
    b = &perf->buffers[perf->buffer_count++];
    memset(b, 0, sizeof(*b));
    b->bytes = w->stream->view.bytes + at + size;
    b->size = aux->size < left ? aux->size : left;
    b->offset = aux->offset;
    b->reference = aux->reference;
    b->record = at;
    b->file = at + size;
    b->queue = aux->idx; /* the index of the queue later (aux.c) */
    b->cpu = aux->cpu;
    b->tid = aux->tid;
    return 0;
}

static const char *trace_name(uint32_t type)
{
    static const char *const names[] = {"nothing", "Intel PT",   "Intel BTS",    "Arm CoreSight",
                                        "Arm SPE", "IBM Z CPUM", "HiSilicon PTT"};
    return type < sizeof(names) / sizeof(names[0]) ? names[type] : "an unknown kind";
}

static void add_info(struct walk *w, const struct ptl_record *record, uint64_t at)
{
    struct ptl_perf *perf = w->perf;
    uint32_t type = record->u.auxtrace_info.type;

    if (type != PTL_AUXTRACE_PT) {
        ptl__perf_complain(perf, PTL_NOT_SUPPORTED, at, "the trace is of %s, not Intel PT",
                           trace_name(type));
        return;
    }
    if (ptl_pt_info_decode(&perf->pt.info, record)) {
        ptl__perf_complain(perf, PTL_NOSYNC, at, "the description of the trace is too short");
        return;
    }
    perf->have_pt = 1;
}

static int add_index(struct ptl_perf *perf, const struct ptl_record *record)
{
    struct ptl_id_index_entry e;

    for (uint64_t i = 0; !ptl_id_index_get(record, i, &e); i++) {
        if (GROW(perf->index_rows, perf->index_cap, perf->index_count))
            return PTL_NOMEM;
        perf->index_rows[perf->index_count++] = (struct index_row){e.id, (uint32_t)e.idx};
    }
    return 0;
}

/* EVENT_UPDATE type 2: a name. */
static int add_name(struct ptl_perf *perf, const struct ptl_record *record)
{
    const struct ptl_span *data = &record->u.event_update.data;

    if (record->u.event_update.type != 2)
        return 0;
    for (size_t i = 0, id = 0; i < perf->set.count; id += perf->set.events[i++].id_count)
        for (size_t k = 0; k < perf->set.events[i].id_count; k++)
            if (perf->set.ids[id + k] == record->u.event_update.id && !perf->set.events[i].name) {
                perf->set.events[i].name = ptl__perf_text(perf, data->bytes, data->len);
                return perf->set.events[i].name ? 0 : PTL_NOMEM;
            }
    return 0;
}

static int user_record(struct walk *w, const struct ptl_record *r, uint64_t at, size_t size)
{
    struct ptl_perf *perf = w->perf;

    switch (r->type) {
    case PTL_REC_HEADER_ATTR:
        return ptl__events_add(&perf->set, &r->u.header_attr.attr, r->u.header_attr.ids.bytes,
                               r->u.header_attr.ids.len / 8, w->stream->view.len / 8);
    case PTL_REC_HEADER_FEATURE:
        if (r->u.feature.feature < PTL_FEAT_MAX)
            perf->features[r->u.feature.feature] =
                (struct feature){r->u.feature.data.bytes, r->u.feature.data.len};
        return 0;
    case PTL_REC_HEADER_BUILD_ID:
        return ptl__perf_add_build_id(perf, w->stream->view.bytes + at, size);
    case PTL_REC_EVENT_UPDATE:
        return add_name(perf, r);
    case PTL_REC_ID_INDEX:
        return add_index(perf, r);
    case PTL_REC_TIME_CONV:
        perf->time_conv = r->u.time_conv;
        return 0;
    case PTL_REC_AUXTRACE_INFO:
        add_info(w, r, at);
        return 0;
    case PTL_REC_AUXTRACE:
        return add_buffer(w, &r->u.auxtrace, at, size);
    default:
        return 0;
    }
}

/* --- the pass -------------------------------------------------------------------- */

static int is_compressed(uint32_t type)
{
    return type == PTL_REC_COMPRESSED || type == PTL_REC_COMPRESSED2;
}

/* Do we go on to use bytes of such records? They are few. */
static int is_kept(uint32_t type)
{
    return type == PTL_REC_HEADER_ATTR || type == PTL_REC_HEADER_FEATURE ||
           type == PTL_REC_HEADER_BUILD_ID || type == PTL_REC_EVENT_UPDATE ||
           type == PTL_REC_AUXTRACE_INFO || is_compressed(type);
}

static int one_user(struct walk *w, uint64_t at, size_t size, uint64_t next)
{
    struct ptl_record record;
    const uint8_t *p = record_at(w, at);
    uint32_t type = ptl__load32(p);
    int status;

    if (is_kept(type))
        p = w->stream->view.bytes + at;
    status = ptl_record_decode(&record, p, size, NULL);
    if (status < 0) {
        ptl__perf_complain(w->perf, status, at, "a record of type %u does not have the size of one",
                           record.type);
        return 0;
    }
    if (!is_compressed(record.type))
        return user_record(w, &record, at, size);
    status = close_raw(w, at);
    w->raw = next;
    return status ? status : unzip(w, at, record.u.compressed);
}

/* A record of the kernel, in the segment that is being built. */
static int one_plain(struct walk *w, uint64_t at, uint32_t type)
{
    struct ptl_perf *perf = w->perf;

    perf->plain++;
    if (!(PTL__SKIM_INDEXED >> (type & 63) & 1) || perf->unindexed)
        return 0;
    if (perf->place_count == PLACES_MAX) {
        perf->unindexed = 1;
        return 0;
    }
    if (GROW(perf->places, perf->place_cap, perf->place_count))
        return PTL_NOMEM;
    perf->places[perf->place_count++] = (struct place_row){at - w->raw, perf->segment_count};
    return 0;
}

static void damaged(struct walk *w, uint64_t at, int size)
{
    struct ptl_perf *perf = w->perf;

    if (size == PTL_BAD_PACKET)
        ptl__perf_complain(perf, PTL_BAD_PACKET, at,
                           "no record begins here; what follows (%llu bytes) is left out",
                           (unsigned long long)(w->stream->end - at));
    else
        ptl__perf_complain(perf, PTL_TRUNCATED, at, "the last record is cut after %llu bytes",
                           (unsigned long long)(w->stream->end - at));
}

static int walk_stream(struct walk *w)
{
    uint64_t at = w->stream->begin, end = w->stream->end;
    int status;

    w->raw = at;
    w->framing.whole = w->framing.seen = w->perf->spill.len;
    while (at < end) {
        const uint8_t *p = record_at(w, at);
        int size = ptl_record_size(p, end - at);
        uint64_t behind, next;
        uint32_t type;
        if (size < 0) {
            damaged(w, at, size);
            break;
        }
        behind = ptl__perf_behind(p, (size_t)size);
        next = at + (uint64_t)size;
        if (behind > end - next) {
            ptl__perf_complain(w->perf, PTL_TRUNCATED, next,
                               "%llu of %llu bytes of trace are there",
                               (unsigned long long)(end - next), (unsigned long long)behind);
            behind = end - next;
        }
        type = ptl__load32(p);
        status = type >= PTL_REC_USER ? one_user(w, at, (size_t)size, next + behind)
                                      : one_plain(w, at, type);
        if (!status && behind >= LONG_TRACE && w->stream->view.file)
            status = skip_trace(w, next, next + behind);
        else
            ptl__view_pass(&w->stream->view, at, next + behind);
        if (status)
            return status;
        at = next + behind;
    }
    return at > w->raw ? close_raw(w, at) : 0;
}

int ptl__perf_walk(struct ptl_perf *perf)
{
    int status = 0;

    struct walk *w = ptl__malloc(sizeof(*w));

    if (!w)
        return PTL_NOMEM;
    for (size_t i = 0; i < perf->stream_count && !status; i++) {
        memset(w, 0, sizeof(*w));
        w->perf = perf;
        w->stream = &perf->streams[i];
        status = walk_stream(w);
        if (w->framing.need || w->framing.header_len)
            ptl__perf_complain(perf, PTL_TRUNCATED, perf->streams[i].end,
                               "the last compressed record is cut");
        if (perf->unzipping)
            perf->unzip->close(perf->unzipping);
        perf->unzipping = NULL;
        ptl__free(w->block);
    }
    ptl__free(w);
    return status;
}

/* --- iterating ---------------------------------------------------------------------- */

/* The pages that hold trace, and records that were read, need not stay in memory. */
static void pass(const struct ptl_perf *perf, const struct segment *s, uint64_t from, uint64_t to)
{
    for (size_t i = 0; i < perf->stream_count && from / PASS_STEP != to / PASS_STEP; i++)
        if (perf->streams[i].number == s->stream)
            ptl__view_pass(&perf->streams[i].view, from, to);
}

void ptl_perf_release(const struct ptl_perf *perf, const uint8_t *bytes, uint64_t len)
{
    int found = ptl__view_release(&perf->joins.view, bytes, len);

    for (size_t i = 0; i < perf->stream_count && !found; i++)
        found = ptl__view_release(&perf->streams[i].view, bytes, len);
}

int ptl_perf_next(const struct ptl_perf *perf, struct ptl_perf_iter *iter,
                  struct ptl_perf_record *record)
{
    while (iter->segment < perf->segment_count) {
        const struct segment *s = &perf->segments[iter->segment];
        const uint8_t *p = s->bytes + iter->at;
        int size = iter->at < s->len ? ptl_record_size(p, s->len - iter->at) : PTL_EOS;
        int status;

        if (size < 0) {
            iter->segment++;
            iter->at = 0;
            continue;
        }
        if (ptl_map_left(p, (size_t)size) < (size_t)size) {
            iter->segment++; /* the file has become shorter */
            iter->at = 0;
            continue;
        }
        memset(record, 0, sizeof(*record));
        record->bytes = p;
        record->stream = s->stream;
        record->offset = s->unzipped ? s->file : s->file + iter->at;
        if (ptl__load32(p) < PTL_REC_USER)
            record->event = ptl__events_writer(&perf->set, p, (size_t)size);
        status = ptl_record_decode(&record->record, p, (size_t)size,
                                   record->event ? &record->event->layout : NULL);
        record->status = status < 0 ? status : 0;
        iter->at += (uint64_t)size;
        if (!s->unzipped) {
            uint64_t behind = ptl__perf_behind(p, (size_t)size), left = s->len - iter->at;
            iter->at += behind < left ? behind : left;
            if (!s->copied)
                pass(perf, s, record->offset, s->file + iter->at);
        }
        return 1;
    }
    return 0;
}
