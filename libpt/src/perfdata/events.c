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

int ptl__perf_add_event(struct ptl_perf *perf, const struct ptl_attr *attr, const uint8_t *ids,
                        size_t id_count, size_t max_ids)
{
    struct ptl_perf_event *event;

    if (GROW(perf->events, perf->event_cap, perf->event_count))
        return PTL_NOMEM;
    /* Each id belongs to one event, so there are no more of them than the file can hold. */
    if (id_count > max_ids - perf->id_count)
        id_count = max_ids - perf->id_count;
    if (id_count && ptl__grow((void **)&perf->ids, &perf->id_cap, perf->id_count + id_count,
                              max_ids, sizeof(*perf->ids)))
        return PTL_NOMEM;
    event = &perf->events[perf->event_count++];
    memset(event, 0, sizeof(*event));
    event->attr = *attr;
    event->layout = ptl_layout_of(attr);
    event->id_count = id_count;
    for (size_t i = 0; i < id_count; i++)
        perf->ids[perf->id_count++] = ptl__load64(ids + 8 * i);
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct id_row *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

int ptl__perf_sort_ids(struct ptl_perf *perf)
{
    uint64_t *next = perf->ids;
    size_t n = 0;

    ptl__free(perf->id_rows);
    perf->id_rows = ptl__calloc(perf->id_count, sizeof(*perf->id_rows));
    if (!perf->id_rows)
        return PTL_NOMEM;
    perf->by_identifier = 1;
    for (size_t i = 0; i < perf->event_count; i++) {
        struct ptl_perf_event *event = &perf->events[i];
        event->ids = next;
        next += event->id_count;
        if (!(event->layout.sample_type & PTL_SAMPLE_IDENTIFIER))
            perf->by_identifier = 0;
        for (size_t k = 0; k < event->id_count; k++)
            perf->id_rows[n++] = (struct id_row){event->ids[k], (uint32_t)i};
    }
    qsort(perf->id_rows, n, sizeof(*perf->id_rows), compare);
    return 0;
}

static const struct ptl_perf_event *lookup(const struct ptl_perf *perf, uint64_t id)
{
    size_t low = 0, high = perf->id_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (perf->id_rows[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == perf->id_count || perf->id_rows[low].id != id)
        return NULL;
    return &perf->events[perf->id_rows[low].event];
}

const struct ptl_perf_event *ptl_perf_event_of(const struct ptl_perf *perf, uint64_t id)
{
    const struct ptl_perf_event *event = id ? lookup(perf, id) : NULL;

    if (event)
        return event;
    return perf->event_count ? perf->events : NULL;
}

const struct ptl_perf_event *ptl__perf_writer_of(const struct ptl_perf *perf, const uint8_t *bytes,
                                                 size_t size)
{
    uint64_t id;

    if (perf->event_count <= 1)
        return perf->event_count ? perf->events : NULL;
    if (perf->by_identifier) {
        ptl_record_identifier(bytes, size, &perf->events[0].layout, &id);
        return ptl_perf_event_of(perf, id);
    }
    for (size_t i = 0; i < perf->event_count; i++) {
        const struct ptl_perf_event *event = &perf->events[i];
        if (!ptl_record_identifier(bytes, size, &event->layout, &id) && id &&
            lookup(perf, id) == event)
            return event;
    }
    return perf->events;
}

const struct ptl_perf_event *ptl_perf_events(const struct ptl_perf *perf, size_t *count)
{
    *count = perf->event_count;
    return perf->events;
}
