/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.c - see rows.h. */
#include "rows.h"

#include "line.h"

#include <string.h>

/* The digits that an IP packet of this form does not tell are '?' in its text. */
static void ip_row(struct row *row, const struct ptl_packet *packet)
{
    unsigned bits = 8 * (packet->size - 1u);

    for (unsigned i = 0; i < 16; i++) {
        int known = row->text[ROW_IP + i] != '?';
        ((char *)row->known)[i] = known ? '\xff' : 0;
        ((char *)row->unknown)[i] = known ? 0 : '?';
    }
    row->kind = ROW_IP_PACKET;
    row->shift = (uint8_t)(64 - bits);
}

static void make_row(struct row *row, uint8_t byte, uint64_t slow, uint64_t hidden)
{
    uint8_t bytes[PTL_PACKET_MAX_SIZE] = {byte};
    char line[LINE_TEXT_MAX];
    struct ptl_packet packet;
    size_t len;

    memset(row, 0, sizeof(*row));
    if (ptl_packet_decode(&packet, bytes, sizeof(bytes), 0) < 0 || slow >> packet.type & 1)
        return;
    len = line_packet(line, &packet);
    line[len++] = '\n';
    if (len > ROW_TEXT)
        return;
    memcpy(row->text, line, len);
    if (packet.size == 1)
        row->kind = ROW_FIXED;
    else if (packet.type >= PTL_PKT_TIP && packet.type <= PTL_PKT_FUP)
        ip_row(row, &packet);
    else
        return;
    row->size = packet.size;
    row->len = hidden >> packet.type & 1 ? 0 : (uint8_t)len;
}

void rows_init(struct row rows[256], uint64_t slow, uint64_t hidden)
{
    for (unsigned b = 0; b < 256; b++)
        make_row(&rows[b], (uint8_t)b, slow, hidden);
}
