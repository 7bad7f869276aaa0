/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * step_stop.c - what a stop means.
 *
 * A step begins at `ip` with the instruction there decoded. Usual ends of it:
 *   SIGTRAP, ip moved     it has executed
 *   SIGTRAP, ip the same  an iteration of a repeated string instruction
 *   SIGTRAP behind SYSCALL, INT n: the system call is done (the kernel stops at its exit)
 *   another signal        it has not executed: a fault of it, or a signal from outside
 * The signal goes to the thread with the next step; a handler is then entered without executing
 * anything (the kernel stops at its first instruction, siginfo.si_code SIGTRAP).
 */
#include "proc.h"
#include "step.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HANDLER_ENTERED SIGTRAP /* si_code */
#define LOST_TRAPS      8
#define SYSCALL_STOP    (SIGTRAP | 0x80) /* PTRACE_O_TRACESYSGOOD */

/* --- going on ---------------------------------------------------------------------------- */

void step_resume(struct stepper *st, struct step_thread *t, int sig)
{
    if (st->stopping)
        step_detach(st, t, sig);
    else if (t->in_syscall && !t->fresh)
        step_go(st, t, sig);
    else
        step_sched_ready(st, t, sig);
}

/* On a virtual CPU a system call must be in the trace when it begins, and leaves the CPU to
 * others: the kernel stops there, too. (Not with a signal: its handler would run unstopped.) */
static int stops_at_entry(const struct stepper *st, const struct step_thread *t, int sig)
{
    return st->cpu_queue && !t->in_syscall && !sig && t->have_insn && (t->insn.traits & CODE_CALLS);
}

void step_go(struct stepper *st, struct step_thread *t, int sig)
{
    int in_kernel = t->in_syscall && !t->fresh, request = PTRACE_SINGLESTEP, way;

    if (!in_kernel) {
        t->left = 0;
        step_fetch(st, t);
        way = step_way(st, t, sig);
        if (way)
            request = way;
        else if (stops_at_entry(st, t, sig))
            request = PTRACE_SYSCALL;
        t->step_seen = step_out_seen(st);
        t->step_tsc = capture_now();
    }
    t->injected = sig;
    t->state = in_kernel ? STEP_KERNEL : STEP_RUNS;
    /* ESRCH: it has been killed; waitpid() will tell. */
    if (ptrace((enum __ptrace_request)request, t->tid, NULL, (void *)(long)sig) && errno != ESRCH)
        capture_error(st->capture, "cannot step thread %d: %s.", (int)t->tid, strerror(errno));
}

/* A hypervisor that emulates an instruction (CPUID, RDTSC) may lose its trap: the next one has
 * executed as well. Account for those before the last. A transaction that is aborted goes
 * elsewhere, too. */
static void catch_up(struct stepper *st, struct step_thread *t, uint64_t rip)
{
    for (int i = 0; i < LOST_TRAPS && t->have_insn && rip != t->ip; i++) {
        const struct ptl_insn *insn = &t->insn.insn;
        uint64_t after = t->ip + insn->size;

        if (rip == after || (t->insn.traits & (CODE_REP | CODE_SYSCALL)))
            return;
        if (insn->kind == PTL_KIND_XBEGIN || insn->kind == PTL_KIND_XABORT) {
            t->have_insn = 0;
            return;
        }
        if (insn->iclass != PTL_INSN_OTHER && insn->iclass != PTL_INSN_MOV_CR3 &&
            insn->iclass != PTL_INSN_PTWRITE)
            return;
        step_complete(st, t, after);
        step_fetch(st, t);
    }
}

/* --- system calls --------------------------------------------------------------------------- */

static void syscall_done(struct stepper *st, struct step_thread *t)
{
    struct user_regs_struct regs;

    if (ptrace(PTRACE_GETREGS, t->tid, NULL, &regs))
        return;
    step_leave(st, t);
    t->in_syscall = 0;
    step_syscall(st, t, &regs);
    t->mode = step_mode_of((uint16_t)regs.cs);
    t->restart = (uint8_t)step_restarts(&regs);
    t->ip = t->restart ? regs.rip - 2 : regs.rip;
}

/* Only where stops_at_entry(): the instruction has executed, the call begins. */
static void syscall_entered(struct stepper *st, struct step_thread *t)
{
    step_leave(st, t);
    t->in_syscall = 1;
    step_resume(st, t, 0);
}

/* --- SIGTRAP -----------------------------------------------------------------------------------
 */

static void handler_entered(struct stepper *st, struct step_thread *t)
{
    step_interrupted(st, t);
    t->ip = step_peek(t, USER_REG(rip));
    t->restart = 0;
    step_read_mode(t);
    step_unblock_trap(t);
    step_resume(st, t, 0);
}

/* INT3 and INT1 are instructions whose trap belongs to the thread. */
static int own_trap(struct stepper *st, struct step_thread *t, uint64_t rip)
{
    if (!t->have_insn || t->insn.insn.kind != PTL_KIND_INT || (t->insn.traits & CODE_CALLS) ||
        rip == t->ip)
        return 0;
    step_leave(st, t);
    t->ip = rip;
    step_resume(st, t, SIGTRAP);
    return 1;
}

/* The end of a block; or somebody has sent the signal. */
static void on_branch(struct stepper *st, struct step_thread *t, uint64_t rip)
{
    int sent = block_holds(&t->block, rip) && step_signal_code(t) <= 0;
    int count = sent ? -1 : block_ran(&t->block, rip, 1);

    if (count > 0)
        step_complete_block(st, t, count, rip);
    else if (rip != t->ip)
        step_complete_until(st, t, rip);
    step_resume(st, t, sent ? SIGTRAP : 0);
}

static void on_trap(struct stepper *st, struct step_thread *t)
{
    uint64_t rip;

    if (t->owed && step_signal_code(t) == SI_KERNEL) {
        t->owed = 0;
        step_resume(st, t, 0);
        return;
    }
    if (t->injected && step_signal_code(t) == HANDLER_ENTERED) {
        handler_entered(st, t);
        return;
    }
    if (t->in_syscall && !t->fresh) {
        syscall_done(st, t);
        step_resume(st, t, 0);
        return;
    }
    rip = step_peek(t, USER_REG(rip));
    if (t->block.count) {
        on_branch(st, t, rip);
        return;
    }
    if (t->in_syscall && rip == t->ip) { /* a new task or program has come out of the kernel */
        t->in_syscall = t->fresh = 0;
        step_resume(st, t, 0);
        return;
    }
    t->in_syscall = t->fresh = 0;
    catch_up(st, t, rip);
    if (own_trap(st, t, rip))
        return;
    t->restart = 0;
    if (t->have_insn && (t->insn.traits & CODE_SYSCALL)) {
        if (rip == t->ip && step_signal_code(t) <= 0) { /* sent by somebody */
            step_resume(st, t, SIGTRAP);
            return;
        }
        syscall_done(st, t);
    } else if (rip == t->ip && t->have_insn && (t->insn.traits & CODE_REP)) {
        ; /* one iteration */
    } else if (rip == t->ip && step_signal_code(t) <= 0) {
        step_resume(st, t, SIGTRAP);
        return;
    } else {
        step_complete(st, t, rip);
    }
    step_resume(st, t, 0);
}

/* --- signals ---------------------------------------------------------------------------------- */

static void on_signal(struct stepper *st, struct step_thread *t, int sig)
{
    uint64_t rip = step_peek(t, USER_REG(rip));

    if (!t->in_syscall && !t->restart && !t->fresh && rip != t->ip)
        step_complete_until(st, t, rip);
    step_resume(st, t, sig);
}

/* --- events ------------------------------------------------------------------------------------
 */

/* Which process has clone() made a part of? Its own, or one that shares memory with it. */
static struct code *code_of_child(const struct step_thread *t, int event, pid_t tid, pid_t tgid)
{
    struct user_regs_struct regs;

    if (tgid == t->tgid || event == PTRACE_EVENT_VFORK ||
        (!ptrace(PTRACE_GETREGS, t->tid, NULL, &regs) && (step_clone_flags(t, &regs) & CLONE_VM)))
        return code_share(t->code);
    return code_new(tid);
}

static void go_or_forsake(struct stepper *st, struct step_thread *t)
{
    if (t->forsaken)
        step_forsake(st, t);
    else
        step_resume(st, t, 0);
}

static void on_new_task(struct stepper *st, struct step_thread *t, int event)
{
    unsigned long message = 0;
    struct step_thread *child;
    pid_t tid, tgid;

    step_leave(st, t);
    t->in_syscall = 1;
    if (!ptrace(PTRACE_GETEVENTMSG, t->tid, NULL, &message) && message) {
        tid = (pid_t)message;
        tgid = event == PTRACE_EVENT_CLONE ? proc_tgid(tid) : tid;
        child = step_born(st, t, tid, tgid ? tgid : tid);
        if (child) {
            child->code = code_of_child(t, event, tid, child->tgid);
            child->ip = step_peek(t, USER_REG(rip));
            child->mode = t->mode;
            child->fresh = child->in_syscall = 1;
            child->forsaken = !child->code;
            if (child->state == STEP_STOPPED)
                go_or_forsake(st, child);
        }
    }
    step_resume(st, t, 0);
}

/* A program that gains rights by its file does not get them under a tracer without them. */
static void warn_setuid(const struct stepper *st, pid_t pid)
{
    char path[64];
    struct stat file;

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    if (!stat(path, &file) && (file.st_mode & (S_ISUID | S_ISGID)) && geteuid() != 0)
        capture_note(st->capture,
                     "process %d: set-user-ID program, the kernel lets it run only with "
                     "our rights while it is traced.",
                     (int)pid);
}

static void on_exec(struct stepper *st, struct step_thread *t)
{
    unsigned long former = 0;
    struct step_thread *caller;

    ptrace(PTRACE_GETEVENTMSG, t->tid, NULL, &former);
    caller = step_find(st, (pid_t)former);
    step_leave(st, caller ? caller : t);
    t = step_exec(st, t, caller);
    if (!t)
        return;
    t->ip = step_peek(t, USER_REG(rip));
    step_read_mode(t);
    t->fresh = t->in_syscall = 1;
    warn_setuid(st, t->tgid);
    if (!st->have_sideband) {
        step_out_comm(st, t);
        step_out_maps(st, t);
    }
    step_resume(st, t, 0);
}

/* The thread is about to end: by a system call, or because of a signal. */
static void on_exit(struct stepper *st, struct step_thread *t)
{
    uint64_t rip = step_peek(t, USER_REG(rip));
    int in_kernel = t->in_syscall || (t->have_insn && (t->insn.traits & CODE_SYSCALL) &&
                                      step_peek(t, USER_REG(orig_rax)) != UINT64_MAX);

    if (t->fresh)
        ;
    else if (in_kernel)
        step_leave(st, t);
    else if (rip != t->ip && (t->have_insn || t->unread) && !t->restart)
        step_complete_until(st, t, rip);
    step_interrupted(st, t);
    if (!st->cpu_queue && !st->snapshot_size)
        step_queue_flush(st, t->queue);
    t->dead = 1;
    ptrace(PTRACE_CONT, t->tid, NULL, NULL);
}

/* Stopped by SIGSTOP and the like: it stays so until SIGCONT. Else the first stop of a new
 * task, or what step_interrupt_all() asked for. */
static void on_event_stop(struct stepper *st, struct step_thread *t, int sig)
{
    if (st->stopping) {
        step_detach(st, t, 0);
    } else if (sig != SIGTRAP) {
        t->listening = 1;
        ptrace(PTRACE_LISTEN, t->tid, NULL, NULL);
    } else if (t->code || t->forsaken) {
        go_or_forsake(st, t);
    }
}

static void on_event(struct stepper *st, struct step_thread *t, int event, int sig)
{
    switch (event) {
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE:
        on_new_task(st, t, event);
        break;
    case PTRACE_EVENT_EXEC:
        on_exec(st, t);
        break;
    case PTRACE_EVENT_EXIT:
        on_exit(st, t);
        break;
    case PTRACE_EVENT_STOP:
        on_event_stop(st, t, sig);
        break;
    default:
        step_resume(st, t, 0);
        break;
    }
}

/* In a system call that nobody saw coming. */
static void lost(struct stepper *st, struct step_thread *t)
{
    t->left = t->in_syscall = 1;
    step_resume(st, t, 0);
}

void step_stop(struct stepper *st, pid_t tid, int status)
{
    struct step_thread *t = step_find(st, tid);
    int sig = WIFSTOPPED(status) ? WSTOPSIG(status) : 0, event = status >> 16, landed, go_on = 0;

    if (!WIFSTOPPED(status)) {
        step_ended(st, t, tid, status);
        step_sched_next(st);
        return;
    }
    if (!t)
        t = step_add(st, tid, 0);
    if (!t)
        return;
    step_sched_stopped(st, t);
    t->listening = 0;
    landed = t->breaks.count != 0;
    if (landed)
        go_on = step_land(st, t, status);
    if (event)
        on_event(st, t, event, sig);
    else if (landed && sig == SYSCALL_STOP)
        lost(st, t);
    else if (landed && sig == SIGTRAP)
        step_resume(st, t, go_on);
    else if (sig == SYSCALL_STOP)
        syscall_entered(st, t);
    else if (sig == SIGTRAP)
        on_trap(st, t);
    else
        on_signal(st, t, sig);
    step_sched_next(st);
}
