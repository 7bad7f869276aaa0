/* SPDX-License-Identifier: BSD-3-Clause */
/* recording_plan.c - see recording_plan.h. */
#include "recording_plan.h"

static struct ptl_stream stream_of(const void *context, uint32_t number)
{
    return ptl_session_stream(((const struct recording *)context)->session, number);
}

/* Decode from `from` to `to` (ticks). The place is before everything of that time: a PSB+ that is
 * not later, and another one before that for the state there. */
static int add_window(const struct recording *rec, struct plan *plan, uint32_t queue, uint64_t from,
                      uint64_t to)
{
    struct ptl_stream stream = stream_of(rec, queue);
    struct ptl_place end = {stream.count, 0}, begin = {0, 0}, warm = {0, 0}, after;

    if (from)
        ptl_segments_cut_before(&stream, ptl_session_find(rec->session, queue, from), &warm,
                                &begin);
    if (to < UINT64_MAX)
        ptl_segments_cut(&stream, ptl_session_find(rec->session, queue, to + 1), &after, &end);
    return plan_add(plan, queue, warm, begin, end);
}

/* The part of [from, to] that lies in the window. */
static int add_time(const struct recording *rec, struct plan *plan, uint32_t queue, uint64_t from,
                    uint64_t to)
{
    from = from < rec->from ? rec->from : from;
    to = to > rec->to ? rec->to : to;
    return from <= to ? add_window(rec, plan, queue, from, to) : 0;
}

/* The times in which a selected task runs on the processor. A switch may take effect later than
 * the records tell, but not behind the next PSB+. */
static int add_task_times(const struct recording *rec, struct plan *plan, uint32_t queue)
{
    const struct ptl_sideband *sb = ptl_session_sideband(rec->session, queue);
    const struct opts_select *select = &rec->x->recording.select;
    uint32_t lane = ptl_session_lane(rec->session, queue);
    struct ptl_timeline_task task;
    uint64_t since = 0;
    int runs = 0, status = 0;

    for (size_t i = 0; status == 0 && ptl_timeline_task(ptl_sideband_timeline(sb), lane, i, &task);
         i++) {
        int selected =
            select_task(select, task.pid, task.tid, ptl_sideband_comm(sb, task.tid, task.when));

        if (runs && !selected)
            status = add_time(rec, plan, queue, since, task.when);
        if (!runs)
            since = task.when;
        runs = selected;
    }
    return status == 0 && runs ? add_time(rec, plan, queue, since, UINT64_MAX) : status;
}

static int is_selected(const struct recording *rec, const struct ptl_perf_queue *queue)
{
    const struct opts_select *s = &rec->x->recording.select;

    return select_has(&s->idxs, queue->idx) &&
           (!s->cpus.count || queue->cpu == PTL_PERF_ANY || select_has(&s->cpus, queue->cpu)) &&
           (!s->tids.count || queue->tid == PTL_PERF_ANY || select_has(&s->tids, queue->tid));
}

/* All of the queue, or what can have something that is selected. */
static int add_queue(struct recording *rec, struct plan *plan, uint32_t queue)
{
    size_t before = plan->count;
    int status = 0;

    rec->queues++;
    if (rec->by_task && !rec->x->recording.no_time && !rec->x->sideband.print &&
        ptl_session_has_time(rec->session))
        status = add_task_times(rec, plan, queue);
    else
        status = add_window(rec, plan, queue, rec->from, rec->to);
    if (status == 0 && plan->count == before) /* for its heading */
        status = plan_add(plan, queue, (struct ptl_place){0, 0}, (struct ptl_place){0, 0},
                          (struct ptl_place){0, 0});
    return status;
}

int recording_plan(struct recording *rec, struct plan *plan)
{
    const struct ptl_perf_queue *queues;
    size_t count;
    int status = 0;

    plan->stream = stream_of;
    plan->context = rec;
    queues = ptl_perf_queues(ptl_session_perf(rec->session), &count);
    for (size_t i = 0; i < count && status == 0; i++)
        if (is_selected(rec, &queues[i]))
            status = add_queue(rec, plan, (uint32_t)i);
    return status;
}
