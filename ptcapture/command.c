/* SPDX-License-Identifier: BSD-3-Clause */
/* command.c - see command.h. */
#include "command.h"

#include "caps.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: wait for the byte, then become the command. */
static void child(char **argv, int go_fd, int failed_fd)
{
    char byte;
    ssize_t n;
    int err;

    do
        n = read(go_fd, &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n != 1)
        _exit(127); /* the recorder has given up */
    caps_drop(0);   /* not even through a program that root owns */
    execvp(argv[0], argv);
    err = errno;
    n = write(failed_fd, &err, sizeof(err));
    _exit(n == (ssize_t)sizeof(err) ? 127 : 126);
}

int command_prepare(struct command *command, char **argv)
{
    int go[2], failed[2];

    memset(command, 0, sizeof(*command));
    if (pipe2(go, O_CLOEXEC))
        return -1;
    if (pipe2(failed, O_CLOEXEC)) {
        close(go[0]);
        close(go[1]);
        return -1;
    }
    command->pid = fork();
    if (command->pid == 0) {
        close(go[1]);
        child(argv, go[0], failed[1]);
    }
    close(go[0]);
    close(failed[1]);
    command->go_fd = go[1];
    command->failed_fd = failed[0];
    if (command->pid > 0)
        return 0;
    command->pid = 0;
    close(go[1]);
    close(failed[0]);
    return -1;
}

void command_go(struct command *command)
{
    char byte = 1;
    ssize_t n;

    if (command->go_fd < 0)
        return;
    do
        n = write(command->go_fd, &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n != 1)
        command->go_error = errno;
    close(command->go_fd);
    command->go_fd = -1;
}

int command_failed(struct command *command)
{
    int err = command->go_error;
    ssize_t n;

    if (command->failed_fd < 0)
        return 0;
    do
        n = read(command->failed_fd, &err, sizeof(err));
    while (n < 0 && errno == EINTR);
    close(command->failed_fd);
    command->failed_fd = -1;
    return n == (ssize_t)sizeof(err) ? err : command->go_error;
}

void command_reaped(struct command *command, int status)
{
    command->status = status;
    command->ended = 1;
}

void command_end(struct command *command)
{
    int status;
    pid_t pid;

    if (!command->pid || command->ended)
        return;
    if (command->go_fd >= 0) {
        /* It has not become the command yet, and may be stopped: nothing else ends it. */
        close(command->go_fd);
        command->go_fd = -1;
        kill(command->pid, SIGKILL);
    } else {
        kill(command->pid, SIGTERM);
    }
    do {
        pid = waitpid(command->pid, &status, 0);
        if (pid > 0 && WIFSTOPPED(status)) /* on its way out, if it was attached to */
            (void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
    } while (pid < 0 ? errno == EINTR : WIFSTOPPED(status));
    if (pid == command->pid)
        command_reaped(command, status);
}

int command_exit_status(const struct command *command)
{
    struct rlimit no_core = {0, 0};

    if (!command->ended)
        return 0;
    if (WIFSIGNALED(command->status)) {
        setrlimit(RLIMIT_CORE, &no_core); /* the command has left one, if any */
        signal(WTERMSIG(command->status), SIG_DFL);
        raise(WTERMSIG(command->status));
        return 128 + WTERMSIG(command->status);
    }
    return WEXITSTATUS(command->status);
}
