/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/flow.h - instruction flow: from packets and code to what ran.
 *
 * A flow yields one stream of items - blocks of instructions, events, errors - in
 * execution order. A consumer is one loop:
 *
 *     while ((n = ptl_flow_next(flow, items, 256)) > 0)
 *         for (i = 0; i < n; i++)
 *             switch (items[i].kind) { ... }
 *
 * One flow belongs to one thread at a time. Spaces and timelines are shared and const.
 *
 * Source: Intel SDM vol. 3, "Intel Processor Trace", sections "Tracing flow",
 * "Packet sequences".
 */
#ifndef PT_FLOW_H
#define PT_FLOW_H

#include <pt/clock.h>
#include <pt/cpu.h>
#include <pt/image.h>
#include <pt/timeline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- configuration -------------------------------------------------------- */

#define PTL_FLOW_TICKS       0x0001u /* event PTL_EV_TICK for each TNT and TIP with a new time */
#define PTL_FLOW_IFLAGS      0x0002u /* events PTL_EV_IFLAG */
#define PTL_FLOW_END_ON_CALL 0x0004u /* end blocks after direct near calls */
#define PTL_FLOW_END_ON_JUMP 0x0008u /* end blocks after direct near jumps */
#define PTL_FLOW_RESYNC      0x0010u /* after an error go on within the segment where possible */
#define PTL_FLOW_SLOW        0x0020u /* never take the fast path; same items (for tests) */
#define PTL_FLOW_DISTNT                                                                            \
    0x0040u                        /* only what packets say (also: trace without TNT): TIPs are    \
                                      PTL_EV_TIP, no code is walked and no image needed */
#define PTL_FLOW_NO_BRANCH 0x0080u /* BranchEn = 0: FUPs only anchor events */
#define PTL_FLOW_NORETCOMP 0x0100u /* DisRETC: returns are TIPs, which may be deferred */

/* PTL_ITEM_CONTINUED as the reference has blocks: they end earlier where code is walked for the
 * first time. */
#define PTL_FLOW_COLD_BLOCKS 0x0400u

/* Blocks are counted, not told: one PTL_ITEM_COUNT for all that ran between two events. Several
 * times as fast. */
#define PTL_FLOW_COUNT 0x0800u
/* No events are told but PTL_EV_SYNC, PTL_EV_OVERFLOW and PTL_EV_CONTEXT; what they do is done. */
#define PTL_FLOW_FEW_EVENTS 0x1000u

/* As PTL_FLOW_COUNT, and how often each block ran is kept for pt/coverage.h. */
#define PTL_FLOW_COVERAGE 0x2000u

/* Only what PSB+ says: from one to the next, with nothing of the trace between them. */
#define PTL_FLOW_PSB_ONLY 0x4000u

/* Nothing is told until the next PSB+ agrees with it, or tracing was off at the end of the bytes:
 * of a stretch from one PSB to the next in which trace and code contradict each other nothing is
 * told but the error. Not with COVERAGE, DISTNT, NO_BRANCH or PSB_ONLY (PTL_INVALID). */
#define PTL_FLOW_PROVEN 0x8000u

/* IP filter or TraceStop range, both ends inclusive. */
struct ptl_addr_range {
    uint64_t a, b;
    uint8_t config; /* IA32_RTIT_CTL.ADDRn_CFG: 0 unused, 1 filter, 2 TraceStop */
};

struct ptl_flow_config {
    size_t size;          /* sizeof(struct ptl_flow_config) */
    const uint8_t *begin; /* the trace; not copied, must outlive the flow */
    size_t len;
    uint64_t offset;               /* added to every offset reported */
    const struct ptl_space *space; /* code; may be NULL if `cursor` is given */
    struct ptl_cursor *cursor;     /* code over time; borrowed; may be NULL */
    struct ptl_clock_config clock;
    uint32_t errata; /* PTL_ERR_* */
    uint32_t flags;  /* PTL_FLOW_* */
    struct ptl_addr_range addr[4];
    /* More ranges: a filter of a file is wherever the file is mapped. Must outlive the flow. */
    const struct ptl_addr_range *more_addr;
    size_t more_addr_count;
};

/* --- items ---------------------------------------------------------------- */

/* Straight code: found once, cached by the flow, shared by all its items.
 * Valid until the flow is freed, or its space or cursor drops the section. */
struct ptl_block {
    uint64_t ip;
    const uint8_t *bytes; /* `size` bytes of code */
    uint32_t size;        /* bytes */
    uint16_t ninsn;       /* instructions, >= 1 */
    uint8_t mode;         /* enum ptl_exec_mode */
    uint8_t iclass;       /* enum ptl_insn_class of the last instruction: a block ends at the
                             first that is not OTHER, or at a limit */
    uint8_t kind;         /* enum ptl_insn_kind of the last instruction */
    uint8_t last_size;    /* bytes of the last instruction */
    uint64_t target;      /* of the last instruction if it is a direct branch, else 0 */
    const struct ptl_section *section; /* of the first byte */
    void *user;                        /* the consumer's, NULL at first; see ptl_flow_on_free */
};

enum ptl_event_type {
    PTL_EV_ENABLED,        /* TIP.PGE */
    PTL_EV_DISABLED,       /* TIP.PGD at a branch */
    PTL_EV_ASYNC_DISABLED, /* FUP, TIP.PGD */
    PTL_EV_ASYNC_BRANCH,   /* FUP, TIP: interrupt, exception */
    PTL_EV_PAGING,         /* PIP */
    PTL_EV_ASYNC_PAGING,
    PTL_EV_VMCS,
    PTL_EV_ASYNC_VMCS,
    PTL_EV_OVERFLOW,
    PTL_EV_EXEC_MODE,
    PTL_EV_TSX,
    PTL_EV_STOP,
    PTL_EV_EXSTOP,
    PTL_EV_MWAIT,
    PTL_EV_PWRE,
    PTL_EV_PWRX,
    PTL_EV_PTWRITE,
    PTL_EV_TICK,
    PTL_EV_CBR,
    PTL_EV_MNT,
    PTL_EV_INTR, /* CFE types from here */
    PTL_EV_IRET,
    PTL_EV_SMI,
    PTL_EV_RSM,
    PTL_EV_SIPI,
    PTL_EV_INIT,
    PTL_EV_VMENTRY,
    PTL_EV_VMEXIT,
    PTL_EV_SHUTDOWN,
    PTL_EV_UINTR,
    PTL_EV_UIRET,
    PTL_EV_SWINTR,
    PTL_EV_SYSCALL,
    PTL_EV_IFLAG,
    PTL_EV_TRIG,
    PTL_EV_PEBS,    /* a PEBS block ended (BEP) */
    PTL_EV_CONTEXT, /* the cursor switched to another task */
    PTL_EV_SYNC,    /* decoding (re)starts here: PSB+ read; a status */
    PTL_EV_PSB,     /* a later PSB+; a status */
    PTL_EV_TIP,     /* PTL_FLOW_DISTNT: a branch went to `ip`; no code is walked */
    PTL_EV_MAX_VALUE = PTL_EV_TIP
};

struct ptl_event {
    uint8_t type;    /* enum ptl_event_type */
    uint8_t have_ip; /* `ip` is valid (else suppressed or without place) */
    uint8_t status;  /* from PSB+: an update of state, nothing happened */
    uint8_t have_tsc;
    uint64_t ip; /* where; for branches: the destination */
    uint64_t tsc;
    uint64_t offset; /* of the packet it binds to */
    uint32_t lost_mtc, lost_cyc;
    union {
        struct {
            uint8_t resumed; /* continues where the disable left off */
        } enabled;
        struct {
            uint64_t at; /* source */
        } async_disabled;
        struct {
            uint64_t from;
        } async_branch;
        struct {
            uint64_t cr3;
            uint8_t nr;
        } paging;
        struct {
            uint64_t base;
        } vmcs;
        struct {
            uint8_t mode; /* enum ptl_exec_mode; PTL_MODE_UNKNOWN for CS.L and CS.D both set */
        } exec_mode;
        struct {
            uint8_t speculative, aborted;
        } tsx;
        struct {
            uint32_t hints, ext;
        } mwait;
        struct {
            uint8_t state, sub_state, hw;
        } pwre;
        struct {
            uint8_t last, deepest, interrupt, store, autonomous;
        } pwrx;
        struct {
            uint64_t payload;
            uint8_t size; /* 4 or 8 */
        } ptwrite;
        struct {
            uint8_t ratio;
        } cbr;
        struct {
            uint64_t payload;
        } mnt;
        struct {
            uint64_t cr2, vmxr, vmxq;
            uint8_t vector, have_vector, have_cr2, have_vmxr, have_vmxq;
        } cfe; /* all CFE types */
        struct {
            uint8_t iflag;
        } iflag;
        struct {
            uint8_t vector, mult;
            uint16_t icnt;
        } trig;
        struct {
            uint32_t pid, tid;
        } context;
    } u;
};

struct ptl_error {
    int status;    /* enum ptl_status */
    uint8_t phase; /* enum ptl_error_phase */
    uint64_t ip;   /* next instruction, see doc/internals/flow.md */
    uint64_t offset;
};

enum ptl_error_phase { PTL_PHASE_FLOW, PTL_PHASE_SYNC, PTL_PHASE_RESYNC };

enum ptl_item_kind {
    PTL_ITEM_BLOCK,
    PTL_ITEM_EVENT,
    PTL_ITEM_ERROR,
    PTL_ITEM_END,  /* the trace ends while tracing was on */
    PTL_ITEM_COUNT /* PTL_FLOW_COUNT: what ran since the item before; at least one for each
                      megabyte of trace */
};

/* What ran. */
struct ptl_ran {
    uint64_t insns;  /* instructions */
    uint64_t blocks; /* of users: items without PTL_ITEM_CONTINUED */
    uint64_t runs;   /* straight runs: items of kind PTL_ITEM_BLOCK */
};

#define PTL_ITEM_SPECULATIVE 0x1 /* inside a transaction that may still abort */
#define PTL_ITEM_PARTIAL     0x2 /* only the first `ninsn` instructions of the block ran */
/* The code goes on from the item before through a direct branch (or a section's end): for
 * statistics and "[block]" lines both are one block. Cleared after a call or jump that
 * PTL_FLOW_END_ON_CALL or PTL_FLOW_END_ON_JUMP name. */
#define PTL_ITEM_CONTINUED 0x4

struct ptl_item {
    uint8_t kind;    /* enum ptl_item_kind */
    uint8_t flags;   /* PTL_ITEM_* */
    uint16_t ninsn;  /* block: instructions that ran, from its first on; >= 1 */
    uint32_t size;   /* block: their bytes */
    uint64_t offset; /* trace position the flow stands at */
    uint64_t tsc;    /* time of the last event, 0 if unknown */
    union {
        const struct ptl_block *block;
        const struct ptl_event *event; /* valid until the next call */
        const struct ptl_error *error; /* valid until the next call */
        const struct ptl_ran *ran;     /* valid until the next call */
    } u;
};

/* --- decoding ------------------------------------------------------------- */

struct ptl_flow;

/* Errors: PTL_INVALID, PTL_NOMEM. */
PTL_API int ptl_flow_new(struct ptl_flow **flow,
                         const struct ptl_flow_config *config) PTL_MUST_CHECK;
PTL_API void ptl_flow_free(struct ptl_flow *flow);

/* Called for each non-NULL `user` of the flow's blocks when they are freed. */
PTL_API void ptl_flow_on_free(struct ptl_flow *flow, void (*free_user)(void *user));

/* Fill up to `cap` items (cap >= 16). Returns their number, 0 at the end of the trace,
 * or PTL_NOMEM. Decode errors are items. */
PTL_API int ptl_flow_next(struct ptl_flow *flow, struct ptl_item *items, size_t cap) PTL_MUST_CHECK;

/* Decode other bytes with the same configuration, keeping the cached blocks: starts at the
 * first PSB. */
PTL_API int ptl_flow_restart(struct ptl_flow *flow, const uint8_t *begin, size_t len,
                             uint64_t offset) PTL_MUST_CHECK;

/* Go on with the bytes that follow in the same stream, after ptl_flow_next() returned 0: all
 * state is kept - position, return stack, mode, time. The bytes before are not read again.
 * (Recordings hold one stream in several buffers, and tracing that was switched off and on
 * again does not begin with a PSB.) */
PTL_API int ptl_flow_continue(struct ptl_flow *flow, const uint8_t *begin, size_t len,
                              uint64_t offset) PTL_MUST_CHECK;

/* Position: offset of the next packet not yet read; of the last PSB synchronised at. */
PTL_API uint64_t ptl_flow_offset(const struct ptl_flow *flow);
PTL_API uint64_t ptl_flow_sync_offset(const struct ptl_flow *flow);
/* Bytes of trace that could not be decoded so far, since ptl_flow_new(): before the first PSB of
 * a stretch, and from each error to where decoding went on. */
PTL_API uint64_t ptl_flow_skipped(const struct ptl_flow *flow);
/* PTL_FLOW_PROVEN: instructions that were decoded and not told so far. At the end of the trace, and
 * after an error, that is: never will be. */
PTL_API uint64_t ptl_flow_withheld(const struct ptl_flow *flow);

/* --- decoding in parallel ------------------------------------------------- */

/* Pause when all that comes before `offset` has been told: ptl_flow_next() then returns 0 and
 * ptl_flow_paused() 1. After another pause (UINT64_MAX: none) it goes on as if it had never
 * stopped. Where a wrong packet reaches over `offset`, it pauses a little later. */
PTL_API void ptl_flow_pause(struct ptl_flow *flow, uint64_t offset);
PTL_API int ptl_flow_paused(const struct ptl_flow *flow);

#define PTL_FLOW_STATE_MAX 1152

/* All that what a paused flow yields from here on depends on, besides configuration and code. */
struct ptl_flow_state {
    uint32_t len; /* 0: not to be compared with any other */
    uint8_t bytes[PTL_FLOW_STATE_MAX];
};

/* `with_time` 0: apart from times. Without a cursor only: its state is not part of it. */
PTL_API void ptl_flow_get_state(const struct ptl_flow *flow, int with_time,
                                struct ptl_flow_state *state);
/* Will both flows yield the same? 0 also if that is not certain. */
PTL_API int ptl_flow_state_same(const struct ptl_flow_state *a, const struct ptl_flow_state *b);

#ifdef __cplusplus
}
#endif

#endif
