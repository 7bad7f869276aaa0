/* SPDX-License-Identifier: BSD-3-Clause */
/* packet_table.h - what packets.def says, as tables. */
#ifndef LIBPT_PACKET_PACKET_TABLE_H
#define LIBPT_PACKET_PACKET_TABLE_H

#include <pt/packet.h>

/* Roles of a packet type, see packets.def. */
#define PTL__ROLE_PSBPLUS 0x1u
#define PTL__ROLE_TIME    0x2u
#define PTL__ROLE_IP      0x4u
#define PTL__ROLE_INBLOCK 0x8u

/* What one opcode byte selects. Size 0: type INVALID is an unknown opcode, any other type a
 * reserved form of that packet. */
struct ptl__opcode {
    uint8_t type; /* enum ptl_packet_type, or PTL__OPC_EXT */
    uint8_t size;
};

/* The second byte decides. */
#define PTL__OPC_EXT 0xffu

struct ptl__packet_row {
    const char *name;
    uint8_t level, opcode, mask, roles;
};

extern const struct ptl__opcode ptl__opcodes[2][256]; /* by first byte; by second after 02 */
extern const struct ptl__packet_row ptl__packet_rows[PTL_PKT_MAX_VALUE + 1];

#endif
