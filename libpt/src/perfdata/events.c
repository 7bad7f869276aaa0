/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * events.c - the events of a recording, and which of them wrote a record.
 *
 * perf gives all events IDENTIFIER in sample_type as soon as there are several; then the
 * id is in a fixed place. Without it all layouts must agree in where ID is, which is
 * checked by asking each event whether the id found its way is its own. Id 0 means that
 * perf made the record: it then has the first event's layout.
 */
#include "perfdata/internal.h"

#include <stdlib.h>

int ptl__events_add(struct event_set *set, const struct ptl_attr *attr, const uint8_t *ids,
                    size_t id_count, size_t max_ids)
{
    struct ptl_perf_event *event;

    if (GROW(set->events, set->cap, set->count))
        return PTL_NOMEM;
    /* Each id belongs to one event, so there are no more of them than the file can hold. */
    if (id_count > max_ids - set->id_count)
        id_count = max_ids - set->id_count;
    if (id_count && ptl__grow((void **)&set->ids, &set->id_cap, set->id_count + id_count, max_ids,
                              sizeof(*set->ids)))
        return PTL_NOMEM;
    event = &set->events[set->count++];
    memset(event, 0, sizeof(*event));
    event->attr = *attr;
    event->layout = ptl_layout_of(attr);
    event->id_count = id_count;
    for (size_t i = 0; i < id_count; i++)
        set->ids[set->id_count++] = ptl__load64(ids + 8 * i);
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct id_row *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

int ptl__events_sort(struct event_set *set)
{
    const uint64_t *next = set->ids;
    size_t n = 0;

    ptl__free(set->rows);
    set->rows = ptl__calloc(set->id_count, sizeof(*set->rows));
    if (!set->rows)
        return PTL_NOMEM;
    set->by_identifier = 1;
    for (size_t i = 0; i < set->count; i++) {
        struct ptl_perf_event *event = &set->events[i];
        event->ids = next;
        if (event->id_count)
            next += event->id_count;
        if (!(event->layout.sample_type & PTL_SAMPLE_IDENTIFIER))
            set->by_identifier = 0;
        for (size_t k = 0; k < event->id_count; k++)
            set->rows[n++] = (struct id_row){event->ids[k], (uint32_t)i};
    }
    qsort(set->rows, n, sizeof(*set->rows), compare);
    return 0;
}

static const struct ptl_perf_event *lookup(const struct event_set *set, uint64_t id)
{
    size_t low = 0, high = set->id_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (set->rows[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == set->id_count || set->rows[low].id != id)
        return NULL;
    return &set->events[set->rows[low].event];
}

const struct ptl_perf_event *ptl__events_find(const struct event_set *set, uint64_t id)
{
    const struct ptl_perf_event *event = id ? lookup(set, id) : NULL;

    if (event)
        return event;
    return set->count ? set->events : NULL;
}

const struct ptl_perf_event *ptl__events_writer(const struct event_set *set, const uint8_t *bytes,
                                                size_t size)
{
    uint64_t id;

    if (set->count <= 1)
        return set->count ? set->events : NULL;
    if (set->by_identifier) {
        ptl_record_identifier(bytes, size, &set->events[0].layout, &id);
        return ptl__events_find(set, id);
    }
    for (size_t i = 0; i < set->count; i++) {
        const struct ptl_perf_event *event = &set->events[i];
        if (!ptl_record_identifier(bytes, size, &event->layout, &id) && id &&
            lookup(set, id) == event)
            return event;
    }
    return set->events;
}

void ptl__events_free(struct event_set *set)
{
    ptl__free(set->events);
    ptl__free(set->ids);
    ptl__free(set->rows);
}

const struct ptl_perf_event *ptl_perf_event_of(const struct ptl_perf *perf, uint64_t id)
{
    return ptl__events_find(&perf->set, id);
}

const struct ptl_perf_event *ptl_perf_events(const struct ptl_perf *perf, size_t *count)
{
    *count = perf->set.count;
    return perf->set.events;
}
