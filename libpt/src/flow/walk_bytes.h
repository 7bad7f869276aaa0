/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk_bytes.h - the packets that the fast loops read themselves.
 *
 * The fast loops are the one place that reads foreign bytes without a cursor: they look at no
 * packet with less than FAST_ROOM bytes behind its begin.
 */
#ifndef LIBPT_FLOW_WALK_BYTES_H
#define LIBPT_FLOW_WALK_BYTES_H

#include "base/bytes.h"
#include "clock/clock_fast.h"
#include "flow/walk.h"

#define FAST_ROOM (STRETCH_SIZE + 16) /* bytes */

#define TNT64_SECOND 0xa3
#define IP_MAX       9 /* bytes of an IP packet */
#define IP_LOW(op)   ((op)&0x1f)
#define LOW_TIP      0x0d
#define LOW_PGE      0x11
#define LOW_PGD      0x01
#define LOW_FUP      0x1d
#define BYTE_MODE    0x99
#define BYTE_MTC     0x59
#define BYTE_PSB     0x82 /* the second */

#define INLINE static inline __attribute__((always_inline))

INLINE const uint8_t *ptl__skip_pad(const uint8_t *p, const uint8_t *end)
{
    while (end - p >= 8) {
        uint64_t v = ptl__load64(p);
        if (v)
            return p + (__builtin_ctzll(v) >> 3);
        p += 8;
    }
    while (p < end && !*p)
        p++;
    return p;
}

/* The IP of the IP packet at `p`, which has IP_MAX bytes of room. Returns its size, or 0:
 * suppressed, reserved. */
INLINE unsigned ptl__peek_ip(const uint8_t *p, uint64_t last_ip, uint64_t *ip)
{
    static const struct {
        uint64_t mask; /* bits that the payload has */
        uint8_t size, sext;
    } rows[8] = {
        [PTL_IPC_UPDATE_16] = {0xffff, 3, 0},        [PTL_IPC_UPDATE_32] = {0xffffffff, 5, 0},
        [PTL_IPC_SEXT_48] = {0xffffffffffff, 7, 16}, [PTL_IPC_UPDATE_48] = {0xffffffffffff, 7, 0},
        [PTL_IPC_FULL] = {UINT64_MAX, 9, 0},
    };
    unsigned ipc = *p >> 5;
    uint64_t v = (last_ip & ~rows[ipc].mask) | (ptl__load64(p + 1) & rows[ipc].mask);

    *ip = (uint64_t)((int64_t)(v << rows[ipc].sext) >> rows[ipc].sext);
    return rows[ipc].size;
}

/* A CYC or MTC at `p`, if it is one. Returns the next packet, or NULL: something else. */
INLINE const uint8_t *ptl__take_cycles(struct ptl__bind *b, const uint8_t *p)
{
    if ((*p & 3) == 3) {
        uint64_t value = *p >> 3;
        unsigned n = 1;

        if (*p & 4) { /* two bytes more are enough here */
            value |= (uint64_t)(p[1] >> 1) << 5;
            n = 2;
            if (p[1] & 1) {
                value |= (uint64_t)(p[2] >> 1) << 12;
                n = 3;
                if (p[2] & 1)
                    return NULL;
            } else if (b->decode & PTL_DECODE_SKD007) {
                return NULL;
            }
        }
        ptl__clock_cyc(&b->clock, value);
        return p + n;
    }
    if (*p == BYTE_MTC) {
        ptl__clock_mtc(&b->clock, p[1]);
        return p + 2;
    }
    return NULL;
}

/* Packets of time, and PAD. Returns the next packet, or NULL: something else. */
INLINE const uint8_t *ptl__take_time(struct ptl__bind *b, const uint8_t *p)
{
    const uint8_t *next = ptl__take_cycles(b, p);

    if (next)
        return next;
    b->pos = p;
    return ptl__bind_time(b) ? b->pos : NULL;
}

#endif
