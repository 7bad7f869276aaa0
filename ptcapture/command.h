/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * command.h - start the command to be recorded: forked at once, so that events can be attached
 * to it, but held before its exec until everything is ready.
 */
#ifndef PTCAPTURE_COMMAND_H
#define PTCAPTURE_COMMAND_H

#include <sys/types.h>

struct command {
    pid_t pid;     /* 0: none */
    int go_fd;     /* closing it after one byte lets the command exec */
    int failed_fd; /* the child writes errno here when exec fails */
    int status;    /* wait status, valid when `ended` */
    int ended;
    int go_error; /* errno if it could not be let go */
};

/* Fork. Returns 0 or -1 with errno. */
int command_prepare(struct command *command, char **argv);
/* Let it exec, unless that has been done. Does not wait for it. */
void command_go(struct command *command);
/* The errno of a failed exec, 0 if it has not failed. Call once the child has gone. */
int command_failed(struct command *command);
/* Remember a wait status that a backend got for command->pid. */
void command_reaped(struct command *command, int status);
/* If it still runs, end it as perf record does (SIGTERM) and wait for it. */
void command_end(struct command *command);
/* End ourselves as the command ended: its exit status, or by the same signal. */
int command_exit_status(const struct command *command);

#endif
