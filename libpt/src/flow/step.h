/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * step.h - the narrow waist of decoding: what bind says to walk.
 *
 * A step is either a run of TNT bits, or the target of one branch, or an event and the
 * place where it happens. bind makes steps from packets and knows no code; walk follows
 * them through code and knows no packets.
 */
#ifndef LIBPT_FLOW_STEP_H
#define LIBPT_FLOW_STEP_H

#include <pt/flow.h>

enum ptl__step_kind { STEP_TNT, STEP_TIP, STEP_EVENT };

/* Where an event happens. */
enum ptl__place {
    PLACE_HERE,   /* wherever the walk is */
    PLACE_AT,     /* on arrival at `ip`, before the instruction there runs */
    PLACE_AFTER,  /* after the instruction at `ip` */
    PLACE_CLASS,  /* after the next instruction of the event's class */
    PLACE_TARGET, /* on arrival at `ip`, or at the first branch that needs trace */
    PLACE_COUNT   /* `count` instructions after the last position that the trace gave */
};

/* Sets of instructions that events bind to. */
enum ptl__class {
    CLASS_NONE,
    CLASS_DISABLE, /* MOV CR3, and all that needs trace */
    CLASS_CR3,
    CLASS_VMCS,
    CLASS_PTWRITE,
    CLASS_IRET,
    CLASS_VMENTRY,
    CLASS_UIRET,
    CLASS_SYSCALL,
    CLASS_FAR /* any far branch */
};

struct ptl__step {
    uint8_t kind;        /* enum ptl__step_kind */
    uint8_t place;       /* event: enum ptl__place */
    uint8_t class_;      /* event: enum ptl__class */
    uint8_t used;        /* TNT, TIP: walk has taken a bit of it; event: has looked at it */
    uint8_t tried;       /* event: has gone to `ip` after an error */
    uint16_t count;      /* TNT: bits left; COUNT: instructions */
    uint64_t bits;       /* TNT: the oldest is bit count-1 */
    uint64_t ip;         /* TIP: target; event: its place */
    uint64_t offset;     /* the packet that decoding stands at */
    uint64_t psb;        /* event of a PSB+: offset of the PSB */
    struct ptl_event ev; /* TNT, TIP: only its time is valid */
};

/* One row of events.def. */
struct ptl__event_row {
    uint8_t fup, alone; /* enum ptl__place */
    uint8_t class_;     /* enum ptl__class */
    uint8_t report;     /* while the position is lost */
    uint8_t leaves;
};

extern const struct ptl__event_row ptl__event_rows[PTL_EV_MAX_VALUE + 1];

/* Is the instruction in the set? */
int ptl__class_has(enum ptl__class set, uint8_t iclass, uint8_t kind);

#endif
