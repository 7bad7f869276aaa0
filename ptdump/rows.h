/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rows.h - the lines of packets that the first byte alone determines, made ahead.
 *
 * Most packets of a trace are PAD, TNT-8, IP packets and short CYCs. Their lines are constant
 * but for the offset and the digits of an address, so the fast loop copies them. The rows are
 * made by the decoder and the text writer that the slow path uses.
 */
#ifndef PTDUMP_ROWS_H
#define PTDUMP_ROWS_H

#include <pt/packet.h>

#define ROW_TEXT 32 /* "tip.pge    3: 0123456789abcdef\n" and one byte to spare */
#define ROW_IP   14 /* where the 16 digits begin */

enum row_kind {
    ROW_OTHER, /* the slow path's */
    ROW_FIXED, /* one byte, constant line */
    ROW_IP_PACKET
};

struct row {
    char text[ROW_TEXT];
    uint64_t known[2], unknown[2]; /* ROW_IP_PACKET: bytes to take from the digits; '?' else */
    uint8_t kind, size;
    uint8_t len;   /* of the text; 0: not shown */
    uint8_t shift; /* ROW_IP_PACKET: the payload is sign-extended from bit 63 - shift */
};

/* Which packet types to leave to the slow path, and which not to show: masks of 1 << type. */
void rows_init(struct row rows[256], uint64_t slow, uint64_t hidden);

#endif
