/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bind.c - the packet loop: one handler a packet type.
 */
#include "flow/bind.h"

#include <string.h>

/* --- reading ---------------------------------------------------------------------- */

int ptl__bind_read(struct ptl__bind *b, struct ptl_packet *packet)
{
    int status;

    b->here = b->pos;
    status = ptl_packet_decode(packet, b->pos, (size_t)(b->end - b->pos), b->decode);
    if (status < 0)
        return status;
    b->pos += packet->size;
    b->decode = ptl_packet_next_flags(packet, b->decode);
    return 0;
}

/* What cannot be used for time is ignored: decoding does not depend on it. */
void ptl__bind_clock(struct ptl__bind *b, const struct ptl_packet *packet, int in_psb)
{
    (void)ptl_clock_calibrate(&b->clock, packet, in_psb);
    (void)ptl_clock_update(&b->clock, packet);
}

static void skip_pad(struct ptl__bind *b)
{
    while (b->pos < b->end && !*b->pos)
        b->pos++;
}

/* --- steps ------------------------------------------------------------------------ */

void ptl__bind_event(struct ptl__bind *b, struct ptl_event *ev, enum ptl_event_type type)
{
    memset(ev, 0, sizeof(*ev));
    ev->type = (uint8_t)type;
    ev->have_tsc = ptl_clock_query(&b->clock, &ev->tsc, &ev->lost_mtc, &ev->lost_cyc) == 0;
    if (!ev->have_tsc)
        ev->tsc = 0;
}

static struct ptl__step *push(struct ptl__bind *b, enum ptl__step_kind kind,
                              const struct ptl_event *ev)
{
    struct ptl__step *step = &b->queue[(b->head + b->count) % BIND_QUEUE];

    /* No packet makes more steps than fit; the queue is empty when a packet is read. */
    if (b->count < BIND_QUEUE)
        b->count++;
    memset(step, 0, offsetof(struct ptl__step, ev));
    step->kind = (uint8_t)kind;
    step->ev = *ev;
    step->offset = step->ev.offset = ptl__bind_offset(b, b->here);
    return step;
}

struct ptl__step *ptl__bind_push(struct ptl__bind *b, const struct ptl_event *ev,
                                 enum ptl__place place)
{
    struct ptl__step *step = push(b, STEP_EVENT, ev);
    step->place = (uint8_t)place;
    step->class_ = ptl__event_rows[ev->type].class_;
    step->ip = ev->ip;
    return step;
}

struct ptl__step *ptl__bind_at(struct ptl__bind *b, struct ptl_event *ev, uint64_t ip)
{
    ev->ip = ip;
    ev->have_ip = 1;
    return ptl__bind_push(b, ev, b->enabled ? ptl__event_rows[ev->type].fup : PLACE_HERE);
}

/* Decoding then stands at the next packet. */
static void stand_alone(struct ptl__bind *b, struct ptl__step *step)
{
    skip_pad(b);
    step->offset = step->ev.offset = ptl__bind_offset(b, b->pos);
}

struct ptl__step *ptl__bind_alone(struct ptl__bind *b, const struct ptl_event *ev)
{
    struct ptl__step *step =
        ptl__bind_push(b, ev, b->enabled ? ptl__event_rows[ev->type].alone : PLACE_HERE);
    stand_alone(b, step);
    return step;
}

void ptl__bind_modes(struct ptl__bind *b, enum ptl__place place, uint64_t ip)
{
    struct ptl_event ev;

    b->open &= ~OPEN_MODE;
    if (!b->have_mode || b->mode != b->new_mode) {
        ptl__bind_event(b, &ev, PTL_EV_EXEC_MODE);
        ev.have_ip = 1;
        ev.ip = ip;
        ev.u.exec_mode.mode = b->new_mode;
        ptl__bind_push(b, &ev, place);
    }
    if ((b->flags & PTL_FLOW_IFLAGS) && (!b->have_iflag || b->iflag != b->new_iflag)) {
        ptl__bind_event(b, &ev, PTL_EV_IFLAG);
        ev.have_ip = 1;
        ev.ip = ip;
        ev.u.iflag.iflag = b->new_iflag;
        ptl__bind_push(b, &ev, place);
    }
    b->have_mode = b->have_iflag = 1;
    b->mode = b->new_mode;
    b->iflag = b->new_iflag;
}

/* PIP and VMCS between FUP and TIP or TIP.PGD, in the order users know. */
static void push_async(struct ptl__bind *b, uint64_t ip, int have_ip)
{
    struct ptl_event ev;

    if (b->open & OPEN_VMCS) {
        ptl__bind_event(b, &ev, PTL_EV_ASYNC_VMCS);
        ev.u.vmcs.base = b->vmcs;
        ev.ip = ip;
        ev.have_ip = (uint8_t)have_ip;
        ptl__bind_push(b, &ev, PLACE_HERE);
    }
    if (b->open & OPEN_PIP) {
        ptl__bind_event(b, &ev, PTL_EV_ASYNC_PAGING);
        ev.u.paging.cr3 = b->cr3;
        ev.u.paging.nr = b->nr;
        ev.ip = ip;
        ev.have_ip = (uint8_t)have_ip;
        ptl__bind_push(b, &ev, PLACE_HERE);
    }
    b->open &= ~(OPEN_VMCS | OPEN_PIP | OPEN_FUP);
}

/* A CFE without IP whose branch came without FUP, e.g. INT n as a plain TIP. */
static void push_cfe_branch(struct ptl__bind *b)
{
    if (!(b->open & OPEN_CFE_IN))
        return;
    b->open &= ~OPEN_CFE_IN;
    ptl__bind_push(b, &b->cfe, PLACE_CLASS)->class_ = CLASS_FAR;
}

/* --- branches --------------------------------------------------------------------- */

/* The packet cannot come while tracing is on (or off). Is it `enabled` that is wrong? */
static int doubt(struct ptl__bind *b)
{
    b->doubt = !b->lost;
    return b->lost ? 0 : PTL_BAD_CONTEXT;
}

static int on_tnt(struct ptl__bind *b, const struct ptl_packet *packet)
{
    struct ptl_event ev;
    struct ptl__step *step;

    if (b->flags & PTL_FLOW_DISTNT)
        return 0;
    if (!b->enabled)
        return doubt(b);
    ptl__bind_event(b, &ev, PTL_EV_TICK);
    step = push(b, STEP_TNT, &ev);
    step->bits = packet->payload.tnt.bits;
    step->count = packet->payload.tnt.count;
    stand_alone(b, step);
    b->after_pge = 0;
    return 0;
}

/* last-IP; `have` is 0 for a suppressed one. */
static int update_ip(struct ptl__bind *b, const struct ptl_packet *packet, int *have)
{
    int status = ptl_last_ip_update(&b->last, packet->payload.ip.ipc, packet->payload.ip.ip);
    *have = !b->last.suppressed;
    return status;
}

static int on_tip(struct ptl__bind *b, const struct ptl_packet *packet)
{
    struct ptl_event ev;
    struct ptl__step *step;
    int have, status = update_ip(b, packet, &have);

    if (status < 0)
        return status;
    if (!b->enabled && (status = doubt(b)) < 0)
        return status;
    if (!have)
        return PTL_IP_SUPPRESSED;
    b->enabled = 1;
    b->after_pge = 0;
    if (b->open & OPEN_FUP) {
        ptl__bind_event(b, &ev, PTL_EV_ASYNC_BRANCH);
        ev.have_ip = 1;
        ev.ip = b->last.ip;
        ev.u.async_branch.from = b->from;
        step = ptl__bind_push(b, &ev, PLACE_AT);
        step->ip = b->from;
        push_async(b, b->last.ip, 1);
    } else {
        push_cfe_branch(b);
        ptl__bind_event(b, &ev, PTL_EV_TICK);
        step = push(b, STEP_TIP, &ev);
        step->ip = b->last.ip;
    }
    if (b->open & OPEN_MODE)
        ptl__bind_modes(b, PLACE_HERE, b->last.ip);
    return 0;
}

static int on_pge(struct ptl__bind *b, const struct ptl_packet *packet)
{
    struct ptl_event ev;
    int have, status = update_ip(b, packet, &have);

    if (status < 0)
        return status;
    if (b->enabled) {
        status = doubt(b);
        if (status < 0)
            return status;
        ptl__bind_event(b, &ev, PTL_EV_DISABLED);
        ptl__bind_push(b, &ev, PLACE_HERE);
    }
    if (!have)
        return PTL_NOIP;
    b->enabled = b->after_pge = 1;
    ptl__bind_event(b, &ev, PTL_EV_ENABLED);
    ptl__bind_at(b, &ev, b->last.ip);
    if (b->open & OPEN_MODE)
        ptl__bind_modes(b, PLACE_HERE, b->last.ip);
    return 0;
}

static int on_pgd(struct ptl__bind *b, const struct ptl_packet *packet)
{
    struct ptl_event ev;
    int have, status = update_ip(b, packet, &have);

    if (status < 0)
        return status;
    if (!b->enabled && (status = doubt(b)) < 0)
        return status;
    if (b->open & OPEN_FUP) {
        ptl__bind_event(b, &ev, PTL_EV_ASYNC_DISABLED);
        ev.u.async_disabled.at = b->from;
        ev.have_ip = (uint8_t)have;
        ev.ip = have ? b->last.ip : 0;
        ptl__bind_push(b, &ev, PLACE_AT)->ip = b->from;
        push_async(b, 0, 0); /* the address is that of the disable alone */
    } else {
        push_cfe_branch(b);
        ptl__bind_event(b, &ev, PTL_EV_DISABLED);
        if (have)
            stand_alone(b, ptl__bind_at(b, &ev, b->last.ip));
        else
            ptl__bind_alone(b, &ev);
    }
    b->enabled = b->after_pge = 0;
    return 0;
}

static int on_fup(struct ptl__bind *b, const struct ptl_packet *packet)
{
    int have, status = update_ip(b, packet, &have);

    if (status < 0)
        return status;
    if (!have)
        return PTL_IP_SUPPRESSED;
    return ptl__bind_fup(b, packet);
}

/* --- states ----------------------------------------------------------------------- */

static int on_mode_exec(struct ptl__bind *b, const struct ptl_packet *packet)
{
    b->new_mode = ptl__exec_mode((unsigned)packet->payload.mode_exec.csl |
                                 (unsigned)packet->payload.mode_exec.csd << 1);
    b->new_iflag = packet->payload.mode_exec.iflag;
    b->open |= OPEN_MODE;
    return 0;
}

static int on_mode_tsx(struct ptl__bind *b, const struct ptl_packet *packet)
{
    struct ptl_event ev;

    b->intx = packet->payload.mode_tsx.intx;
    b->abrt = packet->payload.mode_tsx.abrt;
    if (b->enabled) {
        b->open |= OPEN_TSX;
        return 0;
    }
    ptl__bind_event(b, &ev, PTL_EV_TSX);
    ev.u.tsx.speculative = b->intx;
    ev.u.tsx.aborted = b->abrt;
    ptl__bind_alone(b, &ev);
    return 0;
}

static int on_pip(struct ptl__bind *b, const struct ptl_packet *packet)
{
    struct ptl_event ev;

    b->cr3 = packet->payload.pip.cr3;
    b->nr = packet->payload.pip.nr;
    if (b->open & OPEN_FUP) {
        b->open |= OPEN_PIP;
        return 0;
    }
    ptl__bind_event(b, &ev, PTL_EV_PAGING);
    ev.u.paging.cr3 = b->cr3;
    ev.u.paging.nr = b->nr;
    ptl__bind_alone(b, &ev);
    return 0;
}

static int on_vmcs(struct ptl__bind *b, const struct ptl_packet *packet)
{
    struct ptl_event ev;

    b->vmcs = packet->payload.vmcs.base;
    if (b->open & OPEN_FUP) {
        b->open |= OPEN_VMCS;
        return 0;
    }
    ptl__bind_event(b, &ev, PTL_EV_VMCS);
    ev.u.vmcs.base = b->vmcs;
    ptl__bind_alone(b, &ev);
    return 0;
}

/* TraceStop comes while tracing is off, or right after a TIP.PGE into the range. */
static int on_stop(struct ptl__bind *b, const struct ptl_packet *packet)
{
    struct ptl_event ev;

    (void)packet;
    if (b->enabled && !b->after_pge && doubt(b) < 0)
        return PTL_BAD_CONTEXT;
    ptl__bind_event(b, &ev, PTL_EV_STOP);
    ptl__bind_alone(b, &ev);
    return 0;
}

/* --- time ------------------------------------------------------------------------- */

static int on_time(struct ptl__bind *b, const struct ptl_packet *packet)
{
    ptl__bind_clock(b, packet, 0);
    return 0;
}

static int on_cbr(struct ptl__bind *b, const struct ptl_packet *packet)
{
    struct ptl_event ev;

    ptl__bind_clock(b, packet, 0);
    ptl__bind_event(b, &ev, PTL_EV_CBR);
    ev.u.cbr.ratio = packet->payload.cbr.ratio;
    ptl__bind_alone(b, &ev);
    return 0;
}

static int on_mnt(struct ptl__bind *b, const struct ptl_packet *packet)
{
    struct ptl_event ev;

    ptl__bind_event(b, &ev, PTL_EV_MNT);
    ev.u.mnt.payload = packet->payload.mnt.payload;
    ptl__bind_alone(b, &ev);
    return 0;
}

/* --- power, PTWRITE, triggers, PEBS ----------------------------------------------- */

static int on_mwait(struct ptl__bind *b, const struct ptl_packet *packet)
{
    if (b->open & OPEN_MWAIT)
        ptl__bind_alone(b, &b->mwait);
    ptl__bind_event(b, &b->mwait, PTL_EV_MWAIT);
    b->mwait.u.mwait.hints = packet->payload.mwait.hints;
    b->mwait.u.mwait.ext = packet->payload.mwait.ext;
    b->open |= OPEN_MWAIT;
    return 0;
}

static int on_exstop(struct ptl__bind *b, const struct ptl_packet *packet)
{
    struct ptl_event ev;

    if (packet->payload.exstop.ip) {
        b->open |= OPEN_EXSTOP;
        return 0;
    }
    if (b->open & OPEN_MWAIT)
        ptl__bind_alone(b, &b->mwait);
    b->open &= ~OPEN_MWAIT;
    ptl__bind_event(b, &ev, PTL_EV_EXSTOP);
    ptl__bind_alone(b, &ev);
    return 0;
}

void ptl__bind_pwres(struct ptl__bind *b)
{
    for (unsigned i = 0; i < b->npwre; i++)
        ptl__bind_alone(b, &b->pwre[i]);
    b->npwre = 0;
}

/* Held until PWRX; a full hold lets all go. */
static int on_pwre(struct ptl__bind *b, const struct ptl_packet *packet)
{
    struct ptl_event *ev;

    if (b->npwre == BIND_PWRES)
        ptl__bind_pwres(b);
    ev = &b->pwre[b->npwre++];
    ptl__bind_event(b, ev, PTL_EV_PWRE);
    ev->u.pwre.state = packet->payload.pwre.state;
    ev->u.pwre.sub_state = packet->payload.pwre.sub_state;
    ev->u.pwre.hw = packet->payload.pwre.hw;
    return 0;
}

static int on_pwrx(struct ptl__bind *b, const struct ptl_packet *packet)
{
    struct ptl_event ev;

    ptl__bind_pwres(b);
    ptl__bind_event(b, &ev, PTL_EV_PWRX);
    ev.u.pwrx.last = packet->payload.pwrx.last;
    ev.u.pwrx.deepest = packet->payload.pwrx.deepest;
    ev.u.pwrx.interrupt = packet->payload.pwrx.interrupt;
    ev.u.pwrx.store = packet->payload.pwrx.store;
    ev.u.pwrx.autonomous = packet->payload.pwrx.autonomous;
    ptl__bind_alone(b, &ev);
    return 0;
}

static int on_ptw(struct ptl__bind *b, const struct ptl_packet *packet)
{
    ptl__bind_event(b, &b->ptw, PTL_EV_PTWRITE);
    b->ptw.u.ptwrite.payload = packet->payload.ptw.payload;
    b->ptw.u.ptwrite.size = packet->payload.ptw.plc ? 8 : 4;
    if (packet->payload.ptw.ip)
        b->open |= OPEN_PTW;
    else
        ptl__bind_alone(b, &b->ptw);
    return 0;
}

static int on_trig(struct ptl__bind *b, const struct ptl_packet *packet)
{
    struct ptl__step *step;
    uint16_t icnt = packet->payload.trig.icntv ? packet->payload.trig.icnt : 0;

    ptl__bind_event(b, &b->trig, PTL_EV_TRIG);
    b->trig.u.trig.vector = packet->payload.trig.vector;
    b->trig.u.trig.mult = packet->payload.trig.mult;
    b->trig.u.trig.icnt = icnt;
    if (packet->payload.trig.ip) {
        if (!packet->payload.trig.icntv || icnt)
            return PTL_BAD_PACKET;
        b->open |= OPEN_TRIG;
        return 0;
    }
    if (!b->enabled && icnt)
        return PTL_BAD_PACKET;
    step = ptl__bind_alone(b, &b->trig);
    if (b->enabled && packet->payload.trig.icntv) {
        step->place = PLACE_COUNT;
        step->count = icnt;
    }
    return 0;
}

static int on_bep(struct ptl__bind *b, const struct ptl_packet *packet)
{
    struct ptl_event ev;

    if (packet->payload.bep.ip) {
        b->open |= OPEN_BEP;
        return 0;
    }
    ptl__bind_event(b, &ev, PTL_EV_PEBS);
    ptl__bind_alone(b, &ev);
    return 0;
}

static int on_nothing(struct ptl__bind *b, const struct ptl_packet *packet)
{
    (void)b;
    (void)packet;
    return 0;
}

static int on_psbend(struct ptl__bind *b, const struct ptl_packet *packet)
{
    (void)b;
    (void)packet;
    return PTL_BAD_CONTEXT;
}

/* --- the loop --------------------------------------------------------------------- */

/* `deny`: what must not be open when the packet comes. */
static const struct {
    int (*handle)(struct ptl__bind *, const struct ptl_packet *);
    uint32_t deny;
} rows[PTL_PKT_MAX_VALUE + 1] = {
    [PTL_PKT_INVALID] = {on_nothing, 0},
    [PTL_PKT_PAD] = {on_nothing, 0},
    [PTL_PKT_PSB] = {ptl__bind_psb, 0xffffffffu & ~(uint32_t)OPEN_MWAIT},
    [PTL_PKT_PSBEND] = {on_psbend, 0},
    [PTL_PKT_TNT8] = {on_tnt, OPEN_BOUND | OPEN_FUP},
    [PTL_PKT_TNT64] = {on_tnt, OPEN_BOUND | OPEN_FUP},
    [PTL_PKT_TIP] = {on_tip, OPEN_BOUND},
    [PTL_PKT_TIP_PGE] = {on_pge, OPEN_BOUND | OPEN_FUP},
    [PTL_PKT_TIP_PGD] = {on_pgd, OPEN_BOUND},
    [PTL_PKT_FUP] = {on_fup, OPEN_FUP},
    [PTL_PKT_MODE_EXEC] = {on_mode_exec, 0},
    [PTL_PKT_MODE_TSX] = {on_mode_tsx, OPEN_BOUND | OPEN_FUP},
    [PTL_PKT_PIP] = {on_pip, 0},
    [PTL_PKT_VMCS] = {on_vmcs, 0},
    [PTL_PKT_TSC] = {on_time, 0},
    [PTL_PKT_TMA] = {on_time, 0},
    [PTL_PKT_MTC] = {on_time, 0},
    [PTL_PKT_CYC] = {on_time, 0},
    [PTL_PKT_CBR] = {on_cbr, 0},
    [PTL_PKT_OVF] = {ptl__bind_ovf, 0},
    [PTL_PKT_STOP] = {on_stop, OPEN_BOUND | OPEN_FUP},
    [PTL_PKT_MNT] = {on_mnt, 0},
    [PTL_PKT_EXSTOP] = {on_exstop, OPEN_FUP | OPEN_EXSTOP},
    [PTL_PKT_MWAIT] = {on_mwait, OPEN_FUP},
    [PTL_PKT_PWRE] = {on_pwre, 0},
    [PTL_PKT_PWRX] = {on_pwrx, 0},
    [PTL_PKT_PTW] = {on_ptw, OPEN_FUP | OPEN_PTW},
    [PTL_PKT_CFE] = {ptl__bind_cfe, OPEN_FUP | OPEN_CFE | OPEN_CFE_IN},
    [PTL_PKT_EVD] = {ptl__bind_evd, 0},
    [PTL_PKT_BBP] = {on_nothing, 0},
    [PTL_PKT_BIP] = {on_nothing, 0},
    [PTL_PKT_BEP] = {on_bep, OPEN_FUP | OPEN_BEP},
    [PTL_PKT_TRIG] = {on_trig, OPEN_FUP | OPEN_TRIG},
};

int ptl__bind_next(struct ptl__bind *b, struct ptl__step *step)
{
    struct ptl_packet packet;

    for (;;) {
        int status;

        if (b->count) {
            *step = b->queue[b->head];
            b->head = (b->head + 1) % BIND_QUEUE;
            b->count--;
            return 0;
        }
        if (b->mnt && ptl__bind_mnt(b))
            continue;
        status = ptl__bind_read(b, &packet);
        if (status == PTL_EOS && b->npwre) {
            ptl__bind_pwres(b);
            continue;
        }
        if (status < 0)
            return status;
        if (rows[packet.type].deny & b->open)
            return PTL_BAD_CONTEXT;
        status = rows[packet.type].handle(b, &packet);
        if (status < 0)
            return status;
    }
}

int ptl__bind_time(struct ptl__bind *b)
{
    struct ptl_packet packet;
    const uint8_t *pos = b->pos;
    uint32_t decode = b->decode;

    skip_pad(b);
    if (b->pos != pos)
        return 1;
    if (ptl__bind_read(b, &packet) == 0) {
        if (rows[packet.type].handle == on_time || packet.type == PTL_PKT_INVALID)
            return rows[packet.type].handle(b, &packet) == 0;
    }
    b->pos = pos;
    b->decode = decode;
    return 0;
}

int ptl__bind_tip(struct ptl__bind *b, uint64_t *ip)
{
    struct ptl_packet packet;
    int status = PTL_BAD_QUERY;

    for (;;) {
        const uint8_t *pos = b->pos;
        uint32_t decode = b->decode;

        if (!(b->open & ~(uint32_t)OPEN_MWAIT) && b->count < BIND_QUEUE / 2 &&
            (status = ptl__bind_read(b, &packet)) == 0) {
            status = PTL_BAD_QUERY;
            if (packet.type == PTL_PKT_TIP && packet.payload.ip.ipc != PTL_IPC_SUPPRESSED &&
                ptl_last_ip_update(&b->last, packet.payload.ip.ipc, packet.payload.ip.ip) == 0) {
                *ip = b->last.ip;
                return 0;
            }
            if ((rows[packet.type].handle == on_time || rows[packet.type].handle == on_nothing ||
                 rows[packet.type].handle == on_cbr || rows[packet.type].handle == on_mnt) &&
                rows[packet.type].handle(b, &packet) == 0)
                continue;
        }
        b->pos = pos;
        b->decode = decode;
        return status == PTL_EOS ? PTL_EOS : PTL_BAD_QUERY;
    }
}

void ptl__bind_continue(struct ptl__bind *b, const uint8_t *begin, size_t len, uint64_t offset)
{
    b->begin = b->pos = b->here = begin;
    b->end = begin + len;
    b->base = offset;
}

void ptl__bind_restart(struct ptl__bind *b, const uint8_t *begin, size_t len, uint64_t offset)
{
    ptl__bind_continue(b, begin, len, offset);
    b->psb = offset;
    b->open = b->count = b->npwre = 0;
    b->mnt = NULL;
    b->enabled = 0;
}

void ptl__bind_init(struct ptl__bind *b, const struct ptl_flow_config *config)
{
    struct ptl_clock_config clock = config->clock;

    memset(b, 0, sizeof(*b));
    b->pause = UINT64_MAX;
    b->errata = config->errata;
    b->flags = config->flags;
    b->decode = (config->errata & PTL_ERR_SKZ84 ? PTL_DECODE_SKZ84 : 0) |
                (config->errata & PTL_ERR_SKD007 ? PTL_DECODE_SKD007 : 0);
    clock.errata |= config->errata;
    ptl_clock_init(&b->clock, &clock);
    ptl__bind_restart(b, config->begin, config->len, config->offset);
}
