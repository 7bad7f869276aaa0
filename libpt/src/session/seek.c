/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seek.c - where to begin for a time: the last PSB whose TSC is not later. Only as much of the
 * trace is read as a binary search needs.
 *
 * PSB+ has the TSC first or soon after (SDM vol. 3, "Packet Stream Boundary (PSB) packet"); one
 * without is taken for too late, so the search goes on before it.
 */
#include "session/session.h"

#include <pt/packet.h>

#define PSB_SIZE 16

/* The TSC in the PSB+ at `at`. Returns 1 if there is one. */
static int psb_time(const uint8_t *bytes, size_t len, size_t at, uint64_t *tsc)
{
    struct ptl_packet packet;

    for (at += PSB_SIZE; at < len; at += packet.size) {
        if (ptl_packet_decode(&packet, bytes + at, len - at, 0) < 0 ||
            packet.type == PTL_PKT_PSBEND || packet.type == PTL_PKT_OVF)
            return 0;
        if (packet.type == PTL_PKT_TSC) {
            *tsc = packet.payload.tsc.tsc;
            return 1;
        }
    }
    return 0;
}

/* The last PSB with a TSC up to `tsc`; SIZE_MAX: none. */
static size_t find_psb(const uint8_t *bytes, size_t len, uint64_t tsc)
{
    size_t lo = 0, hi = len, best = SIZE_MAX;
    uint64_t time;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        size_t end = len - hi > PSB_SIZE ? hi + PSB_SIZE : len;
        size_t psb = ptl_psb_find(bytes, end, mid);

        if (psb == end || !psb_time(bytes, len, psb, &time) || time > tsc) {
            hi = mid;
        } else {
            best = psb;
            lo = psb + 1;
        }
    }
    return best;
}

/* The first piece that may end at `tsc` or later. Where the time of one is not known, those around
 * it tell. */
static size_t piece_at(const struct ptl_session *s, const struct ptl_stream *stream, uint64_t tsc)
{
    size_t lo = 0, hi = stream->count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        uint64_t end = stream->pieces[mid].time;

        if (end && ptl_session_ticks(s, end) < tsc)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct ptl_place ptl_session_find(const struct ptl_session *s, uint32_t queue, uint64_t tsc)
{
    struct ptl_stream stream = ptl_session_stream(s, queue);
    struct ptl_place place = {0, 0};
    size_t at = SIZE_MAX;

    if (s->timeless)
        return place;
    place.piece = piece_at(s, &stream, tsc);
    if (place.piece == stream.count)
        return place;
    for (;; place.piece--) {
        const struct ptl_perf_piece *piece = &stream.pieces[place.piece];

        at = find_psb(piece->bytes, piece->size, tsc);
        if (at != SIZE_MAX || !ptl_stream_goes_on(&stream, place.piece))
            break;
    }
    place.at = at == SIZE_MAX ? 0 : at;
    return place;
}
