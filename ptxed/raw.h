/* SPDX-License-Identifier: BSD-3-Clause */
/* raw.h - decode the trace given with --pt. */
#ifndef PTXED_RAW_H
#define PTXED_RAW_H

#include "ptxed.h"

/* Returns the exit status. */
int decode_trace(struct ptxed *x, struct printer *printer);

#endif
