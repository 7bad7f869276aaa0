/* SPDX-License-Identifier: BSD-3-Clause */
/* options.h - the command line of ptdump. */
#ifndef PTDUMP_OPTIONS_H
#define PTDUMP_OPTIONS_H

#include "dump.h"
#include "opts_sideband.h"
#include "opts_timing.h"

struct options {
    const char *prog;
    const char *file; /* "F[:from[-to]]", "-" for standard input */
    struct opts_timing timing;
    struct opts_sideband sideband;
    struct dump_options dump;
};

/* Returns 0, or the exit status + 1 to leave with; messages have been printed. */
int options_parse(struct options *options, int argc, char **argv);

#endif
