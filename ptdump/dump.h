/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dump.h - the packets of one stretch of trace as lines of text.
 *
 * dump_range() may be called for one stretch after another (the pieces of an AUX buffer);
 * state is kept only within a stretch.
 */
#ifndef PTDUMP_DUMP_H
#define PTDUMP_DUMP_H

#include "out.h"
#include "rows.h"
#include "sb_print.h"

#include <pt/clock.h>
#include <pt/cpu.h>
#include <pt/losses.h>

struct dump_options {
    uint8_t no_sync; /* decode from the first byte on */
    uint8_t quiet;   /* only errors */
    uint8_t no_pad, no_timing, no_cyc;
    uint8_t no_offset, raw, lastip, exec_mode; /* columns */
    uint8_t json;
    uint8_t time, tcal, time_delta;
    uint8_t no_wall_clock; /* time counts from 0 before the first TSC */
};

/* Who wants to print between packets. Any function may be NULL. */
struct dump_hooks {
    void *context;
    /* Time has come to `tsc`; called before the line of the packet that brings it there. */
    void (*upto)(void *context, uint64_t tsc);
    /* The bytes before `pos` are not needed any more; called once in a while. */
    void (*passed)(void *context, const uint8_t *pos);
    /* The first packet that is not hidden comes. */
    void (*begun)(void *context);
    /* What `upto` has printed so far; NULL: nothing. */
    struct sb_print *sideband;
};

/* What could not be decoded, over all stretches. */
struct dump_result {
    uint64_t errors;     /* lines of decode errors */
    uint64_t cut_offset; /* of the last packet that was cut by the end of its stretch */
    uint64_t cuts;
    uint64_t unsynced; /* stretches without a PSB */
    uint64_t skipped;  /* bytes before the first PSB of a stretch, and after errors */
    uint64_t overflows;
};

struct dump {
    const struct dump_options *options;
    struct dump_hooks hooks;
    struct out *out;
    struct row rows[256];
    uint16_t hex2[256];    /* "00" .. "ff" */
    uint32_t errata_flags; /* PTL_DECODE_* that always hold */
    int track;             /* time is followed */
    int tell_time;         /* - and what is wrong with it is told */
    int windowed;          /* only packets of a stretch of time, dump_window() */
    uint64_t from, to;
    struct ptl_clock_config clock_config;
    /* What changes from here on: see settle(). */
    struct dump_result result;
    uint64_t last_tsc, last_fcr; /* printed before, for --time-delta */
    int outside;                 /* before or behind the window: nothing is printed or counted */
    int hidden;                  /* nothing is printed or counted yet: */
    uint64_t hide;               /* so many packets that would be shown are still to come */
    /* within a stretch: */
    const uint8_t *begin, *end, *pos;
    uint64_t base; /* the offset of `begin` in the output */
    int lost;      /* no PSB was found in what is left of it */
    uint32_t flags;
    int in_psb;
    struct ptl_last_ip last_ip;
    struct ptl_clock clock;
};

/* `options` and `out` stay the caller's; `hooks` may be NULL. */
void dump_init(struct dump *dump, const struct dump_options *options,
               const struct ptl_clock_config *clock, struct out *out,
               const struct dump_hooks *hooks);

/* A line for a processor whose errata are not known. */
void dump_unknown_cpu(const struct dump_options *options, struct out *out);

/* Only packets from tick `from` to tick `to`, of the TSC as in packets: the time of a packet is
 * that of the last timing packet up to it. What has no time yet is before all. */
void dump_window(struct dump *dump, uint64_t from, uint64_t to);

/* Nothing of the next `n` packets that would be shown, nor of what lies before and between them,
 * is printed or counted; the hook `begun` tells that they are over. */
void dump_hide(struct dump *dump, uint64_t n);

/* Dump `len` bytes at `buf`; the first one is printed as offset `base`. */
void dump_range(struct dump *dump, const uint8_t *buf, size_t len, uint64_t base);

/* Add what was not decoded so far. */
void dump_losses(const struct dump *dump, struct ptl_losses *losses);

/* Go on in the next stretch of the same stream: nothing was lost in between. */
void dump_on(struct dump *dump, const uint8_t *buf, size_t len, uint64_t base);

#endif
