/* SPDX-License-Identifier: BSD-3-Clause */
/* io.c - see pt/io.h. */
#include <pt/io.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITER_WAIT_MS 2000

int ptl_open(const char *path, int flags, unsigned mode)
{
    int fd;

    do
        fd = open(path, flags | O_CLOEXEC, (mode_t)mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int ptl_open_input(const char *path)
{
    struct pollfd ready = {.events = POLLIN};
    struct stat st;

    ready.fd = ptl_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    if (ready.fd < 0)
        return -1;
    if (!fstat(ready.fd, &st) && S_ISFIFO(st.st_mode))
        (void)poll(&ready, 1, WRITER_WAIT_MS);
    if (fcntl(ready.fd, F_SETFL, 0)) {
        close(ready.fd);
        return -1;
    }
    return ready.fd;
}
