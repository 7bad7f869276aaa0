/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ipt_packets.c - the packet decoder beside Debian's libipt (a black box), packet by packet.
 *
 *     ipt_packets ROUNDS FILE...
 *
 * Decodes at every offset of: pieces of the files; the same with random bytes changed, put in
 * and taken out; and random packets of every type with random bytes between. Type, size, payload
 * and kind of error must agree, and the first PSB. Exit status 1 at a difference.
 *
 * Known differences, where we are right or know more:
 *   - CFE, EVD, TRIG, BBP and BEP are newer than the library: unknown opcodes to it.
 *   - MODE.Exec: it does not know the interrupt flag.
 *   - PWRE: it takes HW from bit 3 of byte 2, we from bit 7 (the manual) or bit 3.
 *   - SKZ84: of a corrupt TMA in the last seven bytes it says eight.
 *   - SKD007 (an OVF cuts a CYC): this version's packet decoder still shows the CYC.
 */
#include <intel-pt.h>
#include <pt/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 4096

struct counts {
    unsigned long packets, errors, newer;
    unsigned long types[PTL_PKT_MAX_VALUE + 1];
};

static uint64_t seed = 1;

static uint64_t rnd(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static unsigned below(unsigned n)
{
    return (unsigned)(rnd() % n);
}

/* --- comparing ------------------------------------------------------------------------ */

static int newer(int type)
{
    return type == PTL_PKT_CFE || type == PTL_PKT_EVD || type == PTL_PKT_TRIG ||
           type == PTL_PKT_BBP || type == PTL_PKT_BEP;
}

static uint64_t sext48(uint64_t v)
{
    return (uint64_t)((int64_t)(v << 16) >> 16);
}

static int same_ip(const struct ptl_packet *a, const struct pt_packet *b)
{
    uint64_t x = a->payload.ip.ip, y = b->payload.ip.ip;

    if (a->payload.ip.ipc == PTL_IPC_SEXT_48)
        x = sext48(x), y = sext48(y);
    return a->payload.ip.ipc == (unsigned)b->payload.ip.ipc &&
           (x == y || a->payload.ip.ipc == PTL_IPC_SUPPRESSED);
}

static int same_tnt(const struct ptl_packet *a, const struct pt_packet *b)
{
    return a->payload.tnt.count == b->payload.tnt.bit_size &&
           a->payload.tnt.bits == b->payload.tnt.payload;
}

static int same_mode(const struct ptl_packet *a, const struct pt_packet *b)
{
    if (b->payload.mode.leaf == pt_mol_exec)
        return a->type == PTL_PKT_MODE_EXEC &&
               a->payload.mode_exec.csl == b->payload.mode.bits.exec.csl &&
               a->payload.mode_exec.csd == b->payload.mode.bits.exec.csd;
    return a->type == PTL_PKT_MODE_TSX &&
           a->payload.mode_tsx.intx == b->payload.mode.bits.tsx.intx &&
           a->payload.mode_tsx.abrt == b->payload.mode.bits.tsx.abrt;
}

static int same_power(const struct ptl_packet *a, const struct pt_packet *b)
{
    switch (a->type) {
    case PTL_PKT_EXSTOP:
        return a->payload.exstop.ip == b->payload.exstop.ip;
    case PTL_PKT_MWAIT:
        return a->payload.mwait.hints == b->payload.mwait.hints &&
               a->payload.mwait.ext == b->payload.mwait.ext;
    case PTL_PKT_PWRE:
        return a->payload.pwre.state == b->payload.pwre.state &&
               a->payload.pwre.sub_state == b->payload.pwre.sub_state &&
               a->payload.pwre.hw >= b->payload.pwre.hw;
    default:
        return a->payload.pwrx.last == b->payload.pwrx.last &&
               a->payload.pwrx.deepest == b->payload.pwrx.deepest &&
               a->payload.pwrx.interrupt == b->payload.pwrx.interrupt &&
               a->payload.pwrx.store == b->payload.pwrx.store &&
               a->payload.pwrx.autonomous == b->payload.pwrx.autonomous;
    }
}

static const uint8_t types[] = {
    [ppt_pad] = PTL_PKT_PAD,         [ppt_psb] = PTL_PKT_PSB,    [ppt_psbend] = PTL_PKT_PSBEND,
    [ppt_fup] = PTL_PKT_FUP,         [ppt_tip] = PTL_PKT_TIP,    [ppt_tip_pge] = PTL_PKT_TIP_PGE,
    [ppt_tip_pgd] = PTL_PKT_TIP_PGD, [ppt_tnt_8] = PTL_PKT_TNT8, [ppt_tnt_64] = PTL_PKT_TNT64,
    [ppt_mode] = PTL_PKT_MODE_EXEC,  [ppt_pip] = PTL_PKT_PIP,    [ppt_vmcs] = PTL_PKT_VMCS,
    [ppt_cbr] = PTL_PKT_CBR,         [ppt_tsc] = PTL_PKT_TSC,    [ppt_tma] = PTL_PKT_TMA,
    [ppt_mtc] = PTL_PKT_MTC,         [ppt_cyc] = PTL_PKT_CYC,    [ppt_stop] = PTL_PKT_STOP,
    [ppt_ovf] = PTL_PKT_OVF,         [ppt_mnt] = PTL_PKT_MNT,    [ppt_exstop] = PTL_PKT_EXSTOP,
    [ppt_mwait] = PTL_PKT_MWAIT,     [ppt_pwre] = PTL_PKT_PWRE,  [ppt_pwrx] = PTL_PKT_PWRX,
    [ppt_ptw] = PTL_PKT_PTW,
};

static int same_payload(const struct ptl_packet *a, const struct pt_packet *b)
{
    switch (b->type) {
    case ppt_fup:
    case ppt_tip:
    case ppt_tip_pge:
    case ppt_tip_pgd:
        return same_ip(a, b);
    case ppt_tnt_8:
    case ppt_tnt_64:
        return same_tnt(a, b);
    case ppt_mode:
        return same_mode(a, b);
    case ppt_pip:
        return a->payload.pip.cr3 == b->payload.pip.cr3 && a->payload.pip.nr == b->payload.pip.nr;
    case ppt_vmcs:
        return a->payload.vmcs.base == b->payload.vmcs.base;
    case ppt_cbr:
        return a->payload.cbr.ratio == b->payload.cbr.ratio;
    case ppt_tsc:
        return a->payload.tsc.tsc == b->payload.tsc.tsc;
    case ppt_tma:
        return a->payload.tma.ctc == b->payload.tma.ctc && a->payload.tma.fc == b->payload.tma.fc;
    case ppt_mtc:
        return a->payload.mtc.ctc == b->payload.mtc.ctc;
    case ppt_cyc:
        return a->payload.cyc.value == b->payload.cyc.value;
    case ppt_mnt:
        return a->payload.mnt.payload == b->payload.mnt.payload;
    case ppt_exstop:
    case ppt_mwait:
    case ppt_pwre:
    case ppt_pwrx:
        return same_power(a, b);
    case ppt_ptw:
        return a->payload.ptw.payload == b->payload.ptw.payload &&
               a->payload.ptw.plc == b->payload.ptw.plc && a->payload.ptw.ip == b->payload.ptw.ip;
    default:
        return 1;
    }
}

static int same(const struct ptl_packet *a, const struct pt_packet *b)
{
    unsigned type = (unsigned)b->type < sizeof(types) ? types[b->type] : PTL_PKT_INVALID;

    if (a->type != type && !(b->type == ppt_mode && a->type == PTL_PKT_MODE_TSX))
        return 0;
    if (a->size != b->size)
        return 0;
    return same_payload(a, b);
}

/* --- one stream ----------------------------------------------------------------------- */

static int differs(const uint8_t *buf, size_t len, size_t at, const char *why, int ours, int theirs)
{
    printf("offset %zu of %zu: %s: we %d, libipt %d:", at, len, why, ours, theirs);
    for (size_t i = at; i < len && i < at + 16; i++)
        printf(" %02x", buf[i]);
    printf("\n");
    return 1;
}

static int at_offset(struct pt_packet_decoder *decoder, const uint8_t *buf, size_t len, size_t at,
                     uint32_t flags, struct counts *counts)
{
    struct ptl_packet ours;
    struct pt_packet theirs;
    int a, b;

    memset(&theirs, 0, sizeof(theirs));
    a = ptl_packet_decode(&ours, buf + at, len - at, flags);
    if (pt_pkt_sync_set(decoder, at))
        return differs(buf, len, at, "sync", 0, 0);
    b = pt_pkt_next(decoder, &theirs, sizeof(theirs));
    if (a > 0 && newer(ours.type) && b == PTL_BAD_OPC) {
        counts->newer++;
        return 0;
    }
    if (a == PTL_EOS && b == PTL_BAD_OPC) { /* a newer packet, cut */
        uint8_t whole[PTL_PACKET_MAX_SIZE] = {0};
        memcpy(whole, buf + at, len - at);
        if (ptl_packet_decode(&ours, whole, sizeof(whole), flags) > 0 && newer(ours.type))
            return 0;
    }
    if (a == PTL_EOS && b > 0 && (size_t)b > len - at)
        return theirs.type == ppt_invalid ? 0 : differs(buf, len, at, "beyond the end", a, b);
    if (a < 0 || b < 0) {
        counts->errors++;
        return a == b ? 0 : differs(buf, len, at, "status", a, b);
    }
    if (ours.type == PTL_PKT_INVALID) /* SKZ84 */
        return theirs.type == ppt_invalid && a == b ? 0 : differs(buf, len, at, "SKZ84", a, b);
    if (ours.type == PTL_PKT_OVF && a == 3) /* SKD007 */
        return theirs.type == ppt_cyc && b == 2 ? 0 : differs(buf, len, at, "SKD007", a, b);
    if (!same(&ours, &theirs))
        return differs(buf, len, at, ptl_packet_name((enum ptl_packet_type)ours.type), a, b);
    counts->packets++;
    counts->types[ours.type]++;
    return 0;
}

static int stream(uint8_t *buf, size_t len, struct counts *counts)
{
    struct pt_packet_decoder *decoder;
    struct pt_config config;
    uint64_t sync;
    uint32_t flags = 0;
    int bad = 0, status;

    pt_config_init(&config);
    config.begin = buf;
    config.end = buf + len;
    if (rnd() & 1)
        config.errata.skd007 = 1, flags |= PTL_DECODE_SKD007;
    if (rnd() & 1)
        config.errata.skz84 = 1, flags |= PTL_DECODE_SKZ84;
    decoder = pt_pkt_alloc_decoder(&config);
    if (!decoder)
        return 1;
    status = pt_pkt_sync_forward(decoder);
    if (status >= 0)
        pt_pkt_get_offset(decoder, &sync);
    else
        sync = len;
    if (ptl_psb_find(buf, len, 0) != sync)
        bad = differs(buf, len, (size_t)sync, "PSB", (int)ptl_psb_find(buf, len, 0), (int)sync);
    for (size_t at = 0; at < len && !bad; at++)
        bad = at_offset(decoder, buf, len, at, flags, counts);
    pt_pkt_free_decoder(decoder);
    return bad;
}

/* --- making streams --------------------------------------------------------------------- */

/* Change, put in, take out bytes. Returns the new length. */
static size_t mutate(uint8_t *buf, size_t len, size_t cap)
{
    for (unsigned n = 1 + below(64); n && len > 1; n--) {
        size_t at = below((unsigned)len);
        switch (below(4)) {
        case 0:
            buf[at] = (uint8_t)rnd();
            break;
        case 1:
            buf[at] ^= (uint8_t)(1u << below(8));
            break;
        case 2:
            if (len < cap) {
                memmove(buf + at + 1, buf + at, len - at);
                buf[at] = (uint8_t)rnd();
                len++;
            }
            break;
        default:
            memmove(buf + at, buf + at + 1, len - at - 1);
            len--;
            break;
        }
    }
    return len;
}

/* Opcodes with random payloads: the rare packets get their turn. */
static size_t packets(uint8_t *buf, size_t cap)
{
    static const uint8_t extended[] = {0x82, 0x23, 0xa3, 0x43, 0xc8, 0x73, 0x03, 0xf3, 0x83,
                                       0xc3, 0x62, 0xe2, 0xc2, 0x22, 0xa2, 0x12, 0x32, 0x92,
                                       0xb2, 0x52, 0x13, 0x53, 0x63, 0x33, 0xb3};
    size_t len = 0;

    while (len + 32 < cap) {
        unsigned payload = below(12);
        if (below(3)) {
            buf[len++] = 0x02;
            buf[len++] = extended[below(sizeof(extended))];
            if (buf[len - 1] == 0xc3)
                buf[len++] = 0x88;
            if (buf[len - 1] == 0x82)
                for (unsigned n = 2 * (4 + below(8)); n; n--, len++)
                    buf[len] = buf[len - 2];
        } else {
            buf[len++] = (uint8_t)rnd();
        }
        for (; payload && len < cap; payload--)
            buf[len++] = below(3) ? (uint8_t)rnd() : 0;
    }
    return len;
}

static int file_rounds(const char *name, unsigned rounds, struct counts *counts)
{
    uint8_t buf[PIECE + 64];
    FILE *file = fopen(name, "rb");
    int bad = 0;
    long size;

    if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0) {
        perror(name);
        if (file)
            fclose(file);
        return 1;
    }
    for (unsigned n = 0; n < rounds && !bad; n++) {
        long from = size > PIECE ? (long)(rnd() % (uint64_t)(size - PIECE)) : 0;
        size_t len;
        if (fseek(file, from, SEEK_SET))
            break;
        len = fread(buf, 1, PIECE, file);
        if (n & 1)
            len = mutate(buf, len, sizeof(buf));
        bad = stream(buf, len, counts);
    }
    fclose(file);
    return bad;
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 0;
    struct counts counts = {0};
    uint8_t buf[PIECE];
    int bad = 0;

    for (unsigned n = 0; n < rounds && !bad; n++)
        bad = stream(buf, packets(buf, sizeof(buf)), &counts);
    for (int i = 2; i < argc && !bad; i++)
        bad = file_rounds(argv[i], rounds, &counts);
    for (unsigned t = 1; t <= PTL_PKT_MAX_VALUE && !bad; t++)
        if (!counts.types[t] && !newer((int)t) && t != PTL_PKT_BIP)
            bad = printf("never seen: %s\n", ptl_packet_name((enum ptl_packet_type)t)) > 0;
    printf("%lu packets and %lu errors agree; %lu packets are newer than libipt\n", counts.packets,
           counts.errors, counts.newer);
    return bad;
}
