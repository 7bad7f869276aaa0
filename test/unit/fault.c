/* SPDX-License-Identifier: BSD-3-Clause */
/* fault.c - see fault.h. */
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>

static atomic_uint armed; /* kinds */
static atomic_uint left;  /* calls until the one that fails; 0: it has come */

/* WRAP(kind, errno, what to return, type, name, parameters, arguments) */
#define WRAP(kind, error, result, type, name, params, args)                                        \
    type __real_##name params;                                                                     \
    type __wrap_##name params;                                                                     \
    type __wrap_##name params                                                                      \
    {                                                                                              \
        if (fails(kind)) {                                                                         \
            errno = (error);                                                                       \
            return result;                                                                         \
        }                                                                                          \
        return __real_##name args;                                                                 \
    }

static int fails(unsigned kind)
{
    unsigned n = atomic_load(&left);

    if (!(atomic_load(&armed) & kind))
        return 0;
    while (n && !atomic_compare_exchange_weak(&left, &n, n - 1))
        ;
    return n == 1;
}

WRAP(FAULT_MEMORY, ENOMEM, NULL, void *, malloc, (size_t size), (size))
WRAP(FAULT_MEMORY, ENOMEM, NULL, void *, calloc, (size_t count, size_t size), (count, size))
WRAP(FAULT_MEMORY, ENOMEM, NULL, void *, realloc, (void *p, size_t size), (p, size))
WRAP(FAULT_FILES, EIO, -1, int, stat, (const char *path, struct stat *st), (path, st))
WRAP(FAULT_FILES, EIO, -1, int, fstat, (int fd, struct stat *st), (fd, st))
WRAP(FAULT_FILES, EIO, -1, ssize_t, read, (int fd, void *buf, size_t n), (fd, buf, n))
WRAP(FAULT_FILES, EIO, -1, ssize_t, pread, (int fd, void *buf, size_t n, off_t at),
     (fd, buf, n, at))
WRAP(FAULT_FILES, EIO, -1, ssize_t, write, (int fd, const void *buf, size_t n), (fd, buf, n))
WRAP(FAULT_FILES, EIO, -1, ssize_t, pwrite, (int fd, const void *buf, size_t n, off_t at),
     (fd, buf, n, at))
WRAP(FAULT_FILES, EIO, MAP_FAILED, void *, mmap,
     (void *addr, size_t len, int prot, int flags, int fd, off_t at),
     (addr, len, prot, flags, fd, at))

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode = 0;

    if (fails(FAULT_FILES)) {
        errno = EIO;
        return -1;
    }
    va_start(args, flags);
    if (flags & (O_CREAT | O_TMPFILE))
        mode = va_arg(args, mode_t);
    va_end(args);
    return __real_open(path, flags, mode);
}

void fault_arm(unsigned kinds, unsigned n)
{
    atomic_store(&left, n);
    atomic_store(&armed, kinds);
}

int fault_disarm(void)
{
    atomic_store(&armed, 0);
    return atomic_load(&left) == 0;
}
