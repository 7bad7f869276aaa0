/* SPDX-License-Identifier: BSD-3-Clause */
/* open_again.h - open(2) that a signal does not fail: of a FIFO, or a file system over the network.
 */
#ifndef TOOL_OPEN_AGAIN_H
#define TOOL_OPEN_AGAIN_H

#include <errno.h>
#include <fcntl.h>

static inline int open_again(const char *path, int flags, mode_t mode)
{
    int fd;

    do
        fd = open(path, flags, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

#endif
