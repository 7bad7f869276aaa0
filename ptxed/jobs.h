/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobs.h - a raw trace decoded by several threads (--jobs), or a part of it (--shard): the
 * same text in the same order.
 */
#ifndef PTXED_JOBS_H
#define PTXED_JOBS_H

#include "ptxed.h"

/* Can what is asked for be had? Returns 0, or the exit status: the message has been printed. */
int jobs_check(const struct ptxed *x);

/* Is there more than one thread to use, or a part of the trace to choose? */
int jobs_apply(const struct ptxed *x);

/* Print the trace; `x->flow` is complete. *end: where decoding ended.
 * Returns 0 or a negative status, PTL_IO if the output cannot be written. */
int jobs_print(struct ptxed *x, struct printer *printer, uint64_t *end);

#endif
