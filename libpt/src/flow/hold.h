/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hold.h - PTL_FLOW_PROVEN: items wait until the next PSB+ agrees with them.
 */
#ifndef LIBPT_FLOW_HOLD_H
#define LIBPT_FLOW_HOLD_H

#include <pt/flow.h>

#define HOLD_BATCH 256        /* items that are decoded at a time */
#define HOLD_MAX   (1u << 20) /* that may wait: what is more is not told */

/* What an item points to. */
union ptl__held {
    struct ptl_event event;
    struct ptl_error error;
    struct ptl_ran ran;
};

struct ptl__hold {
    /* told <= proven <= count; `held` has an element for each item */
    struct ptl_item *items;
    union ptl__held *held;
    size_t told, proven, count, cap, held_cap;
    struct ptl_item end; /* PTL_ITEM_END, which overtakes what is not proven */
    uint8_t have_end;
    uint8_t over;      /* too much for HOLD_MAX since the last PSB+ */
    uint64_t waiting;  /* instructions that wait */
    uint64_t withheld; /* that will never be told */
    struct ptl_item batch[HOLD_BATCH];
};

struct ptl__hold *ptl__hold_new(void);
void ptl__hold_free(struct ptl__hold *hold);

/* What waits will not be proven: other bytes come. */
void ptl__hold_restart(struct ptl__hold *hold);

/* Take `n` items of the batch. `few`: a PSB+ is heeded, not told. Returns 0 or PTL_NOMEM. */
int ptl__hold_take(struct ptl__hold *hold, size_t n, int few);
/* All that waits is right: tracing was off when the trace ended. */
void ptl__hold_prove(struct ptl__hold *hold);

/* Up to `cap` items that are proven. They are valid until the next call of any function here. */
size_t ptl__hold_give(struct ptl__hold *hold, struct ptl_item *items, size_t cap);

#endif
