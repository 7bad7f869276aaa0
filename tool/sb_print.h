/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sb_print.h - the records of a sideband between the lines of a trace: those up to some time,
 * each with what is to be said about it.
 */
#ifndef TOOL_SB_PRINT_H
#define TOOL_SB_PRINT_H

#include "out.h"

#include <pt/sideband.h>

#define SB_PRINT_COMPACT  0x01u /* records, one line each */
#define SB_PRINT_VERBOSE  0x02u /* records, one line a field */
#define SB_PRINT_FILENAME 0x04u
#define SB_PRINT_OFFSET   0x08u
#define SB_PRINT_TIME     0x10u
#define SB_PRINT_WARN     0x20u  /* warnings, too */
#define SB_PRINT_ERRORS   0x40u  /* call warnings errors */
#define SB_PRINT_JSON     0x80u  /* all as JSON, with file, offset and time */
#define SB_PRINT_ALL      0x100u /* name all kinds of records */

struct sb_print {
    const struct ptl_sideband *sb;
    unsigned flags;
    size_t next;    /* record */
    uint64_t until; /* records up to this time have been printed, except time 0 */
    int begun;
    int by_cpu; /* only records of this CPU, and those without one */
    uint32_t cpu;
};

/* Print what applies up to `tsc`. Cheap if there is nothing. */
void sb_print_until(struct sb_print *print, struct out *out, uint64_t tsc);
void sb_print_rest(struct sb_print *print, struct out *out);

#endif
