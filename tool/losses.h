/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * losses.h - the account of losses (pt/losses.h) on stderr, in words or as JSON, and what it
 * means for the exit status; one table of options for all tools. Use as an OPT_SUB row whose
 * context is a struct losses_options.
 */
#ifndef TOOL_LOSSES_H
#define TOOL_LOSSES_H

#include "opts.h"

#include <pt/losses.h>

struct losses_options {
    const char *prog; /* set by the tool before parsing, for messages */
    const char *path; /* of the JSON; NULL: stderr */
    uint8_t table;    /* all of it, even if nothing was lost */
    uint8_t json;
    uint8_t strict; /* any loss is a failure */
    /* Instructions that are not told because nothing confirms them; NULL: nobody asked for that. */
    const uint64_t *withheld;
};

extern const struct opt losses_table[];

#define LOSSES_LINE 0x1u /* the line of numbers, also if all of them are 0 */

/* Say what was lost of `name` (a file): as asked for; else what was lost, with remedies. Returns 0,
 * or -1 if the JSON could not be written (the message has been printed). */
int losses_report(const struct losses_options *options, const char *name,
                  const struct ptl_losses *losses, unsigned flags);

/* The exit status, given what it is without losses. All that is there may have been decoded after
 * an overflow, and what stands before the first PSB never can be: they count if `strict` only. */
int losses_status(const struct losses_options *options, const struct ptl_losses *losses,
                  int status);

#endif
