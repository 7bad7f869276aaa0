/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bind_ovf.c - overflow of the processor's buffer, and the errata about it.
 *
 * Packets were lost; tracing goes on at the FUP that follows, or was off meanwhile and goes
 * on with TIP.PGE. Which of the two is known only by reading ahead.
 *
 * Source: Intel SDM vol. 3, "Intel Processor Trace", section "Overflow (OVF) Packet";
 * errata: doc/internals/errata.md.
 */
#include "flow/bind.h"

#include <string.h>

#define P(name) ((uint64_t)1 << PTL_PKT_##name)

#define TIMING (P(PAD) | P(INVALID) | P(TSC) | P(TMA) | P(MTC) | P(CYC) | P(CBR) | P(MNT))
#define STATES (P(PIP) | P(VMCS) | P(MODE_EXEC))
#define IN_PSB (TIMING | STATES | P(MODE_TSX))
#define PEBS   (P(BBP) | P(BIP))

int ptl__errata_bdm70(const struct ptl__bind *b)
{
    struct ptl__scan scan;

    if (!(b->errata & PTL_ERR_BDM70))
        return 0;
    ptl__scan_start(&scan, b);
    return ptl__scan_next(&scan, IN_PSB | P(PSBEND)) == PTL_PKT_TIP_PGE;
}

/* --- how an overflow ends ---------------------------------------------------------- */

static void overflow(struct ptl__bind *b, int enabled, uint64_t ip)
{
    struct ptl_event ev;

    ptl__bind_event(b, &ev, PTL_EV_OVERFLOW);
    b->enabled = (uint8_t)enabled;
    if (enabled)
        ptl__bind_at(b, &ev, ip);
    else
        ptl__bind_alone(b, &ev);
}

/* The FUP of the PSB+ at the scan's position (after its PSB). Returns 1 if there is one;
 * 0 if not; a negative status if the PSB+ is not whole. */
static int psb_fup(struct ptl__scan *scan, uint64_t *ip)
{
    int type, found = 0;

    while ((type = ptl__scan_next(scan, IN_PSB)) == PTL_PKT_FUP) {
        if (scan->last.suppressed)
            continue;
        *ip = scan->last.ip;
        found = 1;
    }
    if (type < 0)
        return type;
    return type == PTL_PKT_PSBEND ? found : 0;
}

/* OVF, PSB+ with FUP: does tracing go on at that FUP? */
static int goes_on_at_psb(const struct ptl__bind *b, struct ptl__scan *scan, uint64_t *ip)
{
    struct ptl__scan after;

    if (psb_fup(scan, ip) != 1)
        return 0;
    after = *scan;
    return !(b->errata & PTL_ERR_BDM70) || ptl__scan_next(&after, IN_PSB) != PTL_PKT_TIP_PGE;
}

static int usual_overflow(struct ptl__bind *b)
{
    struct ptl__scan scan;
    uint64_t ip = 0;
    int on = 0;

    ptl__scan_start(&scan, b);
    switch (ptl__scan_next(&scan, TIMING | PEBS)) {
    case PTL_PKT_FUP:
        b->open |= OPEN_OVF; /* what comes before the FUP is told first */
        return 0;
    case PTL_PKT_TIP:
    case PTL_PKT_TIP_PGD:
    case PTL_PKT_TNT8:
    case PTL_PKT_TNT64:
    case PTL_PKT_PSBEND:
        b->here = scan.pos - scan.packet.size;
        return PTL_BAD_CONTEXT;
    case PTL_PKT_PSB:
        on = goes_on_at_psb(b, &scan, &ip);
        break;
    default:
        break;
    }
    overflow(b, on, ip);
    return 0;
}

int ptl__bind_ovf(struct ptl__bind *b, const struct ptl_packet *packet)
{
    ptl__bind_clock(b, packet, 0);
    if (!b->enabled)
        ptl__bind_flush(b);
    b->open = b->npwre = 0;
    memset(&b->last, 0, sizeof(b->last));
    b->have_mode = b->have_iflag = 0;
    b->after_pge = 0;
    b->decode &= ~(PTL_DECODE_BLOCK4 | PTL_DECODE_BLOCK8);
    return ptl__errata_ovf(b) ? 0 : usual_overflow(b);
}

/* --- errata ------------------------------------------------------------------------ */

/* Read the packets up to `to`: they count for time only, what they tell is dropped. */
static void skip_to(struct ptl__bind *b, const uint8_t *to)
{
    struct ptl_packet packet;

    while (b->pos < to && ptl__bind_read(b, &packet) == 0)
        ptl__bind_clock(b, &packet, 0);
}

/* Skip the packet that the scan has just read, too. */
static void skip_past(struct ptl__bind *b, const struct ptl__scan *scan)
{
    skip_to(b, scan->pos);
    b->last = scan->last;
}

/* APL11: OVF, TIP.PGD: tracing was on and is off now. */
static int apl11(struct ptl__bind *b)
{
    struct ptl__scan scan;

    ptl__scan_start(&scan, b);
    if (ptl__scan_next(&scan, TIMING) != PTL_PKT_TIP_PGD)
        return 0;
    skip_past(b, &scan);
    overflow(b, 0, 0);
    return 1;
}

/* APL12: OVF, FUP, though tracing is off: tells from what comes after the FUP. */
static int apl12(struct ptl__bind *b)
{
    const uint64_t tells =
        P(TIP_PGE) | P(STOP) | P(PSB) | P(TNT8) | P(TNT64) | P(TIP) | P(TIP_PGD) | P(OVF);
    struct ptl__scan scan, fup;
    uint64_t ip;

    ptl__scan_start(&scan, b);
    if (ptl__scan_next(&scan, TIMING) != PTL_PKT_FUP)
        return 0;
    fup = scan;
    switch (ptl__scan_next(&scan, ~tells)) {
    case PTL_PKT_PSB:
        if (psb_fup(&scan, &ip) != 0)
            return 0;
        break;
    case PTL_PKT_TIP_PGE:
    case PTL_PKT_STOP:
        break;
    default:
        return 0;
    }
    skip_past(b, &fup);
    overflow(b, 0, 0);
    return 1;
}

/* A FUP follows that belongs to the packet. */
static int has_fup(const struct ptl_packet *packet)
{
    return (packet->type == PTL_PKT_EXSTOP && packet->payload.exstop.ip) ||
           (packet->type == PTL_PKT_PTW && packet->payload.ptw.ip) ||
           (packet->type == PTL_PKT_CFE && packet->payload.cfe.ip);
}

/* SKD010: the FUP or TIP.PGE after OVF is missing. Tells from the next packet that has an
 * address whether tracing was on. */
static int skd010(struct ptl__bind *b)
{
    const uint64_t skip = TIMING | STATES | PEBS | P(PWRE) | P(PWRX) | P(EVD);
    const uint8_t *tsx = NULL, *at;
    struct ptl__scan scan;
    uint64_t ip = 0;

    ptl__scan_start(&scan, b);
    if (ptl__scan_next(&scan, TIMING) == PTL_PKT_FUP)
        return 0;
    ptl__scan_start(&scan, b);
    for (;;) {
        int type = ptl__scan_next(&scan, skip);

        switch (type) {
        case PTL_PKT_TIP_PGD:
        case PTL_PKT_TIP:
            if (type == PTL_PKT_TIP && scan.last.suppressed)
                return 0;
            skip_past(b, &scan);
            overflow(b, type == PTL_PKT_TIP, scan.last.ip);
            return 1;
        case PTL_PKT_PSB:
            at = scan.pos - scan.packet.size;
            if (!goes_on_at_psb(b, &scan, &ip))
                return 0;
            skip_to(b, at);
            overflow(b, 1, ip);
            return 1;
        case PTL_PKT_FUP: /* read again after the overflow, with its MODE.TSX */
            if (scan.last.suppressed)
                return 0;
            skip_to(b, tsx ? tsx : scan.pos - scan.packet.size);
            overflow(b, 1, scan.last.ip);
            return 1;
        case PTL_PKT_MODE_TSX:
            if (tsx)
                return 0;
            tsx = scan.pos - scan.packet.size;
            break;
        case PTL_PKT_EXSTOP:
        case PTL_PKT_PTW:
        case PTL_PKT_CFE:
            if (has_fup(&scan.packet))
                return 0;
            break;
        default:
            return 0;
        }
    }
}

int ptl__errata_ovf(struct ptl__bind *b)
{
    if ((b->errata & PTL_ERR_APL12) && apl12(b))
        return 1;
    if ((b->errata & PTL_ERR_APL11) && apl11(b))
        return 1;
    return (b->errata & PTL_ERR_SKD010) && skd010(b);
}
