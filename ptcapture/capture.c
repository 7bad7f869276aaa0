/* SPDX-License-Identifier: BSD-3-Clause */
/* capture.c - see capture.h. */
#include "capture.h"

#include "opts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void say_who(const struct capture *capture)
{
    const char *slash = strrchr(capture->options->prog, '/');

    fprintf(stderr, "%s: ", slash ? slash + 1 : capture->options->prog);
}

void capture_error(const struct capture *capture, const char *format, ...)
{
    va_list ap;

    say_who(capture);
    va_start(ap, format);
    opts_say(format, ap);
    va_end(ap);
}

void capture_note(const struct capture *capture, const char *format, ...)
{
    va_list ap;

    if (capture->options->quiet)
        return;
    say_who(capture);
    va_start(ap, format);
    opts_say(format, ap);
    va_end(ap);
}

void capture_debug(const struct capture *capture, const char *format, ...)
{
    va_list ap;

    if (!capture->options->verbose)
        return;
    say_who(capture);
    va_start(ap, format);
    opts_say(format, ap);
    va_end(ap);
}

void capture_progress(const struct capture *capture)
{
    if (!capture->options->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%s: %.1f MiB\033[K\r", capture->options->output,
                (double)file_bytes(&capture->file) / (1024 * 1024));
}

int capture_wrote(struct capture *capture, int status)
{
    if (status >= 0)
        return status;
    if (!capture->write_failed)
        capture_error(capture, "cannot write %s: %s.", capture->options->output,
                      status == PTL_IO ? strerror(errno) : ptl_strstatus(status));
    capture->write_failed = 1;
    return -1;
}

int capture_knows(struct capture *capture, pid_t pid, int status)
{
    if (status <= 0)
        return status;
    if (!capture->write_failed)
        capture_error(capture, "cannot read what process %d is and has mapped: %s.", (int)pid,
                      strerror(errno));
    capture->write_failed = 1;
    return PTL_IO;
}

int capture_open_control(const struct capture *capture, struct control *control)
{
    const char *spec = capture->options->control;

    if (!control_open(control, spec))
        return 0;
    capture_error(capture, "--control %s: %s.", spec,
                  errno == EINVAL    ? "not of the form fifo:CTL[,ACK]"
                  : errno == ENOTSUP ? "not a FIFO"
                                     : strerror(errno));
    return -1;
}

void capture_bad_command(const struct capture *capture, const struct control *control)
{
    capture_note(capture, "--control: \"%s\" %s.", control->line,
                 strcmp(control->line, "snapshot") ? "is no command" : "needs --snapshot");
}

void capture_check_size(const struct capture *capture)
{
    uint64_t limit = capture->options->max_size;

    if (!limit || file_bytes(&capture->file) < limit || control_stopped())
        return;
    capture_note(capture, "--max-size reached.");
    control_request_stop();
}

uint64_t capture_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
