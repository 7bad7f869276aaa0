/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bind.h - from packets to steps: which packets belong together.
 *
 * Knows the order of packets, time and last-IP; knows nothing of code. Packets that wait
 * for another one (MODE.Exec for a TIP, PTW for its FUP) are `open`.
 *
 * Source: Intel SDM vol. 3, "Intel Processor Trace", section "Packet sequences".
 */
#ifndef LIBPT_FLOW_BIND_H
#define LIBPT_FLOW_BIND_H

#include "flow/step.h"

#include <pt/packet.h>

/* Open packets. */
#define OPEN_OVF    0x0001u /* OVF before the FUP where tracing goes on */
#define OPEN_FUP    0x0002u /* FUP before TIP or TIP.PGD: asynchronous */
#define OPEN_PIP    0x0004u /* between FUP and TIP */
#define OPEN_VMCS   0x0008u
#define OPEN_MODE   0x0010u /* MODE.Exec before TIP, TIP.PGE, FUP */
#define OPEN_TSX    0x0020u /* MODE.TSX before FUP */
#define OPEN_PTW    0x0040u /* PTW.IP before FUP */
#define OPEN_MWAIT  0x0080u /* before EXSTOP */
#define OPEN_EXSTOP 0x0100u /* EXSTOP.IP before FUP */
#define OPEN_CFE    0x0200u /* CFE.IP before FUP */
#define OPEN_CFE_IN 0x0400u /* CFE without IP before the FUP of its branch */
#define OPEN_BEP    0x0800u /* BEP.IP before FUP */
#define OPEN_TRIG   0x1000u /* TRIG.IP before FUP */
#define OPEN_CR2    0x2000u /* EVD before CFE */
#define OPEN_VMXQ   0x4000u
#define OPEN_VMXR   0x8000u

#define OPEN_EVD (OPEN_CR2 | OPEN_VMXQ | OPEN_VMXR)
/* Those whose FUP belongs to them alone: no TIP follows. MODE.TSX aborts are the exception. */
#define OPEN_BOUND (OPEN_TSX | OPEN_PTW | OPEN_EXSTOP | OPEN_CFE | OPEN_BEP | OPEN_TRIG | OPEN_OVF)

#define BIND_QUEUE 32 /* steps that one packet can make, and PWREs that wait */
#define BIND_PWRES 8

struct ptl__bind {
    const uint8_t *begin, *end;
    const uint8_t *pos;  /* the next packet */
    const uint8_t *here; /* the packet at hand */
    uint64_t base;       /* offset of `begin` */
    uint64_t pause;      /* offset to pause at */
    uint64_t psb;        /* offset of the last PSB */
    uint32_t decode;     /* PTL_DECODE_* */
    uint32_t errata, flags;
    struct ptl_last_ip last;
    struct ptl_clock clock;

    uint8_t enabled;   /* packets are generated: PacketEn */
    uint8_t lost;      /* walk looks for a position: packets need not agree with `enabled` */
    uint8_t doubt;     /* the error is that the packet at hand does not */
    uint8_t after_pge; /* nothing but TIP.PGE has given a position since */
    uint8_t have_mode; /* mode, iflag: the last MODE.Exec */
    uint8_t mode, iflag;
    uint8_t have_iflag;

    uint32_t open; /* OPEN_* and what they said: */
    uint64_t from; /* FUP */
    uint64_t cr3, vmcs;
    uint8_t nr, new_mode, new_iflag, intx, abrt;
    uint64_t cr2, vmxq, vmxr;
    struct ptl_event ptw, mwait, cfe, trig;
    struct ptl_event pwre[BIND_PWRES];
    unsigned npwre;

    const uint8_t *mnt, *mnt_end; /* MNTs of a PSB+ not yet told */
    struct ptl__step queue[BIND_QUEUE];
    unsigned head, count;
};

void ptl__bind_init(struct ptl__bind *b, const struct ptl_flow_config *config);
/* Other bytes; time and modes stay. */
void ptl__bind_restart(struct ptl__bind *b, const uint8_t *begin, size_t len, uint64_t offset);

/* The bytes that follow in the stream: all stays. */
void ptl__bind_continue(struct ptl__bind *b, const uint8_t *begin, size_t len, uint64_t offset);

/* Start at the PSB at `offset`. Returns 0 with the steps of its PSB+ waiting; PTL_EOS; or
 * what is wrong with the PSB+. */
int ptl__bind_sync(struct ptl__bind *b, uint64_t offset);

/* The next step. Returns 0, PTL_EOS, or what is wrong with the packet at hand. */
int ptl__bind_next(struct ptl__bind *b, struct ptl__step *step);

/* The target of a branch while TNT bits are left: the TIP after the packets of time.
 * Returns 0, PTL_EOS, or PTL_BAD_QUERY if the next packet is another one. */
int ptl__bind_tip(struct ptl__bind *b, uint64_t *ip);

/* Pass over PAD or a packet of time. Returns 1 if it did. */
int ptl__bind_time(struct ptl__bind *b);

/* Nothing that TNT or TIP must not come after is open, nothing waits: the bytes at `pos` are
 * the next step. (MWAIT may wait for long.) */
static inline int ptl__bind_idle(const struct ptl__bind *b)
{
    return !(b->open & ~(uint32_t)OPEN_MWAIT) && !b->count && !b->mnt &&
           !(b->decode & (PTL_DECODE_BLOCK4 | PTL_DECODE_BLOCK8));
}

/* The mode that the payload of a MODE.Exec tells. */
static inline uint8_t ptl__exec_mode(unsigned payload)
{
    static const uint8_t modes[4] = {PTL_MODE_16, PTL_MODE_64, PTL_MODE_32, PTL_MODE_UNKNOWN};
    return modes[payload & 3]; /* bit 0: CS.L, bit 1: CS.D */
}

static inline uint64_t ptl__bind_offset(const struct ptl__bind *b, const uint8_t *p)
{
    return b->base + (uint64_t)(p - b->begin);
}

/* --- between the files of bind -------------------------------------------------- */

/* A second position that reads ahead. */
struct ptl__scan {
    const uint8_t *pos, *end;
    uint32_t decode;
    struct ptl_last_ip last;
    struct ptl_packet packet;
};

/* What a PSB+ says. */
struct ptl__psbplus {
    uint8_t have_fup, have_mode, have_tsx, have_pip, have_vmcs;
    uint8_t csl, csd, iflag, intx, nr;
    uint8_t ovf; /* ended by OVF */
    uint64_t ip, cr3, vmcs;
    const uint8_t *mode_at, *fup_at;
    const uint8_t *mnt; /* the first one */
};

void ptl__scan_start(struct ptl__scan *scan, const struct ptl__bind *b);
/* Reads the next packet that is none of `skip` (bits by packet type). Returns its type, or
 * a negative status. */
int ptl__scan_next(struct ptl__scan *scan, uint64_t skip);

/* Read the packet at `pos`. */
int ptl__bind_read(struct ptl__bind *b, struct ptl_packet *packet);
/* Let the packet count for time. */
void ptl__bind_clock(struct ptl__bind *b, const struct ptl_packet *packet, int in_psb);
/* An event at the time and packet at hand; `offset` of the next packet that is not PAD. */
void ptl__bind_event(struct ptl__bind *b, struct ptl_event *ev, enum ptl_event_type type);
struct ptl__step *ptl__bind_push(struct ptl__bind *b, const struct ptl_event *ev,
                                 enum ptl__place place);
/* As the event's row says: at the FUP's address, or without address. */
struct ptl__step *ptl__bind_at(struct ptl__bind *b, struct ptl_event *ev, uint64_t ip);
struct ptl__step *ptl__bind_alone(struct ptl__bind *b, const struct ptl_event *ev);
/* The modes that MODE.Exec changed, as events. */
void ptl__bind_modes(struct ptl__bind *b, enum ptl__place place, uint64_t ip);

int ptl__bind_psb(struct ptl__bind *b, const struct ptl_packet *packet);
/* The PSB+ at `at`, with no step made of it. Returns 0 if it is wrong, or more than states: then
 * nothing has been read. */
int ptl__bind_psb_quick(struct ptl__bind *b, const uint8_t *at, struct ptl__psbplus *p);
/* - and then the steps, after all. */
void ptl__bind_psb_steps(struct ptl__bind *b, const struct ptl__psbplus *p);
/* The mode in it. */
uint8_t ptl__psb_mode(const struct ptl__psbplus *p);
int ptl__bind_mnt(struct ptl__bind *b);
int ptl__bind_ovf(struct ptl__bind *b, const struct ptl_packet *packet);
int ptl__bind_cfe(struct ptl__bind *b, const struct ptl_packet *packet);
int ptl__bind_evd(struct ptl__bind *b, const struct ptl_packet *packet);
/* The FUP at hand: everything that waits for it. */
int ptl__bind_fup(struct ptl__bind *b, const struct ptl_packet *packet);
/* Tell what is open without address (tracing was off at an overflow). */
void ptl__bind_flush(struct ptl__bind *b);
void ptl__bind_pwres(struct ptl__bind *b);

/* BDM70: is tracing really off although the PSB+ has a FUP? `pos` is after the PSB+. */
int ptl__errata_bdm70(const struct ptl__bind *b);
/* Errata of OVF. Returns 1 if one applied and the OVF has been dealt with. */
int ptl__errata_ovf(struct ptl__bind *b);

#endif
