/* SPDX-License-Identifier: BSD-3-Clause */
/* recording_plan.h - the parts of a recording that can have something that is selected. */
#ifndef PTXED_RECORDING_PLAN_H
#define PTXED_RECORDING_PLAN_H

#include "plan.h"
#include "strand.h"

/* Each queue that is selected has a range, were it an empty one. Counts them in rec->queues.
 * Returns 0 or a negative status. */
int recording_plan(struct recording *rec, struct plan *plan);

#endif
