/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pieces.c - cut the trace of a queue into the runs that hardware wrote.
 *
 * Full trace: AUX records tile the stream of a ring (offset, size: positions that only
 * grow); the buffers of AUXTRACE hold parts of the same stream, padded to 8 at their
 * ends, and need not end where AUX records do. What no AUX record tells of (records were
 * lost, or the recorder was killed) is a piece, too.
 * Snapshot: an AUXTRACE is a copy of the ring; AUX records only say when it stopped.
 * Sampling: made by aux.c; only overlaps are left to remove.
 */
#include "perfdata/internal.h"

#include <pt/packet.h>
#include <stdlib.h>

/* So much trace is copied as long as pieces need it; then only what lies around the seams. */
#define JOIN_MAX ((uint64_t)4 << 20)
/* So many buffers may have pages in memory that were looked at for seams. */
#define KEEP 32

/* The stream of one queue: its buffers by position. */
struct tape {
    struct ptl_perf *perf;
    const struct ptl_perf_buffer **bufs;
    size_t count, at; /* `at`: the first buffer that may still be needed */
    size_t kept;      /* the first buffer whose pages have not been given back */
    uint32_t queue;
    uint64_t pos;     /* behind the last piece */
    uint64_t missing; /* told of, not there, not yet reported */
};

static uint64_t begin_of(const struct tape *t, size_t i)
{
    return t->bufs[i]->offset;
}

/* The end without padding: the next buffer's offset tells. */
static uint64_t end_of(const struct tape *t, size_t i)
{
    uint64_t end = t->bufs[i]->offset + t->bufs[i]->size;
    return i + 1 < t->count && t->bufs[i + 1]->offset < end ? t->bufs[i + 1]->offset : end;
}

/* Do the offsets make sense: growing, overlapping by no more than padding? */
static int is_tape(const struct tape *t)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct ptl_perf_buffer *b = t->bufs[i];
        if (b->size > UINT64_MAX - b->offset)
            return 0;
        if (i + 1 < t->count && (t->bufs[i + 1]->offset < b->offset ||
                                 t->bufs[i + 1]->offset + 7 < b->offset + b->size))
            return 0;
    }
    return 1;
}

static struct ptl_perf_piece *new_piece(struct tape *t, const struct aux_note *note)
{
    struct ptl_perf *perf = t->perf;
    struct ptl_perf_piece *p;

    if (GROW(perf->pieces, perf->piece_cap, perf->piece_count))
        return NULL;
    p = &perf->pieces[perf->piece_count++];
    memset(p, 0, sizeof(*p));
    p->bytes = (const uint8_t *)"";
    p->offset = t->pos;
    p->queue = t->queue;
    p->cpu = perf->queues[t->queue].cpu;
    p->tid = perf->queues[t->queue].tid;
    p->pid = PTL_PERF_ANY;
    p->missing = t->missing;
    p->kind = note ? PTL_PIECE_FULL : PTL_PIECE_UNTOLD;
    t->missing = 0;
    return p;
}

/* The note is about the end of what it covers: its last piece. */
static void attach(struct ptl_perf_piece *p, const struct aux_note *note)
{
    p->time = note->time;
    p->record = note->record;
    p->flags = note->flags;
    p->pid = note->pid;
    p->tid = note->tid;
    if (p->cpu == PTL_PERF_ANY)
        p->cpu = note->cpu;
}

/* Buffers i..j were looked at: the kernel maps more than is touched, also before it. */
static void release(const struct tape *t, size_t i, size_t j)
{
    for (; i <= j; i++)
        ptl_perf_release(t->perf, t->bufs[i]->bytes, t->bufs[i]->size);
}

/* The ends of buffers up to i + 1 were looked at. To give back a few at once, whose pages may be
 * needed again for the next one, costs more than to keep some. */
static void release_some(struct tape *t, size_t i)
{
    if (i < t->kept + KEEP)
        return;
    release(t, t->kept, i);
    t->kept = i;
}

/* Bytes [from, to) of buffers i..j, which adjoin; copied if there are several. */
static int fill(struct tape *t, struct ptl_perf_piece *p, size_t i, size_t j, uint64_t from,
                uint64_t to)
{
    const struct ptl_perf_buffer *b = t->bufs[i];
    struct ptl_perf *perf = t->perf;
    struct spill *joins = &perf->joins;
    size_t first = i;

    p->offset = from;
    p->size = to - from;
    p->file = b->file + (from - b->offset);
    p->reference = b->reference;
    if (!p->record)
        p->record = b->record;
    if (i == j) {
        p->bytes = b->bytes + (from - b->offset);
        return 0;
    }
    if (GROW(perf->join_rows, perf->join_cap, perf->join_count))
        return PTL_NOMEM;
    perf->join_rows[perf->join_count++] = (struct join_row){(size_t)(p - perf->pieces), joins->len};
    for (; i <= j; i++) {
        uint64_t a = from > begin_of(t, i) ? from : begin_of(t, i);
        uint64_t e = to < end_of(t, i) ? to : end_of(t, i);
        int status = ptl__spill_add(joins, perf->tmpdir,
                                    t->bufs[i]->bytes + (a - t->bufs[i]->offset), e - a);
        if (status)
            return status;
    }
    release(t, first, j);
    return 0;
}

/* --- seams ------------------------------------------------------------------------ */

/* The piece from `pos` on would go on from buffer i into the next one. Let it end at the last PSB
 * of this buffer, or be but the seam: from that PSB to the first one of the next buffer. Decoders
 * go on from piece to piece, and a PSB is never inside a packet. Returns where it ends; *j is the
 * buffer there. */
static uint64_t shorten(const struct tape *t, size_t i, size_t *j, uint64_t end)
{
    const struct ptl_perf_buffer *next = t->bufs[i + 1];
    const uint8_t *bytes = t->bufs[i]->bytes + (t->pos - t->bufs[i]->offset);
    uint64_t here = end_of(t, i), there = end_of(t, i + 1), psb;

    psb = ptl_psb_find_last(bytes, (size_t)(here - t->pos), (size_t)(here - t->pos));
    if (psb && psb < here - t->pos) {
        *j = i;
        return t->pos + psb;
    }
    there = there < end ? there : end;
    psb = ptl_psb_find(next->bytes, there - next->offset, 0);
    if (psb >= there - next->offset)
        return end;
    *j = psb ? i + 1 : i;
    return next->offset + psb;
}

/* Pieces for [pos, to): as many as there are runs of it in the buffers. */
static int cut(struct tape *t, uint64_t to, const struct aux_note *note)
{
    size_t before = t->perf->piece_count;
    struct ptl_perf_piece *p = NULL;

    while (t->pos < to) {
        size_t i, j;
        uint64_t end;
        while (t->at < t->count && end_of(t, t->at) <= t->pos)
            t->at++;
        i = j = t->at;
        if (i == t->count || begin_of(t, i) > t->pos) {
            uint64_t next = i == t->count || begin_of(t, i) > to ? to : begin_of(t, i);
            t->missing += next - t->pos;
            t->pos = next;
            continue;
        }
        while (end_of(t, j) < to && j + 1 < t->count && begin_of(t, j + 1) == end_of(t, j))
            j++;
        end = end_of(t, j) < to ? end_of(t, j) : to;
        if (j > i && t->perf->joins.len >= JOIN_MAX) {
            end = shorten(t, i, &j, end);
            release_some(t, i);
        }
        p = new_piece(t, note);
        if (!p)
            return PTL_NOMEM;
        int status = fill(t, p, i, j, t->pos, end);
        if (status)
            return status;
        t->pos = end;
    }
    if (!note)
        return 0;
    if (t->missing || t->perf->piece_count == before) {
        if (!t->missing && !note->flags)
            return 0;
        p = new_piece(t, note);
        if (!p)
            return PTL_NOMEM;
    }
    attach(p, note);
    return 0;
}

/* Is [pos, to) only padding at the end of a buffer? */
static int is_padding(const struct tape *t, uint64_t to)
{
    const struct ptl_perf_buffer *b = t->count ? t->bufs[t->count - 1] : NULL;

    if (!b || to - t->pos > 7 || t->pos < b->offset || to != b->offset + b->size)
        return 0;
    for (uint64_t i = t->pos - b->offset; i < b->size; i++)
        if (b->bytes[i])
            return 0;
    return 1;
}

static int full(struct tape *t, const struct aux_note *notes, size_t count)
{
    uint64_t last = t->count ? t->bufs[t->count - 1]->offset + t->bufs[t->count - 1]->size : 0;
    int status;

    t->pos = t->count ? begin_of(t, 0) : 0;
    if (count && notes[0].offset < t->pos)
        t->pos = notes[0].offset;
    for (size_t i = 0; i < count; i++) {
        uint64_t from = notes[i].offset, to = from + notes[i].size;
        if (to < from)
            continue;
        if (from > t->pos) { /* nothing tells of what is between */
            status = cut(t, from, NULL);
            if (status)
                return status;
        }
        status = cut(t, to > t->pos ? to : t->pos, &notes[i]);
        if (status)
            return status;
    }
    return t->pos < last && !is_padding(t, last) ? cut(t, last, NULL) : 0;
}

/* Offsets that contradict each other: a piece is a buffer; AUX records only give flags. */
static int loose(struct tape *t, const struct aux_note *notes, size_t count)
{
    if (t->count)
        ptl__perf_complain(t->perf, PTL_BAD_CONFIG, t->bufs[0]->record,
                           "positions of trace buffers contradict each other: each buffer is taken "
                           "for itself");
    for (size_t i = 0; i < t->count; i++) {
        struct ptl_perf_piece *p = new_piece(t, NULL);
        if (!p || fill(t, p, i, i, begin_of(t, i), begin_of(t, i) + t->bufs[i]->size))
            return PTL_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        struct ptl_perf_piece *p = notes[i].flags ? new_piece(t, &notes[i]) : NULL;
        if (p)
            attach(p, &notes[i]);
    }
    return 0;
}

static int compare_order(const void *a, const void *b)
{
    const struct aux_note *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

static int snapshots(struct tape *t, struct aux_note *notes, size_t count)
{
    size_t next = 0;

    if (count)
        qsort(notes, count, sizeof(*notes), compare_order);
    for (size_t i = 0; i < t->count; i++) {
        const struct ptl_perf_buffer *b = t->bufs[i], *a = i ? t->bufs[i - 1] : NULL;
        struct ptl_perf_piece *p = new_piece(t, NULL);
        uint64_t common = 0;
        int adjoins = 0;

        if (!p || fill(t, p, i, i, b->offset, b->offset + b->size))
            return PTL_NOMEM;
        if (a)
            common = ptl__overlap(a->bytes, a->size, b->bytes, b->size, &adjoins);
        p->kind = PTL_PIECE_SNAPSHOT;
        p->bytes += common;
        p->size -= common;
        p->offset += common;
        p->file += common;
        p->trimmed = common;
        p->joined = (uint8_t)adjoins;
        for (; next < count && notes[next].record < b->record; next++) {
            uint32_t flags = p->flags | notes[next].flags;
            attach(p, &notes[next]);
            p->flags = flags;
        }
    }
    return 0;
}

static void mark_joined(struct ptl_perf *perf, size_t first)
{
    for (size_t i = first + 1; i < perf->piece_count; i++) {
        const struct ptl_perf_piece *a = &perf->pieces[i - 1];
        struct ptl_perf_piece *b = &perf->pieces[i];
        b->joined = a->size && b->size && !b->missing && !(a->flags & PTL_AUX_TRUNCATED) &&
                    a->offset + a->size == b->offset;
    }
}

static int one_queue(struct tape *t, struct aux_note *notes, size_t count)
{
    struct ptl_perf *perf = t->perf;
    size_t first = perf->piece_count;
    int status;

    if (perf->have_pt && perf->pt.info.snapshot)
        return snapshots(t, notes, count);
    if (!is_tape(t))
        return loose(t, notes, count);
    status = full(t, notes, count);
    mark_joined(perf, first);
    return status;
}

static int compare_note(const void *a, const void *b)
{
    const struct aux_note *x = a, *y = b;

    if (x->queue != y->queue)
        return x->queue < y->queue ? -1 : 1;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return compare_order(a, b);
}

/* Buffers of a queue come in file order, which is the order of their addresses in the
 * array. */
static int compare_buffer(const void *a, const void *b)
{
    const struct ptl_perf_buffer *x = *(const struct ptl_perf_buffer *const *)a;
    const struct ptl_perf_buffer *y = *(const struct ptl_perf_buffer *const *)b;

    if (x->queue != y->queue)
        return x->queue < y->queue ? -1 : 1;
    return (x > y) - (x < y);
}

static int all_queues(struct ptl_perf *perf)
{
    const struct ptl_perf_buffer **bufs = ptl__calloc(perf->buffer_count, sizeof(void *));
    size_t b = 0, n = 0;
    int status = bufs ? 0 : PTL_NOMEM;

    if (!perf->queue_count) {
        ptl__free(bufs);
        return status;
    }
    for (size_t i = 0; !status && i < perf->buffer_count; i++)
        bufs[i] = &perf->buffers[i];
    if (!status && perf->buffer_count)
        qsort(bufs, perf->buffer_count, sizeof(void *), compare_buffer);
    if (perf->note_count)
        qsort(perf->notes, perf->note_count, sizeof(*perf->notes), compare_note);
    for (uint32_t q = 0; !status && q < perf->queue_count; q++) {
        struct tape t = {.perf = perf, .bufs = bufs + b, .queue = q};
        size_t first = n;
        while (b < perf->buffer_count && bufs[b]->queue == q)
            b++;
        while (n < perf->note_count && perf->notes[n].queue == q)
            n++;
        t.count = (size_t)(bufs + b - t.bufs);
        status = one_queue(&t, n ? perf->notes + first : NULL, n - first);
    }
    ptl__free(bufs);
    return status;
}

/* --- sampling ------------------------------------------------------------------- */

static int compare_piece(const void *a, const void *b)
{
    const struct ptl_perf_piece *x = a, *y = b;

    if (x->queue != y->queue)
        return x->queue < y->queue ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static void samples(struct ptl_perf *perf)
{
    const uint8_t *a = NULL;
    uint64_t a_len = 0, pos = 0;

    for (size_t i = 0; i < perf->piece_count; i++)
        perf->pieces[i].offset = i;
    qsort(perf->pieces, perf->piece_count, sizeof(*perf->pieces), compare_piece);
    for (size_t i = 0; i < perf->piece_count; i++) {
        struct ptl_perf_piece *p = &perf->pieces[i];
        const uint8_t *b = p->bytes;
        uint64_t b_len = p->size, common = 0;
        int adjoins = 0;

        if (i && p[-1].queue == p->queue)
            common = ptl__overlap(a, a_len, b, b_len, &adjoins);
        else
            pos = 0;
        p->bytes += common;
        p->size -= common;
        p->file += common;
        p->trimmed = common;
        p->joined = (uint8_t)adjoins;
        p->offset = pos;
        pos += p->size;
        a = b;
        a_len = b_len;
    }
}

/* --- the end ---------------------------------------------------------------------- */

/* Point queues at their pieces and joined pieces at their bytes. */
static int resolve(struct ptl_perf *perf)
{
    int status = ptl__spill_map(&perf->joins);
    struct ptl_perf_piece *pieces = perf->pieces;
    size_t i = 0, count = pieces ? perf->piece_count : 0;

    for (uint32_t q = 0; q < perf->queue_count; q++) {
        struct ptl_perf_queue *queue = &perf->queues[q];
        size_t first = i;
        for (; i < count && pieces[i].queue == q; i++)
            queue->size += pieces[i].size;
        queue->pieces = i > first ? pieces + first : NULL;
        queue->piece_count = i - first;
    }
    for (i = 0; pieces && !status && i < perf->join_count; i++)
        pieces[perf->join_rows[i].piece].bytes = perf->joins.view.bytes + perf->join_rows[i].at;
    return status;
}

int ptl__perf_pieces(struct ptl_perf *perf)
{
    int status = 0;

    if (perf->piece_count)
        samples(perf);
    else
        status = all_queues(perf);
    return status ? status : resolve(perf);
}
