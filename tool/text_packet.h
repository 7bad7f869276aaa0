/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text_packet.h - the text of packets: "fup", "6: ffffffffc038103c".
 */
#ifndef TOOL_TEXT_PACKET_H
#define TOOL_TEXT_PACKET_H

#include <pt/packet.h>

/* Bytes of the longest payload text (TNT-64), and room for whole words behind it. */
#define TEXT_PACKET_MAX 80

/* Write the payload of `packet` as text to `p`, which holds TEXT_PACKET_MAX bytes. Returns its
 * length, 0 if the packet has none. Not terminated; bytes behind the text may be overwritten. */
size_t text_packet_payload(char *p, const struct ptl_packet *packet);

/* The kind of a CFE, EVD or BBP in a word ("iret", "cr2", "mem"; "unknown"); NULL for other
 * packets. */
const char *text_packet_kind(const struct ptl_packet *packet);

/* "64-bit", "32-bit", "16-bit", "unknown": what a MODE.Exec switches to. */
const char *text_packet_mode(const struct ptl_packet *packet);

#endif
