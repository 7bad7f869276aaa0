/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helper_splice - pass on standard input, a pipe, without reading it: pages move from there into
 * other pipes (splice), are kept there while the writer goes on, and come out only when those are
 * full. A writer that uses memory again that he has handed over is found out.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#define PIPES 12
#define SIZE  (1 << 20)

/* What the pipe can take. Returns 0 at the end of the input, 1 when it is full, or -1. */
static int fill(int pipe_end)
{
    for (;;) {
        struct pollfd wait = {.fd = STDIN_FILENO, .events = POLLIN};
        ssize_t n;

        if (poll(&wait, 1, -1) < 0)
            return -1;
        n = splice(STDIN_FILENO, NULL, pipe_end, NULL, SIZE, SPLICE_F_NONBLOCK);
        if (n <= 0)
            return n ? 1 : 0;
    }
}

static int empty(int pipe_end)
{
    static char buffer[64 << 10];
    ssize_t n;

    while ((n = read(pipe_end, buffer, sizeof(buffer))) > 0)
        for (ssize_t at = 0, done; at < n; at += done) {
            done = write(STDOUT_FILENO, buffer + at, (size_t)(n - at));
            if (done < 0)
                return -1;
        }
    return 0;
}

int main(void)
{
    int ends[PIPES][2], more = 1, used;

    for (int i = 0; i < PIPES; i++) {
        if (pipe2(ends[i], O_NONBLOCK)) {
            perror("helper_splice: pipe");
            return 2;
        }
        (void)fcntl(ends[i][1], F_SETPIPE_SZ, SIZE); /* may be refused: then they hold less */
    }
    while (more > 0) {
        for (used = 0; used < PIPES && more > 0; used++)
            more = fill(ends[used][1]);
        for (int i = 0; i < used; i++)
            if (empty(ends[i][0]))
                return 2;
    }
    return more < 0 ? 2 : 0;
}
