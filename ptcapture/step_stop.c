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
#include <linux/kcmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define USER_REG(name)  offsetof(struct user_regs_struct, name)
#define VSYSCALL_PAGE   0xffffffffff600000ull
#define HANDLER_ENTERED SIGTRAP /* si_code */
#define LOST_TRAPS      8
#define SYSCALL_STOP    (SIGTRAP | 0x80) /* PTRACE_O_TRACESYSGOOD */

static uint64_t peek(const struct step_thread *t, size_t reg)
{
    return (uint64_t)ptrace(PTRACE_PEEKUSER, t->tid, reg, NULL);
}

static void read_mode(struct step_thread *t)
{
    t->mode = step_mode_of((uint16_t)peek(t, USER_REG(cs)));
}

static int signal_code(const struct step_thread *t)
{
    siginfo_t info;

    memset(&info, 0, sizeof(info));
    return ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info) ? 0 : info.si_code;
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
static void leave(struct stepper *st, struct step_thread *t)
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

static void interrupted(struct stepper *st, struct step_thread *t)
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
static void complete(struct stepper *st, struct step_thread *t, uint64_t next)
{
    enum ptl_exec_mode next_mode = t->mode;
    const struct ptl_insn *insn = &t->insn.insn;
    uint64_t ip = t->ip;

    if (!t->have_insn) { /* the vsyscall page, or code that cannot be read */
        if (!step_queue_traces(t) && (ip & ~0xfffull) != VSYSCALL_PAGE && step_want(st, t, ip))
            enable(st, t);
        interrupted(st, t);
        t->ip = next;
        return;
    }
    if (insn->iclass == PTL_INSN_FAR_JMP || insn->iclass == PTL_INSN_FAR_CALL ||
        insn->iclass == PTL_INSN_FAR_RET) {
        read_mode(t);
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
static void complete_block(struct stepper *st, struct step_thread *t, int count, uint64_t next)
{
    for (int i = 0; i < count; i++) {
        t->insn = t->block.insn[i];
        complete(st, t, i + 1 < count ? t->block.insn[i + 1].ip : next);
        t->copy_tsc = 0;
    }
    t->block.count = 0;
}

/* Stopped at `rip`, and not by a branch. */
static void complete_until(struct stepper *st, struct step_thread *t, uint64_t rip)
{
    int count = t->block.count ? block_ran(&t->block, rip, 0) : 0;

    if (count > 0) {
        complete_block(st, t, count, rip);
        return;
    }
    if (t->block.count) { /* not the way that the code says */
        t->have_insn = 0;
        t->block.count = 0;
    }
    complete(st, t, rip);
}

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

/* --- going on ---------------------------------------------------------------------------- */

static void fetch(struct stepper *st, struct step_thread *t)
{
    struct code_copy copies[CODE_COPIES];
    unsigned count = 0;

    t->copy_tsc = 0;
    t->have_insn =
        !code_fetch(t->code, t->tid, t->ip, t->mode, &st->store, &t->insn, copies, &count);
    if (count)
        t->copy_tsc = capture_now();
    for (unsigned i = 0; i < count; i++)
        step_out_copy(st, t, &copies[i], t->copy_tsc);
    if (t->have_insn && t->insn.insn.iclass == PTL_INSN_PTWRITE)
        look_at_ptwrite(t);
}

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

static int plan_block(struct stepper *st, struct step_thread *t, int sig)
{
    struct fetcher fetcher = {st, t};

    t->block.count = 0;
    return st->blocks && !t->in_syscall && !t->restart && !sig && t->have_insn &&
           block_plan(&t->block, t->ip, fetch_plain, &fetcher);
}

void step_go(struct stepper *st, struct step_thread *t, int sig)
{
    int in_kernel = t->in_syscall && !t->fresh, request = PTRACE_SINGLESTEP;

    if (!in_kernel) {
        t->left = 0;
        fetch(st, t);
        if (plan_block(st, t, sig))
            request = PTRACE_SINGLEBLOCK;
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
        complete(st, t, after);
        fetch(st, t);
    }
}

/* --- system calls --------------------------------------------------------------------------- */

static void syscall_done(struct stepper *st, struct step_thread *t)
{
    struct user_regs_struct regs;

    if (ptrace(PTRACE_GETREGS, t->tid, NULL, &regs))
        return;
    leave(st, t);
    t->in_syscall = 0;
    step_syscall(st, t, &regs);
    t->mode = step_mode_of((uint16_t)regs.cs);
    t->restart = (uint8_t)step_restarts(&regs);
    t->ip = t->restart ? regs.rip - 2 : regs.rip;
}

/* Only where stops_at_entry(): the instruction has executed, the call begins. */
static void syscall_entered(struct stepper *st, struct step_thread *t)
{
    leave(st, t);
    t->in_syscall = 1;
    step_resume(st, t, 0);
}

/* --- SIGTRAP -----------------------------------------------------------------------------------
 */

static void handler_entered(struct stepper *st, struct step_thread *t)
{
    interrupted(st, t);
    t->ip = peek(t, USER_REG(rip));
    t->restart = 0;
    read_mode(t);
    step_resume(st, t, 0);
}

/* INT3 and INT1 are instructions whose trap belongs to the thread. */
static int own_trap(struct stepper *st, struct step_thread *t, uint64_t rip)
{
    if (!t->have_insn || t->insn.insn.kind != PTL_KIND_INT || (t->insn.traits & CODE_CALLS) ||
        rip == t->ip)
        return 0;
    leave(st, t);
    t->ip = rip;
    step_resume(st, t, SIGTRAP);
    return 1;
}

/* The end of a block; or somebody has sent the signal. */
static void on_branch(struct stepper *st, struct step_thread *t, uint64_t rip)
{
    int sent = block_holds(&t->block, rip) && signal_code(t) <= 0;
    int count = sent ? -1 : block_ran(&t->block, rip, 1);

    if (count > 0)
        complete_block(st, t, count, rip);
    else if (rip != t->ip)
        complete_until(st, t, rip);
    step_resume(st, t, sent ? SIGTRAP : 0);
}

static void on_trap(struct stepper *st, struct step_thread *t)
{
    uint64_t rip;

    if (t->injected && signal_code(t) == HANDLER_ENTERED) {
        handler_entered(st, t);
        return;
    }
    if (t->in_syscall && !t->fresh) {
        syscall_done(st, t);
        step_resume(st, t, 0);
        return;
    }
    rip = peek(t, USER_REG(rip));
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
        if (rip == t->ip && signal_code(t) <= 0) { /* sent by somebody */
            step_resume(st, t, SIGTRAP);
            return;
        }
        syscall_done(st, t);
    } else if (rip == t->ip && t->have_insn && (t->insn.traits & CODE_REP)) {
        ; /* one iteration */
    } else if (rip == t->ip && signal_code(t) <= 0) {
        step_resume(st, t, SIGTRAP);
        return;
    } else {
        complete(st, t, rip);
    }
    step_resume(st, t, 0);
}

/* --- signals ---------------------------------------------------------------------------------- */

static void on_signal(struct stepper *st, struct step_thread *t, int sig)
{
    uint64_t rip = peek(t, USER_REG(rip));

    if (!t->in_syscall && !t->restart && !t->fresh && rip != t->ip)
        complete_until(st, t, rip);
    step_resume(st, t, sig);
}

/* --- events ------------------------------------------------------------------------------------
 */

/* Which process has clone() made a part of? Its own, or one that shares memory with it. */
static struct code *code_of_child(const struct step_thread *t, int event, pid_t tid, pid_t tgid)
{
    if (tgid == t->tgid || event == PTRACE_EVENT_VFORK ||
        (event == PTRACE_EVENT_CLONE && syscall(SYS_kcmp, tid, t->tid, KCMP_VM, 0, 0) == 0))
        return code_share(t->code);
    return code_new(tid);
}

static void on_new_task(struct stepper *st, struct step_thread *t, int event)
{
    unsigned long message = 0;
    struct step_thread *child;
    pid_t tid, tgid;

    leave(st, t);
    t->in_syscall = 1;
    if (!ptrace(PTRACE_GETEVENTMSG, t->tid, NULL, &message) && message) {
        tid = (pid_t)message;
        tgid = event == PTRACE_EVENT_CLONE ? proc_tgid(tid) : tid;
        child = step_born(st, t, tid, tgid ? tgid : tid);
        if (child) {
            child->code = code_of_child(t, event, tid, child->tgid);
            child->ip = peek(t, USER_REG(rip));
            child->mode = t->mode;
            child->fresh = child->in_syscall = 1;
            if (child->state == STEP_STOPPED)
                step_resume(st, child, 0);
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
    leave(st, caller ? caller : t);
    t = step_exec(st, t, caller);
    if (!t)
        return;
    t->ip = peek(t, USER_REG(rip));
    read_mode(t);
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
    uint64_t rip = peek(t, USER_REG(rip));
    int in_kernel = t->in_syscall || (t->have_insn && (t->insn.traits & CODE_SYSCALL) &&
                                      peek(t, USER_REG(orig_rax)) != UINT64_MAX);

    if (t->fresh)
        ;
    else if (in_kernel)
        leave(st, t);
    else if (rip != t->ip && t->have_insn && !t->restart)
        complete_until(st, t, rip);
    interrupted(st, t);
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
    } else if (t->code) {
        step_resume(st, t, 0);
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

void step_stop(struct stepper *st, pid_t tid, int status)
{
    struct step_thread *t = step_find(st, tid);
    int sig = WIFSTOPPED(status) ? WSTOPSIG(status) : 0, event = status >> 16;

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
    if (event)
        on_event(st, t, event, sig);
    else if (sig == SYSCALL_STOP)
        syscall_entered(st, t);
    else if (sig == SIGTRAP)
        on_trap(st, t);
    else
        on_signal(st, t, sig);
    step_sched_next(st);
}
