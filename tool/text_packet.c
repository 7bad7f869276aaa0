/* SPDX-License-Identifier: BSD-3-Clause */
/* text_packet.c - see text_packet.h. Written into the caller's buffer, no printf. */
#include "text_packet.h"

#include "hex.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Append a literal. */
#define PUT(p, literal) ((char *)memcpy(p, literal, sizeof(literal) - 1) + sizeof(literal) - 1)

/* Up to five digits. */
static char *put_dec(char *p, unsigned value)
{
    char digits[5];
    unsigned n = 0;

    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value && n < sizeof(digits));
    while (n)
        *p++ = digits[--n];
    return p;
}

static char *put_hex_padded(char *p, uint32_t value)
{
    uint64_t digits = hex8(value);
    return (char *)memcpy(p, &digits, 8) + 8;
}

static char *put_tnt(char *p, const struct ptl_packet *packet)
{
    for (unsigned i = packet->payload.tnt.count; i-- > 0;)
        *p++ = packet->payload.tnt.bits >> i & 1 ? '!' : '.';
    return p;
}

/* 16 digits, '?' for those that the payload does not tell. */
static char *put_ip(char *p, const struct ptl_packet *packet)
{
    static const uint8_t unknown[8] = {16, 12, 8, 0, 4, 16, 0, 16};
    unsigned ipc = packet->payload.ip.ipc & 7;
    uint64_t ip = packet->payload.ip.ip;

    if (ipc == PTL_IPC_SEXT_48)
        ip = (uint64_t)((int64_t)(ip << 16) >> 16);
    p[0] = (char)('0' + ipc);
    p[1] = ':';
    p[2] = ' ';
    hex16(p + 3, ip);
    memset(p + 3, '?', unknown[ipc]);
    return p + 19;
}

static char *put_mode_exec(char *p, const struct ptl_packet *packet)
{
    char *begin = p;

    if (packet->payload.mode_exec.csd)
        p = PUT(p, "cs.d");
    if (packet->payload.mode_exec.csl)
        p = PUT(p == begin ? p : PUT(p, ", "), "cs.l");
    if (packet->payload.mode_exec.iflag)
        p = PUT(p == begin ? p : PUT(p, ", "), "if");
    return p;
}

static char *put_mode_tsx(char *p, const struct ptl_packet *packet)
{
    char *begin = p;

    if (packet->payload.mode_tsx.intx)
        p = PUT(p, "intx");
    if (packet->payload.mode_tsx.abrt)
        p = PUT(p == begin ? p : PUT(p, ", "), "abrt");
    return p;
}

/* C-states are written as MWAIT hints: 0 is C1, ..., 15 is C0. */
static char *put_cstate(char *p, unsigned hint)
{
    *p++ = 'c';
    return put_dec(p, (hint + 1) & 15);
}

static char *put_pwre(char *p, const struct ptl_packet *packet)
{
    p = put_cstate(p, packet->payload.pwre.state);
    *p++ = '.';
    p = put_dec(p, (packet->payload.pwre.sub_state + 1) & 15);
    return packet->payload.pwre.hw ? PUT(p, ", hw") : p;
}

static char *put_pwrx(char *p, const struct ptl_packet *packet)
{
    unsigned reason = packet->payload.pwrx.interrupt | (unsigned)packet->payload.pwrx.store << 1 |
                      (unsigned)packet->payload.pwrx.autonomous << 2;
    static const char names[][6] = {
        "bad: ", "int: ", " st: ", "bad: ", " hw: ", "bad: ", "bad: ", "bad: "};

    p = put_word(p, names[reason & 7]);
    p = put_cstate(p, packet->payload.pwrx.last);
    return put_cstate(PUT(p, ", "), packet->payload.pwrx.deepest);
}

static char *put_ptw(char *p, const struct ptl_packet *packet)
{
    p = packet->payload.ptw.plc ? PUT(p, "1: ") : PUT(p, "0: ");
    p = hex_short(p, packet->payload.ptw.payload);
    return packet->payload.ptw.ip ? PUT(p, ", ip") : p;
}

static char *put_cfe(char *p, const struct ptl_packet *packet)
{
    p = put_dec(p, packet->payload.cfe.type);
    switch (packet->payload.cfe.type) {
    case PTL_CFE_INTR:
    case PTL_CFE_VMEXIT_INTR:
    case PTL_CFE_UINTR:
    case PTL_CFE_SWINTR:
        p = put_dec(PUT(p, ": "), packet->payload.cfe.vector);
        break;
    case PTL_CFE_SIPI:
        p = hex_short(PUT(p, ": "), packet->payload.cfe.vector);
        break;
    default:
        break;
    }
    return packet->payload.cfe.ip ? PUT(p, ", ip") : p;
}

static char *put_trig(char *p, const struct ptl_packet *packet)
{
    uint64_t digits = hex8((uint32_t)packet->payload.trig.vector << 24);

    p = (char *)memcpy(p, &digits, 2) + 2;
    if (packet->payload.trig.ip)
        p = PUT(p, ", ip");
    if (packet->payload.trig.mult)
        p = PUT(p, ", mult");
    if (packet->payload.trig.icntv)
        p = put_dec(PUT(p, ", icnt: "), packet->payload.trig.icnt);
    return p;
}

static char *put_tma(char *p, const struct ptl_packet *packet)
{
    p = hex_short(p, packet->payload.tma.ctc);
    return hex_short(PUT(p, ", "), packet->payload.tma.fc);
}

static char *put_pip(char *p, const struct ptl_packet *packet)
{
    p = hex_short(p, packet->payload.pip.cr3);
    return packet->payload.pip.nr ? PUT(p, ", nr") : p;
}

static char *put_mwait(char *p, const struct ptl_packet *packet)
{
    p = put_hex_padded(p, packet->payload.mwait.hints);
    return put_hex_padded(PUT(p, ", "), packet->payload.mwait.ext);
}

static char *put_evd(char *p, const struct ptl_packet *packet)
{
    p = put_dec(p, packet->payload.evd.type);
    return hex_short(PUT(p, ": "), packet->payload.evd.payload);
}

static char *put_bbp(char *p, const struct ptl_packet *packet)
{
    p = hex_short(p, packet->payload.bbp.type);
    return packet->payload.bbp.sz4 ? PUT(p, ": 4") : PUT(p, ": 8");
}

static char *put_bip(char *p, const struct ptl_packet *packet)
{
    p = hex_short(p, packet->payload.bip.id);
    return hex_short(PUT(p, ": "), packet->payload.bip.value);
}

static char *put(char *p, const struct ptl_packet *packet)
{
    switch (packet->type) {
    case PTL_PKT_TNT8:
    case PTL_PKT_TNT64:
        return put_tnt(p, packet);
    case PTL_PKT_TIP:
    case PTL_PKT_TIP_PGE:
    case PTL_PKT_TIP_PGD:
    case PTL_PKT_FUP:
        return put_ip(p, packet);
    case PTL_PKT_CYC:
        return hex_short(p, packet->payload.cyc.value);
    case PTL_PKT_MTC:
        return hex_short(p, packet->payload.mtc.ctc);
    case PTL_PKT_TSC:
        return hex_short(p, packet->payload.tsc.tsc);
    case PTL_PKT_TMA:
        return put_tma(p, packet);
    case PTL_PKT_CBR:
        return hex_short(p, packet->payload.cbr.ratio);
    case PTL_PKT_MODE_EXEC:
        return put_mode_exec(p, packet);
    case PTL_PKT_MODE_TSX:
        return put_mode_tsx(p, packet);
    case PTL_PKT_PIP:
        return put_pip(p, packet);
    case PTL_PKT_VMCS:
        return hex_short(p, packet->payload.vmcs.base);
    case PTL_PKT_MNT:
        return hex_short(p, packet->payload.mnt.payload);
    case PTL_PKT_EXSTOP:
        return packet->payload.exstop.ip ? PUT(p, "ip") : p;
    case PTL_PKT_MWAIT:
        return put_mwait(p, packet);
    case PTL_PKT_PWRE:
        return put_pwre(p, packet);
    case PTL_PKT_PWRX:
        return put_pwrx(p, packet);
    case PTL_PKT_PTW:
        return put_ptw(p, packet);
    case PTL_PKT_CFE:
        return put_cfe(p, packet);
    case PTL_PKT_EVD:
        return put_evd(p, packet);
    case PTL_PKT_TRIG:
        return put_trig(p, packet);
    case PTL_PKT_BBP:
        return put_bbp(p, packet);
    case PTL_PKT_BIP:
        return put_bip(p, packet);
    case PTL_PKT_BEP:
        return packet->payload.bep.ip ? PUT(p, "ip") : p;
    default: /* PAD, PSB, PSBEND, OVF, STOP, invalid: no payload */
        return p;
    }
}

size_t text_packet_payload(char *p, const struct ptl_packet *packet)
{
    return (size_t)(put(p, packet) - p);
}

static const char *const cfe_kinds[] = {
    [PTL_CFE_INTR] = "intr",
    [PTL_CFE_IRET] = "iret",
    [PTL_CFE_SMI] = "smi",
    [PTL_CFE_RSM] = "rsm",
    [PTL_CFE_SIPI] = "sipi",
    [PTL_CFE_INIT] = "init",
    [PTL_CFE_VMENTRY] = "vmentry",
    [PTL_CFE_VMEXIT] = "vmexit",
    [PTL_CFE_VMEXIT_INTR] = "vmexit_intr",
    [PTL_CFE_SHUTDOWN] = "shutdown",
    [PTL_CFE_UINTR] = "uintr",
    [PTL_CFE_UIRET] = "uiret",
    [PTL_CFE_SWINTR] = "swintr",
    [PTL_CFE_SYSCALL] = "syscall",
};

static const char *const evd_kinds[] = {
    [PTL_EVD_CR2] = "cr2",
    [PTL_EVD_VMXQ] = "vmxq",
    [PTL_EVD_VMXR] = "vmxr",
};

/* SDM "PEBS output to Intel PT", block types. */
static const char *const bbp_kinds[] = {
    [0x01] = "gpr",  [0x04] = "basic", [0x05] = "mem", [0x08] = "lbr0",
    [0x09] = "lbr1", [0x0a] = "lbr2",  [0x10] = "xmm",
};

static const char *kind(const char *const *names, size_t count, unsigned type)
{
    return type < count && names[type] ? names[type] : "unknown";
}

const char *text_packet_kind(const struct ptl_packet *packet)
{
    switch (packet->type) {
    case PTL_PKT_CFE:
        return kind(cfe_kinds, COUNT(cfe_kinds), packet->payload.cfe.type);
    case PTL_PKT_EVD:
        return kind(evd_kinds, COUNT(evd_kinds), packet->payload.evd.type);
    case PTL_PKT_BBP:
        return kind(bbp_kinds, COUNT(bbp_kinds), packet->payload.bbp.type);
    default:
        return NULL;
    }
}

const char *text_packet_mode(const struct ptl_packet *packet)
{
    static const char *const modes[] = {"16-bit", "64-bit", "32-bit", "unknown"};

    return modes[(packet->payload.mode_exec.csl & 1) | (packet->payload.mode_exec.csd & 1) << 1];
}
