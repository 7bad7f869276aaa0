/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aux.c - who wrote which trace: queues from AUXTRACE buffers and AUX samples, and the
 * AUX records that tell of them.
 *
 * A queue is a ring, named by AUXTRACE.idx. An AUX record belongs to the ring that
 * ID_INDEX gives for its id; without that to the one of its CPU, else of its thread.
 */
#include "perfdata/internal.h"
#include "perfdata/skim.h"

#include <stdlib.h>

static int queue_of(struct ptl_perf *perf, uint32_t idx, uint32_t cpu, uint32_t tid, uint32_t *out)
{
    struct ptl_perf_queue *q;

    for (size_t i = perf->queue_count; i-- > 0;)
        if (perf->queues[i].idx == idx) {
            *out = (uint32_t)i;
            return 0;
        }
    if (GROW(perf->queues, perf->queue_cap, perf->queue_count))
        return PTL_NOMEM;
    *out = (uint32_t)perf->queue_count;
    q = &perf->queues[perf->queue_count++];
    memset(q, 0, sizeof(*q));
    q->idx = idx;
    q->cpu = cpu;
    q->tid = tid;
    return 0;
}

static int compare_index(const void *a, const void *b)
{
    const struct index_row *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* UINT32_MAX if no ring is known for the id. */
static uint32_t indexed(const struct ptl_perf *perf, uint64_t id)
{
    struct index_row key = {id, 0};
    const struct index_row *row = NULL;

    if (perf->index_count)
        row = bsearch(&key, perf->index_rows, perf->index_count, sizeof(key), compare_index);
    return row ? row->idx : UINT32_MAX;
}

static uint32_t note_queue(const struct ptl_perf *perf, const struct ptl_sample_id *id)
{
    uint64_t key = id->have & PTL_SAMPLE_IDENTIFIER ? id->identifier : id->id;
    uint32_t idx = indexed(perf, key);

    for (size_t i = 0; idx != UINT32_MAX && i < perf->queue_count; i++)
        if (perf->queues[i].idx == idx)
            return (uint32_t)i;
    for (size_t i = 0; id->have & PTL_SAMPLE_CPU && i < perf->queue_count; i++)
        if (perf->queues[i].cpu != PTL_PERF_ANY && perf->queues[i].cpu == id->cpu)
            return (uint32_t)i;
    for (size_t i = 0; id->have & PTL_SAMPLE_TID && i < perf->queue_count; i++)
        if (perf->queues[i].tid != PTL_PERF_ANY && perf->queues[i].tid == id->tid)
            return (uint32_t)i;
    return perf->queue_count == 1 ? 0 : UINT32_MAX;
}

static void set_task(const struct ptl_sample_id *id, uint32_t *cpu, uint32_t *pid, uint32_t *tid)
{
    *cpu = id->have & PTL_SAMPLE_CPU ? id->cpu : PTL_PERF_ANY;
    *pid = id->have & PTL_SAMPLE_TID ? id->pid : PTL_PERF_ANY;
    *tid = id->have & PTL_SAMPLE_TID ? id->tid : PTL_PERF_ANY;
}

static int add_note(struct ptl_perf *perf, const struct ptl_perf_record *r)
{
    struct aux_note *n;

    if (GROW(perf->notes, perf->note_cap, perf->note_count))
        return PTL_NOMEM;
    n = &perf->notes[perf->note_count];
    memset(n, 0, sizeof(*n));
    n->offset = r->record.u.aux.offset;
    n->size = r->record.u.aux.size;
    n->flags = (uint32_t)r->record.u.aux.flags;
    n->time = r->record.id.time;
    n->record = r->offset;
    n->order = perf->note_count++;
    set_task(&r->record.id, &n->cpu, &n->pid, &n->tid);
    n->queue = note_queue(perf, &r->record.id);
    return 0;
}

/* The ring of a sample is its CPU's, or its thread's. */
static int add_sample(struct ptl_perf *perf, const struct ptl_perf_record *r)
{
    const struct ptl_span *aux = &r->record.u.sample.aux;
    struct ptl_perf_buffer *b;
    struct ptl_perf_piece *p;
    uint32_t cpu, pid, tid;
    int status;

    if (!aux->len)
        return 0;
    set_task(&r->record.id, &cpu, &pid, &tid);
    if (GROW(perf->buffers, perf->buffer_cap, perf->buffer_count) ||
        GROW(perf->pieces, perf->piece_cap, perf->piece_count))
        return PTL_NOMEM;
    b = &perf->buffers[perf->buffer_count];
    memset(b, 0, sizeof(*b));
    b->bytes = aux->bytes;
    b->size = aux->len;
    b->record = r->offset;
    b->file = r->offset + (uint64_t)(aux->bytes - r->bytes);
    b->cpu = cpu;
    b->tid = tid;
    status = queue_of(perf, cpu != PTL_PERF_ANY ? cpu : tid, cpu,
                      cpu != PTL_PERF_ANY ? PTL_PERF_ANY : tid, &b->queue);
    if (status)
        return status;
    perf->buffer_count++;
    p = &perf->pieces[perf->piece_count++];
    memset(p, 0, sizeof(*p));
    p->bytes = b->bytes;
    p->size = b->size;
    p->file = b->file;
    p->time = r->record.id.time;
    p->record = r->offset;
    p->queue = b->queue;
    p->cpu = cpu;
    p->pid = pid;
    p->tid = tid;
    p->kind = PTL_PIECE_SAMPLE;
    return 0;
}

static int samples_have_aux(const struct ptl_perf *perf)
{
    for (size_t i = 0; i < perf->set.count; i++)
        if (perf->set.events[i].layout.sample_type & PTL_SAMPLE_AUX)
            return 1;
    return 0;
}

static int tell_lost(struct ptl_perf *perf)
{
    uint64_t bytes = 0, records = 0;

    for (size_t i = 0; i < perf->note_count; i++)
        if (perf->notes[i].queue == UINT32_MAX && perf->notes[i].size &&
            !(perf->notes[i].flags & PTL_AUX_OVERWRITE)) {
            bytes += perf->notes[i].size;
            records++;
        }
    if (records)
        ptl__perf_complain(perf, PTL_TRUNCATED, 0,
                           "%llu AUX records tell of %llu bytes of trace that are not in the file",
                           (unsigned long long)records, (unsigned long long)bytes);
    return 0;
}

int ptl__perf_notes(struct ptl_perf *perf)
{
    const uint64_t samples = samples_have_aux(perf) ? UINT64_C(1) << PTL_REC_SAMPLE : 0;
    struct ptl_perf_record r;
    struct ptl__skim *skim;
    int status = 0;

    if (perf->index_count)
        qsort(perf->index_rows, perf->index_count, sizeof(*perf->index_rows), compare_index);
    for (size_t i = 0; i < perf->buffer_count; i++) {
        struct ptl_perf_buffer *b = &perf->buffers[i];
        status = queue_of(perf, b->queue, b->cpu, b->tid, &b->queue);
        if (status)
            return status;
    }
    skim = ptl__malloc(sizeof(*skim));
    if (!skim)
        return PTL_NOMEM;
    ptl__skim_begin(skim, perf, UINT64_C(1) << PTL_REC_AUX | samples);
    while (!status && ptl__skim_next(skim, &r) > 0) {
        ptl__skim_decode(&r);
        if (r.record.known)
            status = r.record.type == PTL_REC_AUX ? add_note(perf, &r) : add_sample(perf, &r);
    }
    ptl__free(skim);
    return status ? status : tell_lost(perf);
}

const struct ptl_perf_queue *ptl_perf_queues(const struct ptl_perf *perf, size_t *count)
{
    *count = perf->queue_count;
    return perf->queues;
}

const struct ptl_perf_buffer *ptl_perf_buffers(const struct ptl_perf *perf, size_t *count)
{
    *count = perf->buffer_count;
    return perf->buffers;
}
