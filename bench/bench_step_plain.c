/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_step_plain.c - a command under nothing but PTRACE_SINGLESTEP and waitpid(): what the
 * software recorder is measured against.
 *
 *     bench_step_plain COMMAND...       prints: stops seconds
 */
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    unsigned long stops = 0;
    double start;
    int status;
    pid_t pid;

    if (argc < 2)
        return 2;
    pid = fork();
    if (!pid) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        return 1;
    start = now();
    while (!ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) && waitpid(pid, &status, 0) == pid &&
           WIFSTOPPED(status))
        stops++;
    printf("%lu %.3f\n", stops, now() - start);
    return 0;
}
