/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encode.c - writing packets: the inverse of decode.h.
 *
 * The opcode comes from the packet's row in packets.def, the free bits of the opcode byte and
 * the payload from here. Reserved bits are written as zero.
 *
 * Source: Intel SDM vol. 3, "Intel Processor Trace", section "Packet Definitions".
 */
#include "packet/decode.h"

/* A payload that does not fit is PTL_BAD_PACKET; every put_*() checks before it writes. */
#define FITS(value, bits) ((value) >> (bits) == 0)
#define FLAG(value)       FITS(value, 1)

/* Writes the opcode; `free` are the bits of its last byte that the mask leaves open.
 * Returns the number of opcode bytes. */
static int put_opcode(uint8_t *p, const struct ptl__packet_row *row, unsigned free)
{
    p[0] = row->level == 2 ? 0x02 : (uint8_t)(row->opcode | free);
    p[1] = (uint8_t)(row->opcode | free);
    return row->level == 2 ? 2 : 1;
}

static int put_tnt(uint8_t *p, const struct ptl_packet *packet, unsigned max)
{
    uint64_t bits = packet->payload.tnt.bits;
    unsigned count = packet->payload.tnt.count;

    if (!count || count > max || !FITS(bits, count))
        return PTL_BAD_PACKET;
    bits |= (uint64_t)1 << count;
    if (packet->type == PTL_PKT_TNT8) {
        p[0] = (uint8_t)(bits << 1);
        return 1;
    }
    ptl__storen(p + 2, bits, 6);
    return 8;
}

static int put_ip(uint8_t *p, const struct ptl_packet *packet, const struct ptl__packet_row *row)
{
    static const uint8_t sizes[8] = {0, 2, 4, 6, 6, 0xff, 8, 0xff};
    unsigned ipc = packet->payload.ip.ipc, n;

    if (ipc > 7 || sizes[ipc] == 0xff)
        return PTL_BAD_PACKET;
    n = sizes[ipc];
    if (n < 8 && !FITS(packet->payload.ip.ip, 8 * n))
        return PTL_BAD_PACKET;
    put_opcode(p, row, ipc << 5);
    ptl__storen(p + 1, packet->payload.ip.ip, n);
    return (int)(1 + n);
}

static int put_mode(uint8_t *p, const struct ptl_packet *packet)
{
    if (packet->type == PTL_PKT_MODE_EXEC) {
        unsigned csl = packet->payload.mode_exec.csl, csd = packet->payload.mode_exec.csd,
                 iflag = packet->payload.mode_exec.iflag;
        if (!FLAG(csl) || !FLAG(csd) || !FLAG(iflag))
            return PTL_BAD_PACKET;
        p[1] = (uint8_t)(PTL__LEAF_EXEC << 5 | iflag << 2 | csd << 1 | csl);
    } else {
        unsigned intx = packet->payload.mode_tsx.intx, abrt = packet->payload.mode_tsx.abrt;
        if (!FLAG(intx) || !FLAG(abrt))
            return PTL_BAD_PACKET;
        p[1] = (uint8_t)(PTL__LEAF_TSX << 5 | abrt << 1 | intx);
    }
    return 2;
}

static int put_pip(uint8_t *p, const struct ptl_packet *packet)
{
    uint64_t cr3 = packet->payload.pip.cr3;

    if (cr3 & 31 || !FITS(cr3, 52) || !FLAG(packet->payload.pip.nr))
        return PTL_BAD_PACKET;
    ptl__storen(p + 2, cr3 >> 5 << 1 | packet->payload.pip.nr, 6);
    return 8;
}

static int put_vmcs(uint8_t *p, const struct ptl_packet *packet)
{
    uint64_t base = packet->payload.vmcs.base;

    if (base & 0xfff || !FITS(base, 52))
        return PTL_BAD_PACKET;
    ptl__storen(p + 2, base >> 12, 5);
    return 7;
}

static int put_tsc(uint8_t *p, const struct ptl_packet *packet)
{
    if (!FITS(packet->payload.tsc.tsc, 56))
        return PTL_BAD_PACKET;
    ptl__storen(p + 1, packet->payload.tsc.tsc, 7);
    return 8;
}

static int put_tma(uint8_t *p, const struct ptl_packet *packet)
{
    if (!FITS(packet->payload.tma.fc, 9))
        return PTL_BAD_PACKET;
    ptl__storen(p + 2, packet->payload.tma.ctc, 2);
    p[4] = 0;
    ptl__storen(p + 5, packet->payload.tma.fc, 2);
    return 7;
}

static int put_cyc(uint8_t *p, const struct ptl_packet *packet)
{
    uint64_t rest = packet->payload.cyc.value >> 5;
    int n = 1;

    if (!FITS(packet->payload.cyc.value, 5 + 7 * 8))
        return PTL_BAD_PACKET;
    p[0] = (uint8_t)((packet->payload.cyc.value & 31) << 3 | (rest ? 4 : 0) | 3);
    for (; rest; n++, rest >>= 7)
        p[n] = (uint8_t)((rest & 127) << 1 | (rest >> 7 ? 1 : 0));
    return n;
}

static int put_pwr(uint8_t *p, const struct ptl_packet *packet)
{
    if (packet->type == PTL_PKT_PWRE) {
        unsigned state = packet->payload.pwre.state, sub = packet->payload.pwre.sub_state;
        if (!FITS(state, 4) || !FITS(sub, 4) || !FLAG(packet->payload.pwre.hw))
            return PTL_BAD_PACKET;
        p[2] = (uint8_t)(packet->payload.pwre.hw << 7);
        p[3] = (uint8_t)(state << 4 | sub);
        return 4;
    }
    if (!FITS(packet->payload.pwrx.last, 4) || !FITS(packet->payload.pwrx.deepest, 4) ||
        !FLAG(packet->payload.pwrx.interrupt) || !FLAG(packet->payload.pwrx.store) ||
        !FLAG(packet->payload.pwrx.autonomous))
        return PTL_BAD_PACKET;
    ptl__storen(p + 2, 0, 5);
    p[2] = (uint8_t)(packet->payload.pwrx.last << 4 | packet->payload.pwrx.deepest);
    p[3] = (uint8_t)(packet->payload.pwrx.autonomous << 3 | packet->payload.pwrx.store << 2 |
                     packet->payload.pwrx.interrupt);
    return 7;
}

static int put_ptw(uint8_t *p, const struct ptl_packet *packet, const struct ptl__packet_row *row)
{
    unsigned plc = packet->payload.ptw.plc, ip = packet->payload.ptw.ip, n = plc ? 8 : 4;

    if (!FLAG(plc) || !FLAG(ip) || (!plc && !FITS(packet->payload.ptw.payload, 32)))
        return PTL_BAD_PACKET;
    put_opcode(p, row, ip << 7 | plc << 5);
    ptl__storen(p + 2, packet->payload.ptw.payload, n);
    return (int)(2 + n);
}

static int put_event(uint8_t *p, const struct ptl_packet *packet)
{
    if (packet->type == PTL_PKT_CFE) {
        if (!FITS(packet->payload.cfe.type, 5) || !FLAG(packet->payload.cfe.ip))
            return PTL_BAD_PACKET;
        p[2] = (uint8_t)(packet->payload.cfe.ip << 7 | packet->payload.cfe.type);
        p[3] = packet->payload.cfe.vector;
        return 4;
    }
    if (!FITS(packet->payload.evd.type, 6))
        return PTL_BAD_PACKET;
    p[2] = packet->payload.evd.type;
    ptl__storen(p + 3, packet->payload.evd.payload, 8);
    return 11;
}

static int put_bbp(uint8_t *p, const struct ptl_packet *packet)
{
    if (!FITS(packet->payload.bbp.type, 5) || !FLAG(packet->payload.bbp.sz4))
        return PTL_BAD_PACKET;
    p[2] = (uint8_t)(packet->payload.bbp.sz4 << 7 | packet->payload.bbp.type);
    return 3;
}

static int put_bip(uint8_t *p, const struct ptl_packet *packet, const struct ptl__packet_row *row)
{
    unsigned id = packet->payload.bip.id, sz4 = packet->payload.bip.sz4, n = sz4 ? 4 : 8;

    if (!FITS(id, 5) || !FLAG(sz4) || (sz4 && !FITS(packet->payload.bip.value, 32)))
        return PTL_BAD_PACKET;
    put_opcode(p, row, id << 3);
    ptl__storen(p + 1, packet->payload.bip.value, n);
    return (int)(1 + n);
}

static int put_trig(uint8_t *p, const struct ptl_packet *packet)
{
    unsigned ip = packet->payload.trig.ip, icntv = packet->payload.trig.icntv,
             mult = packet->payload.trig.mult;

    if (!FLAG(ip) || !FLAG(icntv) || !FLAG(mult) || (!icntv && packet->payload.trig.icnt))
        return PTL_BAD_PACKET;
    p[1] = (uint8_t)(ip << 7 | icntv << 6 | mult << 5);
    p[2] = packet->payload.trig.vector;
    if (!icntv)
        return 3;
    ptl__storen(p + 3, packet->payload.trig.icnt, 2);
    return 5;
}

/* EXSTOP and BEP: two bytes, bit 7 of the second tells that a FUP follows. */
static int put_ipbit(uint8_t *p, const struct ptl__packet_row *row, unsigned ip)
{
    if (!FLAG(ip))
        return PTL_BAD_PACKET;
    return put_opcode(p, row, ip << 7);
}

/* `p` holds PTL_PACKET_MAX_SIZE bytes, the opcode written. */
static int put_payload(uint8_t *p, const struct ptl_packet *packet,
                       const struct ptl__packet_row *row)
{
    switch (packet->type) {
    case PTL_PKT_PSB:
        for (int i = 2; i < 16; i++)
            p[i] = p[i - 2];
        return 16;
    case PTL_PKT_TNT8:
        return put_tnt(p, packet, 6);
    case PTL_PKT_TNT64:
        return put_tnt(p, packet, 47);
    case PTL_PKT_TIP:
    case PTL_PKT_TIP_PGE:
    case PTL_PKT_TIP_PGD:
    case PTL_PKT_FUP:
        return put_ip(p, packet, row);
    case PTL_PKT_MODE_EXEC:
    case PTL_PKT_MODE_TSX:
        return put_mode(p, packet);
    case PTL_PKT_PIP:
        return put_pip(p, packet);
    case PTL_PKT_VMCS:
        return put_vmcs(p, packet);
    case PTL_PKT_TSC:
        return put_tsc(p, packet);
    case PTL_PKT_TMA:
        return put_tma(p, packet);
    case PTL_PKT_MTC:
        p[1] = packet->payload.mtc.ctc;
        return 2;
    case PTL_PKT_CYC:
        return put_cyc(p, packet);
    case PTL_PKT_CBR:
        ptl__storen(p + 2, packet->payload.cbr.ratio, 2);
        return 4;
    case PTL_PKT_MNT:
        p[2] = PTL__MNT_OPCODE;
        ptl__storen(p + 3, packet->payload.mnt.payload, 8);
        return 11;
    case PTL_PKT_EXSTOP:
        return put_ipbit(p, row, packet->payload.exstop.ip);
    case PTL_PKT_MWAIT:
        ptl__storen(p + 2, packet->payload.mwait.hints, 4);
        ptl__storen(p + 6, packet->payload.mwait.ext, 4);
        return 10;
    case PTL_PKT_PWRE:
    case PTL_PKT_PWRX:
        return put_pwr(p, packet);
    case PTL_PKT_PTW:
        return put_ptw(p, packet, row);
    case PTL_PKT_CFE:
    case PTL_PKT_EVD:
        return put_event(p, packet);
    case PTL_PKT_BBP:
        return put_bbp(p, packet);
    case PTL_PKT_BIP:
        return put_bip(p, packet, row);
    case PTL_PKT_BEP:
        return put_ipbit(p, row, packet->payload.bep.ip);
    case PTL_PKT_TRIG:
        return put_trig(p, packet);
    default: /* PAD, PSBEND, OVF, STOP: the opcode is all */
        return row->level;
    }
}

int ptl_packet_encode(uint8_t *buf, size_t len, const struct ptl_packet *packet)
{
    uint8_t bytes[PTL_PACKET_MAX_SIZE];
    const struct ptl__packet_row *row;
    int size;

    if (packet->type == PTL_PKT_INVALID || packet->type > PTL_PKT_MAX_VALUE)
        return PTL_BAD_OPC;
    row = &ptl__packet_rows[packet->type];
    put_opcode(bytes, row, 0);
    size = put_payload(bytes, packet, row);
    if (size < 0)
        return size;
    if (len < (size_t)size)
        return PTL_EOS;
    memcpy(buf, bytes, (size_t)size);
    return size;
}
