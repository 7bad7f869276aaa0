/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control.h - what reaches a running recorder from outside: signals, and commands in a FIFO.
 */
#ifndef PTCAPTURE_CONTROL_H
#define PTCAPTURE_CONTROL_H

/* Install the handlers: SIGINT, SIGTERM and SIGHUP ask to stop, SIGUSR2 for a snapshot.
 * They interrupt system calls. SIGPIPE is ignored. */
void control_signals(void);

/* Has a signal (or control_request_stop()) asked to stop? */
int control_stopped(void);
void control_request_stop(void);
/* Number of SIGUSR2 since the last call. */
int control_snapshots(void);

/* Commands of --control, in perf's words. */
enum control_command {
    CONTROL_NONE,
    CONTROL_ENABLE,
    CONTROL_DISABLE,
    CONTROL_SNAPSHOT,
    CONTROL_PING,
    CONTROL_STOP,
    CONTROL_UNKNOWN
};

struct control {
    int ctl_fd; /* to poll; -1: none */
    int ack_fd; /* -1: none */
    char line[64];
    unsigned len, heard; /* bytes: of the line, and since control_next() had no more */
};

/* Open "fifo:CTL[,ACK]" (NULL: no control). Returns 0 or -1 with errno (EINVAL: not of that
 * form; ENOTSUP: not a FIFO). */
int control_open(struct control *control, const char *spec);
/* The next whole command, without waiting. */
enum control_command control_next(struct control *control);
/* Tell that the last command has been carried out. */
void control_ack(struct control *control);
void control_close(struct control *control);

#endif
