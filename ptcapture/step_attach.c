/* SPDX-License-Identifier: BSD-3-Clause */
/* step_attach.c - who is traced: taking hold of threads, new ones, the end of them. */
#include "control.h"
#include "proc.h"
#include "step.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- the list of threads ------------------------------------------------------------ */

struct step_thread *step_find(struct stepper *st, pid_t tid)
{
    struct step_thread **at = &st->threads, *t;

    for (; (t = *at); at = &t->next) {
        if (t->tid == tid) {
            *at = t->next; /* to the front: stops come in bursts */
            t->next = st->threads;
            st->threads = t;
            return t;
        }
    }
    return NULL;
}

static void not_traced(struct stepper *st, pid_t tid)
{
    capture_error(st->capture, "out of memory: thread %d is not traced.", (int)tid);
    st->forsaken++;
    /* So that the file says it, too: with the next piece of one that goes on. */
    for (struct step_thread *t = st->threads; t; t = t->next) {
        if (t->tid != tid && !t->dead) {
            t->queue->gap = 1;
            return;
        }
    }
}

/* The next stop of a thread, or its end. Returns 0 or -1. */
static int wait_for(pid_t tid, int *status)
{
    pid_t got;

    do
        got = waitpid(tid, status, __WALL);
    while (got < 0 && errno == EINTR);
    return got == tid ? 0 : -1;
}

/* Only a thread that stands can be let go. */
static void let_go(pid_t tid)
{
    int status;

    if (ptrace(PTRACE_DETACH, tid, NULL, NULL) && !ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) &&
        !wait_for(tid, &status) && WIFSTOPPED(status))
        ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

struct step_thread *step_add(struct stepper *st, pid_t tid, pid_t tgid)
{
    struct step_thread *t = calloc(1, sizeof(*t));

    if (t)
        t->tid = tid;
    if (!t || step_queue_join(st, t)) {
        free(t);
        not_traced(st, tid);
        let_go(tid);
        return NULL;
    }
    t->tgid = tgid;
    t->mode = PTL_MODE_64;
    t->fresh = t->left = 1;
    t->told_seen = UINT64_MAX;
    t->next = st->threads;
    st->threads = t;
    st->living++;
    return t;
}

static void remove_thread(struct stepper *st, struct step_thread *t)
{
    struct step_thread **at = &st->threads;

    step_sched_stopped(st, t);
    step_queue_part(st, t);
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    st->living--;
    code_release(t->code);
    free(t);
}

void step_free_all(struct stepper *st)
{
    while (st->threads)
        remove_thread(st, st->threads);
    step_queue_free_all(st);
}

/* --- tasks come and go ------------------------------------------------------------------ */

/* A new task may have been let go, or have ended, before its parent's stop told of it. */
static int is_traced(pid_t tid)
{
    siginfo_t info;

    /* Before Linux 4.7 waitid() does not know __WALL. */
    return !waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) ||
           errno != ECHILD;
}

struct step_thread *step_born(struct stepper *st, const struct step_thread *parent, pid_t tid,
                              pid_t tgid)
{
    struct step_thread *t = step_find(st, tid);

    if (!t) {
        t = is_traced(tid) ? step_add(st, tid, tgid) : NULL;
        if (!t)
            return NULL;
        t->state = STEP_KERNEL; /* its first stop is still to come */
    }
    t->tgid = tgid;
    t->affinity = parent->affinity;
    if (!st->have_sideband)
        step_out_task(st, t, PTL_REC_FORK, parent->tgid, parent->tid);
    return t;
}

struct step_thread *step_exec(struct stepper *st, struct step_thread *t, struct step_thread *caller)
{
    struct step_thread *other, *next;

    for (other = st->threads; other; other = next) {
        next = other->next;
        if (other != t && other->tgid == t->tgid) {
            if (other == caller) {
                t->affinity = caller->affinity;
                t->mode = caller->mode;
            }
            remove_thread(st, other);
        }
    }
    t->dead = 0; /* the id of the leader goes on, and so does its trace */
    code_release(t->code);
    t->code = code_new(t->tid);
    if (t->code)
        return t;
    step_forsake(st, t);
    return NULL;
}

void step_forsake(struct stepper *st, struct step_thread *t)
{
    not_traced(st, t->tid);
    if (step_queue_traces(t)) {
        t->queue->gap = 1;
        step_queue_ready(st, t);
        gen_interrupt(&t->queue->gen, t->ip, capture_now());
    }
    step_unpin(st, t);
    let_go(t->tid);
    remove_thread(st, t);
}

void step_ended(struct stepper *st, struct step_thread *t, pid_t tid, int status)
{
    struct capture *capture = st->capture;

    if (tid == capture->command.pid) {
        command_reaped(&capture->command, status);
        control_request_stop();
    }
    if (!t)
        return;
    if (!t->dead && step_queue_traces(t)) { /* killed without a word */
        step_queue_ready(st, t);
        gen_interrupt(&t->queue->gen, t->ip, t->step_tsc);
    }
    if (!st->have_sideband)
        step_out_task(st, t, PTL_REC_EXIT, t->tgid, t->tgid);
    remove_thread(st, t);
}

/* --- attaching -------------------------------------------------------------------------------- */

static void attach_failed(const struct stepper *st, pid_t tid)
{
    int err = errno;

    if (err == EPERM)
        capture_error(st->capture,
                      "cannot attach to %d: %s. It belongs to another user (needs CAP_SYS_PTRACE), "
                      "is traced already, or kernel.yama.ptrace_scope forbids it.",
                      (int)tid, strerror(err));
    else
        capture_error(st->capture, "cannot attach to %d: %s.", (int)tid, strerror(err));
}

/* Seize and stop one thread. Returns 0, 1 if it has gone, -1 on failure. */
static int seize(struct stepper *st, pid_t tid, pid_t tgid)
{
    struct step_thread *t;

    if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)st->options)) {
        int err = errno;

        if (err == ESRCH || (err == EPERM && proc_is_zombie(tid)))
            return 1;
        errno = err;
        attach_failed(st, tid);
        return -1;
    }
    t = step_add(st, tid, tgid);
    if (!t)
        return -1;
    for (struct step_thread *other = st->threads; other; other = other->next) {
        if (other->tgid == tgid && other->code) {
            t->code = code_share(other->code);
            break;
        }
    }
    if (!t->code)
        t->code = code_new(tid);
    if (!t->code)
        errno = ENOMEM;
    if (!t->code || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) || wait_for(tid, &t->first_status)) {
        attach_failed(st, tid);
        return -1;
    }
    return 0;
}

struct threads_of {
    struct stepper *st;
    pid_t pid;
    int added, failed;
};

static int seize_thread(void *context, pid_t tid)
{
    struct threads_of *of = context;

    if (step_find(of->st, tid))
        return 0;
    switch (seize(of->st, tid, of->pid)) {
    case 0:
        of->added = 1;
        return 0;
    case 1:
        return 0;
    default:
        of->failed = 1;
        return 1;
    }
}

/* Threads may start threads until the last one is stopped: look until there is no new one. */
static int seize_process(struct stepper *st, pid_t pid)
{
    struct threads_of of = {st, pid, 0, 0};

    do {
        of.added = 0;
        if (proc_threads(pid, seize_thread, &of) < 0) {
            errno = proc_missed(errno) ? errno : ESRCH;
            attach_failed(st, pid);
            return -1;
        }
    } while (of.added && !of.failed);
    return of.failed ? -1 : 0;
}

static int attach_ids(struct stepper *st)
{
    const struct capture_options *options = st->capture->options;

    for (size_t i = 0; i < options->ids.count; i++) {
        pid_t id = options->ids.ids[i], tgid = proc_tgid(id);
        int failed;

        if (!tgid || id == getpid()) {
            errno = tgid ? EINVAL : proc_missed(errno) ? errno : ESRCH;
            attach_failed(st, id);
            return -1;
        }
        if (options->target == TARGET_PIDS)
            failed = seize_process(st, tgid);
        else
            failed = step_find(st, id) ? 0 : seize(st, id, tgid);
        if (failed)
            return -1;
    }
    if (st->threads)
        return 0;
    capture_error(st->capture, "nothing to record: the targets have ended.");
    return -1;
}

/* A process, and what it has started meanwhile. */
static int seize_tree(struct stepper *st, pid_t pid)
{
    char path[64];
    FILE *file;
    int child, failed = seize_process(st, pid);

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    if (failed)
        return failed;
    file = fopen(path, "re");
    while (file && !failed && fscanf(file, "%d", &child) == 1)
        failed = seize_tree(st, (pid_t)child);
    if (!failed && (file ? ferror(file) : proc_missed(errno))) {
        attach_failed(st, pid);
        failed = -1;
    }
    if (file)
        fclose(file);
    return failed;
}

/* --delay: the command begins without us. */
static int attach_late(struct stepper *st)
{
    uint64_t delay = st->capture->options->delay_ns;
    struct timespec t = {(time_t)(delay / 1000000000), (long)(delay % 1000000000)};
    struct command *command = &st->capture->command;
    int status;

    command_go(command);
    while (nanosleep(&t, &t) && errno == EINTR && !control_stopped())
        ;
    if (command->pid && waitpid(command->pid, &status, WNOHANG) == command->pid) {
        command_reaped(command, status);
        return 0;
    }
    if (st->capture->options->target != TARGET_COMMAND)
        return attach_ids(st);
    return seize_tree(st, command->pid);
}

static int attach_command(struct stepper *st)
{
    pid_t pid = st->capture->command.pid;
    struct step_thread *t;

    if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)st->options)) {
        attach_failed(st, pid);
        return -1;
    }
    t = step_add(st, pid, pid);
    if (t)
        step_pin(st, t);
    return t ? 0 : -1;
}

int step_attach(struct stepper *st)
{
    const struct capture_options *options = st->capture->options;

    st->options = PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_TRACESYSGOOD;
    if (!options->no_inherit && !options->per_thread && options->target != TARGET_TIDS)
        st->options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
    if (options->target == TARGET_COMMAND)
        st->options |= PTRACE_O_EXITKILL;
    if (options->delay_ns)
        return attach_late(st);
    return options->target == TARGET_COMMAND ? attach_command(st) : attach_ids(st);
}

/* A thread that was stopped while it ran, or inside of a system call. */
static void begin_thread(struct step_thread *t)
{
    struct user_regs_struct regs;

    if (!WIFSTOPPED(t->first_status) || ptrace(PTRACE_GETREGS, t->tid, NULL, &regs))
        return;
    t->fresh = 0;
    t->mode = step_mode_of((uint16_t)regs.cs);
    t->restart = (uint8_t)step_restarts(&regs);
    t->ip = t->restart ? regs.rip - 2 : regs.rip;
}

static struct step_thread *find_waiting(struct stepper *st)
{
    struct step_thread *t = st->threads;

    while (t && !t->first_status)
        t = t->next;
    return t;
}

void step_begin(struct stepper *st)
{
    struct step_thread *t;

    while ((t = find_waiting(st))) {
        int status = t->first_status;

        begin_thread(t);
        t->first_status = 0;
        step_stop(st, t->tid, status);
    }
    if (st->capture->command.pid)
        command_go(&st->capture->command);
}

/* --- letting go
 * ----------------------------------------------------------------------------------- */

int step_trap_pending(pid_t tid)
{
    struct __ptrace_peeksiginfo_args args = {0, 0, 16};
    siginfo_t info[16];
    long n = ptrace(PTRACE_PEEKSIGINFO, tid, &args, info);

    for (long i = 0; i < n; i++) {
        if (info[i].si_signo == SIGTRAP && info[i].si_code > 0)
            return 1;
    }
    return 0;
}

void step_detach(struct stepper *st, struct step_thread *t, int sig)
{
    if (step_trap_pending(t->tid) && !ptrace(PTRACE_CONT, t->tid, NULL, (void *)(long)sig))
        return; /* comes back with it */
    if (step_queue_traces(t)) {
        step_queue_ready(st, t);
        gen_interrupt(&t->queue->gen, t->ip, capture_now());
    }
    step_unpin(st, t);
    ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(long)sig);
    remove_thread(st, t);
}

void step_stop_all(struct stepper *st)
{
    struct step_thread *next;

    st->stopping = 1;
    for (struct step_thread *t = st->threads; t; t = next) {
        next = t->next;
        if (t->state == STEP_READY)
            step_detach(st, t, t->signal);
        else
            ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
    }
}
