/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coverage.h - --coverage: how often each block ran.
 */
#ifndef PTXED_COVERAGE_H
#define PTXED_COVERAGE_H

#include "print.h"

#include <pt/session.h>

/* What the decoder (NULL: none), which is about to go, has counted. */
void coverage_take(struct printer *printer, struct ptl_decoder *decoder);

/* All that has been taken, a line a block. */
void coverage_print(struct printer *printer);

#endif
