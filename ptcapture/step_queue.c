/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * step_queue.c - the trace: a queue for each thread, or one for the virtual CPU that all threads
 * share (--per-cpu).
 *
 * On a virtual CPU a thread has the queue until another one executes. What a kernel does then is
 * done here: tracing goes off, an AUX record tells of the trace so far, SWITCH records tell who
 * goes and who comes.
 */
#include "step.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX

/* --- life --------------------------------------------------------------------------- */

static struct step_queue *new_queue(struct stepper *st)
{
    struct step_queue *queue = calloc(1, sizeof(*queue));
    size_t size = st->snapshot_size ? 2 * (size_t)st->snapshot_size : TRACE_BUFFER;

    if (queue)
        queue->buffer = malloc(size);
    if (!queue || !queue->buffer) {
        free(queue);
        return NULL;
    }
    queue->idx = st->next_idx++;
    gen_init(&queue->gen, &st->gen, queue->buffer, size);
    queue->next = st->queues;
    st->queues = queue;
    return queue;
}

static void free_queue(struct stepper *st, struct step_queue *queue)
{
    struct step_queue **at = &st->queues;

    while (*at != queue)
        at = &(*at)->next;
    *at = queue->next;
    free(queue->buffer);
    free(queue);
}

int step_queue_join(struct stepper *st, struct step_thread *t)
{
    if (st->per_cpu) {
        if (!st->cpu_queue)
            st->cpu_queue = new_queue(st);
        t->queue = st->cpu_queue;
        return t->queue ? 0 : -1;
    }
    t->queue = new_queue(st);
    if (!t->queue)
        return -1;
    t->queue->current = t;
    t->queue->tid = t->tid;
    return 0;
}

void step_queue_free_all(struct stepper *st)
{
    while (st->queues) {
        step_queue_flush(st, st->queues);
        free_queue(st, st->queues);
    }
    st->cpu_queue = NULL;
}

/* --- AUX records and trace ------------------------------------------------------------- */

static void begin_record(const struct stepper *st, const struct step_queue *queue, uint64_t time,
                         struct ptl_record *record, uint32_t type)
{
    memset(record, 0, sizeof(*record));
    record->type = type;
    record->known = 1;
    record->id.pid = (uint32_t)queue->pid;
    record->id.tid = (uint32_t)queue->tid;
    record->id.time = time;
    record->id.cpu = step_cpu(st);
    record->id.identifier = st->pt_id;
}

/* --snapshot: the buffer is full. The last bytes of it stay, from a PSB on. */
static void drop_oldest(const struct stepper *st, struct step_queue *queue)
{
    struct generator *gen = &queue->gen;
    size_t from = gen->len - (size_t)st->snapshot_size;

    from = ptl_psb_find(gen->buf, gen->len, from);
    memmove(gen->buf, gen->buf + from, gen->len - from);
    gen->len -= from;
    queue->aux_offset += from;
    queue->aux_told = queue->aux_offset;
}

static void make_room(struct stepper *st, struct step_queue *queue)
{
    if (queue->gen.cap - queue->gen.len >= 4 * (size_t)GEN_ROOM)
        return;
    if (st->snapshot_size)
        drop_oldest(st, queue);
    else
        step_queue_flush(st, queue);
}

/* Tell of the trace since the last AUX record: when it stops, and (snapshots only then) when it
 * goes to the file. */
static void tell(struct stepper *st, struct step_queue *queue, uint64_t now, int flushing)
{
    uint64_t end = queue->aux_offset + queue->gen.len;
    struct ptl_record record;

    if (end == queue->aux_told || (st->snapshot_size && !flushing))
        return;
    begin_record(st, queue, now, &record, PTL_REC_AUX);
    record.u.aux.offset = queue->aux_told;
    record.u.aux.size = end - queue->aux_told;
    record.u.aux.flags = st->snapshot_size ? PTL_AUX_OVERWRITE : 0;
    if (queue->gap) {
        record.u.aux.flags |= PTL_AUX_PARTIAL;
        st->capture->totals.losses.count[PTL_LOSS_PARTIAL]++;
        queue->gap = 0;
    }
    step_out_put(st, &record);
    queue->aux_told = end;
}

void step_queue_flush(struct stepper *st, struct step_queue *queue)
{
    struct generator *gen = &queue->gen;
    struct ptl_rec_auxtrace auxtrace;
    struct iovec part;
    uint64_t now = capture_now();

    gen_flush(gen, now);
    if (!gen->len || st->failed)
        return;
    step_out_drain(st);
    tell(st, queue, now, 1);
    memset(&auxtrace, 0, sizeof(auxtrace));
    auxtrace.offset = queue->aux_offset;
    auxtrace.reference = now;
    auxtrace.idx = queue->idx;
    auxtrace.tid = st->cpu_queue ? NOBODY : (uint32_t)queue->tid;
    auxtrace.cpu = st->cpu_queue ? step_cpu(st) : NOBODY;
    part.iov_base = gen->buf;
    part.iov_len = gen->len;
    if (!st->failed)
        step_out_wrote(st, ptl_perf_write_auxtrace(st->capture->file.writer, &auxtrace, &part, 1));
    queue->aux_offset += gen->len;
    st->capture->totals.trace_bytes += gen->len;
    gen->len = 0;
    capture_check_size(st->capture);
}

void step_queue_flush_all(struct stepper *st)
{
    for (struct step_queue *queue = st->queues; queue; queue = queue->next)
        step_queue_flush(st, queue);
}

void step_queue_snapshot(struct stepper *st)
{
    struct step_queue *next;

    for (struct step_queue *queue = st->queues; queue; queue = next) {
        next = queue->next;
        gen_interrupt(&queue->gen, queue->gen.ip, capture_now());
        step_queue_flush(st, queue);
        gen_restart(&queue->gen);
        if (!queue->current && queue != st->cpu_queue)
            free_queue(st, queue);
    }
    if (!st->failed)
        step_out_wrote(st, ptl_perf_write_round(st->capture->file.writer));
    st->capture->totals.snapshots++;
}

/* --- who has a queue --------------------------------------------------------------------- */

static void put_switch(struct stepper *st, const struct step_queue *queue, uint64_t now,
                       uint32_t misc, const struct step_thread *other)
{
    int wide = st->per_cpu == PER_CPU_WIDE;
    struct ptl_record record;

    begin_record(st, queue, now, &record, wide ? PTL_REC_SWITCH_CPU_WIDE : PTL_REC_SWITCH);
    record.misc = (uint16_t)misc;
    if (wide && other) {
        record.u.switch_cpu_wide.pid = (uint32_t)other->tgid;
        record.u.switch_cpu_wide.tid = (uint32_t)other->tid;
    }
    step_out_put(st, &record);
}

/* The virtual CPU switches to `t`. */
static void take(struct stepper *st, struct step_thread *t)
{
    struct step_queue *queue = t->queue;
    struct step_thread *former = queue->current;
    int first = !queue->tid;
    uint64_t now;

    make_room(st, queue);
    now = capture_now();
    gen_interrupt(&queue->gen, queue->gen.ip, now);
    gen_forget_calls(&queue->gen);
    tell(st, queue, now, 0);
    if (former)
        put_switch(st, queue, now,
                   PTL_MISC_SWITCH_OUT |
                       (former->state == STEP_KERNEL ? 0 : PTL_MISC_SWITCH_OUT_PREEMPT),
                   t);
    queue->current = t;
    queue->pid = t->tgid;
    queue->tid = t->tid;
    if (!first)
        put_switch(st, queue, now + 1, 0, former);
    t->told_seen = UINT64_MAX; /* the next packets begin with the exact time */
    if (t->step_tsc <= now + 1)
        t->step_tsc = now + 2;
}

void step_queue_take(struct stepper *st, struct step_thread *t)
{
    if (t->queue->current != t)
        take(st, t);
}

void step_queue_part(struct stepper *st, struct step_thread *t)
{
    struct step_queue *queue = t->queue;

    if (queue == st->cpu_queue) {
        if (queue->current != t)
            return;
        tell(st, queue, capture_now(), 0);
        queue->current = NULL;
    } else if (st->snapshot_size) {
        queue->current = NULL; /* it stays for the next snapshot */
    } else {
        step_queue_flush(st, queue);
        free_queue(st, queue);
    }
    t->queue = NULL;
}

void step_queue_ready(struct stepper *st, struct step_thread *t)
{
    struct step_queue *queue = t->queue;
    struct ptl_record record;

    step_queue_take(st, t);
    make_room(st, queue);
    if (t->started)
        return;
    t->started = 1;
    st->capture->totals.threads++;
    queue->pid = t->tgid;
    begin_record(st, queue, t->step_tsc, &record, PTL_REC_ITRACE_START);
    record.u.itrace_start.pid = (uint32_t)t->tgid;
    record.u.itrace_start.tid = (uint32_t)t->tid;
    step_out_put(st, &record);
}

int step_queue_traces(const struct step_thread *t)
{
    return t->queue->current == t && t->queue->gen.enabled;
}
