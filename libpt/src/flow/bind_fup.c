/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bind_fup.c - what waits for a FUP, and event trace (CFE, EVD).
 *
 * A FUP that follows a packet with its IP bit set belongs to that packet alone; else it
 * opens an asynchronous branch (FUP, TIP) or disable (FUP, TIP.PGD).
 *
 * Source: Intel SDM vol. 3, "Intel Processor Trace", sections "FUP packet", "Event tracing".
 */
#include "flow/bind.h"

#define NO_EVENT 0xff /* a CFE of unknown type: only its FUP matters */

static struct ptl_event *tell(struct ptl__bind *b, struct ptl_event *ev, uint64_t ip)
{
    if (ev->type == NO_EVENT)
        return ev;
    /* At the FUP is the time at which it happens. */
    ev->have_tsc = ptl_clock_query(&b->clock, &ev->tsc, &ev->lost_mtc, &ev->lost_cyc) == 0;
    if (!ev->have_tsc)
        ev->tsc = 0;
    ptl__bind_at(b, ev, ip);
    return ev;
}

/* An event that the packet has not made yet. */
static void tell_new(struct ptl__bind *b, enum ptl_event_type type, uint64_t ip)
{
    struct ptl_event ev;
    ptl__bind_event(b, &ev, type);
    ptl__bind_at(b, &ev, ip);
}

static void tell_tsx(struct ptl__bind *b, uint64_t ip)
{
    struct ptl_event ev;

    ptl__bind_event(b, &ev, PTL_EV_TSX);
    ev.u.tsx.speculative = b->intx;
    ev.u.tsx.aborted = b->abrt;
    ptl__bind_at(b, &ev, ip);
}

/* The packets whose FUP this is. Returns 1 if it belongs to them alone. */
static int tell_bound(struct ptl__bind *b, uint64_t ip)
{
    uint32_t open = b->open;

    if (open & OPEN_EXSTOP) {
        if (open & OPEN_MWAIT)
            tell(b, &b->mwait, ip);
        b->open &= ~OPEN_MWAIT;
        tell_new(b, PTL_EV_EXSTOP, ip);
    }
    if (open & OPEN_PTW)
        tell(b, &b->ptw, ip);
    if (open & OPEN_CFE)
        tell(b, &b->cfe, ip);
    if (open & OPEN_BEP)
        tell_new(b, PTL_EV_PEBS, ip);
    if (open & OPEN_TRIG)
        tell(b, &b->trig, ip);
    if (open & OPEN_TSX)
        tell_tsx(b, ip);
    b->open &= ~OPEN_BOUND;
    if ((open & OPEN_MODE) && !(open & OPEN_CFE_IN)) {
        ptl__bind_modes(b, b->enabled ? PLACE_AT : PLACE_HERE, ip);
        return 1;
    }
    return (open & OPEN_BOUND) && !((open & OPEN_TSX) && b->abrt);
}

int ptl__bind_fup(struct ptl__bind *b, const struct ptl_packet *packet)
{
    uint64_t ip = b->last.ip;

    (void)packet;
    if (b->open & OPEN_OVF) {
        b->open &= ~OPEN_OVF;
        b->enabled = 1;
        tell_new(b, PTL_EV_OVERFLOW, ip);
        return 0;
    }
    if (tell_bound(b, ip))
        return 0;
    if (b->open & OPEN_CFE_IN) {
        uint8_t type = b->cfe.type;
        tell(b, &b->cfe, ip);
        b->open &= ~OPEN_CFE_IN;
        if (type == PTL_EV_RSM || type == PTL_EV_SIPI)
            b->queue[(b->head + b->count - 1) % BIND_QUEUE].ev.have_ip = 0;
    }
    if (!b->enabled)
        return b->flags & PTL_FLOW_NO_BRANCH ? 0 : PTL_BAD_CONTEXT;
    b->open |= OPEN_FUP;
    b->from = ip;
    b->after_pge = 0;
    return 0;
}

/* --- event trace ------------------------------------------------------------------ */

static const uint8_t cfe_events[32] = {
    [PTL_CFE_INTR] = PTL_EV_INTR,
    [PTL_CFE_IRET] = PTL_EV_IRET,
    [PTL_CFE_SMI] = PTL_EV_SMI,
    [PTL_CFE_RSM] = PTL_EV_RSM,
    [PTL_CFE_SIPI] = PTL_EV_SIPI,
    [PTL_CFE_INIT] = PTL_EV_INIT,
    [PTL_CFE_VMENTRY] = PTL_EV_VMENTRY,
    [PTL_CFE_VMEXIT] = PTL_EV_VMEXIT,
    [PTL_CFE_VMEXIT_INTR] = PTL_EV_VMEXIT,
    [PTL_CFE_SHUTDOWN] = PTL_EV_SHUTDOWN,
    [PTL_CFE_UINTR] = PTL_EV_UINTR,
    [PTL_CFE_UIRET] = PTL_EV_UIRET,
    [PTL_CFE_SWINTR] = PTL_EV_SWINTR,
    [PTL_CFE_SYSCALL] = PTL_EV_SYSCALL,
};

#define HAS_VECTOR                                                                                 \
    (1u << PTL_CFE_INTR | 1u << PTL_CFE_SIPI | 1u << PTL_CFE_VMEXIT_INTR | 1u << PTL_CFE_UINTR |   \
     1u << PTL_CFE_SWINTR)

/* The EVDs before it: page fault address for INTR, VM exit reason and qualification. */
static int take_evd(struct ptl__bind *b, uint8_t type)
{
    uint32_t open = b->open & OPEN_EVD;
    uint32_t may = type == PTL_EV_INTR     ? OPEN_CR2
                   : type == PTL_EV_VMEXIT ? OPEN_VMXQ | OPEN_VMXR
                                           : 0;

    b->open &= ~(uint32_t)OPEN_EVD;
    if (type == NO_EVENT)
        return 0;
    if (open & ~may)
        return PTL_BAD_CONTEXT;
    b->cfe.u.cfe.have_cr2 = !!(open & OPEN_CR2);
    b->cfe.u.cfe.have_vmxq = !!(open & OPEN_VMXQ);
    b->cfe.u.cfe.have_vmxr = !!(open & OPEN_VMXR);
    b->cfe.u.cfe.cr2 = open & OPEN_CR2 ? b->cr2 : 0;
    b->cfe.u.cfe.vmxq = open & OPEN_VMXQ ? b->vmxq : 0;
    b->cfe.u.cfe.vmxr = open & OPEN_VMXR ? b->vmxr : 0;
    return 0;
}

int ptl__bind_cfe(struct ptl__bind *b, const struct ptl_packet *packet)
{
    uint8_t cfe = packet->payload.cfe.type;
    uint8_t type = cfe_events[cfe & 31] ? cfe_events[cfe & 31] : NO_EVENT;
    int status;

    ptl__bind_event(b, &b->cfe, type == NO_EVENT ? PTL_EV_INTR : (enum ptl_event_type)type);
    b->cfe.type = type;
    status = take_evd(b, type);
    if (status < 0)
        return status;
    if (HAS_VECTOR >> cfe & 1) {
        b->cfe.u.cfe.have_vector = 1;
        b->cfe.u.cfe.vector = packet->payload.cfe.vector;
    }
    if (packet->payload.cfe.ip) {
        if (type == PTL_EV_RSM || type == PTL_EV_SIPI)
            return PTL_BAD_PACKET;
        b->open |= OPEN_CFE;
        return 0;
    }
    if (type == NO_EVENT)
        return 0;
    /* Enabled: an asynchronous one is located by the FUP of its branch. */
    if (b->enabled && ptl__event_rows[type].alone == PLACE_HERE && type != PTL_EV_SHUTDOWN) {
        b->open |= OPEN_CFE_IN;
        return 0;
    }
    ptl__bind_alone(b, &b->cfe);
    return 0;
}

int ptl__bind_evd(struct ptl__bind *b, const struct ptl_packet *packet)
{
    static const struct {
        uint32_t open, deny; /* what it is, what must not be there already */
    } kinds[] = {[PTL_EVD_CR2] = {OPEN_CR2, OPEN_EVD},
                 [PTL_EVD_VMXQ] = {OPEN_VMXQ, OPEN_CR2 | OPEN_VMXQ},
                 [PTL_EVD_VMXR] = {OPEN_VMXR, OPEN_CR2 | OPEN_VMXR}};
    uint64_t *payloads[] = {&b->cr2, &b->vmxq, &b->vmxr};
    uint8_t type = packet->payload.evd.type;

    if (type > PTL_EVD_VMXR)
        return 0;
    if (b->open & kinds[type].deny)
        return PTL_BAD_CONTEXT;
    b->open |= kinds[type].open;
    *payloads[type] = packet->payload.evd.payload;
    return 0;
}

void ptl__bind_flush(struct ptl__bind *b)
{
    struct ptl_event ev;
    uint32_t open = b->open;

    b->open = 0;
    if (open & OPEN_MWAIT)
        ptl__bind_alone(b, &b->mwait);
    if (open & OPEN_EXSTOP) {
        ptl__bind_event(b, &ev, PTL_EV_EXSTOP);
        ptl__bind_alone(b, &ev);
    }
    if (open & OPEN_PTW)
        ptl__bind_alone(b, &b->ptw);
    if ((open & (OPEN_CFE | OPEN_CFE_IN)) && b->cfe.type != NO_EVENT)
        ptl__bind_alone(b, &b->cfe);
    if (open & OPEN_BEP) {
        ptl__bind_event(b, &ev, PTL_EV_PEBS);
        ptl__bind_alone(b, &ev);
    }
    if (open & OPEN_TRIG)
        ptl__bind_alone(b, &b->trig);
    ptl__bind_pwres(b);
}
