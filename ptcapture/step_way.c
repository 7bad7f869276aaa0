/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * step_way.c - more than one instruction at once: whole blocks where the CPU's branch step works
 * (block.h), else a way with breakpoints at its ends (breaks.h).
 */
#include "step.h"

#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

int step_signal_code(const struct step_thread *t)
{
    siginfo_t info;

    memset(&info, 0, sizeof(info));
    return ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info) ? 0 : info.si_code;
}

/* --- a way to go ------------------------------------------------------------------------- */

struct fetcher {
    struct stepper *st;
    struct step_thread *t;
};

/* For a block: code whose bytes are only now told to readers is stepped alone. */
static int fetch_plain(void *context, uint64_t ip, struct code_insn *insn)
{
    struct fetcher *fetcher = context;
    struct step_thread *t = fetcher->t;
    struct code_copy copies[CODE_COPIES];
    unsigned count = 0;
    int status =
        code_fetch(t->code, t->tid, ip, t->mode, &fetcher->st->store, insn, copies, &count);

    if (count)
        t->copy_tsc = capture_now();
    for (unsigned i = 0; i < count; i++)
        step_out_copy(fetcher->st, t, &copies[i], t->copy_tsc);
    return status || count;
}

/* Nobody else may execute what breakpoints are written into: no other thread, traced or not. */
int step_way(struct stepper *st, struct step_thread *t, int sig)
{
    struct fetcher fetcher = {st, t};

    t->block.count = 0;
    if (t->in_syscall || t->fresh || t->restart || t->owed || sig || !t->have_insn)
        return 0;
    if (st->blocks && block_plan(&t->block, t->ip, fetch_plain, &fetcher))
        return PTRACE_SINGLEBLOCK;
    if (st->breaks && code_alone(t->code) &&
        breaks_plan(&t->breaks, &t->block, t->code, t->ip, fetch_plain, &fetcher) &&
        !breaks_set(&t->breaks, t->code))
        return PTRACE_SYSCALL; /* stops, too, should it be lost */
    t->block.count = t->breaks.count = 0;
    return 0;
}

/* --- landing ------------------------------------------------------------------------------ */

/* Has a breakpoint stopped it? Where the place behind one is on the way, too, the signal tells:
 * this one, or (an event has come in between) one that waits. */
static uint64_t breakpoint(const struct step_thread *t, uint64_t rip, int is_trap)
{
    uint64_t addr = breaks_hit(&t->breaks, rip);

    if (!addr || !block_holds(&t->block, rip))
        return addr;
    if (is_trap)
        return step_signal_code(t) == SI_KERNEL ? addr : 0;
    return step_trap_pending(t->tid) ? addr : 0;
}

/* Where has it come from? Only restartable sequences (rseq(2)) go elsewhere without a signal. */
static void lose(struct stepper *st, struct step_thread *t, uint64_t rip)
{
    capture_error(st->capture,
                  "thread %d has gone on unseen from %llx: the trace has a gap. (--single-step?)",
                  (int)t->tid, (unsigned long long)t->ip);
    st->breaks = 0;
    t->have_insn = 0;
    t->block.count = 0;
    t->queue->gap = 1;
    step_complete(st, t, rip);
}

int step_land(struct stepper *st, struct step_thread *t, int status)
{
    int is_trap = status >> 8 == SIGTRAP, count;
    uint64_t rip = step_peek(t, USER_REG(rip)), hit = breakpoint(t, rip, is_trap);

    breaks_lift(&t->breaks, t->code);
    if (hit) {
        rip = hit;
        ptrace(PTRACE_POKEUSER, t->tid, USER_REG(rip), rip);
        t->owed = (uint8_t)!is_trap;
    }
    count = breaks_ran(&t->breaks, &t->block, rip);
    t->breaks.count = 0;
    if (count < 0)
        lose(st, t, rip);
    else if (count > 0)
        step_complete_block(st, t, count, rip);
    t->block.count = 0;
    return is_trap && !hit ? SIGTRAP : 0;
}
