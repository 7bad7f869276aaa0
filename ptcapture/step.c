/* SPDX-License-Identifier: BSD-3-Clause */
/* step.c - the software recorder as a backend: set up, the loop over stops, the end. */
#include "step.h"

#include "caps.h"
#include "control.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RING_SIZE     (512u * 1024)
#define SNAPSHOT_SIZE (1024u * 1024)
#define TICK_US       100000
#define TICK_NS       (TICK_US * 1000ull)
#define FLUSH_NS      500000000ull /* what a killed recorder loses at most */

/* --- what it can do ------------------------------------------------------------------ */

static enum probe_result probe(const struct capture_options *options, char *reason, size_t size)
{
    const struct {
        int asked;
        const char *what;
    } lacks[] = {
        {options->target == TARGET_CPUS, "follows processes, not CPUs: use -p or a command"},
        {options->aux_sample, "opens no events that could sample: no --aux-sample"},
        {options->kcore, "sees user code only: no --kcore"},
    };

    *reason = '\0';
    for (size_t i = 0; i < sizeof(lacks) / sizeof(*lacks); i++) {
        if (lacks[i].asked) {
            snprintf(reason, size, "the software recorder %s", lacks[i].what);
            return PROBE_NO_HARDWARE;
        }
    }
    return PROBE_OK;
}

static int software_pmu(struct pmu *pmu)
{
    pmu_software(pmu, PMU_SYSFS);
    return 0;
}

/* --- setting up ------------------------------------------------------------------------- */

/* The handler only has to interrupt waitpid(): ticks are counted by the clock. */
static void on_tick(int sig)
{
    (void)sig;
}

static void start_ticking(void)
{
    struct itimerval every = {{0, TICK_US}, {0, TICK_US}};
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    sigemptyset(&action.sa_mask);
    action.sa_handler = on_tick;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

static void stop_ticking(void)
{
    struct itimerval never = {{0, 0}, {0, 0}};

    setitimer(ITIMER_REAL, &never, NULL);
}

static void configure(struct stepper *st)
{
    const struct pmu *pmu = &st->capture->pmu;
    uint64_t config = st->capture->event.config[0];
    struct gen_config *gen = &st->gen;

    gen->tsc_ratio = pmu->tsc_ratio;
    gen->art_ratio = pmu->art_ratio;
    gen->tsc = (uint8_t)pmu_value(pmu, "tsc", config);
    gen->mtc = (uint8_t)pmu_value(pmu, "mtc", config);
    gen->cyc = (uint8_t)pmu_value(pmu, "cyc", config);
    gen->ptw = (uint8_t)pmu_value(pmu, "ptw", config);
    gen->noretcomp = (uint8_t)pmu_value(pmu, "noretcomp", config);
    gen->branch = pmu_value(pmu, "branch", config) || !pmu_value(pmu, "pt", config);
    gen->mtc_period = (uint8_t)pmu_value(pmu, "mtc_period", config);
    gen->psb_period = (uint8_t)pmu_value(pmu, "psb_period", config);
    gen->cyc_thresh = (uint8_t)pmu_value(pmu, "cyc_thresh", config);
    gen->cbr = (uint8_t)pmu->max_nonturbo_ratio;
}

/* Too small for what lies between two points where decoding can begin it would be of no use. */
static int size_snapshot(struct stepper *st)
{
    const struct capture_options *options = st->capture->options;
    uint64_t least = 2ull << (st->gen.psb_period + 11);

    st->per_cpu = options->per_cpu;
    if (!options->snapshot)
        return 0;
    if (!options->per_thread && !st->per_cpu)
        st->per_cpu = PER_CPU_TASK; /* one limit for all, however many threads come and go */
    st->snapshot_size = options->snapshot_size ? options->snapshot_size
                        : options->aux_size    ? options->aux_size
                                               : SNAPSHOT_SIZE;
    if (st->snapshot_size >= least && st->snapshot_size <= SIZE_MAX / 4)
        return 0;
    capture_error(
        st->capture, "--snapshot: %llu bytes are too few for psb_period=%u: at least %llu.",
        (unsigned long long)st->snapshot_size, st->gen.psb_period, (unsigned long long)least);
    return -1;
}

/* Tracer and traced alternate; on one CPU they do so without waking another one up. Threads
 * that somebody else started are left where they are. */
static void choose_cpu(struct stepper *st)
{
    st->cpu = -1;
    if (st->capture->options->target != TARGET_COMMAND || st->capture->options->delay_ns)
        return;
    st->cpu = sched_getcpu();
    if (st->cpu < 0 || st->cpu >= CPU_SETSIZE)
        st->cpu = -1;
}

static void pin_self(const struct stepper *st, const cpu_set_t *back)
{
    cpu_set_t one;

    if (st->cpu < 0)
        return;
    CPU_ZERO(&one);
    CPU_SET((unsigned)st->cpu, &one);
    sched_setaffinity(0, sizeof(one), back ? back : &one);
}

/* Breakpoints would be left behind, should the recorder be killed: only in programs that end with
 * it. And all who execute the code must be traced. */
static int may_break(const struct stepper *st)
{
    return !st->capture->options->single_step && (st->options & PTRACE_O_EXITKILL) &&
           (st->options & PTRACE_O_TRACECLONE);
}

static void open_sideband(struct stepper *st)
{
    const struct capture_options *options = st->capture->options;
    uint64_t size = options->data_size ? options->data_size : RING_SIZE;

    if (sideband_init(&st->sideband, (st->options & PTRACE_O_TRACEFORK) != 0, size))
        return;
    for (struct step_thread *t = st->threads; t; t = t->next) {
        if (sideband_add(&st->sideband, t->tid)) {
            capture_debug(st->capture, "no events of the kernel (%s): sideband is made here.",
                          strerror(errno));
            return;
        }
    }
    st->have_sideband = 1;
}

/* --- the loop ------------------------------------------------------------------------------ */

struct limits {
    uint64_t end_tsc;   /* --duration */
    uint64_t next_tick; /* TSC */
    uint64_t next_flush;
    struct control control;
};

static void obey(struct stepper *st, struct control *control)
{
    enum control_command command;

    while ((command = control_next(control)) != CONTROL_NONE) {
        if (command == CONTROL_STOP)
            control_request_stop();
        else if (command == CONTROL_ENABLE || command == CONTROL_DISABLE)
            step_pause(st, command == CONTROL_DISABLE);
        else if (command == CONTROL_SNAPSHOT && st->snapshot_size)
            step_queue_snapshot(st);
        else if (command != CONTROL_PING)
            capture_bad_command(st->capture, control);
        control_ack(control);
    }
}

static void tick(struct stepper *st, struct limits *limits, uint64_t now)
{
    limits->next_tick = now + TICK_NS;
    obey(st, &limits->control);
    step_sched_tick(st);
    step_out_drain(st);
    if (now >= limits->next_flush) {
        limits->next_flush = now + FLUSH_NS;
        if (!st->snapshot_size)
            step_queue_flush_all(st);
        capture_progress(st->capture);
    }
    if (limits->end_tsc && now >= limits->end_tsc)
        control_request_stop();
    capture_check_size(st->capture);
}

static void loop(struct stepper *st, struct limits *limits)
{
    unsigned steps = 0;

    while (st->living) {
        int status, err;
        pid_t tid;

        if (!st->stopping && (control_stopped() || st->failed))
            step_stop_all(st);
        tid = waitpid(-1, &status, __WALL);
        err = errno;
        if (tid > 0)
            step_stop(st, tid, status);
        else if (err != EINTR)
            break;
        if (st->snapshot_size && control_snapshots())
            step_queue_snapshot(st);
        /* Looking at the clock is cheap, but not as cheap as not looking. */
        if (tid < 0 || ++steps % 64 == 0) {
            uint64_t now = capture_now();
            if (now >= limits->next_tick)
                tick(st, limits, now);
            if (sideband_pressing(&st->sideband))
                step_out_drain(st);
        }
    }
}

static int run(struct stepper *st, struct limits *limits)
{
    uint64_t now;

    if (step_out_begin(st))
        return -1;
    now = capture_now();
    limits->next_tick = now + TICK_NS;
    limits->next_flush = now + FLUSH_NS;
    if (st->capture->options->duration_ns)
        limits->end_tsc = now + st->capture->options->duration_ns;
    start_ticking();
    step_begin(st);
    loop(st, limits);
    stop_ticking();
    return st->failed ? -1 : 0;
}

static int record(struct capture *capture)
{
    struct stepper st;
    struct limits limits;
    cpu_set_t own;
    int failed;

    memset(&st, 0, sizeof(st));
    memset(&limits, 0, sizeof(limits));
    st.capture = capture;
    st.truth_fd = -1;
    for (int i = 0; i < CODE_FILES; i++)
        st.store.fd[i] = -1;
    if (capture_open_control(capture, &limits.control))
        return -1;
    configure(&st);
    if (size_snapshot(&st) || step_want_init(&st)) {
        control_close(&limits.control);
        return -1;
    }
    st.blocks = !capture->options->single_step && block_probe();
    capture_debug(capture, "the software recorder steps %s.",
                  st.blocks ? "whole blocks" : "single instructions");
    choose_cpu(&st);
    if (sched_getaffinity(0, sizeof(own), &own))
        st.cpu = -1;
    failed = step_attach(&st);
    st.breaks = may_break(&st);
    if (!failed) {
        caps_drop(capture->options->target != TARGET_COMMAND);
        pin_self(&st, NULL);
        open_sideband(&st);
        failed = run(&st, &limits);
        pin_self(&st, &own);
    }
    capture->incomplete = failed != 0;
    if (st.snapshot_size && !failed)
        step_queue_snapshot(&st);
    step_free_all(&st);
    if (step_out_end(&st))
        failed = -1;
    filter_free(&st.filter);
    sideband_close(&st.sideband);
    control_close(&limits.control);
    return failed;
}

const struct backend backend_step = {"step", "software recorder", probe, software_pmu, record};
