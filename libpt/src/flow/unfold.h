/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unfold.h - from uses of memos and stretches to runs of blocks.
 */
#ifndef LIBPT_FLOW_UNFOLD_H
#define LIBPT_FLOW_UNFOLD_H

#include "flow/blocks.h"

/* What the uses of this memo, which is not one of the view's, mean. It has none then. */
void ptl__unfold_memo(const struct ptl__view *view, struct ptl__memo *memo);
/* - all of the view's. */
void ptl__unfold(struct ptl__view *view);

#endif
