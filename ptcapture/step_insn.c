/* SPDX-License-Identifier: BSD-3-Clause */
/* step_insn.c - instructions that are about to execute, and the trace of those that have. */
#include "step.h"

#include <string.h>
#include <sys/ptrace.h>

#define VSYSCALL_PAGE 0xffffffffff600000ull

uint64_t step_peek(const struct step_thread *t, size_t reg)
{
    return (uint64_t)ptrace(PTRACE_PEEKUSER, t->tid, reg, NULL);
}

void step_read_mode(struct step_thread *t)
{
    t->mode = step_mode_of((uint16_t)step_peek(t, USER_REG(cs)));
}

/* --- the instruction at ip ------------------------------------------------------------ */

/* The value of a PTWRITE, while its operand still has it. On a CPU that lacks the instruction it
 * faults, and the value is not used. */
static void look_at_ptwrite(struct step_thread *t)
{
    struct user_regs_struct regs;
    uint8_t bytes[PTL_INSN_MAX_SIZE];

    t->ptw_size = 0;
    if (ptrace(PTRACE_GETREGS, t->tid, NULL, &regs) ||
        step_memory(t->tid, t->ip, bytes, t->insn.insn.size, 0) ||
        operand_ptwrite(&t->ptw, bytes, &t->insn.insn, &regs))
        return;
    if (t->ptw.memory && step_memory(t->tid, t->ptw.address, &t->ptw.value, t->ptw.size, 0))
        return;
    t->ptw_size = t->ptw.size;
}

void step_fetch(struct stepper *st, struct step_thread *t)
{
    struct code_copy copies[CODE_COPIES];
    unsigned count = 0;

    t->copy_tsc = 0;
    t->have_insn =
        !code_fetch(t->code, t->tid, t->ip, t->mode, &st->store, &t->insn, copies, &count);
    t->unread = !t->have_insn;
    if (count)
        t->copy_tsc = capture_now();
    for (unsigned i = 0; i < count; i++)
        step_out_copy(st, t, &copies[i], t->copy_tsc);
    if (t->have_insn && t->insn.insn.iclass == PTL_INSN_PTWRITE)
        look_at_ptwrite(t);
}

/* --- the trace of a step ------------------------------------------------------------- */

/* User code begins or goes on at t->ip. The exact time goes first when the kernel has told
 * something in the meantime: what was mapped must not be decoded too early or too late. */
static void enable(struct stepper *st, struct step_thread *t)
{
    step_queue_ready(st, t);
    if (t->told_seen != t->step_seen)
        gen_time(&t->queue->gen, t->step_tsc);
    gen_enable(&t->queue->gen, t->ip, t->mode, t->step_tsc);
    t->told_seen = t->step_seen;
}

/* Before the instruction at t->ip: the trace is on, and in time with the sideband. New code
 * takes effect while tracing is off, as if an interrupt had come in: decoders walk straight
 * code ahead of time, but not across that. */
static void begin_insn(struct stepper *st, struct step_thread *t)
{
    step_queue_ready(st, t);
    if (t->queue->gen.enabled && t->copy_tsc) {
        gen_interrupt(&t->queue->gen, t->ip, t->copy_tsc - 1);
        t->told_seen = 0;
    } else if (t->queue->gen.enabled && t->told_seen != t->step_seen) {
        gen_time(&t->queue->gen, t->step_tsc);
        t->told_seen = t->step_seen;
    }
    if (!t->queue->gen.enabled)
        enable(st, t);
}

static void executed(struct stepper *st, struct step_thread *t)
{
    st->capture->totals.instructions++;
    if (st->truth_fd >= 0)
        step_out_truth(st, t, t->ip);
}

/* The instruction at t->ip has executed and left user code by itself. */
void step_leave(struct stepper *st, struct step_thread *t)
{
    if (t->left)
        return;
    t->left = 1;
    if (!step_want(st, t, t->ip))
        return;
    begin_insn(st, t);
    executed(st, t);
    gen_far_leave(&t->queue->gen, t->step_tsc);
}

void step_interrupted(struct stepper *st, struct step_thread *t)
{
    if (!step_queue_traces(t))
        return;
    step_queue_ready(st, t);
    gen_interrupt(&t->queue->gen, t->ip, t->step_tsc);
}

static void trace_insn(struct stepper *st, struct step_thread *t, uint64_t next,
                       enum ptl_exec_mode next_mode)
{
    const struct ptl_insn *insn = &t->insn.insn;
    struct generator *gen = &t->queue->gen;

    begin_insn(st, t);
    executed(st, t);
    if (insn->iclass == PTL_INSN_PTWRITE && t->ptw_size)
        gen_ptwrite(gen, t->ptw.value, t->ptw_size == 8, t->step_tsc);
    if (st->filter.count && !step_want(st, t, next))
        gen_insn_out(gen, insn, t->ip, next, next_mode, t->halted, t->step_tsc);
    else
        gen_insn(gen, insn, t->ip, next, next_mode, t->step_tsc);
}

/* The instruction at t->ip has executed; `next` is what follows. */
void step_complete(struct stepper *st, struct step_thread *t, uint64_t next)
{
    enum ptl_exec_mode next_mode = t->mode;
    const struct ptl_insn *insn = &t->insn.insn;
    uint64_t ip = t->ip;

    if (!t->have_insn) { /* the vsyscall page, or code that cannot be read */
        if ((ip & ~0xfffull) != VSYSCALL_PAGE && step_want(st, t, ip)) {
            if (!step_queue_traces(t))
                enable(st, t);
            st->unread += t->unread;
            t->queue->gap |= t->unread;
        }
        step_interrupted(st, t);
        t->ip = next;
        return;
    }
    if (insn->iclass == PTL_INSN_FAR_JMP || insn->iclass == PTL_INSN_FAR_CALL ||
        insn->iclass == PTL_INSN_FAR_RET) {
        step_read_mode(t);
        next_mode = t->mode;
        t->mode = (enum ptl_exec_mode)insn->mode;
    }
    if (step_want(st, t, ip))
        trace_insn(st, t, next, next_mode);
    if (t->insn.traits & CODE_PUSHF)
        step_hide_trap_flag(t);
    t->ip = next;
    t->mode = next_mode;
}

/* The first `count` instructions of the block have executed; `next` is what follows. */
void step_complete_block(struct stepper *st, struct step_thread *t, int count, uint64_t next)
{
    for (int i = 0; i < count; i++) {
        t->insn = t->block.insn[i];
        step_complete(st, t, i + 1 < count ? t->block.insn[i + 1].ip : next);
        t->copy_tsc = 0;
    }
    t->block.count = 0;
}

/* Stopped at `rip`, and not by a branch. */
void step_complete_until(struct stepper *st, struct step_thread *t, uint64_t rip)
{
    int count = t->block.count ? block_ran(&t->block, rip, 0) : 0;

    if (count > 0) {
        step_complete_block(st, t, count, rip);
        return;
    }
    if (t->block.count) { /* not the way that the code says */
        t->have_insn = 0;
        t->block.count = 0;
    }
    step_complete(st, t, rip);
}
