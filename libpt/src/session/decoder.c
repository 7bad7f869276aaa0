/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decoder.c - a flow and a cursor for one queue, taken from piece to piece.
 */
#include "base/alloc.h"
#include "image/timeline.h"
#include "session/session.h"

#include <string.h>

#define NO_PIECE     SIZE_MAX
#define RELEASE_STEP ((size_t)4 << 20) /* pages are given back in runs of this size */

struct ptl_decoder {
    const struct ptl_session *session; /* NULL: a raw trace */
    struct ptl_stream stream;
    struct ptl_perf_piece raw; /* of a raw trace */
    struct ptl_cursor *cursor; /* may be NULL */
    struct ptl_flow *flow;
    size_t last;          /* piece */
    struct ptl_place end; /* of the segment */
    /* Decoded, and not yet given back. */
    const uint8_t *read_from, *read_to;
};

static struct ptl_decoder *make(const struct ptl_session *session, struct ptl_stream stream)
{
    struct ptl_decoder *d = ptl__calloc(1, sizeof(*d));

    if (!d)
        return NULL;
    d->session = session;
    d->stream = stream;
    d->last = NO_PIECE;
    d->end = (struct ptl_place){stream.count, 0};
    return d;
}

int ptl_decoder_new(struct ptl_decoder **decoder, const struct ptl_session *session, uint32_t queue)
{
    static const uint8_t nothing[1];
    struct ptl_flow_config config;
    struct ptl_decoder *d;
    int status;

    if (!decoder || !session)
        return PTL_INVALID;
    status = ptl_session_flow_config(session, queue, &config);
    if (status < 0)
        return status;
    d = make(session, ptl_session_stream(session, queue));
    if (!d)
        return PTL_NOMEM;
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

int ptl_decoder_raw(struct ptl_decoder **decoder, const struct ptl_flow_config *config)
{
    struct ptl_decoder *d;
    int status;

    if (!decoder || !config)
        return PTL_INVALID;
    d = make(NULL, (struct ptl_stream){NULL, 1});
    if (!d)
        return PTL_NOMEM;
    d->raw.bytes = config->begin;
    d->raw.size = config->len;
    d->raw.offset = config->offset;
    d->stream.pieces = &d->raw;
    d->cursor = config->cursor;
    status = ptl_flow_new(&d->flow, config);
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
    if (d->session)
        ptl_cursor_free(d->cursor);
    ptl__free(d);
}

/* --- from piece to piece -------------------------------------------------------------- */

int ptl_decoder_goes_on(const struct ptl_decoder *d, size_t i)
{
    return d->last != NO_PIECE && i == d->last + 1 && i < d->stream.count &&
           ptl_stream_goes_on(&d->stream, i);
}

/* Let the flow pause if the end is in the piece at hand. */
static void set_pause(struct ptl_decoder *d)
{
    const struct ptl_perf_piece *piece = &d->stream.pieces[d->last];

    ptl_flow_pause(d->flow, d->last == d->end.piece && d->end.at < piece->size
                                ? piece->offset + d->end.at
                                : UINT64_MAX);
}

static int enter(struct ptl_decoder *d, size_t i, uint64_t at, int joined)
{
    const struct ptl_perf_piece *piece = &d->stream.pieces[i];
    int status;

    if (joined)
        status = ptl_flow_continue(d->flow, piece->bytes, piece->size, piece->offset);
    else
        status = ptl_flow_restart(d->flow, piece->bytes + at, piece->size - at, piece->offset + at);
    d->last = status < 0 ? NO_PIECE : i;
    if (status < 0)
        return status;
    set_pause(d);
    return joined;
}

int ptl_decoder_piece(struct ptl_decoder *d, size_t i)
{
    if (!d || i >= d->stream.count)
        return PTL_INVALID;
    ptl_decoder_release(d);
    return enter(d, i, 0, ptl_decoder_goes_on(d, i));
}

int ptl_decoder_start(struct ptl_decoder *d, struct ptl_place from, struct ptl_place to)
{
    if (!d || from.piece >= d->stream.count || from.at > d->stream.pieces[from.piece].size)
        return PTL_INVALID;
    d->end = to;
    return enter(d, from.piece, from.at, 0);
}

void ptl_decoder_extend(struct ptl_decoder *d, struct ptl_place to)
{
    d->end = to;
    if (d->last != NO_PIECE)
        set_pause(d);
}

size_t ptl_decoder_next_piece(const struct ptl_decoder *d)
{
    size_t next = d->last == NO_PIECE ? 0 : d->last + 1;

    return next < d->end.piece || (next == d->end.piece && d->end.at) ? next : SIZE_MAX;
}

/* --- state ------------------------------------------------------------------------------ */

void ptl_decoder_get_state(const struct ptl_decoder *d, int with_time, struct ptl_flow_state *state)
{
    struct ptl__cursor_state cursor;

    if (d->end.at) {
        ptl_flow_get_state(d->flow, with_time || d->cursor, state);
    } else { /* the next piece starts anew: nothing of the flow's counts */
        memset(state, 0, sizeof(*state));
        state->len = 1;
    }
    if (!d->cursor || !state->len)
        return;
    ptl__cursor_get_state(d->cursor, &cursor);
    memcpy(state->bytes + state->len, &cursor, sizeof(cursor));
    state->len += (uint32_t)sizeof(cursor);
}

/* --- memory ----------------------------------------------------------------------------- */

static void give_back(struct ptl_decoder *d)
{
    if (d->read_from < d->read_to && d->session)
        ptl_perf_release(d->session->perf, d->read_from, (uint64_t)(d->read_to - d->read_from));
    d->read_from = d->read_to;
}

void ptl_decoder_release(struct ptl_decoder *d)
{
    const struct ptl_perf_piece *piece;
    const uint8_t *now;
    uint64_t at;

    if (d->last == NO_PIECE)
        return;
    piece = &d->stream.pieces[d->last];
    at = ptl_flow_offset(d->flow) - piece->offset;
    now = piece->bytes + (at < piece->size ? at : piece->size);
    /* Trace lies in the file in its order, but some of it elsewhere: joined from two buffers. */
    if (now < d->read_to || (size_t)(now - d->read_to) > 4 * RELEASE_STEP) {
        give_back(d);
        d->read_from = piece->bytes < now ? piece->bytes : now;
        if ((size_t)(now - d->read_from) > RELEASE_STEP)
            d->read_from = now;
    }
    d->read_to = now;
    if ((size_t)(d->read_to - d->read_from) >= RELEASE_STEP)
        give_back(d);
}

struct ptl_flow *ptl_decoder_flow(const struct ptl_decoder *d)
{
    return d->flow;
}

struct ptl_context ptl_decoder_context(const struct ptl_decoder *d)
{
    const struct ptl_context nobody = {.pid = UINT32_MAX, .tid = UINT32_MAX};

    return d->cursor ? ptl_cursor_context(d->cursor) : nobody;
}
