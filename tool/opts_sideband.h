/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opts_sideband.h - raw sideband files on the command line (--pevent:*), and how their records
 * are shown (--sb:*); one table for all tools. Use as an OPT_SUB row whose context is a struct
 * opts_sideband. Options act on the files that follow.
 */
#ifndef TOOL_OPTS_SIDEBAND_H
#define TOOL_OPTS_SIDEBAND_H

#include "infile.h"
#include "opts.h"
#include "sb_print.h"

#include <pt/sideband.h>

struct opts_sideband_file {
    struct infile file;
    struct ptl_sideband_source source;
};

struct opts_sideband {
    const char *prog; /* set by the tool before parsing, for messages */
    unsigned print;   /* SB_PRINT_* */
    int show_switches;
    uint64_t kernel_start;
    const char *kcore; /* file[:base], or NULL */
    /* What the next file gets. */
    struct ptl_sideband_source next;
    struct ptl_sb_layout *layouts;
    struct opts_sideband_file *files;
    size_t file_count;
};

extern const struct opt opts_sideband_table[];

/* The sideband of the files given, NULL if none was. `images`: open the files that mappings
 * name, and map them above `base` (may be NULL). Returns 0 or a negative status. */
int opts_sideband_build(const struct opts_sideband *options, const struct ptl_space *base,
                        int images, struct ptl_sideband **sideband);
/* Files that end within a record, or go on with what is none, so that records are missing: told on
 * standard error. Returns how many. */
uint64_t opts_sideband_report(const struct opts_sideband *options);
void opts_sideband_close(struct opts_sideband *options);

#endif
