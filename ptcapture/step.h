/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * step.h - inside the software recorder: threads under ptrace, each with its own trace.
 *
 *   step.c         the backend: set up, the loop over stops, the end
 *   step_attach.c  who is traced: seize, new children, detach
 *   step_stop.c    what a stop means: an instruction done, a signal, a system call, an exec
 *   step_way.c     several instructions at once: plan, and land somewhere
 *   step_insn.c    the instruction that is about to execute; the trace of those that have
 *   step_sched.c   who runs: all at once, or one after the other on one virtual CPU
 *   step_syscall.c what a system call changes: maps, affinity, visible traces of stepping
 *   step_want.c    what of it becomes trace
 *   step_queue.c   the trace: of each thread, or of the virtual CPU
 *   step_out.c     the rest of the recording: events, sideband, the truth
 *   code.c         instructions of the traced address spaces
 *   generator.c    packets
 */
#ifndef PTCAPTURE_STEP_H
#define PTCAPTURE_STEP_H

#include "backend.h"
#include "block.h"
#include "breaks.h"
#include "code.h"
#include "filter.h"
#include "generator.h"
#include "operand.h"
#include "out.h"
#include "sideband.h"

#include <sched.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/user.h>

#define TRACE_BUFFER 65536u

/* One stream of trace: of a thread, or (--per-cpu) of the virtual CPU that all threads share. */
struct step_queue {
    struct step_queue *next;
    struct generator gen;
    uint8_t *buffer;             /* of gen */
    struct step_thread *current; /* whose instructions it gets */
    pid_t pid, tid;              /* of the last `current` */
    uint32_t idx;                /* in the file */
    uint64_t aux_offset;         /* bytes already in the file */
    uint64_t aux_told;           /* bytes that AUX records have told of */
    uint8_t gap;                 /* not all has been traced since: the next AUX record says so */
};

/* What a thread is doing. Without a virtual CPU, READY ones are let run at once. */
enum step_state {
    STEP_STOPPED, /* waits for us */
    STEP_READY,   /* waits for the virtual CPU */
    STEP_RUNS,    /* executes an instruction */
    STEP_KERNEL   /* is in a system call, which may block */
};

struct step_thread {
    struct step_thread *next;
    pid_t tid, tgid;
    struct code *code;
    struct step_queue *queue;
    enum step_state state;
    uint64_t ticket; /* STEP_READY: who has waited longest */
    int signal;      /* STEP_READY: to be delivered */

    uint64_t ip; /* the next instruction of user code */
    enum ptl_exec_mode mode;
    struct code_insn insn; /* at `ip`, valid if have_insn */
    uint64_t step_tsc;     /* when the step began */
    uint64_t copy_tsc;     /* when new code was told to the readers; 0: not in this step */
    uint64_t step_seen;    /* sideband_seen() when the step began */
    uint64_t told_seen;    /* and at the last exact time in the trace */
    cpu_set_t affinity;    /* what the thread believes */
    struct block block;    /* what runs from `ip` on; empty: one instruction */
    struct breaks breaks;  /* set while it runs along `block` */
    struct operand ptw;    /* of a PTWRITE at `ip` */
    uint8_t ptw_size;      /* 4 or 8 bytes; 0: not known */
    int injected;          /* the signal that the step began with */
    uint8_t have_insn;
    uint8_t unread;     /* the instruction at `ip` could not be read */
    uint8_t forsaken;   /* no memory for its code: is let go at its first stop */
    uint8_t fresh;      /* nothing has executed since a fork, an exec or attaching */
    uint8_t in_syscall; /* resumed inside of a system call */
    uint8_t left;       /* the trace says that the instruction at `ip` left user code */
    uint8_t restart;    /* the kernel may go back to the system call at `ip` */
    uint8_t owed;       /* the trap of a breakpoint that it has already left is still to come */
    uint8_t listening;  /* stopped by SIGSTOP or the like */
    uint8_t dead;       /* its trace is complete */
    uint8_t started;    /* ITRACE_START is written */
    uint8_t filtered;   /* --filter has seen it */
    uint8_t halted;     /* --filter: behind a stop */
    int first_status;   /* of the stop when it was attached */
};

struct stepper {
    struct capture *capture;
    struct sideband sideband;
    int have_sideband; /* else the records are made here */
    uint64_t made;     /* records made here */
    struct code_store store;
    struct out truth;
    int truth_fd; /* -1: none */
    pid_t truth_tid;
    struct ptl_layout layout; /* of both events */
    uint64_t pt_id;           /* identifier of the PT event */
    struct gen_config gen;
    struct step_thread *threads;
    size_t living;
    struct step_queue *queues;
    uint32_t next_idx;
    int per_cpu;                  /* PER_CPU_* */
    struct step_queue *cpu_queue; /* NULL: a queue for each thread */
    struct step_thread *running;  /* has the virtual CPU; NULL: nobody */
    unsigned quantum;             /* steps that it may still run while others wait */
    uint64_t tickets;
    uint64_t stops, stops_seen; /* of `running`; at the last tick */
    int blocks;                 /* PTRACE_SINGLEBLOCK works */
    int breaks;                 /* breakpoints may be written into programs */
    struct filter filter;
    uint64_t snapshot_size; /* --snapshot: bytes of each queue; 0: full trace */
    uint8_t paused;         /* by the command disable */
    uint64_t unread;        /* instructions that ran and could not be read */
    uint64_t forsaken;      /* threads for which there was no memory */
    long options;           /* of PTRACE_SEIZE */
    int cpu;                /* the one all run on; -1: any */
    int stopping;           /* no more steps: detach at the next stop */
    int failed;             /* writing failed: a negative status */
};

/* The CPU that records name. */
static inline uint32_t step_cpu(const struct stepper *st)
{
    return st->cpu < 0 ? 0 : (uint32_t)st->cpu;
}

/* --- step_out.c ------------------------------------------------------------------- */

/* Tell the file about events and the trace. Returns 0 or -1 (message printed). */
int step_out_begin(struct stepper *st);
/* Take over what the kernel has told. */
void step_out_drain(struct stepper *st);
/* Returns 0, or -1 if something that was asked for is not there (message printed). */
int step_out_end(struct stepper *st);
/* The instruction at `ip` has executed. */
void step_out_truth(struct stepper *st, const struct step_thread *t, uint64_t ip);
/* A record about `t`; put into the file. */
void step_out_make(const struct stepper *st, const struct step_thread *t, uint64_t time,
                   struct ptl_record *record, uint32_t type);
void step_out_put(struct stepper *st, const struct ptl_record *record);
/* Pass on what the writer returned. */
void step_out_wrote(struct stepper *st, int status);
/* Records: code that now is in the store; maps when the kernel does not tell. */
void step_out_copy(struct stepper *st, const struct step_thread *t, const struct code_copy *copy,
                   uint64_t time);
void step_out_task(struct stepper *st, const struct step_thread *t, uint32_t type, pid_t ppid,
                   pid_t ptid);
void step_out_comm(struct stepper *st, const struct step_thread *t);
void step_out_maps(struct stepper *st, const struct step_thread *t);
/* sideband_seen(), or the records made here. */
uint64_t step_out_seen(const struct stepper *st);

/* --- step_queue.c ----------------------------------------------------------------- */

/* The queue of a new thread. Returns 0, -1 without memory. */
int step_queue_join(struct stepper *st, struct step_thread *t);
/* The thread goes: what it has executed goes into the file, if nobody else uses its queue. */
void step_queue_part(struct stepper *st, struct step_thread *t);
void step_queue_free_all(struct stepper *st);
/* From now on the queue gets what `t` executes. */
void step_queue_take(struct stepper *st, struct step_thread *t);
/* Make room for the packets of a step of `t`, which from now on has the queue; write ITRACE_START
 * when tracing begins. */
void step_queue_ready(struct stepper *st, struct step_thread *t);
/* Is tracing on, and for `t`? */
int step_queue_traces(const struct step_thread *t);
/* Move trace into the file. */
void step_queue_flush(struct stepper *st, struct step_queue *queue);
void step_queue_flush_all(struct stepper *st);

/* Write what the queues hold as a snapshot, and begin anew. */
void step_queue_snapshot(struct stepper *st);

/* --- step_want.c ------------------------------------------------------------------- */

/* Resolve --filter. Returns 0 or -1 (message printed). */
int step_want_init(struct stepper *st);
/* Does the instruction at `ip`, which is about to execute, become trace? */
int step_want(struct stepper *st, struct step_thread *t, uint64_t ip);
/* Write no trace, or do so again. */
void step_pause(struct stepper *st, int paused);

/* --- step_sched.c ------------------------------------------------------------------ */

/* The thread may go on, with a signal (0: none): at once or when it has the virtual CPU. */
void step_sched_ready(struct stepper *st, struct step_thread *t, int sig);
/* The thread has stopped, or is gone. */
void step_sched_stopped(struct stepper *st, struct step_thread *t);
/* Give the virtual CPU to the next if it is free. */
void step_sched_next(struct stepper *st);
/* Called now and then: an instruction that does not end must not keep the virtual CPU. */
void step_sched_tick(struct stepper *st);

/* --- step_attach.c ----------------------------------------------------------------- */

struct step_thread *step_find(struct stepper *st, pid_t tid);
/* A thread that is traced but of which nothing is known yet. NULL without memory. */
struct step_thread *step_add(struct stepper *st, pid_t tid, pid_t tgid);
/* `parent` has made a thread or process, which may have stopped already. */
struct step_thread *step_born(struct stepper *st, const struct step_thread *parent, pid_t tid,
                              pid_t tgid);
/* `t` runs a new program; `caller` (NULL: the same) was the thread that asked for it. Returns the
 * thread to go on with, or NULL if there is no memory: step_forsake(). */
struct step_thread *step_exec(struct stepper *st, struct step_thread *t,
                              struct step_thread *caller);
/* Let go of a stopped thread for which there is no memory, with a message. */
void step_forsake(struct stepper *st, struct step_thread *t);
/* A thread (NULL: one that is not traced) has gone. */
void step_ended(struct stepper *st, struct step_thread *t, pid_t tid, int status);
/* Take hold of the command before its exec, or of the processes and threads asked for: these
 * are stopped then. Returns 0 or -1 (message printed). */
int step_attach(struct stepper *st);
/* Let those run that step_attach() has stopped. */
void step_begin(struct stepper *st);
/* The end of a step that the thread has not been told of yet? (Without a tracer it would kill.) */
int step_trap_pending(pid_t tid);
/* Let go of a stopped thread, with a signal that is still to be delivered. */
void step_detach(struct stepper *st, struct step_thread *t, int sig);
/* Stop everybody; step_resume() detaches from then on. */
void step_stop_all(struct stepper *st);
void step_free_all(struct stepper *st);

/* --- step_stop.c --------------------------------------------------------------------- */

/* What waitpid() told about a thread. */
void step_stop(struct stepper *st, pid_t tid, int status);
/* Go on with one instruction, when it is its turn. */
void step_resume(struct stepper *st, struct step_thread *t, int sig);
/* It is: let it execute. */
void step_go(struct stepper *st, struct step_thread *t, int sig);

/* --- step_insn.c ------------------------------------------------------------------------ */

#define USER_REG(name) offsetof(struct user_regs_struct, name)

/* A register of a stopped thread. */
uint64_t step_peek(const struct step_thread *t, size_t reg);
/* The mode that a stopped thread is in. */
void step_read_mode(struct step_thread *t);
/* Decode the instruction at t->ip. */
void step_fetch(struct stepper *st, struct step_thread *t);
/* The instruction at t->ip has executed; `next` is what follows. */
void step_complete(struct stepper *st, struct step_thread *t, uint64_t next);
/* The first `count` instructions of the block have executed; `next` is what follows. */
void step_complete_block(struct stepper *st, struct step_thread *t, int count, uint64_t next);
/* Stopped at `rip`, and not by a branch. */
void step_complete_until(struct stepper *st, struct step_thread *t, uint64_t rip);
/* The instruction at t->ip has executed and left user code by itself. */
void step_leave(struct stepper *st, struct step_thread *t);
/* Something from outside has come between the instructions. */
void step_interrupted(struct stepper *st, struct step_thread *t);

/* --- step_way.c ------------------------------------------------------------------------- */

/* May the thread run more than one instruction? Returns the request for ptrace(), 0 if not. */
int step_way(struct stepper *st, struct step_thread *t, int sig);
/* It had breakpoints and has stopped: the code is as it was, and t->ip is where it stands. Returns
 * the signal to go on with after a SIGTRAP: 0 if a breakpoint was the cause. */
int step_land(struct stepper *st, struct step_thread *t, int status);
/* What was told about a signal of a stopped thread: siginfo.si_code. */
int step_signal_code(const struct step_thread *t);

/* --- step_syscall.c --------------------------------------------------------------------- */

/* A system call of the thread is done. `regs` are its registers now. */
void step_syscall(struct stepper *st, struct step_thread *t, struct user_regs_struct *regs);
/* The flags of the clone() or clone3() that it is in; 0: it is in another system call. */
uint64_t step_clone_flags(const struct step_thread *t, const struct user_regs_struct *regs);
/* Let SIGTRAP come to a thread that is about to execute. */
void step_unblock_trap(const struct step_thread *t);
/* Will the kernel execute the system call again? */
int step_restarts(const struct user_regs_struct *regs);
/* An instruction has stored the flags: take the trap flag out. */
void step_hide_trap_flag(struct step_thread *t);
/* The mode of code in this segment. */
enum ptl_exec_mode step_mode_of(uint16_t cs);
/* Read or write the memory of a thread. Returns 0 or -1. */
int step_memory(pid_t tid, uint64_t addr, void *bytes, size_t len, int write);
/* Run on one CPU, but believe in the old affinity. */
void step_pin(struct stepper *st, struct step_thread *t);
void step_unpin(struct stepper *st, struct step_thread *t);

#endif
