/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psb.c - finding the synchronisation pattern.
 *
 * PSB is 02 82 eight times. A longer run is one PSB that follows bytes which happen to
 * look like it (or another PSB): its last 16 bytes count, so the packet after it is right.
 *
 * Any 16 bytes cover a whole 8-byte step of the scan, so one comparison with each of the two
 * phases of the pattern per step finds every run.
 *
 * Source: Intel SDM vol. 3, "Intel Processor Trace", section "Packet Stream Boundary (PSB)".
 */
#include "base/bytes.h"

#include <pt/packet.h>

#define PSB_SIZE 16u
#define EVEN     0x8202820282028202u /* 02 at the first byte */
#define ODD      0x0282028202820282u /* 82 at the first byte */

static int pair(const uint8_t *p)
{
    return p[0] == 0x02 && p[1] == 0x82;
}

static int step(const uint8_t *p)
{
    uint64_t v = ptl__load64(p);
    return v == EVEN || v == ODD;
}

/* The run around buf[at], which holds a step: [*begin, *end) within [from, len). */
static void run(const uint8_t *buf, size_t len, size_t from, size_t at, size_t *begin, size_t *end)
{
    if (buf[at] == 0x82)
        at++;
    *begin = *end = at;
    while (*begin >= from + 2 && pair(buf + *begin - 2))
        *begin -= 2;
    while (len - *end >= 2 && pair(buf + *end))
        *end += 2;
}

size_t ptl_psb_find(const uint8_t *buf, size_t len, size_t from)
{
    size_t begin, end;

    while (from < len && len - from >= PSB_SIZE) {
        size_t at = from;
        while (len - at >= 8 && !step(buf + at))
            at += 8;
        if (len - at < 8)
            break;
        run(buf, len, from, at, &begin, &end);
        if (end - begin >= PSB_SIZE)
            return end - PSB_SIZE;
        from = end;
    }
    return len;
}

size_t ptl_psb_find_last(const uint8_t *buf, size_t len, size_t before)
{
    size_t begin, end, at;

    if (len < PSB_SIZE || !before)
        return SIZE_MAX;
    /* A PSB that begins before `before` may reach 15 bytes beyond. */
    at = before <= len - PSB_SIZE ? before + PSB_SIZE - 1 : len;
    while (at >= 8) {
        if (!step(buf + at - 8)) {
            at -= 8;
            continue;
        }
        run(buf, len, 0, at - 8, &begin, &end);
        if (end - begin >= PSB_SIZE && end - PSB_SIZE < before)
            return end - PSB_SIZE;
        at = begin;
    }
    return SIZE_MAX;
}
