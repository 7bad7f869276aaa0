/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tracegen.h - a random program, a random run of it, and the trace that a processor would
 * write of that run. Independent of the decoder: only the encoder and last-IP are shared.
 *
 * The program is a row of slots of 16 bytes: NOPs and a last instruction.
 */
#ifndef TEST_TRACEGEN_H
#define TEST_TRACEGEN_H

#include "unit.h"

#include <pt/packet.h>

#define GEN_BASE  0x400000u
#define GEN_SLOT  16u
#define GEN_SLOTS 512u
#define GEN_BYTES (GEN_SLOT * GEN_SLOTS)

enum gen_kind {
    GEN_FALL,
    GEN_JCC,
    GEN_JMP,
    GEN_CALL,
    GEN_RET,
    GEN_JMP_IND,
    GEN_CALL_IND,
    GEN_SPECIAL, /* one of those below */
    GEN_PTW = GEN_SPECIAL,
    GEN_CR3,
    GEN_SYSCALL,
    GEN_KINDS
};

#define GEN_RETCOMP 0x1u /* compress returns */
#define GEN_TIMING  0x2u /* CYC, MTC, TSC */
#define GEN_EVENTS  0x4u /* interrupts, PTWRITE, filters, PSB+ */
#define GEN_DEFER   0x8u /* TIPs after the TNT bits that follow them */

struct gen {
    uint64_t seed;
    unsigned flags;
    uint8_t code[GEN_BYTES];
    uint8_t kind[GEN_SLOTS], nops[GEN_SLOTS];
    uint32_t target[GEN_SLOTS]; /* slot */
    uint8_t *trace;
    size_t len, cap;
    struct ptl_last_ip last;
    uint64_t bits;
    unsigned nbits;
    uint64_t tips[64];
    unsigned ntips;
    uint64_t rets[64];
    unsigned nrets;
    unsigned since_psb;
    int at_cr3; /* the last thing told was a MOV CR3: TIP.PGD without address would mean it */
    uint8_t ctc;
    uint64_t *ran; /* addresses of the instructions that ran */
    size_t nran;
    size_t told; /* as many as the trace leads to so far; an overflow loses the rest */
};

static inline uint64_t gen_ip(uint32_t slot)
{
    return GEN_BASE + slot * GEN_SLOT;
}

static inline uint64_t gen_below(struct gen *g, uint64_t n)
{
    return rnd(&g->seed) % n;
}

/* --- the program ------------------------------------------------------------------ */

static inline void gen_rel32(uint8_t *at, uint64_t from, uint64_t to)
{
    uint32_t disp = (uint32_t)(to - from);
    memcpy(at, &disp, 4);
}

static inline void gen_program(struct gen *g)
{
    static const uint8_t len[GEN_KINDS] = {1, 6, 5, 5, 1, 2, 2, 4, 3, 2};

    memset(g->code, 0x90, sizeof(g->code));
    for (uint32_t i = 0; i < GEN_SLOTS; i++) {
        uint8_t kind = (uint8_t)(gen_below(g, 3) ? gen_below(g, GEN_SPECIAL) : GEN_JCC);
        uint32_t to = (uint32_t)gen_below(g, GEN_SLOTS);
        uint64_t end = gen_ip(i) + GEN_SLOT;
        uint8_t *last;

        if ((kind == GEN_JMP || kind == GEN_CALL) && to <= i) /* no loops without trace */
            to = i + 1;
        if ((g->flags & GEN_EVENTS) && !gen_below(g, 10))
            kind = (uint8_t)(GEN_SPECIAL + gen_below(g, GEN_KINDS - GEN_SPECIAL));
        if (i == GEN_SLOTS - 1)
            kind = GEN_JMP_IND;
        if (to == GEN_SLOTS)
            to = 0;
        g->kind[i] = kind;
        g->target[i] = to;
        last = g->code + i * GEN_SLOT + GEN_SLOT - len[kind];
        g->nops[i] = (uint8_t)(GEN_SLOT - len[kind]);
        switch (kind) {
        case GEN_JCC:
            last[0] = 0x0f;
            last[1] = 0x84;
            gen_rel32(last + 2, end, gen_ip(to));
            break;
        case GEN_JMP:
        case GEN_CALL:
            last[0] = kind == GEN_JMP ? 0xe9 : 0xe8;
            gen_rel32(last + 1, end, gen_ip(to));
            break;
        case GEN_RET:
            last[0] = 0xc3;
            break;
        case GEN_JMP_IND:
        case GEN_CALL_IND:
            last[0] = 0xff;
            last[1] = kind == GEN_JMP_IND ? 0xe0 : 0xd0;
            break;
        case GEN_PTW: /* ptwrite eax */
            memcpy(last, "\xf3\x0f\xae\xe0", 4);
            break;
        case GEN_CR3:
            memcpy(last, "\x0f\x22\xd8", 3);
            break;
        case GEN_SYSCALL:
            memcpy(last, "\x0f\x05", 2);
            break;
        default:
            break;
        }
    }
}

/* --- the trace ---------------------------------------------------------------------- */

static inline void gen_put(struct gen *g, const struct ptl_packet *p)
{
    int n;

    assert_true(g->len + PTL_PACKET_MAX_SIZE <= g->cap);
    n = ptl_packet_encode(g->trace + g->len, g->cap - g->len, p);
    assert_true(n > 0);
    g->len += (size_t)n;
    g->since_psb += (unsigned)n;
}

static inline void gen_type(struct gen *g, uint8_t type)
{
    gen_put(g, &(struct ptl_packet){.type = type});
}

static inline void gen_time(struct gen *g)
{
    if (!(g->flags & GEN_TIMING))
        return;
    if (!gen_below(g, 3))
        gen_put(g, &(struct ptl_packet){.type = PTL_PKT_CYC, .payload.cyc = {gen_below(g, 5000)}});
    if (!gen_below(g, 7))
        gen_put(g, &(struct ptl_packet){.type = PTL_PKT_MTC, .payload.mtc = {++g->ctc}});
}

static inline void gen_ip_packet(struct gen *g, uint8_t type, uint64_t ip)
{
    struct ptl_packet p = {.type = type};

    p.payload.ip.ipc = (uint8_t)ptl_last_ip_compress(&g->last, ip, &p.payload.ip.ip);
    assert_int_equal(ptl_last_ip_update(&g->last, p.payload.ip.ipc, p.payload.ip.ip), 0);
    gen_put(g, &p);
}

static inline void gen_flush(struct gen *g)
{
    if (g->nbits) {
        struct ptl_packet p = {.type = g->nbits > 6 ? PTL_PKT_TNT64 : PTL_PKT_TNT8};
        p.payload.tnt.bits = g->bits;
        p.payload.tnt.count = (uint8_t)g->nbits;
        gen_time(g);
        gen_put(g, &p);
    }
    g->bits = g->nbits = 0;
    for (unsigned i = 0; i < g->ntips; i++) {
        if (!gen_below(g, 5))
            gen_type(g, PTL_PKT_PAD);
        gen_time(g);
        gen_ip_packet(g, PTL_PKT_TIP, g->tips[i]);
    }
    g->ntips = 0;
}

static inline void gen_bit(struct gen *g, int taken)
{
    g->told = g->nran;
    g->at_cr3 = 0;
    g->bits = g->bits << 1 | (uint64_t)taken;
    if (++g->nbits == 47 || (!g->ntips && g->nbits == 6 && gen_below(g, 2)))
        gen_flush(g);
}

static inline void gen_tip(struct gen *g, uint64_t ip, int may_defer)
{
    g->told = g->nran;
    g->at_cr3 = 0;
    g->tips[g->ntips++] = ip;
    if (!may_defer || !(g->flags & GEN_DEFER) || !g->nbits || g->ntips == 8 || gen_below(g, 2))
        gen_flush(g);
}

static inline void gen_psb(struct gen *g, uint64_t ip)
{
    gen_flush(g);
    gen_type(g, PTL_PKT_PSB);
    memset(&g->last, 0, sizeof(g->last));
    if (g->flags & GEN_TIMING) {
        gen_put(g,
                &(struct ptl_packet){.type = PTL_PKT_TSC, .payload.tsc = {1000 * (g->nran + 1)}});
        gen_put(g, &(struct ptl_packet){.type = PTL_PKT_TMA, .payload.tma = {g->ctc, 3}});
        gen_put(g, &(struct ptl_packet){.type = PTL_PKT_CBR, .payload.cbr = {20}});
    }
    gen_put(g, &(struct ptl_packet){.type = PTL_PKT_MODE_EXEC, .payload.mode_exec = {1, 0, 0}});
    gen_ip_packet(g, PTL_PKT_FUP, ip);
    gen_type(g, PTL_PKT_PSBEND);
    g->since_psb = 0;
    g->nrets = 0;
    g->told = g->nran;
}

/* --- the run -------------------------------------------------------------------------- */

static inline void gen_fup(struct gen *g, uint64_t ip)
{
    g->told = g->nran;
    g->at_cr3 = 0;
    gen_ip_packet(g, PTL_PKT_FUP, ip);
}

static inline void gen_pip(struct gen *g)
{
    gen_put(
        g, &(struct ptl_packet){.type = PTL_PKT_PIP, .payload.pip = {gen_below(g, 1000) << 12, 0}});
}

static inline void gen_vmcs(struct gen *g)
{
    gen_put(g,
            &(struct ptl_packet){.type = PTL_PKT_VMCS, .payload.vmcs = {gen_below(g, 1000) << 12}});
}

/* What may come anywhere; `off`: while tracing is off, more of it. */
static inline void gen_alone(struct gen *g, int off)
{
    switch (gen_below(g, off ? 10 : 4)) {
    case 0:
        gen_put(g, &(struct ptl_packet){.type = PTL_PKT_CBR, .payload.cbr = {20}});
        break;
    case 1:
        gen_put(g, &(struct ptl_packet){.type = PTL_PKT_MNT, .payload.mnt = {g->nran}});
        break;
    case 2:
        gen_type(g, PTL_PKT_EXSTOP);
        break;
    case 3:
        gen_put(g, &(struct ptl_packet){.type = PTL_PKT_PWRE, .payload.pwre = {1, 0, 0}});
        gen_put(g, &(struct ptl_packet){.type = PTL_PKT_PWRX, .payload.pwrx = {1, 1, 1, 0, 0}});
        break;
    case 4:
        gen_pip(g);
        break;
    case 5:
        gen_vmcs(g);
        break;
    case 6:
        gen_type(g, PTL_PKT_STOP);
        break;
    case 7:
        gen_put(g, &(struct ptl_packet){.type = PTL_PKT_MODE_TSX,
                                        .payload.mode_tsx = {(uint8_t)gen_below(g, 2), 0}});
        break;
    case 8:
        gen_type(g, PTL_PKT_PSB);
        gen_type(g, PTL_PKT_PSBEND);
        memset(&g->last, 0, sizeof(g->last));
        g->nrets = 0;
        break;
    default:
        break;
    }
}

/* Interrupts; off and on again. Returns where execution goes on. */
static inline uint64_t gen_leave(struct gen *g, uint64_t ip, uint64_t to)
{
    gen_fup(g, ip);
    if (!gen_below(g, 4))
        gen_pip(g);
    if (!gen_below(g, 4))
        gen_vmcs(g);
    if (gen_below(g, 2)) {
        gen_ip_packet(g, PTL_PKT_TIP, to);
        return to;
    }
    if (gen_below(g, 2))
        gen_ip_packet(g, PTL_PKT_TIP_PGD, to);
    else
        gen_put(g, &(struct ptl_packet){.type = PTL_PKT_TIP_PGD, .payload.ip = {0, 0}});
    while (gen_below(g, 2))
        gen_alone(g, 1);
    if (gen_below(g, 2))
        to = ip;
    gen_ip_packet(g, PTL_PKT_TIP_PGE, to);
    return to;
}

/* Something at `ip`, where no call is half done. Returns where execution goes on. */
static inline uint64_t gen_event(struct gen *g, uint64_t ip)
{
    uint64_t to = gen_ip((uint32_t)gen_below(g, GEN_SLOTS));
    uint8_t tsx = (uint8_t)gen_below(g, 3);

    gen_flush(g);
    gen_time(g);
    switch (gen_below(g, 5)) {
    case 0: /* transaction: end, begin, abort */
        gen_put(g, &(struct ptl_packet){.type = PTL_PKT_MODE_TSX,
                                        .payload.mode_tsx = {tsx == 1, tsx == 2}});
        if (tsx == 2)
            return gen_leave(g, ip, to);
        gen_fup(g, ip);
        return ip;
    case 1: /* idle */
        if (gen_below(g, 2))
            gen_put(g, &(struct ptl_packet){.type = PTL_PKT_MWAIT, .payload.mwait = {1, 2}});
        gen_put(g, &(struct ptl_packet){.type = PTL_PKT_EXSTOP, .payload.exstop = {1}});
        gen_fup(g, ip);
        return ip;
    case 2:
        g->nran = g->told;
        gen_type(g, PTL_PKT_OVF);
        memset(&g->last, 0, sizeof(g->last));
        g->nrets = 0;
        if (gen_below(g, 2))
            gen_fup(g, to);
        else
            gen_ip_packet(g, PTL_PKT_TIP_PGE, to);
        return to;
    default:
        return gen_leave(g, ip, to);
    }
}

static inline void gen_push(struct gen *g, uint64_t ip)
{
    if (g->nrets == 64) {
        memmove(g->rets, g->rets + 1, sizeof(g->rets) - sizeof(g->rets[0]));
        g->nrets--;
    }
    g->rets[g->nrets++] = ip;
}

static inline uint64_t gen_return(struct gen *g)
{
    uint64_t top = g->nrets ? g->rets[--g->nrets] : 0;

    if (top && (g->flags & GEN_RETCOMP) && gen_below(g, 8)) {
        gen_bit(g, 1);
        return top;
    }
    if (!top || !gen_below(g, 4))
        top = gen_ip((uint32_t)gen_below(g, GEN_SLOTS));
    gen_flush(g);
    gen_tip(g, top, 0);
    return top;
}

/* Has execution come through `ip` since the trace told the last position? Then a TIP.PGD
 * to there would be taken for that. */
static inline int gen_passed(const struct gen *g, uint64_t ip)
{
    for (size_t i = g->told; i < g->nran; i++)
        if (g->ran[i] == ip)
            return 1;
    return 0;
}

/* The branch at the end of a slot leaves what is traced: TIP.PGD, with or without address. */
static inline uint64_t gen_off(struct gen *g, uint8_t kind, uint64_t to)
{
    int may_hide = (kind == GEN_JCC || kind == GEN_SYSCALL) && !g->at_cr3;
    uint64_t back = gen_ip((uint32_t)gen_below(g, GEN_SLOTS)) + gen_below(g, 2);

    g->told = g->nran;
    gen_flush(g);
    gen_time(g);
    if (may_hide && gen_below(g, 2))
        gen_put(g, &(struct ptl_packet){.type = PTL_PKT_TIP_PGD, .payload.ip = {0, 0}});
    else
        gen_ip_packet(g, PTL_PKT_TIP_PGD, to);
    while (!gen_below(g, 3))
        gen_alone(g, 1);
    gen_time(g);
    gen_ip_packet(g, PTL_PKT_TIP_PGE, back);
    return back;
}

/* Run the slot at `ip` (any instruction of it); returns where execution goes on. */
static inline uint64_t gen_slot(struct gen *g, uint64_t ip)
{
    uint32_t slot = (uint32_t)((ip - GEN_BASE) / GEN_SLOT);
    uint64_t end = gen_ip(slot) + GEN_SLOT, to = gen_ip(g->target[slot]);
    uint64_t last = gen_ip(slot) + g->nops[slot];
    uint64_t stop = (g->flags & GEN_EVENTS) && !gen_below(g, 40) ? ip + gen_below(g, 4) : 0;
    int taken;

    for (; ip < last; ip++) {
        if (ip == stop)
            return gen_event(g, ip);
        g->ran[g->nran++] = ip;
    }
    if (ip == stop)
        return gen_event(g, ip);
    g->ran[g->nran++] = ip;
    if ((g->flags & GEN_EVENTS) && g->kind[slot] != GEN_FALL && g->kind[slot] != GEN_PTW &&
        g->kind[slot] != GEN_CR3 && !gen_below(g, 12) && !gen_passed(g, to))
        return gen_off(g, g->kind[slot], to);
    switch (g->kind[slot]) {
    case GEN_JCC:
        taken = (int)gen_below(g, 2);
        gen_bit(g, taken);
        return taken ? to : end;
    case GEN_JMP:
        return to;
    case GEN_CALL:
        if (to != end)
            gen_push(g, end);
        return to;
    case GEN_RET:
        return gen_return(g);
    case GEN_CALL_IND:
        gen_push(g, end);
        /* fall through */
    case GEN_JMP_IND:
        to = gen_ip((uint32_t)gen_below(g, GEN_SLOTS)) + gen_below(g, 3);
        gen_tip(g, to, 1);
        return to;
    case GEN_PTW:
        gen_flush(g);
        g->told = g->nran;
        taken = (int)gen_below(g, 2);
        gen_put(g,
                &(struct ptl_packet){.type = PTL_PKT_PTW, .payload.ptw = {ip, 1, (uint8_t)taken}});
        if (taken)
            gen_fup(g, ip);
        return end;
    case GEN_CR3:
        gen_flush(g);
        gen_pip(g);
        g->told = g->nran;
        g->at_cr3 = 1;
        return end;
    case GEN_SYSCALL:
        gen_flush(g);
        if (gen_below(g, 2))
            gen_pip(g);
        gen_tip(g, to, 0);
        return to;
    default:
        return end;
    }
}

/* Make the program and the trace of `slots` slots, ended by tracing being switched off. */
static inline void gen_run(struct gen *g, unsigned slots)
{
    uint64_t ip = gen_ip(0);

    gen_program(g);
    gen_psb(g, ip);
    for (unsigned i = 0; i < slots; i++) {
        if (g->since_psb > 800)
            gen_psb(g, ip);
        ip = gen_slot(g, ip);
    }
    gen_flush(g);
    gen_ip_packet(g, PTL_PKT_FUP, ip);
    gen_put(g, &(struct ptl_packet){.type = PTL_PKT_TIP_PGD, .payload.ip = {0, 0}});
}

#endif
