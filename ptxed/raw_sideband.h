/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * raw_sideband.h - sideband files beside a raw trace (--pevent:*): whose code ran when, and the
 * records between the lines.
 */
#ifndef PTXED_RAW_SIDEBAND_H
#define PTXED_RAW_SIDEBAND_H

#include "ptxed.h"
#include "sb_print.h"

struct raw_sideband {
    struct ptl_sideband *sb; /* NULL: none was given */
    struct sb_print print;
    struct printer *printer;
};

/* Build the sideband and tell the printer of it. Returns 0 or a negative status. */
int raw_sideband_open(struct raw_sideband *raw, struct ptxed *x, struct printer *printer);
void raw_sideband_close(struct raw_sideband *raw);

#endif
