/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coverage.h - --coverage: how often each block ran, or each edge.
 */
#ifndef PTXED_COVERAGE_H
#define PTXED_COVERAGE_H

#include "print.h"

#include <pt/session.h>

/* What the decoder (NULL: none), which is about to go, has counted. */
void coverage_take(struct printer *printer, struct ptl_decoder *decoder);

/* Of flows that do not count themselves: an item that is printed. Returns 0 or PTL_NOMEM. */
int coverage_item(struct printer *printer, const struct ptl_item *item);

/* All that has been taken, a line a block or edge. */
void coverage_print(struct printer *printer);

#endif
