/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preload.c - run a program on damaged versions of a file (versions.h): LD_PRELOAD, with
 *
 *   MUTATE_FILE  the file
 *   MUTATE_AT    where its versions are to be: the program's arguments name this one
 *   MUTATE_KIND  prefix, bytes, values, swaps
 *   MUTATE_STEP  every so many versions
 *
 * main() runs once for each version, in a process forked just before it, so that nothing has to be
 * loaded again. Each run has to end with 0, 1 or 2, in time and memory that the file's size
 * allows; if it is not 0, with a message. Of a cut recording it must not be 0.
 */
#include "versions.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_NS      200000000u /* whatever the file: sanitizers are slow */
#define LIMIT_MEMORY  (24u << 20)
#define LIMIT_SECONDS 60    /* stopped then */
#define BYTE_NS       1000u /* and whatever the unchanged file costs */
#define BYTE_MEMORY   64u

static int (*real_main)(int argc, char **argv, char **env);
static char **arguments, **environment;
static int argument_count, messages;

static void child(void)
{
    struct rlimit limit = {LIMIT_SECONDS, LIMIT_SECONDS};
    int null = open("/dev/null", O_RDWR);

    if (null < 0 || ftruncate(messages, 0) || lseek(messages, 0, SEEK_SET) ||
        setrlimit(RLIMIT_CPU, &limit) || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
        dup2(messages, 2) < 0)
        _exit(98);
    exit(real_main(argument_count, arguments, environment));
}

static void fail(const char *what, int status)
{
    char text[2048];
    ssize_t n = pread(messages, text, sizeof(text) - 1, 0);

    text[n > 0 ? n : 0] = 0;
    fprintf(stderr, "%s, status %#x: %s\n", what, (unsigned)status, text);
}

static int run(struct versions *v, struct cost *cost)
{
    struct rusage usage;
    struct stat told;
    int status = 0;
    pid_t pid = fork();

    (void)v;
    if (!pid)
        child();
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || fstat(messages, &told)) {
        perror("cannot run");
        exit(1);
    }
    cost->ns = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
               (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
    cost->memory = (uint64_t)usage.ru_maxrss << 10;
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 2) {
        fail("crashed, or did not end", status);
        return -1;
    }
    if (status && !told.st_size) {
        fail("no message", status);
        return -1;
    }
    return status != 0;
}

static int versions_main(int argc, char **argv, char **env)
{
    const char *file = getenv("MUTATE_FILE"), *at = getenv("MUTATE_AT"),
               *kind = getenv("MUTATE_KIND"), *step = getenv("MUTATE_STEP");
    struct versions v = {.name = file,
                         .run = run,
                         .limit_base = {LIMIT_NS, LIMIT_MEMORY},
                         .limit_byte = {BYTE_NS, BYTE_MEMORY}};

    if (!file || !at || !kind || !step || !strtoul(step, NULL, 0))
        return real_main(argc, argv, env); /* a shell before the program */
    argument_count = argc;
    arguments = argv;
    environment = env;
    messages = memfd_create("messages", MFD_CLOEXEC);
    v.fd = open(at, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (messages < 0 || v.fd < 0 || versions_open(&v, file) < 0)
        return 2;
    versions_run(&v, kind, strtoul(step, NULL, 0));
    fflush(stdout);
    _exit(0); /* what the program does at its end is not for this process */
}

int __libc_start_main(int (*start)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void), void (*rtld)(void), void *stack);

int __libc_start_main(int (*start)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void), void (*rtld)(void), void *stack)
{
    __typeof__(&__libc_start_main) real = (__typeof__(real))dlsym(RTLD_NEXT, "__libc_start_main");

    real_main = start;
    return real(versions_main, argc, argv, init, fini, rtld, stack);
}
