/* SPDX-License-Identifier: BSD-3-Clause */
/* writer_header.c - header, attrs and feature table (layout: header.c). */
#include "perfdata/writer.h"

#include <errno.h>
#include <unistd.h>

#define ENTRY_SIZE (PTL_ATTR_SIZE + 16)

/* Entries have one size, which no perf may find too large: larger attrs are cut. */
static int put_attr(struct bytebuf *b, const struct ptl_attr *attr)
{
    struct ptl_attr cut = *attr;
    uint8_t bytes[PTL_ATTR_SIZE] = {0};

    if (!cut.size || cut.size > PTL_ATTR_SIZE)
        cut.size = PTL_ATTR_SIZE;
    if (ptl_attr_encode(bytes, sizeof(bytes), &cut) < 0)
        return PTL_INVALID;
    bytebuf_put(b, bytes, sizeof(bytes));
    return 0;
}

/* --- features that the writer makes --------------------------------------------- */

static void event_desc(struct ptl_perf_writer *w, struct bytebuf *b)
{
    bytebuf_putn(b, w->set.count, 4);
    bytebuf_putn(b, PTL_ATTR_SIZE, 4);
    for (size_t i = 0; i < w->set.count; i++) {
        const struct ptl_perf_event *event = &w->set.events[i];
        if (put_attr(b, &event->attr))
            b->bad = 1;
        bytebuf_putn(b, event->id_count, 4);
        bytebuf_text(b, w->names[i] ? w->names[i] : "");
        for (size_t k = 0; k < event->id_count; k++)
            bytebuf_putn(b, event->ids[k], 8);
    }
}

static void compressed(struct ptl_perf_writer *w, struct bytebuf *b)
{
    bytebuf_putn(b, 0, 4); /* version */
    bytebuf_putn(b, 1, 4); /* zstd */
    bytebuf_putn(b, w->zip->level, 4);
    bytebuf_putn(b, w->zip_out ? (w->zip_in + w->zip_out / 2) / w->zip_out : 1, 4);
    bytebuf_putn(b, w->mmap_len, 4);
}

static void make(struct ptl_perf_writer *w, unsigned feature,
                 void (*fill)(struct ptl_perf_writer *w, struct bytebuf *b))
{
    w->features[feature].len = 0;
    fill(w, &w->features[feature]);
    w->have[feature] = 1;
}

static void build_ids(struct ptl_perf_writer *w, struct bytebuf *b)
{
    bytebuf_put(b, w->build_ids.bytes, w->build_ids.len);
}

/* u64 n; n times {u64 offset, u64 size}: where the AUXTRACE records are. */
static void aux_index(struct ptl_perf_writer *w, struct bytebuf *b)
{
    bytebuf_putn(b, w->index.len / 16, 8);
    bytebuf_put(b, w->index.bytes, w->index.len);
}

static void sample_time(struct ptl_perf_writer *w, struct bytebuf *b)
{
    bytebuf_putn(b, w->first_time, 8);
    bytebuf_putn(b, w->last_time, 8);
}

/* What is known before the first record; `b` is the file from HEADER_SIZE on. */
static void place_features(struct ptl_perf_writer *w, struct bytebuf *b)
{
    static const uint8_t zero[8];

    make(w, PTL_FEAT_EVENT_DESC, event_desc);
    if (w->zip)
        make(w, PTL_FEAT_COMPRESSED, compressed);
    for (unsigned i = 0; i < FEATURES; i++) {
        if (!w->have[i])
            continue;
        w->placed[i] = HEADER_SIZE + b->len;
        bytebuf_put(b, w->features[i].bytes, w->features[i].len);
        b->bad |= w->features[i].bad;
    }
    bytebuf_put(b, zero, -b->len % 8);
}

/* Ids, attrs and features behind the header; the data follow. */
int ptl__writer_attrs(struct ptl_perf_writer *w)
{
    struct bytebuf b = {0};
    uint64_t ids_at = HEADER_SIZE;
    int status = 0;

    for (size_t i = 0; i < w->set.id_count; i++)
        bytebuf_putn(&b, w->set.ids[i], 8);
    w->attrs_at = HEADER_SIZE + b.len;
    for (size_t i = 0; i < w->set.count && !status; i++) {
        status = put_attr(&b, &w->set.events[i].attr);
        bytebuf_putn(&b, ids_at, 8);
        bytebuf_putn(&b, 8 * w->set.events[i].id_count, 8);
        ids_at += 8 * w->set.events[i].id_count;
    }
    place_features(w, &b);
    if (!status && b.bad)
        status = PTL_NOMEM;
    if (!status)
        status = ptl__writer_at(w, b.bytes, b.len, HEADER_SIZE);
    w->data_at = w->told = w->at = HEADER_SIZE + b.len;
    bytebuf_free(&b);
    return status;
}

int ptl__writer_header(struct ptl_perf_writer *w, uint64_t features)
{
    uint8_t bytes[HEADER_SIZE] = "PERFILE2";

    ptl__storen(bytes + 8, HEADER_SIZE, 8);
    ptl__storen(bytes + 16, ENTRY_SIZE, 8);
    ptl__storen(bytes + 24, w->attrs_at, 8);
    ptl__storen(bytes + 32, w->set.count * ENTRY_SIZE, 8);
    ptl__storen(bytes + 40, w->data_at, 8);
    ptl__storen(bytes + 48, w->told - w->data_at, 8);
    ptl__storen(bytes + 72, features, 8);
    return ptl__writer_at(w, bytes, sizeof(bytes), 0);
}

/* --- tables ------------------------------------------------------------------ */

static void make_all(struct ptl_perf_writer *w)
{
    make(w, PTL_FEAT_EVENT_DESC, event_desc);
    if (w->zip)
        make(w, PTL_FEAT_COMPRESSED, compressed);
    if (w->pipe) /* the others are known at the end */
        return;
    if (w->build_ids.len)
        make(w, PTL_FEAT_BUILD_ID, build_ids);
    if (w->index.len)
        make(w, PTL_FEAT_AUXTRACE, aux_index);
    if (w->last_time)
        make(w, PTL_FEAT_SAMPLE_TIME, sample_time);
}

int ptl__writer_tell(struct ptl_perf_writer *w)
{
    uint8_t table[16 * (FEATURES + 1)];
    size_t n = 16;
    uint64_t bits = 1;

    if (w->pipe || w->whole == w->at)
        return 0;
    for (unsigned i = 1; i < FEATURES; i++) {
        if (!w->placed[i])
            continue;
        ptl__storen(table + n, w->placed[i], 8);
        ptl__storen(table + n + 8, w->features[i].len, 8);
        bits |= 1ull << i;
        n += 16;
    }
    /* Perf's "obsolete" record, which it and others skip. */
    ptl__storen(table, PTL_REC_HEADER_EVENT_TYPE, 4);
    ptl__storen(table + 4, 0, 2);
    ptl__storen(table + 6, n, 2);
    ptl__storen(table + 8, 0, 8);
    w->told = w->at;
    if (!ptl__writer_at(w, table, n, w->at) && !ptl__writer_header(w, bits))
        w->at += n;
    w->whole = w->at;
    return w->status;
}

/* The table and the payloads behind the data, then the header that tells of them. */
int ptl__writer_dress(struct ptl_perf_writer *w)
{
    struct bytebuf b = {0};
    uint64_t at = w->at, bits = 0;
    int status = 0;

    make_all(w);
    for (unsigned i = 0; i < FEATURES; i++) {
        if (w->have[i]) {
            at += 16;
            bits |= 1ull << i;
        }
    }
    for (unsigned i = 0; i < FEATURES; i++) {
        if (!w->have[i])
            continue;
        bytebuf_putn(&b, at, 8);
        bytebuf_putn(&b, w->features[i].len, 8);
        at += w->features[i].len;
        b.bad |= w->features[i].bad;
    }
    for (unsigned i = 0; i < FEATURES; i++)
        if (w->have[i])
            bytebuf_put(&b, w->features[i].bytes, w->features[i].len);
    if (b.bad)
        status = ptl__writer_fail(w, PTL_NOMEM);
    if (!status)
        status = ptl__writer_at(w, b.bytes, b.len, w->at);
    w->told = w->at;
    if (!status)
        status = ptl__writer_header(w, bits);
    /* What an earlier, longer end of the file left behind; no reader looks at it. */
    if (!status && ftruncate(w->fd, (off_t)at))
        errno = 0;
    bytebuf_free(&b);
    w->dressed = !status;
    return status;
}

/* --- pipe ---------------------------------------------------------------------------- */

static int pipe_attr(struct ptl_perf_writer *w, const struct ptl_perf_event *event)
{
    struct ptl_record record = {.type = PTL_REC_HEADER_ATTR, .known = 1};

    record.u.header_attr.attr = event->attr;
    if (record.u.header_attr.attr.size > PTL_ATTR_SIZE)
        record.u.header_attr.attr.size = PTL_ATTR_SIZE;
    record.u.header_attr.ids.bytes = (const uint8_t *)event->ids;
    record.u.header_attr.ids.len = 8 * event->id_count;
    return ptl_perf_write_record(w, &record, NULL);
}

static int pipe_feature(struct ptl_perf_writer *w, unsigned feature)
{
    struct ptl_record record = {.type = PTL_REC_HEADER_FEATURE, .known = 1};
    const struct bytebuf *b = &w->features[feature];

    if (b->bad || b->len > MAX_RECORD - 16)
        return 0; /* does not fit a record: left out */
    record.u.feature.feature = feature;
    record.u.feature.data.bytes = b->bytes;
    record.u.feature.data.len = b->len;
    return ptl_perf_write_record(w, &record, NULL);
}

int ptl__writer_pipe_header(struct ptl_perf_writer *w)
{
    struct ptl_record last = {.type = PTL_REC_HEADER_FEATURE, .known = 1};
    uint8_t bytes[PIPE_SIZE] = "PERFILE2";
    int status;

    ptl__storen(bytes + 8, PIPE_SIZE, 8);
    status = ptl__writer_out(w, bytes, sizeof(bytes));
    make_all(w);
    for (size_t i = 0; i < w->set.count && !status; i++)
        status = pipe_attr(w, &w->set.events[i]);
    for (unsigned i = 0; i < FEATURES && !status; i++)
        if (w->have[i])
            status = pipe_feature(w, i);
    last.u.feature.feature = FEATURES; /* the end of them */
    return status ? status : ptl_perf_write_record(w, &last, NULL);
}
