/* SPDX-License-Identifier: BSD-3-Clause */
/* skim.c - see skim.h. */
#include "perfdata/skim.h"

#include "perfdata/internal.h"

#define LOOK_MIN ((size_t)4 << 10)
#define GAP      ((size_t)4 << 10)

/* --- a window --------------------------------------------------------------------- */

static int read_more(struct ptl__look *look, const struct view *view, uint64_t at, size_t len)
{
    uint64_t from = at - look->at;
    int goes_on = look->view == view && at >= look->at && from <= look->len + GAP;

    /* Behind a long trace there may be but a few records. The last one in the window may reach
     * beyond it, if no more than its header was looked at. */
    look->next = !goes_on ? LOOK_MIN : look->next < PTL__LOOK_MAX ? look->next * 2 : look->next;
    while (look->next < len)
        look->next *= 2;
    look->view = view;
    look->at = at;
    look->len = ptl__view_read(view, at, look->bytes, look->next);
    return look->len >= len;
}

const uint8_t *ptl__look_on(struct ptl__look *look, const struct view *view, uint64_t at,
                            size_t len)
{
    if (!view->file || len > PTL__LOOK_MAX || !read_more(look, view, at, len))
        return view->bytes + at;
    return look->bytes;
}

/* --- records ----------------------------------------------------------------------- */

void ptl__skim_begin(struct ptl__skim *skim, const struct ptl_perf *perf, uint64_t types)
{
    skim->perf = perf;
    skim->iter = (struct ptl_perf_iter){0, 0};
    skim->types = types;
    skim->place = 0;
    skim->copy = NULL;
    skim->event = NULL;
    skim->identifier = 0;
    skim->look.view = NULL;
    skim->look.at = 0;
    skim->look.len = skim->look.next = 0;
}

static const struct view *view_of(const struct ptl_perf *perf, const struct segment *s)
{
    for (size_t i = 0; i < perf->stream_count && !s->unzipped && !s->copied; i++)
        if (perf->streams[i].number == s->stream)
            return &perf->streams[i].view;
    return NULL;
}

/* `len` bytes at the iterator. */
static const uint8_t *look_at(struct ptl__skim *skim, const struct segment *s,
                              const struct view *view, size_t len)
{
    return view ? ptl__look(&skim->look, view, s->file + skim->iter.at, len)
                : s->bytes + skim->iter.at;
}

/* The writer of the record; most often that of the one before. */
static const struct ptl_perf_event *writer(struct ptl__skim *skim, size_t size)
{
    const struct event_set *set = &skim->perf->set;
    uint64_t identifier = ptl__load64(skim->copy + size - 8);

    if (!set->by_identifier || set->count <= 1 || ptl__load32(skim->copy) == PTL_REC_SAMPLE)
        return ptl__events_writer(set, skim->copy, size);
    if (!skim->event || identifier != skim->identifier)
        skim->event = ptl__events_writer(set, skim->copy, size);
    skim->identifier = identifier;
    return skim->event;
}

static void describe(struct ptl__skim *skim, const struct segment *s, size_t size,
                     struct ptl_perf_record *record)
{
    const uint8_t *p = skim->copy;

    record->bytes = s->bytes + skim->iter.at;
    record->stream = s->stream;
    record->offset = s->unzipped ? s->file : s->file + skim->iter.at;
    record->status = 0;
    record->record.type = ptl__load32(p);
    record->record.misc = ptl__load16(p + 4);
    record->record.size = (uint16_t)size;
    record->event = record->record.type < PTL_REC_USER ? writer(skim, size) : NULL;
}

static int wanted(const struct ptl__skim *skim, uint32_t type)
{
    return !skim->types || (type < 64 && (skim->types >> type & 1));
}

/* By the places that opening has kept. */
static int next_place(struct ptl__skim *skim, struct ptl_perf_record *record)
{
    const struct ptl_perf *perf = skim->perf;

    while (skim->place < perf->place_count) {
        const struct place_row *row = &perf->places[skim->place++];
        const struct segment *s = &perf->segments[row->segment];
        const struct view *view = view_of(perf, s);
        const uint8_t *p;
        size_t size;

        skim->iter = (struct ptl_perf_iter){row->segment, row->at};
        p = look_at(skim, s, view, PTL_RECORD_HEADER);
        size = ptl__load16(p + 6);
        if (!wanted(skim, ptl__load32(p)) || ptl_record_size(p, s->len - row->at) < 0)
            continue;
        skim->copy = look_at(skim, s, view, size);
        describe(skim, s, size, record);
        return 1;
    }
    return 0;
}

/* In the segment of the iterator, which moves on. */
static int next_in(struct ptl__skim *skim, const struct segment *s, struct ptl_perf_record *record)
{
    const struct view *view = view_of(skim->perf, s);

    while (s->len - skim->iter.at >= PTL_RECORD_HEADER) {
        uint64_t left = s->len - skim->iter.at, behind = 0;
        const uint8_t *p = look_at(skim, s, view, PTL_RECORD_HEADER);
        uint32_t type = ptl__load32(p); /* the next look may move the window */
        int size = ptl_record_size(p, left), found = wanted(skim, type);

        if (size < 0)
            return 0;
        if (found || type >= PTL_REC_USER)
            skim->copy = look_at(skim, s, view, (size_t)size);
        if (found)
            describe(skim, s, (size_t)size, record);
        if (type >= PTL_REC_USER && !s->unzipped)
            behind = ptl__perf_behind(skim->copy, (size_t)size);
        left -= (uint64_t)size;
        skim->iter.at += (uint64_t)size + (behind < left ? behind : left);
        if (found)
            return 1;
    }
    return 0;
}

int ptl__skim_next(struct ptl__skim *skim, struct ptl_perf_record *record)
{
    const struct ptl_perf *perf = skim->perf;

    if (skim->types && !perf->unindexed && !(skim->types & ~PTL__SKIM_INDEXED))
        return next_place(skim, record);
    while (skim->iter.segment < perf->segment_count) {
        if (next_in(skim, &perf->segments[skim->iter.segment], record))
            return 1;
        skim->iter.segment++;
        skim->iter.at = 0;
    }
    return 0;
}

uint64_t ptl__skim_estimate(const struct ptl_perf *perf)
{
    return perf->plain;
}

void ptl__skim_decode(struct ptl_perf_record *record)
{
    int status;

    status = ptl_record_decode(&record->record, record->bytes, record->record.size,
                               record->event ? &record->event->layout : NULL);
    record->status = status < 0 ? status : 0;
}
