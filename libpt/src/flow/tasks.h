/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tasks.h - the return stacks of the threads that share one processor's trace.
 *
 * A thread that comes back finds the calls that it made itself, whatever ran in between. See
 * doc/internals/sideband.md, "The return stack at switches", for when the stack changes hands
 * and why it sometimes must not.
 */
#ifndef LIBPT_FLOW_TASKS_H
#define LIBPT_FLOW_TASKS_H

#include "flow/retstack.h"

/* Threads remembered; who has not run for longest is forgotten. The processor compresses nothing
 * over such a time: it has written a PSB since. */
#define TASKS_MAX 128

struct ptl__task {
    uint32_t tid;
    uint32_t count;
    uint64_t used;
    uint64_t ip[RETSTACK_DEPTH]; /* the oldest first */
};

struct ptl__tasks {
    uint32_t tid; /* whose stack is in use */
    size_t count, cap;
    uint64_t uses;
    struct ptl__task *task; /* those that do not run */
};

/* The stack is that of `tid` from now on; its entries stay: the processor's own order. */
static inline void ptl__tasks_keep(struct ptl__tasks *tasks, uint32_t tid)
{
    tasks->tid = tid;
}

/* Put the stack of the thread that ran aside, and take that of `tid`. One that has no calls of
 * its own goes on with what is there. Returns 0 or PTL_NOMEM. */
int ptl__tasks_switch(struct ptl__tasks *tasks, struct ptl__retstack *rets, uint32_t tid);

/* No return is compressed across this: everybody's calls are forgotten. */
static inline void ptl__tasks_clear(struct ptl__tasks *tasks, struct ptl__retstack *rets)
{
    ptl__ret_clear(rets);
    tasks->count = 0;
}

void ptl__tasks_free(struct ptl__tasks *tasks);

#endif
