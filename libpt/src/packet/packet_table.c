/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet_table.c - the tables that packets.def stands for, computed by the compiler.
 *
 * Each entry is a chain of conditions over all rows, so a table cannot drift from the rows.
 */
#include "packet/packet_table.h"

#include "packet/packets.def"

/* The first row of `level` that matches byte `b`: its type, its size. */
#define TYPE1(b, type, name, level, opcode, mask, size, roles)                                     \
    (level) == 1 && ((b) & (mask)) == (opcode) ? PTL_PKT_##type:
#define TYPE2(b, type, name, level, opcode, mask, size, roles)                                     \
    (level) == 2 && ((b) & (mask)) == (opcode) ? PTL_PKT_##type:
#define SIZE1(b, type, name, level, opcode, mask, size, roles)                                     \
    (level) == 1 && ((b) & (mask)) == (opcode) ? (size):
#define SIZE2(b, type, name, level, opcode, mask, size, roles)                                     \
    (level) == 2 && ((b) & (mask)) == (opcode) ? (size):

#define FIRST(b)                                                                                   \
    {                                                                                              \
        (b) == 0x02 ? PTL__OPC_EXT : PTL__PACKETS(TYPE1, b) PTL_PKT_INVALID,                       \
            (b) == 0x02 ? 2 : PTL__PACKETS(SIZE1, b) 0                                             \
    }
#define SECOND(b)                                                                                  \
    {                                                                                              \
        PTL__PACKETS(TYPE2, b) PTL_PKT_INVALID, PTL__PACKETS(SIZE2, b) 0                           \
    }

#define X4(f, b)  f((b)), f((b) + 1), f((b) + 2), f((b) + 3)
#define X16(f, b) X4(f, (b)), X4(f, (b) + 4), X4(f, (b) + 8), X4(f, (b) + 12)
#define X64(f, b) X16(f, (b)), X16(f, (b) + 16), X16(f, (b) + 32), X16(f, (b) + 48)
#define X256(f)   X64(f, 0), X64(f, 64), X64(f, 128), X64(f, 192)

const struct ptl__opcode ptl__opcodes[2][256] = {{X256(FIRST)}, {X256(SECOND)}};

#define PSBPLUS PTL__ROLE_PSBPLUS
#define TIME    PTL__ROLE_TIME
#define IP      PTL__ROLE_IP
#define INBLOCK PTL__ROLE_INBLOCK

const struct ptl__packet_row ptl__packet_rows[PTL_PKT_MAX_VALUE + 1] = {
    [PTL_PKT_INVALID] = {"<invalid>", 0, 0, 0, 0},
#define ROW(b, type, name, level, opcode, mask, size, roles)                                       \
    [PTL_PKT_##type] = {name, level, opcode, mask, roles},
    PTL__PACKETS(ROW, 0)
#undef ROW
};

const char *ptl_packet_name(enum ptl_packet_type type)
{
    unsigned row = (unsigned)type <= PTL_PKT_MAX_VALUE ? (unsigned)type : PTL_PKT_INVALID;
    return ptl__packet_rows[row].name;
}
