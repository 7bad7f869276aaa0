/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decode.h - the packet decoder as an inline body, for ptl_packet_decode() and the hot loops.
 *
 * The first byte selects a row of packets.def, or 02 hands over to the second byte; the length
 * is checked once against the row; then the payload is picked apart. Three packets are not
 * told by those bytes alone: MODE (leaf in the payload), MNT (a third opcode byte) and BIP
 * (looks like a TNT-8; only a PEBS block makes it one).
 *
 * Source: Intel SDM vol. 3, "Intel Processor Trace", section "Packet Definitions".
 */
#ifndef LIBPT_PACKET_DECODE_H
#define LIBPT_PACKET_DECODE_H

#include "base/bytes.h"
#include "packet/packet_table.h"

#define PTL__LEAF_EXEC  0u /* MODE payload bits 7:5 */
#define PTL__LEAF_TSX   1u
#define PTL__MNT_OPCODE 0x88u

static inline uint64_t ptl__load48(const uint8_t *p)
{
    return ptl__load32(p) | (uint64_t)ptl__load16(p + 4) << 32;
}

static inline uint64_t ptl__load40(const uint8_t *p)
{
    return ptl__load32(p) | (uint64_t)p[4] << 32;
}

/* The stop bit is the highest set bit; the results lie below it. */
static inline void ptl__decode_tnt(struct ptl_packet *packet, uint64_t bits)
{
    unsigned stop = 63u - (unsigned)__builtin_clzll(bits);

    packet->payload.tnt.bits = bits ^ (uint64_t)1 << stop;
    packet->payload.tnt.count = (uint8_t)stop;
}

static inline int ptl__decode_tnt64(struct ptl_packet *packet, const uint8_t *p)
{
    uint64_t bits = ptl__load48(p + 2);

    if (bits <= 1)
        return PTL_BAD_PACKET; /* no stop bit, or no result */
    ptl__decode_tnt(packet, bits);
    return 8;
}

static inline void ptl__decode_ip(struct ptl_packet *packet, const uint8_t *p, size_t len)
{
    unsigned n = packet->size - 1u;

    packet->payload.ip.ipc = p[0] >> 5;
    if (len >= 9) /* the usual case: one load, then cut */
        packet->payload.ip.ip = n ? ptl__load64(p + 1) & UINT64_MAX >> (64 - 8 * n) : 0;
    else
        packet->payload.ip.ip = ptl__loadn(p + 1, n);
}

static inline int ptl__decode_mode(struct ptl_packet *packet, const uint8_t *p)
{
    unsigned leaf = p[1] >> 5;

    if (leaf == PTL__LEAF_EXEC) {
        packet->payload.mode_exec.csl = p[1] & 1;
        packet->payload.mode_exec.csd = p[1] >> 1 & 1;
        packet->payload.mode_exec.iflag = p[1] >> 2 & 1;
        return 2;
    }
    if (leaf != PTL__LEAF_TSX)
        return PTL_BAD_PACKET;
    packet->type = PTL_PKT_MODE_TSX;
    packet->payload.mode_tsx.intx = p[1] & 1;
    packet->payload.mode_tsx.abrt = p[1] >> 1 & 1;
    return 2;
}

/* Reserved bits in a TMA are an error, or the mark of erratum SKZ84: the packet is then
 * corrupt and followed by one byte more. */
static inline int ptl__decode_tma(struct ptl_packet *packet, const uint8_t *p, size_t len,
                                  uint32_t flags)
{
    if (p[4] || p[6] > 1) {
        if (!(flags & PTL_DECODE_SKZ84))
            return PTL_BAD_PACKET;
        if (len < 8)
            return PTL_EOS;
        packet->type = PTL_PKT_INVALID;
        packet->size = 8;
        return 8;
    }
    packet->payload.tma.ctc = ptl__load16(p + 2);
    packet->payload.tma.fc = ptl__load16(p + 5);
    return 7;
}

/* 5 + 7 k bits while the exponent bit is set. Nine bytes carry 61 bits; more is no count. */
static inline int ptl__decode_cyc(struct ptl_packet *packet, const uint8_t *p, size_t len,
                                  uint32_t flags)
{
    uint64_t value = p[0] >> 3;
    unsigned n = 1, shift = 5, more = p[0] & 4;

    for (; more; n++, shift += 7) {
        if (n >= len)
            return PTL_EOS;
        if (n >= 9)
            return PTL_BAD_PACKET;
        value |= (uint64_t)(p[n] >> 1) << shift;
        more = p[n] & 1;
    }
    if (flags & PTL_DECODE_SKD007 && n == 2 && p[1] == 0x02 && len > 2 && p[2] == 0xf3) {
        packet->type = PTL_PKT_OVF;
        packet->size = 3;
        return 3;
    }
    packet->payload.cyc.value = value;
    packet->size = (uint8_t)n;
    return (int)n;
}

static inline int ptl__decode_psb(const uint8_t *p)
{
    const uint64_t half = 0x8202820282028202u;

    return ptl__load64(p) == half && ptl__load64(p + 8) == half ? 16 : PTL_BAD_PACKET;
}

static inline void ptl__decode_pwrx(struct ptl_packet *packet, const uint8_t *p)
{
    packet->payload.pwrx.last = p[2] >> 4;
    packet->payload.pwrx.deepest = p[2] & 15;
    packet->payload.pwrx.interrupt = p[3] & 1;
    packet->payload.pwrx.store = p[3] >> 2 & 1;
    packet->payload.pwrx.autonomous = p[3] >> 3 & 1;
}

static inline int ptl__decode_trig(struct ptl_packet *packet, const uint8_t *p, size_t len)
{
    packet->payload.trig.ip = p[1] >> 7;
    packet->payload.trig.icntv = p[1] >> 6 & 1;
    packet->payload.trig.mult = p[1] >> 5 & 1;
    packet->payload.trig.vector = p[2];
    packet->payload.trig.icnt = 0;
    if (packet->payload.trig.icntv) {
        if (len < 5)
            return PTL_EOS;
        packet->payload.trig.icnt = ptl__load16(p + 3);
        packet->size = 5;
    }
    return packet->size;
}

/* The packets behind 02, but for those with a function of their own. */
static inline void ptl__decode_extended(struct ptl_packet *packet, const uint8_t *p)
{
    switch (packet->type) {
    case PTL_PKT_PIP:
        packet->payload.pip.cr3 = ptl__load48(p + 2) >> 1 << 5;
        packet->payload.pip.nr = p[2] & 1;
        break;
    case PTL_PKT_VMCS:
        packet->payload.vmcs.base = ptl__load40(p + 2) << 12;
        break;
    case PTL_PKT_CBR:
        packet->payload.cbr.ratio = p[2];
        break;
    case PTL_PKT_MNT:
        packet->payload.mnt.payload = ptl__load64(p + 3);
        break;
    case PTL_PKT_EXSTOP:
        packet->payload.exstop.ip = p[1] >> 7;
        break;
    case PTL_PKT_MWAIT:
        packet->payload.mwait.hints = ptl__load32(p + 2);
        packet->payload.mwait.ext = ptl__load32(p + 6);
        break;
    case PTL_PKT_PWRE: /* HW is bit 7; bit 3 is where some tools look for it */
        packet->payload.pwre.hw = (p[2] & 0x88) != 0;
        packet->payload.pwre.state = p[3] >> 4;
        packet->payload.pwre.sub_state = p[3] & 15;
        break;
    case PTL_PKT_PWRX:
        ptl__decode_pwrx(packet, p);
        break;
    case PTL_PKT_PTW:
        packet->payload.ptw.plc = packet->size == 10;
        packet->payload.ptw.ip = p[1] >> 7;
        packet->payload.ptw.payload = packet->size == 10 ? ptl__load64(p + 2) : ptl__load32(p + 2);
        break;
    case PTL_PKT_CFE:
        packet->payload.cfe.type = p[2] & 0x1f;
        packet->payload.cfe.ip = p[2] >> 7;
        packet->payload.cfe.vector = p[3];
        break;
    case PTL_PKT_EVD:
        packet->payload.evd.type = p[2] & 0x3f;
        packet->payload.evd.payload = ptl__load64(p + 3);
        break;
    case PTL_PKT_BBP:
        packet->payload.bbp.type = p[2] & 0x1f;
        packet->payload.bbp.sz4 = p[2] >> 7;
        break;
    case PTL_PKT_BEP:
        packet->payload.bep.ip = p[1] >> 7;
        break;
    default: /* PSBEND, OVF, STOP: no payload */
        break;
    }
}

static inline int ptl__decode_bip(struct ptl_packet *packet, const uint8_t *p, size_t len,
                                  uint32_t flags)
{
    int sz4 = (flags & PTL_DECODE_BLOCK4) != 0;

    packet->type = PTL_PKT_BIP;
    packet->size = sz4 ? 5 : 9;
    if (len < packet->size)
        return PTL_EOS;
    packet->payload.bip.id = p[0] >> 3;
    packet->payload.bip.sz4 = (uint8_t)sz4;
    packet->payload.bip.value = sz4 ? ptl__load32(p + 1) : ptl__load64(p + 1);
    return packet->size;
}

/* See ptl_packet_decode(). */
static inline int ptl__decode(struct ptl_packet *packet, const uint8_t *p, size_t len,
                              uint32_t flags)
{
    struct ptl__opcode op;

    if (!len)
        return PTL_EOS;
    if (flags & (PTL_DECODE_BLOCK4 | PTL_DECODE_BLOCK8) && (p[0] & 7) == 4)
        return ptl__decode_bip(packet, p, len, flags);
    op = ptl__opcodes[0][p[0]];
    if (op.type == PTL__OPC_EXT) {
        if (len < 2)
            return PTL_EOS;
        op = ptl__opcodes[1][p[1]];
    }
    if (!op.size)
        return op.type == PTL_PKT_INVALID ? PTL_BAD_OPC : PTL_BAD_PACKET;
    if (op.type == PTL_PKT_MNT && len > 2 && p[2] != PTL__MNT_OPCODE)
        return PTL_BAD_OPC;
    if (len < op.size)
        return PTL_EOS;
    packet->type = op.type;
    packet->size = op.size;
    switch (op.type) {
    case PTL_PKT_PAD:
        return 1;
    case PTL_PKT_TNT8:
        ptl__decode_tnt(packet, p[0] >> 1);
        return 1;
    case PTL_PKT_TIP:
    case PTL_PKT_TIP_PGE:
    case PTL_PKT_TIP_PGD:
    case PTL_PKT_FUP:
        ptl__decode_ip(packet, p, len);
        return op.size;
    case PTL_PKT_CYC:
        return ptl__decode_cyc(packet, p, len, flags);
    case PTL_PKT_TSC:
        packet->payload.tsc.tsc = ptl__load64(p) >> 8;
        return 8;
    case PTL_PKT_MTC:
        packet->payload.mtc.ctc = p[1];
        return 2;
    case PTL_PKT_MODE_EXEC:
        return ptl__decode_mode(packet, p);
    case PTL_PKT_TMA:
        return ptl__decode_tma(packet, p, len, flags);
    case PTL_PKT_TNT64:
        return ptl__decode_tnt64(packet, p);
    case PTL_PKT_TRIG:
        return ptl__decode_trig(packet, p, len);
    case PTL_PKT_PSB:
        return ptl__decode_psb(p);
    default:
        ptl__decode_extended(packet, p);
        return op.size;
    }
}

/* See ptl_packet_next_flags(). */
static inline uint32_t ptl__next_flags(const struct ptl_packet *packet, uint32_t flags)
{
    const uint32_t block = PTL_DECODE_BLOCK4 | PTL_DECODE_BLOCK8;

    if (packet->type == PTL_PKT_BBP)
        return (flags & ~block) | (packet->payload.bbp.sz4 ? PTL_DECODE_BLOCK4 : PTL_DECODE_BLOCK8);
    if (!(flags & block) || ptl__packet_rows[packet->type].roles & PTL__ROLE_INBLOCK)
        return flags;
    return flags & ~block;
}

#endif
