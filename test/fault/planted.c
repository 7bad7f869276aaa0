/* SPDX-License-Identifier: BSD-3-Clause */
/* planted.c - what helper_fault must find, or must not: planted
 * good|crash|silent|partial|whole|leak */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int say(const char *what)
{
    fprintf(stderr, "planted: %s\n", what);
    return 1;
}

/* Everything is looked at. */
static int good(int *fd, char *p)
{
    size_t n = 0;

    strcpy(p, "two words\n");
    while (n < 10) {
        ssize_t more = write(*fd, p + n, 10 - n);
        if (more < 0)
            return say("cannot write");
        n += (size_t)more;
    }
    if (close(*fd))
        return say("cannot write");
    return 0;
}

int main(int argc, char **argv)
{
    const char *bug = argc > 1 ? argv[1] : "";
    int fd = open("made.txt", O_WRONLY | O_CREAT | O_TRUNC, 0666), status = 0;
    char *p = malloc(64), *q = NULL;

    if (!p && strcmp(bug, "crash") != 0)
        return strcmp(bug, "silent") ? say("out of memory") : 1;
    p[0] = 0;
    q = malloc(64);
    if (!q && !strcmp(bug, "leak"))
        p = NULL; /* and is lost */
    if (!q) {
        free(p);
        return say("out of memory");
    }
    if (fd < 0) {
        status = say("cannot open made.txt");
    } else if (!strcmp(bug, "partial") || !strcmp(bug, "whole")) {
        ssize_t n = write(fd, "two ", 4), m = write(fd, "words\n", 6);
        status = *bug == 'w' && n + m != 10 ? say("cannot write") : 0;
    } else {
        status = good(&fd, p);
    }
    free(p);
    free(q);
    return status;
}
