/* SPDX-License-Identifier: BSD-3-Clause */
/* line.c - see line.h. */
#include "line.h"

#include "hex.h"

#include <string.h>

char *line_offset(char *p, uint64_t offset)
{
    hex16(p, offset);
    p[16] = p[17] = ' ';
    return p + 18;
}

char *line_raw(char *p, const uint8_t *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    memset(p + 2 * n, ' ', LINE_RAW_WIDTH + 1 - 2 * n);
    for (size_t i = 0; i < n; i++) {
        p[2 * i] = digits[bytes[i] >> 4];
        p[2 * i + 1] = digits[bytes[i] & 15];
    }
    return p + LINE_RAW_WIDTH + 1;
}

size_t line_packet(char *p, const struct ptl_packet *packet)
{
    const char *name = ptl_packet_name((enum ptl_packet_type)packet->type);
    size_t len = text_packet_payload(p + LINE_NAME_WIDTH + 1, packet);
    char *end;

    memset(p, ' ', LINE_NAME_WIDTH + 1);
    end = put_word(p, name);
    return len ? LINE_NAME_WIDTH + 1 + len : (size_t)(end - p);
}

size_t line_track(char *p, size_t len, const char *id, const char *value)
{
    size_t column = LINE_NAME_WIDTH + 1 + LINE_PAYLOAD_WIDTH + 1;
    char *end;

    if (len <= LINE_NAME_WIDTH) /* no payload: the name is as long as it is */
        column = len + 1 + LINE_PAYLOAD_WIDTH + 1;
    if (len >= column)
        column = len + 1;
    memset(p + len, ' ', column - len);
    memset(p + column, ' ', LINE_ID_WIDTH);
    end = put_word(p + column, id);
    if (end < p + column + LINE_ID_WIDTH)
        end = p + column + LINE_ID_WIDTH;
    return (size_t)(put_word(end, value) - p);
}
