/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * segments.c - see pt/segments.h.
 */
#include <pt/segments.h>

#define STEP_BACK ((uint64_t)4 << 10)

/* --- places --------------------------------------------------------------------------- */

int ptl_place_compare(struct ptl_place a, struct ptl_place b)
{
    if (a.piece != b.piece)
        return a.piece < b.piece ? -1 : 1;
    return (a.at > b.at) - (a.at < b.at);
}

uint64_t ptl_place_distance(const struct ptl_stream *stream, struct ptl_place a, struct ptl_place b)
{
    uint64_t bytes = b.at - a.at;

    for (size_t i = a.piece; i < b.piece; i++)
        bytes += stream->pieces[i].size;
    return bytes;
}

struct ptl_place ptl_place_advance(const struct ptl_stream *stream, struct ptl_place place,
                                   uint64_t bytes)
{
    while (place.piece < stream->count && bytes >= stream->pieces[place.piece].size - place.at) {
        bytes -= stream->pieces[place.piece].size - place.at;
        place = (struct ptl_place){place.piece + 1, 0};
    }
    if (place.piece < stream->count)
        place.at += bytes;
    return place;
}

struct ptl_place ptl_place_retreat(const struct ptl_stream *stream, struct ptl_place place,
                                   uint64_t bytes)
{
    while (bytes > place.at && place.piece) {
        bytes -= place.at;
        place.piece--;
        place.at = stream->pieces[place.piece].size;
    }
    place.at -= bytes < place.at ? bytes : place.at;
    return place;
}

int ptl_stream_goes_on(const struct ptl_stream *stream, size_t i)
{
    const struct ptl_perf_piece *piece = &stream->pieces[i];

    return i > 0 && piece->joined && !piece->missing && !(piece[-1].flags & PTL_AUX_TRUNCATED);
}

/* --- cutting --------------------------------------------------------------------------- */

/* The end of the PSB+ at `psb`, or 0 if it is not whole, or nothing follows it. */
static uint64_t psbplus_end(const struct ptl_perf_piece *piece, uint64_t psb)
{
    struct ptl_packet packet;

    for (uint64_t at = psb; at < piece->size; at += packet.size) {
        if (ptl_packet_decode(&packet, piece->bytes + at, piece->size - at, 0) <= 0)
            return 0;
        if (packet.type == PTL_PKT_PSBEND)
            return at + packet.size < piece->size ? at + packet.size : 0;
        if (packet.type == PTL_PKT_OVF || (packet.type == PTL_PKT_PSB && at != psb))
            return 0;
    }
    return 0;
}

/* The first PSB of the place's piece at or after it. Returns 0 if there is none. */
static int find_psb(const struct ptl_stream *stream, struct ptl_place *place)
{
    const struct ptl_perf_piece *piece = &stream->pieces[place->piece];

    if (place->at >= piece->size)
        return 0;
    place->at = ptl_psb_find(piece->bytes, piece->size, place->at);
    return place->at < piece->size;
}

/* The first PSB at or after `place`; else the end. */
static struct ptl_place first_psb(const struct ptl_stream *stream, struct ptl_place place)
{
    while (place.piece < stream->count && !find_psb(stream, &place))
        place = (struct ptl_place){place.piece + 1, 0};
    return place;
}

/* From the PSB `warm` on: the end of the next whole PSB+, or the next piece that starts anew.
 * `warm` follows, so that it is the last PSB before. */
static struct ptl_place find_begin(const struct ptl_stream *stream, struct ptl_place *warm)
{
    struct ptl_place at = {warm->piece, warm->at + 1};

    while (at.piece < stream->count) {
        if (find_psb(stream, &at)) {
            uint64_t end = psbplus_end(&stream->pieces[at.piece], at.at);
            if (end)
                return (struct ptl_place){at.piece, end};
            *warm = at;
            at.at++;
            continue;
        }
        at = (struct ptl_place){at.piece + 1, 0};
        if (at.piece < stream->count && !ptl_stream_goes_on(stream, at.piece))
            return at;
    }
    return at;
}

void ptl_segments_cut(const struct ptl_stream *stream, struct ptl_place at, struct ptl_place *warm,
                      struct ptl_place *begin)
{
    *begin = *warm = first_psb(stream, at);
    if (warm->piece < stream->count)
        *begin = find_begin(stream, warm);
    if (begin->piece == stream->count)
        *warm = *begin;
}

void ptl_segments_cut_before(const struct ptl_stream *stream, struct ptl_place at,
                             struct ptl_place *warm, struct ptl_place *begin)
{
    struct ptl_place from = at, next_warm, next;

    for (uint64_t step = STEP_BACK; from.piece || from.at; step *= 2) {
        from = ptl_place_retreat(stream, at, step);
        ptl_segments_cut(stream, from, warm, begin);
        if (ptl_place_compare(*begin, at) > 0)
            continue;
        /* The last one of those in between. */
        for (;;) {
            ptl_segments_cut(stream, (struct ptl_place){warm->piece, warm->at + 1}, &next_warm,
                             &next);
            if (ptl_place_compare(next, at) > 0)
                return;
            *warm = next_warm;
            *begin = next;
        }
    }
    *warm = *begin = (struct ptl_place){0, 0};
}

int ptl_segments_next(const struct ptl_stream *stream, struct ptl_place limit, uint64_t size,
                      struct ptl_segment *segment)
{
    struct ptl_place begin = segment->end;

    if (ptl_place_compare(begin, limit) >= 0)
        return 0;
    segment->begin = begin;
    segment->warm = segment->warm_next;
    ptl_segments_cut(stream, ptl_place_advance(stream, begin, size), &segment->warm_next,
                     &segment->end);
    if (ptl_place_compare(segment->end, limit) > 0)
        segment->end = limit;
    return 1;
}

static struct ptl_place share_begin(const struct ptl_stream *stream, uint32_t k, uint32_t n,
                                    struct ptl_place *warm)
{
    struct ptl_place begin = {0, 0}, end = {stream->count, 0};
    uint64_t size = ptl_place_distance(stream, begin, end);

    *warm = begin;
    if (k)
        ptl_segments_cut(stream, ptl_place_advance(stream, begin, (uint64_t)((double)size * k / n)),
                         warm, &begin);
    return begin;
}

void ptl_segments_share(const struct ptl_stream *stream, uint32_t k, uint32_t n,
                        struct ptl_segment *segment)
{
    segment->begin = share_begin(stream, k, n, &segment->warm);
    segment->end = segment->warm_next = (struct ptl_place){stream->count, 0};
    if (k + 1 < n)
        segment->end = share_begin(stream, k + 1, n, &segment->warm_next);
}
