/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recording.h - decode a perf.data file: queue after queue, or all by time.
 */
#ifndef PTXED_RECORDING_H
#define PTXED_RECORDING_H

#include "ptxed.h"

/* Returns the exit status. */
int decode_recording(struct ptxed *x, struct printer *printer);

#endif
