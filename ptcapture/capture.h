/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * capture.h - one recording: what main() prepares and both backends fill.
 */
#ifndef PTCAPTURE_CAPTURE_H
#define PTCAPTURE_CAPTURE_H

#include "command.h"
#include "control.h"
#include "file.h"
#include "options.h"
#include "pmu.h"
#include "terms.h"

/* What the line at the end tells. */
struct capture_totals {
    struct ptl_losses losses;
    uint64_t trace_bytes;  /* of trace */
    uint64_t wakeups;      /* times that rings were drained */
    uint64_t snapshots;    /* snapshots taken */
    uint64_t threads;      /* threads traced */
    uint64_t instructions; /* step: instructions executed */
};

struct capture {
    const struct capture_options *options;
    struct pmu pmu;
    struct pt_event event;                  /* the intel_pt event of -e */
    const char *event_text[OPTION_STRINGS]; /* the other -e events */
    size_t event_count;
    struct ptl_zip zip;       /* -z: of the writer in `file` */
    struct capture_file file; /* open, with features; the backend adds events and begins */
    struct command command;   /* the command, held before its exec; pid 0 if there is none */
    struct capture_totals totals;
    int write_failed; /* the message has been printed */
    int incomplete;   /* something is missing that no record tells of */
};

/* "ptcapture: " + message to stderr; _note() only unless -q, _debug() only with -v. */
void capture_error(const struct capture *capture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void capture_note(const struct capture *capture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void capture_debug(const struct capture *capture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* On a terminal, and without -q: how far it is, on one line that is overwritten. */
void capture_progress(const struct capture *capture);

/* Pass on what a writer returned: 0 or more, or -1 after saying (once) that the output cannot be
 * written and why. */
int capture_wrote(struct capture *capture, int status);

/* Pass on what proc_synthesize() returned, likewise. */
int capture_knows(struct capture *capture, pid_t pid, int status);

/* control_open() of --control, with a message if that fails. Returns 0 or -1. */
int capture_open_control(const struct capture *capture, struct control *control);

/* Tell of a command of --control that does not exist, or does not fit. */
void capture_bad_command(const struct capture *capture, const struct control *control);

/* --max-size: ask to stop when it is reached. */
void capture_check_size(const struct capture *capture);

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t capture_now(void);

#endif
