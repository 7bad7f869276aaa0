/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * segments.c - see pt/segments.h.
 */
#include <pt/segments.h>

#define BATCH 256

/* The end of the PSB+ at `psb`, or 0 if it is not whole. */
static size_t psbplus_end(const uint8_t *trace, size_t len, size_t psb)
{
    struct ptl_packet packet;

    for (size_t at = psb; at < len; at += packet.size) {
        if (ptl_packet_decode(&packet, trace + at, len - at, 0) <= 0)
            return 0;
        if (packet.type == PTL_PKT_PSBEND)
            return at + packet.size;
        if (packet.type == PTL_PKT_OVF || (packet.type == PTL_PKT_PSB && at != psb))
            return 0;
    }
    return 0;
}

void ptl_segments_cut(const uint8_t *trace, size_t len, size_t at, size_t *warm, size_t *begin)
{
    size_t psb = at < len ? ptl_psb_find(trace, len, at) : len;

    *begin = 0;
    *warm = psb;
    while (psb < len && !*begin) {
        *warm = psb;
        psb = ptl_psb_find(trace, len, psb + 1);
        if (psb < len)
            *begin = psbplus_end(trace, len, psb);
    }
    if (!*begin)
        *warm = *begin = len;
}

int ptl_segments_next(const uint8_t *trace, size_t len, size_t size, struct ptl_segment *segment)
{
    size_t warm, begin = segment->end;

    if (begin >= len)
        return 0;
    segment->begin = begin;
    segment->warm = segment->warm_next;
    ptl_segments_cut(trace, len, size < len - begin ? begin + size : len, &warm, &segment->end);
    segment->warm_next = warm;
    return 1;
}

static size_t share_begin(const uint8_t *trace, size_t len, uint32_t k, uint32_t n, size_t *warm)
{
    size_t begin;

    *warm = 0;
    if (!k)
        return 0;
    ptl_segments_cut(trace, len, (size_t)((double)len * k / n), warm, &begin);
    return begin;
}

void ptl_segments_share(const uint8_t *trace, size_t len, uint32_t k, uint32_t n,
                        struct ptl_segment *segment)
{
    segment->begin = share_begin(trace, len, k, n, &segment->warm);
    segment->end = k + 1 < n ? share_begin(trace, len, k + 1, n, &segment->warm_next) : len;
}

void ptl_segments_go_on(struct ptl_flow *flow, size_t len, uint64_t offset,
                        const struct ptl_segment *segment)
{
    ptl_flow_pause(flow, segment->end < len ? offset + segment->end : UINT64_MAX);
}

int ptl_segments_enter(struct ptl_flow *flow, const uint8_t *trace, size_t len, uint64_t offset,
                       const struct ptl_segment *segment)
{
    struct ptl_item items[BATCH];
    int n =
        ptl_flow_restart(flow, trace + segment->warm, len - segment->warm, offset + segment->warm);

    if (n < 0)
        return n;
    if (!segment->begin)
        return 0;
    ptl_flow_pause(flow, offset + segment->begin);
    do
        n = ptl_flow_next(flow, items, BATCH);
    while (n > 0);
    return n;
}
