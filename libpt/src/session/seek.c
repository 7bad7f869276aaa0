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

size_t ptl__session_find_psb(const uint8_t *bytes, size_t len, uint64_t tsc)
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
