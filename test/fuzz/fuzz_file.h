/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_file.h - the input as a file, for functions that take a name: in memory, or below a
 * directory of its own that is removed at the end.
 */
#ifndef TEST_FUZZ_FILE_H
#define TEST_FUZZ_FILE_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct fuzz_file {
    int fd;
    char path[256];
};

static inline void fuzz_file_write(const struct fuzz_file *file, const uint8_t *data, size_t size)
{
    if (ftruncate(file->fd, 0) < 0 || pwrite(file->fd, data, size, 0) != (ssize_t)size)
        abort();
}

/* `file` is zero before its first use. */
static inline void fuzz_file_set(struct fuzz_file *file, const uint8_t *data, size_t size)
{
    if (!file->path[0]) {
        file->fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
    }
    fuzz_file_write(file, data, size);
}

/* A directory in memory where there is one. The same name each time the program runs with the same
 * process number, so nothing piles up. */
static inline const char *fuzz_directory(void)
{
    static char path[64];

    if (path[0])
        return path;
    snprintf(path, sizeof(path), "%s/pt-fuzz-%d", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm",
             (int)getpid());
    if (mkdir(path, 0700) && access(path, W_OK))
        abort();
    return path;
}

static inline void fuzz_file_in(struct fuzz_file *file, const char *name, const uint8_t *data,
                                size_t size)
{
    if (!file->path[0]) {
        snprintf(file->path, sizeof(file->path), "%s/%s", fuzz_directory(), name);
        file->fd = open(file->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (file->fd < 0)
            abort();
    }
    fuzz_file_write(file, data, size);
}

#endif
