/* SPDX-License-Identifier: BSD-3-Clause */
/* options.h - the command line of ptdump. */
#ifndef PTDUMP_OPTIONS_H
#define PTDUMP_OPTIONS_H

#include "dump.h"
#include "losses.h"
#include "opts_select.h"
#include "opts_sideband.h"
#include "opts_timing.h"

#define EXTRACT_LIST_AUX    0x01u
#define EXTRACT_LIST_CONFIG 0x02u
#define EXTRACT_LIST_FILES  0x04u
#define EXTRACT_AUX         0x08u
#define EXTRACT_PIECES      0x10u
#define EXTRACT_SIDEBAND    0x20u

/* Instead of packets: what is in a recording. */
struct extract_options {
    unsigned what;      /* EXTRACT_* */
    const char *given;  /* the last of these options, NULL: none */
    const char *prefix; /* of files to write; NULL: the name of the recording */
};

struct options {
    const char *prog;
    const char *file; /* "F[:from[-to]]" or a recording, "-" for standard input */
    struct opts_timing timing;
    struct opts_sideband sideband;
    struct opts_select select;
    struct losses_options losses;
    struct extract_options extract;
    struct dump_options dump;
    uint64_t tail; /* 0: all */
};

/* SB_PRINT_* for sideband between packets. */
unsigned options_sideband(const struct options *options);

/* Returns 0, or the exit status + 1 to leave with; messages have been printed. */
int options_parse(struct options *options, int argc, char **argv);

#endif
