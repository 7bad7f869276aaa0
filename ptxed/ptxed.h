/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ptxed.h - what the command line says.
 */
#ifndef PTXED_PTXED_H
#define PTXED_PTXED_H

#include "infile.h"
#include "losses.h"
#include "marks.h"
#include "opts.h"
#include "opts_sideband.h"
#include "opts_timing.h"
#include "print.h"
#include "recording_options.h"

#include <pt/flow.h>

/* Exit status, see ptxed(1). */
enum { EXIT_ALL = 0, EXIT_PARTLY = 1, EXIT_NOTHING = 2 };

struct ptxed {
    const char *prog;
    struct infile trace; /* --pt */
    struct ptl_space *space;
    struct opts_timing timing;
    struct opts_sideband sideband;
    struct losses_options losses;
    struct recording_options recording; /* a perf.data file instead of --pt */
    struct ptl_flow_config flow;        /* trace, space, clock are filled in at the end */
    unsigned print;                     /* PRINT_* */
    unsigned events;                    /* TEXT_EVENT_* */
    struct marks marks;                 /* --select:from, --select:to */
    int between;                        /* of a raw trace: that is where it is */
    uint8_t insn_decoder;               /* nobody asks for blocks */
    uint8_t no_inst, raw_insn, att, symbols;
    uint8_t verbose;
    uint8_t hide_ticks;       /* they are there for the window of time only */
    uint8_t coverage;         /* what ran how often, not when: */
    uint8_t coverage_edges;   /* - edges */
    uint8_t coverage_by_item; /* - not all of what is decoded */
    uint32_t jobs;            /* threads; 0: choose */
    uint32_t shard, share;    /* this one (from 1) of so many; 0: all */
    uint64_t tail;            /* instructions at the end; 0: all */
    uint64_t segment_size;    /* bytes that a thread decodes at a time; 0: choose */
};

/* No instructions are decoded then. */
#define FLOW_LISTENS (PTL_FLOW_DISTNT | PTL_FLOW_NO_BRANCH | PTL_FLOW_PSB_ONLY)

/* Apply the command line. Returns 0, or exit status + 1. */
int ptxed_options(struct ptxed *x, int argc, char **argv);

/* Are functions to be told apart? */
int ptxed_wants_symbols(const struct ptxed *x);

/* SB_PRINT_* for sideband between the lines. */
unsigned ptxed_sideband(const struct ptxed *x);

/* --raw and --elf: map code. Return as options do. */
int ptxed_load_raw(struct ptxed *x, const char *arg);
int ptxed_load_elf(struct ptxed *x, const char *arg);

#endif
