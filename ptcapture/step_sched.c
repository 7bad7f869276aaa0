/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * step_sched.c - who runs. Without --per-cpu every thread goes on as soon as it may. With it one
 * thread at a time has the virtual CPU: until it makes a system call, ends, or has run for its
 * quantum while others wait, of whom the one that has waited longest comes next.
 */
#include "step.h"

#define QUANTUM 200 /* steps: some milliseconds, as a kernel's */

void step_sched_stopped(struct stepper *st, struct step_thread *t)
{
    t->state = STEP_STOPPED;
    if (st->running == t) {
        st->running = NULL;
        st->stops++;
    }
}

static void give(struct stepper *st, struct step_thread *t, int sig)
{
    st->running = t;
    step_queue_take(st, t);
    step_go(st, t, sig);
}

static struct step_thread *longest_waiting(const struct stepper *st)
{
    struct step_thread *first = NULL;

    for (struct step_thread *t = st->threads; t; t = t->next) {
        if (t->state == STEP_READY && (!first || t->ticket < first->ticket))
            first = t;
    }
    return first;
}

void step_sched_ready(struct stepper *st, struct step_thread *t, int sig)
{
    if (!st->cpu_queue) {
        step_go(st, t, sig);
        return;
    }
    if (!st->running && st->cpu_queue->current == t && st->quantum) {
        st->quantum--;
        give(st, t, sig);
        return;
    }
    t->state = STEP_READY;
    t->signal = sig;
    t->ticket = st->tickets++;
}

void step_sched_next(struct stepper *st)
{
    struct step_thread *t;

    if (!st->cpu_queue || st->running || st->stopping)
        return;
    t = longest_waiting(st);
    if (!t)
        return;
    st->quantum = QUANTUM;
    give(st, t, t->signal);
}

/* An instruction can take long without being a system call: a page fault on a file far away, or
 * one that another thread has to serve (userfaultfd). */
void step_sched_tick(struct stepper *st)
{
    if (st->running && st->stops == st->stops_seen) {
        st->running = NULL;
        step_sched_next(st);
    }
    st->stops_seen = st->stops;
}
