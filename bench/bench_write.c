/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_write BYTES: so many bytes of one buffer to standard output, which is what a program that
 * prints as much could cost at the least.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER ((size_t)256 << 10) /* as the tools have it */

int main(int argc, char **argv)
{
    unsigned long long left = argc == 2 ? strtoull(argv[1], NULL, 0) : 0;
    static char buffer[BUFFER];

    if (!left) {
        fprintf(stderr, "usage: bench_write BYTES\n");
        return 2;
    }
    memset(buffer, '\n', BUFFER);
    (void)fcntl(STDOUT_FILENO, F_SETPIPE_SZ, 1 << 20);
    while (left) {
        ssize_t n = write(STDOUT_FILENO, buffer, left < BUFFER ? (size_t)left : BUFFER);

        if (n < 0 && errno != EINTR)
            return 1;
        left -= n > 0 ? (unsigned long long)n : 0;
    }
    return 0;
}
