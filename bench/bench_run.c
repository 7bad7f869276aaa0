/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_run.c - run commands in turn, several times, and tell for each the median of its
 * processor time and its peak memory.
 *
 *     bench_run ROUNDS -- COMMAND... [-- COMMAND...]...
 *
 * Prints a line a command: seconds (user and system), KiB of resident memory at most. The
 * commands take turns, so that a slow minute of the machine hits all of them. Output of the
 * commands goes to /dev/null, but what a bench_... says: "N seconds" at its end counts
 * instead. Exit status 1 if a command fails with more than 1.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMANDS_MAX 32
#define ROUNDS_MAX   99

struct command {
    char **argv;
    double seconds[ROUNDS_MAX];
    long rss;
};

static double seconds(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

/* "... 0.123 seconds" at the end of what was said; else 0. */
static double told(FILE *said)
{
    char text[512], *end, *begin;
    size_t n;

    n = fread(text, 1, sizeof(text) - 1, said);
    text[n] = 0;
    end = strstr(text, " seconds");
    if (!end)
        return 0;
    *end = 0;
    begin = strrchr(text, ' ');
    return begin ? atof(begin) : 0;
}

static int run(struct command *command, int round)
{
    FILE *said = strstr(command->argv[0], "bench_") ? tmpfile() : NULL;
    struct rusage usage;
    double own = 0;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(said ? fileno(said) : null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execvp(command->argv[0], command->argv);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) ||
        WEXITSTATUS(status) > 1) {
        fprintf(stderr, "bench_run: %s failed\n", command->argv[0]);
        if (said)
            fclose(said);
        return -1;
    }
    if (said) {
        rewind(said);
        own = told(said);
        fclose(said);
    }
    command->seconds[round] = own > 0 ? own : seconds(&usage.ru_utime) + seconds(&usage.ru_stime);
    if (usage.ru_maxrss > command->rss)
        command->rss = usage.ru_maxrss;
    return 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static struct command commands[COMMANDS_MAX];
    int n = 0, rounds = argc > 1 ? atoi(argv[1]) : 0;

    for (int i = 2; i < argc && n < COMMANDS_MAX; i++)
        if (!strcmp(argv[i], "--")) {
            commands[n++].argv = argv + i + 1;
            argv[i] = NULL;
        }
    if (!n || rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench_run ROUNDS -- COMMAND... [-- COMMAND...]...\n");
        return 2;
    }
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < n; i++)
            if (run(&commands[i], round))
                return 1;
    for (int i = 0; i < n; i++) {
        qsort(commands[i].seconds, (size_t)rounds, sizeof(double), by_value);
        printf("%.4f %ld\n", commands[i].seconds[rounds / 2], commands[i].rss);
    }
    return 0;
}
