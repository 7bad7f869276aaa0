/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main.c - ptcapture: options, the backend that fits, the output file, the line at the end.
 */
#include "backend.h"
#include "caps.h"
#include "check.h"
#include "control.h"
#include "opts.h"
#include "unzip.h"

#include <errno.h>
#include <pt/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ZSTD_LEVEL 1 /* as perf record -z */
#define DATA_RING  (512u * 1024)

/* In the order in which `auto` tries them. */
static const struct backend *const backends[] = {&backend_perf, &backend_step, NULL};

/* --- choosing ------------------------------------------------------------------ */

static const struct backend *backend_of(const char *name)
{
    for (size_t i = 0; backends[i]; i++) {
        if (!strcmp(backends[i]->name, name))
            return backends[i];
    }
    return NULL;
}

/* What was asked for, or the first that can. NULL: message printed, *status set. */
static const struct backend *choose_backend(const struct capture *capture, int *status)
{
    const struct capture_options *options = capture->options;
    const struct backend *backend = &backend_step;
    char reason[512] = "", first[512] = "";
    enum probe_result result = PROBE_NO_KERNEL;

    if (strcmp(options->backend, "auto") != 0) {
        backend = backend_of(options->backend);
        if (backend)
            result = backend->probe(options, reason, sizeof(reason));
        if (result)
            capture_error(capture, "--backend %s cannot be used: %s.", options->backend, reason);
        *status = (int)result;
        return result ? NULL : backend;
    }
    for (size_t i = 0; backends[i]; i++) {
        result = backends[i]->probe(options, reason, sizeof(reason));
        if (!result) {
            if (backends[i] == &backend_step)
                capture_note(capture,
                             "Intel PT cannot be used here (--check tells why): using the software "
                             "recorder.");
            return backends[i];
        }
        if (!i)
            memcpy(first, reason, sizeof(first));
    }
    capture_error(capture, "nothing to record with: %s; software recorder: %s.", first, reason);
    *status = (int)result;
    return NULL;
}

static int parse_events(struct capture *capture)
{
    const struct string_list *events = &capture->options->events;
    const char *pt = NULL;
    char error[1024];

    for (size_t i = 0; i < events->count; i++) {
        if (!terms_is_pt(&capture->pmu, events->item[i])) {
            capture->event_text[capture->event_count++] = events->item[i];
        } else if (pt) {
            capture_error(capture, "-e %s: only one intel_pt event can be recorded.",
                          events->item[i]);
            return -1;
        } else {
            pt = events->item[i];
        }
    }
    /* Nothing before a PSB can be decoded: a sample should hold more than one. */
    if (capture->options->aux_sample)
        capture->pmu.psb_period = 0;
    if (terms_parse(&capture->event, &capture->pmu, pt, error, sizeof(error))) {
        capture_error(capture, "-e %s: %s", pt, error);
        return -1;
    }
    if (capture->event_count && !capture->options->aux_sample) {
        capture_error(capture, "-e %s: further events need --aux-sample.", capture->event_text[0]);
        return -1;
    }
    return 0;
}

/* --- output ---------------------------------------------------------------------- */

static int open_output(struct capture *capture, int argc, char **argv)
{
    const struct capture_options *options = capture->options;
    struct ptl_perf_writer_config config;

    if (file_create(&capture->file, options->output, options->kcore)) {
        capture_error(capture, "cannot create %s: %s.", options->output,
                      errno == ELOOP    ? "it is a symbolic link, which is not followed"
                      : errno == EEXIST ? "what is there is neither a file nor a directory"
                                        : strerror(errno));
        return -1;
    }
    memset(&config, 0, sizeof(config));
    config.size = sizeof(config);
    config.mmap_len = (uint32_t)(options->data_size ? options->data_size : DATA_RING);
    if (options->compress) {
        capture->zip = zstd_zip(ZSTD_LEVEL);
        config.zip = &capture->zip;
    }
    return capture_wrote(capture, file_start(&capture->file, &config, &capture->pmu, argc, argv));
}

static void size_text(char *text, size_t size, uint64_t bytes)
{
    if (bytes < 10240)
        snprintf(text, size, "%llu bytes", (unsigned long long)bytes);
    else if (bytes < 10240 * 1024)
        snprintf(text, size, "%.1f KiB", (double)bytes / 1024);
    else
        snprintf(text, size, "%.1f MiB", (double)bytes / (1024 * 1024));
}

/* "no loss", or which kinds there were. */
static void loss_text(char *text, size_t size, const struct ptl_losses *losses)
{
    size_t n = (size_t)snprintf(text, size, "%s", ptl_losses_kinds(losses) ? "LOST:" : "no loss");

    for (unsigned i = 0; i <= PTL_LOSS_MAX_VALUE && n < size; i++)
        if (losses->count[i])
            n += (size_t)snprintf(text + n, size - n, " %llu %s",
                                  (unsigned long long)losses->count[i], ptl_loss_kind(i)->name);
}

static void summary(const struct capture *capture, uint64_t bytes)
{
    const struct capture_totals *t = &capture->totals;
    char all[32], trace[32], extra[128] = "", loss[192];
    size_t n = 0;

    size_text(all, sizeof(all), bytes);
    size_text(trace, sizeof(trace), t->trace_bytes);
    loss_text(loss, sizeof(loss), &t->losses);
    if (t->instructions)
        n += (size_t)snprintf(extra, sizeof(extra), ", %llu instruction%s",
                              (unsigned long long)t->instructions, t->instructions == 1 ? "" : "s");
    if (t->threads)
        n += (size_t)snprintf(extra + n, sizeof(extra) - n, ", %llu thread%s",
                              (unsigned long long)t->threads, t->threads == 1 ? "" : "s");
    if (t->snapshots)
        snprintf(extra + n, sizeof(extra) - n, ", %llu snapshot%s",
                 (unsigned long long)t->snapshots, t->snapshots == 1 ? "" : "s");
    capture_note(capture, "%s: %s, trace %s%s, %llu wake-up%s, %s", capture->options->output, all,
                 trace, extra, (unsigned long long)t->wakeups, t->wakeups == 1 ? "" : "s", loss);
}

/* Whatever happened before, what has been recorded stays readable; but its header says that it is
 * finished only if it is all. */
static int close_output(struct capture *capture, int failed)
{
    uint64_t bytes = file_bytes(&capture->file);

    if (failed && !bytes) {
        file_discard(&capture->file);
        return failed;
    }
    if (capture_wrote(capture, file_finish(&capture->file, !capture->incomplete)) < 0)
        return -1;
    if (failed)
        return failed;
    summary(capture, bytes);
    return losses_report(&capture->options->losses, capture->options->output,
                         &capture->totals.losses, 0);
}

/* --- all -------------------------------------------------------------------------- */

static int start_command(struct capture *capture)
{
    if (!capture->options->command)
        return 0;
    if (command_prepare(&capture->command, capture->options->command)) {
        capture_error(capture, "cannot start %s: %s.", capture->options->command[0],
                      strerror(errno));
        return -1;
    }
    return 0;
}

static int record(struct capture *capture, const struct backend *backend, int argc, char **argv)
{
    const struct losses_options *options = &capture->options->losses;
    int failed, err, status;

    if (backend->pmu(&capture->pmu)) {
        capture_error(capture, "cannot read the PMU: %s.", strerror(errno));
        return EXIT_FAILURE;
    }
    if (parse_events(capture))
        return 2;
    if (open_output(capture, argc, argv) || start_command(capture)) {
        file_discard(&capture->file);
        return EXIT_FAILURE;
    }
    control_signals();
    failed = backend->record(capture);
    command_end(&capture->command);
    err = capture->command.pid ? command_failed(&capture->command) : 0;
    if (err)
        capture_error(capture, "cannot execute %s: %s.", capture->options->command[0],
                      strerror(err));
    failed = close_output(capture, failed || err);
    if (failed)
        return err ? 127 : EXIT_FAILURE;
    status = command_exit_status(&capture->command);
    return options->strict ? losses_status(options, &capture->totals.losses, status) : status;
}

int main(int argc, char **argv)
{
    struct capture_options options;
    struct capture capture;
    const struct backend *backend;
    int status;

    (void)ptl_map_guard(); /* commands do not inherit it */
    status = options_parse(&options, argc, argv);
    if (status) {
        options_free(&options);
        return status - 1;
    }
    caps_limit(&options);
    if (options.check) {
        status = check_run(&options, backends);
    } else {
        memset(&capture, 0, sizeof(capture));
        capture.options = &options;
        capture.file.fd = -1;
        backend = choose_backend(&capture, &status);
        if (backend)
            status = record(&capture, backend, argc, argv);
    }
    options_free(&options);
    return status;
}
