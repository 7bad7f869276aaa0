/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bind_psb.c - PSB+: the state that the processor repeats every few kilobytes.
 *
 * The first one is where decoding starts. A later one must agree with what is known; its
 * states apply at its FUP.
 *
 * Source: Intel SDM vol. 3, "Intel Processor Trace", section "Packet Stream Boundary (PSB)
 * Packet", table "PSB+".
 */
#include "flow/bind.h"

#include <string.h>

void ptl__scan_start(struct ptl__scan *scan, const struct ptl__bind *b)
{
    scan->pos = b->pos;
    scan->end = b->end;
    scan->decode = b->decode;
    scan->last = b->last;
}

int ptl__scan_next(struct ptl__scan *scan, uint64_t skip)
{
    for (;;) {
        int status = ptl_packet_decode(&scan->packet, scan->pos, (size_t)(scan->end - scan->pos),
                                       scan->decode);
        if (status < 0)
            return status;
        scan->pos += scan->packet.size;
        scan->decode = ptl_packet_next_flags(&scan->packet, scan->decode);
        switch (scan->packet.type) {
        case PTL_PKT_TIP:
        case PTL_PKT_TIP_PGE:
        case PTL_PKT_TIP_PGD:
        case PTL_PKT_FUP:
            (void)ptl_last_ip_update(&scan->last, scan->packet.payload.ip.ipc,
                                     scan->packet.payload.ip.ip);
            break;
        case PTL_PKT_PSB:
            memset(&scan->last, 0, sizeof(scan->last));
            break;
        default:
            break;
        }
        if (!(skip >> scan->packet.type & 1))
            return scan->packet.type;
    }
}

/* --- reading ---------------------------------------------------------------------- */

static int take_fup(struct ptl__bind *b, struct ptl__psbplus *p, const struct ptl_packet *packet)
{
    int status = ptl_last_ip_update(&b->last, packet->payload.ip.ipc, packet->payload.ip.ip);

    if (status < 0 || b->last.suppressed)
        return status;
    p->have_fup = 1;
    p->ip = b->last.ip;
    p->fup_at = b->here;
    return 0;
}

/* One packet of the PSB+. Returns 1 at its end. */
static int take(struct ptl__bind *b, struct ptl__psbplus *p, const struct ptl_packet *packet)
{
    switch (packet->type) {
    case PTL_PKT_PAD:
    case PTL_PKT_INVALID:
        return 0;
    case PTL_PKT_TSC:
    case PTL_PKT_TMA:
    case PTL_PKT_CBR:
    case PTL_PKT_MTC:
    case PTL_PKT_CYC:
        ptl__bind_clock(b, packet, 1);
        return 0;
    case PTL_PKT_MODE_EXEC:
        p->have_mode = 1;
        p->csl = packet->payload.mode_exec.csl;
        p->csd = packet->payload.mode_exec.csd;
        p->iflag = packet->payload.mode_exec.iflag;
        p->mode_at = b->here;
        return 0;
    case PTL_PKT_MODE_TSX:
        p->have_tsx = 1;
        p->intx = packet->payload.mode_tsx.intx;
        return 0;
    case PTL_PKT_PIP:
        p->have_pip = 1;
        p->cr3 = packet->payload.pip.cr3;
        p->nr = packet->payload.pip.nr;
        return 0;
    case PTL_PKT_VMCS:
        p->have_vmcs = 1;
        p->vmcs = packet->payload.vmcs.base;
        return 0;
    case PTL_PKT_MNT:
        if (!p->mnt)
            p->mnt = b->here;
        return 0;
    case PTL_PKT_FUP:
        return take_fup(b, p, packet);
    case PTL_PKT_OVF: /* ends PSB+ and is then handled as any other */
        p->ovf = 1;
        b->pos = b->here;
        return 1;
    case PTL_PKT_PSBEND:
        return 1;
    default:
        return PTL_BAD_CONTEXT;
    }
}

/* After the PSB, up to its end. */
static int read_psbplus(struct ptl__bind *b, struct ptl__psbplus *p)
{
    struct ptl_packet packet;
    int status;

    memset(p, 0, sizeof(*p));
    memset(&b->last, 0, sizeof(b->last));
    b->psb = ptl__bind_offset(b, b->here);
    do {
        while (b->pos < b->end && !*b->pos) /* PAD, many of them */
            b->pos++;
        status = ptl__bind_read(b, &packet);
        if (status == 0)
            status = take(b, p, &packet);
    } while (status == 0);
    if (status > 0 && p->have_fup && (b->flags & PTL_FLOW_NO_BRANCH))
        p->have_fup = 0;
    if (status > 0 && p->have_fup && !p->ovf && ptl__errata_bdm70(b))
        p->have_fup = 0;
    return status < 0 ? status : 0;
}

/* --- telling ---------------------------------------------------------------------- */

static uint8_t mode_of(const struct ptl__psbplus *p)
{
    return ptl__exec_mode((unsigned)p->csl | (unsigned)p->csd << 1);
}

static struct ptl_event *status_event(struct ptl__bind *b, struct ptl_event *ev,
                                      enum ptl_event_type type, const struct ptl__psbplus *p)
{
    ptl__bind_event(b, ev, type);
    ev->status = 1;
    ev->have_ip = p->have_fup;
    ev->ip = p->ip;
    return ev;
}

static void push_status(struct ptl__bind *b, const struct ptl_event *ev, enum ptl__place place)
{
    ptl__bind_push(b, ev, place)->psb = b->psb;
}

/* The states of a PSB+ as events, the first of type `first`. */
static void push_states(struct ptl__bind *b, const struct ptl__psbplus *p,
                        enum ptl_event_type first)
{
    struct ptl_event ev;
    int any =
        p->have_mode || p->have_tsx || p->have_pip || p->have_vmcs || (b->flags & PTL_FLOW_PROVEN);
    enum ptl__place place = first == PTL_EV_PSB && p->have_fup && any ? PLACE_AT : PLACE_HERE;

    push_status(b, status_event(b, &ev, first, p), place);
    if (p->have_mode) {
        status_event(b, &ev, PTL_EV_EXEC_MODE, p)->u.exec_mode.mode = mode_of(p);
        push_status(b, &ev, place);
    }
    if (p->have_tsx) {
        status_event(b, &ev, PTL_EV_TSX, p)->u.tsx.speculative = p->intx;
        push_status(b, &ev, place);
    }
    if (p->have_vmcs) {
        status_event(b, &ev, PTL_EV_VMCS, p)->u.vmcs.base = p->vmcs;
        push_status(b, &ev, place);
    }
    if (p->have_pip) {
        status_event(b, &ev, PTL_EV_PAGING, p)->u.paging.cr3 = p->cr3;
        ev.u.paging.nr = p->nr;
        push_status(b, &ev, place);
    }
    b->mnt = p->mnt;
    b->mnt_end = b->here;
}

/* Tell the next MNT of the PSB+. Returns 0 when there is none left. */
int ptl__bind_mnt(struct ptl__bind *b)
{
    struct ptl_packet packet;
    struct ptl_event ev;

    while (b->mnt < b->mnt_end &&
           ptl_packet_decode(&packet, b->mnt, (size_t)(b->mnt_end - b->mnt), b->decode) > 0) {
        b->mnt += packet.size;
        if (packet.type != PTL_PKT_MNT)
            continue;
        ptl__bind_event(b, &ev, PTL_EV_MNT);
        ev.status = 1;
        ev.u.mnt.payload = packet.payload.mnt.payload;
        push_status(b, &ev, PLACE_HERE);
        return 1;
    }
    b->mnt = NULL;
    return 0;
}

static void learn_mode(struct ptl__bind *b, const struct ptl__psbplus *p)
{
    b->have_mode = b->have_iflag = p->have_mode;
    b->mode = mode_of(p);
    b->iflag = p->iflag;
}

int ptl__bind_sync(struct ptl__bind *b, uint64_t offset)
{
    struct ptl_packet packet;
    struct ptl__psbplus p;
    int status;

    b->pos = b->begin + (offset - b->base);
    b->open = b->count = b->npwre = 0;
    b->mnt = NULL;
    b->decode &= ~(PTL_DECODE_BLOCK4 | PTL_DECODE_BLOCK8);
    b->enabled = b->after_pge = b->lost = 0;
    status = ptl__bind_read(b, &packet);
    if (status < 0)
        return status;
    ptl__bind_clock(b, &packet, 0);
    status = read_psbplus(b, &p);
    if (status < 0)
        return status;
    learn_mode(b, &p);
    b->enabled = p.have_fup;
    push_states(b, &p, PTL_EV_SYNC);
    return 0;
}

/* Does it agree with what is known? On error `here` is the packet that does not. */
static int check_states(struct ptl__bind *b, const struct ptl__psbplus *p)
{
    if (p->have_fup != b->enabled) {
        if (p->have_fup)
            b->here = p->fup_at;
        return PTL_BAD_STATUS_UPDATE;
    }
    if (!p->have_mode || !b->have_mode || !p->have_fup)
        return 0;
    if (b->mode != mode_of(p) ||
        ((b->flags & PTL_FLOW_IFLAGS) && b->have_iflag && b->iflag != p->iflag)) {
        b->here = p->mode_at;
        return PTL_BAD_STATUS_UPDATE;
    }
    return 0;
}

int ptl__bind_psb_quick(struct ptl__bind *b, const uint8_t *at, struct ptl__psbplus *p)
{
    const uint8_t *pos = b->pos, *here = b->here;
    struct ptl_last_ip last = b->last;
    struct ptl_clock clock = b->clock;
    struct ptl_packet packet;
    uint32_t decode = b->decode;
    uint64_t psb = b->psb;

    b->pos = at;
    if (ptl__bind_read(b, &packet) == 0 && packet.type == PTL_PKT_PSB) {
        ptl__bind_clock(b, &packet, 0);
        if (read_psbplus(b, p) == 0 && !p->ovf && !p->mnt && check_states(b, p) == 0) {
            b->after_pge = 0;
            if (p->have_mode)
                learn_mode(b, p);
            return 1;
        }
    }
    b->pos = pos;
    b->here = here;
    b->last = last;
    b->clock = clock;
    b->decode = decode;
    b->psb = psb;
    return 0;
}

void ptl__bind_psb_steps(struct ptl__bind *b, const struct ptl__psbplus *p)
{
    push_states(b, p, PTL_EV_PSB);
}

uint8_t ptl__psb_mode(const struct ptl__psbplus *p)
{
    return mode_of(p);
}

int ptl__bind_psb(struct ptl__bind *b, const struct ptl_packet *packet)
{
    struct ptl__psbplus p;
    int status;

    ptl__bind_clock(b, packet, 0);
    status = read_psbplus(b, &p);
    if (status < 0)
        return status;
    b->after_pge = 0;
    if (p.ovf) {
        if (p.have_mode)
            learn_mode(b, &p);
        return 0;
    }
    status = check_states(b, &p);
    if (status < 0)
        return status;
    if (p.have_mode)
        learn_mode(b, &p);
    push_states(b, &p, PTL_EV_PSB);
    return 0;
}
