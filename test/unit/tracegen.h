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
    GEN_PTW,
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
    uint8_t ctc;
    uint64_t *ran; /* addresses of the instructions that ran */
    size_t nran, cap_ran;
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
    static const uint8_t len[] = {1, 6, 5, 5, 1, 2, 2, 4};

    memset(g->code, 0x90, sizeof(g->code));
    for (uint32_t i = 0; i < GEN_SLOTS; i++) {
        uint8_t kind = (uint8_t)(gen_below(g, 3) ? gen_below(g, GEN_KINDS - 1) : GEN_JCC);
        uint32_t to = (uint32_t)gen_below(g, GEN_SLOTS);
        uint64_t end = gen_ip(i) + GEN_SLOT;
        uint8_t *last;

        if ((kind == GEN_JMP || kind == GEN_CALL) && to <= i) /* no loops without trace */
            to = i + 1;
        if ((g->flags & GEN_EVENTS) && !gen_below(g, 16))
            kind = GEN_PTW;
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
    g->bits = g->bits << 1 | (uint64_t)taken;
    if (++g->nbits == 47 || (!g->ntips && g->nbits == 6 && gen_below(g, 2)))
        gen_flush(g);
}

static inline void gen_tip(struct gen *g, uint64_t ip, int may_defer)
{
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
        gen_put(g, &(struct ptl_packet){.type = PTL_PKT_TSC, .payload.tsc = {1000 * g->nran}});
        gen_put(g, &(struct ptl_packet){.type = PTL_PKT_TMA, .payload.tma = {g->ctc, 3}});
        gen_put(g, &(struct ptl_packet){.type = PTL_PKT_CBR, .payload.cbr = {20}});
    }
    gen_put(g, &(struct ptl_packet){.type = PTL_PKT_MODE_EXEC, .payload.mode_exec = {1, 0, 0}});
    gen_ip_packet(g, PTL_PKT_FUP, ip);
    gen_type(g, PTL_PKT_PSBEND);
    g->since_psb = 0;
    g->nrets = 0;
}

/* --- the run -------------------------------------------------------------------------- */

/* Off and on again at `ip`, or through another place: an interrupt. */
static inline uint64_t gen_event(struct gen *g, uint64_t ip)
{
    uint64_t to = gen_ip((uint32_t)gen_below(g, GEN_SLOTS));

    gen_flush(g);
    gen_ip_packet(g, PTL_PKT_FUP, ip);
    if (gen_below(g, 2)) {
        gen_ip_packet(g, PTL_PKT_TIP, to);
        return to;
    }
    gen_put(g, &(struct ptl_packet){.type = PTL_PKT_TIP_PGD, .payload.ip = {0, 0}});
    if (gen_below(g, 2))
        to = ip;
    gen_ip_packet(g, PTL_PKT_TIP_PGE, to);
    return to;
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
        gen_put(g, &(struct ptl_packet){.type = PTL_PKT_PTW, .payload.ptw = {ip, 1, 0}});
        return end;
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
