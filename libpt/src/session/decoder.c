/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decoder.c - a flow and a cursor for one queue, taken from piece to piece.
 */
#include "base/alloc.h"
#include "session/session.h"

#define NO_PIECE SIZE_MAX

struct ptl_decoder {
    const struct ptl_session *session;
    const struct ptl_perf_queue *queue;
    struct ptl_cursor *cursor;
    struct ptl_flow *flow;
    size_t last; /* piece */
};

int ptl_decoder_new(struct ptl_decoder **decoder, const struct ptl_session *session, uint32_t queue)
{
    static const uint8_t nothing[1];
    struct ptl_flow_config config;
    struct ptl_decoder *d;
    size_t count;
    int status;

    if (!decoder || !session)
        return PTL_INVALID;
    status = ptl_session_flow_config(session, queue, &config);
    if (status < 0)
        return status;
    d = ptl__calloc(1, sizeof(*d));
    if (!d)
        return PTL_NOMEM;
    d->queue = &ptl_perf_queues(session->perf, &count)[queue];
    d->session = session;
    d->last = NO_PIECE;
    status = ptl_cursor_new(&d->cursor, ptl_sideband_timeline(ptl_session_sideband(session, queue)),
                            ptl_session_lane(session, queue), session->kernel_start);
    config.begin = nothing;
    config.cursor = d->cursor;
    if (status == 0)
        status = ptl_flow_new(&d->flow, &config);
    if (status < 0) {
        ptl_decoder_free(d);
        return status;
    }
    *decoder = d;
    return 0;
}

void ptl_decoder_free(struct ptl_decoder *d)
{
    if (!d)
        return;
    if (d->flow)
        ptl_flow_free(d->flow);
    ptl_cursor_free(d->cursor);
    ptl__free(d);
}

/* Is piece `i` the same stream as the one before, with nothing lost between? */
static int is_same_stream(const struct ptl_decoder *d, size_t i)
{
    const struct ptl_perf_piece *piece = &d->queue->pieces[i];

    return i > 0 && piece->joined && !piece->missing && !(piece[-1].flags & PTL_AUX_TRUNCATED);
}

int ptl_decoder_goes_on(const struct ptl_decoder *d, size_t i)
{
    return d->last != NO_PIECE && i == d->last + 1 && i < d->queue->piece_count &&
           is_same_stream(d, i);
}

int ptl_decoder_piece(struct ptl_decoder *d, size_t i)
{
    const struct ptl_perf_piece *piece;
    int status, joined;

    if (!d || i >= d->queue->piece_count)
        return PTL_INVALID;
    piece = &d->queue->pieces[i];
    joined = ptl_decoder_goes_on(d, i);
    if (joined)
        status = ptl_flow_continue(d->flow, piece->bytes, piece->size, piece->offset);
    else
        status = ptl_flow_restart(d->flow, piece->bytes, piece->size, piece->offset);
    d->last = status < 0 ? NO_PIECE : i;
    return status < 0 ? status : joined;
}

/* The first piece that ends at `tsc` or later. */
static size_t piece_at(const struct ptl_decoder *d, uint64_t tsc)
{
    size_t i = 0;

    for (; i < d->queue->piece_count; i++) {
        uint64_t end = d->queue->pieces[i].time;

        if (!end || ptl_session_ticks(d->session, end) >= tsc)
            break;
    }
    return i;
}

int ptl_decoder_seek(struct ptl_decoder *d, uint64_t tsc, size_t *piece)
{
    const struct ptl_perf_piece *p;
    size_t i, at;
    int status;

    if (!d || !piece)
        return PTL_INVALID;
    i = d->session->timeless ? 0 : piece_at(d, tsc);
    if (i == d->queue->piece_count)
        return PTL_EOS;
    p = &d->queue->pieces[i];
    at = d->session->timeless ? 0 : ptl__session_find_psb(p->bytes, p->size, tsc);
    for (; at == SIZE_MAX && is_same_stream(d, i); i--) {
        p = &d->queue->pieces[i - 1];
        at = ptl__session_find_psb(p->bytes, p->size, tsc);
    }
    if (at == SIZE_MAX)
        at = 0;
    status = ptl_flow_restart(d->flow, p->bytes + at, p->size - at, p->offset + at);
    d->last = status < 0 ? NO_PIECE : i;
    *piece = i;
    return status;
}

struct ptl_flow *ptl_decoder_flow(const struct ptl_decoder *d)
{
    return d->flow;
}

struct ptl_context ptl_decoder_context(const struct ptl_decoder *d)
{
    return ptl_cursor_context(d->cursor);
}
