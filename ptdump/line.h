/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * line.h - the columns of a line:
 *
 *   offset  [raw bytes, 33] name, 10 payload, 25 id, 5 value
 *
 * with one blank between columns and two behind the offset. A column is only padded when
 * something follows; the name is not when the payload is empty.
 */
#ifndef PTDUMP_LINE_H
#define PTDUMP_LINE_H

#include "text_packet.h"

#define LINE_RAW_WIDTH     33
#define LINE_NAME_WIDTH    10
#define LINE_PAYLOAD_WIDTH 25
#define LINE_ID_WIDTH      5

/* Name and payload. */
#define LINE_TEXT_MAX (LINE_NAME_WIDTH + 1 + TEXT_PACKET_MAX)
/* All columns; the value has up to 32 characters. */
#define LINE_MAX (18 + LINE_RAW_WIDTH + 1 + LINE_TEXT_MAX + LINE_PAYLOAD_WIDTH + 64)

/* "16 digits and two blanks" at `p`; returns the end. */
char *line_offset(char *p, uint64_t offset);
/* The bytes in hex, padded. */
char *line_raw(char *p, const uint8_t *bytes, size_t n);
/* Name and payload at `p`, without newline. Returns the length. */
size_t line_packet(char *p, const struct ptl_packet *packet);
/* Add a tracking column behind the `len` characters of line_packet() at `p`. Returns the
 * new length. `value` has up to 32 characters. */
size_t line_track(char *p, size_t len, const char *id, const char *value);

#endif
