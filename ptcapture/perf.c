/* SPDX-License-Identifier: BSD-3-Clause */
/* perf.c - the kernel backend: set up, the loop over rings, the end. */
#include "perf.h"

#include "caps.h"
#include "check.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS   100
#define DATA_SIZE (512ull * 1024)
#define AUX_SIZE  (4ull * 1024 * 1024)

/* --- what it can do ------------------------------------------------------------------------ */

static enum probe_result probe(const struct capture_options *options, char *reason, size_t size)
{
    if (options->truth) {
        snprintf(reason, size, "--truth needs the software recorder (--backend step)");
        return PROBE_NO_HARDWARE;
    }
    return check_intel_pt(reason, size);
}

static int kernel_pmu(struct pmu *pmu)
{
    return pmu_load(pmu, PMU_SYSFS, "intel_pt");
}

/* --- the loop -------------------------------------------------------------------------------- */

static void failed(struct perf_recorder *rec, int status)
{
    if (capture_wrote(rec->capture, status) < 0)
        rec->failed = 1;
}

static void each_lane(struct perf_recorder *rec,
                      int (*move)(struct perf_recorder *, struct perf_lane *))
{
    int any = 0;

    for (size_t i = 0; i < rec->lane_count && !rec->failed; i++) {
        int n = move(rec, &rec->lanes[i]);
        failed(rec, n);
        any |= n > 0;
    }
    if (!any || rec->failed)
        return;
    rec->capture->totals.wakeups++;
    failed(rec, ptl_perf_write_round(rec->capture->file.writer));
}

static void snapshot(struct perf_recorder *rec)
{
    int tracing = rec->tracing;

    perf_switch(rec, 0);
    each_lane(rec, perf_lane_snapshot);
    rec->capture->totals.snapshots++;
    if (tracing)
        perf_switch(rec, 1);
}

static void obey(struct perf_recorder *rec)
{
    enum control_command command;

    while ((command = control_next(&rec->control)) != CONTROL_NONE) {
        if (command == CONTROL_STOP)
            control_request_stop();
        else if (command == CONTROL_ENABLE || command == CONTROL_DISABLE)
            perf_switch(rec, command == CONTROL_ENABLE);
        else if (command == CONTROL_SNAPSHOT && rec->capture->options->snapshot)
            snapshot(rec);
        else if (command != CONTROL_PING)
            capture_bad_command(rec->capture, &rec->control);
        control_ack(&rec->control);
    }
}

/* The command has ended: its status is kept for ours. */
static int command_gone(struct perf_recorder *rec)
{
    struct command *command = &rec->capture->command;
    int status;

    if (!command->pid || command->ended)
        return command->ended;
    if (waitpid(command->pid, &status, WNOHANG) != command->pid)
        return 0;
    command_reaped(command, status);
    return 1;
}

/* All targets have ended: every event has hung up. */
static int all_gone(struct perf_recorder *rec)
{
    int living = 0;

    for (size_t i = 0; i < rec->pt.count; i++) {
        if (rec->polls[i].fd >= 0 && rec->polls[i].revents & (POLLHUP | POLLERR))
            rec->polls[i].fd = -1; /* poll() passes over it */
        living += rec->polls[i].fd >= 0;
    }
    return !living && !rec->cpu_wide;
}

static void watch_limits(struct perf_recorder *rec)
{
    uint64_t now = capture_now();

    if (rec->enable_ns && now >= rec->enable_ns) {
        rec->enable_ns = 0;
        perf_switch(rec, 1);
    }
    if (rec->end_ns && now >= rec->end_ns)
        control_request_stop();
    capture_check_size(rec->capture);
}

static void loop(struct perf_recorder *rec)
{
    int done = 0;

    while (!done && !rec->failed && !control_stopped()) {
        rec->polls[rec->pt.count].fd = rec->control.ctl_fd;
        rec->polls[rec->pt.count].events = POLLIN;
        if (poll(rec->polls, rec->pt.count + 1, TICK_MS) >= 0) {
            done = all_gone(rec);
        } else if (errno != EINTR && errno != ENOMEM && errno != EAGAIN) {
            capture_error(rec->capture, "cannot wait for trace: %s.", strerror(errno));
            rec->failed = 1;
        }
        done |= command_gone(rec);
        each_lane(rec, perf_lane_drain);
        obey(rec);
        if (rec->capture->options->snapshot && control_snapshots())
            snapshot(rec);
        watch_limits(rec);
        capture_progress(rec->capture);
    }
}

/* Stop, and take what the rings still hold. */
static void finish(struct perf_recorder *rec)
{
    int failed = rec->failed;

    if (!rec->capture->write_failed)
        rec->failed = 0; /* what there is can be had all the same */
    perf_switch(rec, 0);
    if (rec->capture->options->snapshot)
        snapshot(rec);
    each_lane(rec, perf_lane_drain);
    rec->failed |= failed != 0;
}

static void add_losses(struct perf_recorder *rec)
{
    for (size_t i = 0; i < rec->lane_count; i++)
        ptl_losses_add(&rec->capture->totals.losses, &rec->lanes[i].losses);
}

/* --- all ---------------------------------------------------------------------------------------
 */

static void set_sizes(struct perf_recorder *rec)
{
    const struct capture_options *options = rec->capture->options;

    rec->sized = options->data_size || options->aux_size;
    rec->data_size = options->data_size ? options->data_size : DATA_SIZE;
    rec->aux_size = options->aux_size ? options->aux_size : AUX_SIZE;
    if (options->snapshot_size > rec->aux_size)
        rec->aux_size = options->snapshot_size;
}

static void start(struct perf_recorder *rec)
{
    const struct capture_options *options = rec->capture->options;
    uint64_t now = capture_now();

    rec->tracing = !options->delay_ns;
    if (options->delay_ns)
        rec->enable_ns = now + options->delay_ns;
    else if (!(rec->pt.attr.flags & PTL_ATTR_ENABLE_ON_EXEC))
        perf_switch(rec, 1);
    if (options->duration_ns)
        rec->end_ns = now + options->delay_ns + options->duration_ns;
    if (rec->capture->command.pid)
        command_go(&rec->capture->command);
}

static int record_all(struct perf_recorder *rec)
{
    char reason[512];

    if (perf_open_all(rec))
        return -1;
    failed(rec, perf_write_begin(rec));
    if (!rec->failed && rec->capture->options->kcore &&
        kernel_copy(rec->capture->file.directory, reason, sizeof(reason)))
        capture_error(rec->capture, "--kcore: %s. Kernel code cannot be decoded.", reason);
    if (rec->failed)
        return -1;
    caps_drop(0);
    start(rec);
    loop(rec);
    finish(rec);
    add_losses(rec);
    return rec->failed ? -1 : 0;
}

static int record(struct capture *capture)
{
    struct perf_recorder rec;
    int status;

    memset(&rec, 0, sizeof(rec));
    rec.capture = capture;
    rec.control.ctl_fd = rec.control.ack_fd = -1;
    rec.cpu_wide = capture->options->target == TARGET_CPUS;
    rec.per_thread = capture->options->per_thread || capture->options->target == TARGET_TIDS;
    set_sizes(&rec);
    if (capture_open_control(capture, &rec.control))
        return -1;
    status = record_all(&rec);
    capture->incomplete = status != 0;
    /* Those of a command come and go uncounted. */
    if (capture->options->target == TARGET_PIDS || capture->options->target == TARGET_TIDS)
        capture->totals.threads = rec.tid_count;
    perf_close_all(&rec);
    control_close(&rec.control);
    return status;
}

const struct backend backend_perf = {"perf", "Intel PT of this CPU", probe, kernel_pmu, record};
