/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preload.c - make one call of a program into libc fail: LD_PRELOAD, with
 *
 *   FAULT_KIND   memory  malloc, calloc, realloc: ENOMEM
 *                io      open, read, pread, write, pwrite, writev, mmap, fstat, ftruncate: EIO
 *                space   write, pwrite, writev: ENOSPC
 *                eintr   open, read, write, waitpid: EINTR
 *                short   read, pread, write, pwrite, writev: one byte only
 *   FAULT_AT     which of these calls, from 1; 0: none
 *   FAULT_COUNT  a file to which the number of calls is written at the end
 *
 * Only the first process is meant, and not what libcapstone allocates: it does not look whether it
 * has got the memory (4.0.2 dereferences NULL), and no caller can mend that.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum kind { NONE, MEMORY, IO, SPACE, INTERRUPT, SHORT };

static enum kind kind;
static unsigned long at;
static atomic_ulong calls;
static pid_t self;
static const char *count_path;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void)
{
    static const char *const names[] = {"none", "memory", "io", "space", "eintr", "short"};
    const char *text = getenv("FAULT_KIND"), *n = getenv("FAULT_AT");

    count_path = getenv("FAULT_COUNT");
    at = n ? strtoul(n, NULL, 10) : 0;
    self = getpid();
    for (unsigned i = 0; text && i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(text, names[i]))
            kind = (enum kind)i;
}

__attribute__((destructor)) static void end(void)
{
    unsigned long n = calls;
    FILE *f;

    if (!count_path || getpid() != self)
        return;
    kind = NONE;
    f = fopen(count_path, "w");
    if (f) {
        fprintf(f, "%lu\n", n);
        fclose(f);
    }
}

static int is_capstone(const void *caller)
{
    Dl_info info;

    return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "libcapstone");
}

/* Is this the call that fails? */
static int now(unsigned kinds)
{
    return kinds >> kind & 1 && kind != NONE && getpid() == self && ++calls == at;
}

#define IN(k) (1u << (k))

/* --- memory: allocations before `begin` come from dlsym() itself --------------------------------
 */

void *malloc(size_t size)
{
    static void *(*real)(size_t);

    if (!real)
        real = REAL(malloc);
    if (self && kind == MEMORY && !is_capstone(__builtin_return_address(0)) && now(IN(MEMORY))) {
        errno = ENOMEM;
        return NULL;
    }
    return real(size);
}

void *calloc(size_t n, size_t size)
{
    static void *(*real)(size_t, size_t);

    if (!real)
        real = REAL(calloc);
    if (self && kind == MEMORY && !is_capstone(__builtin_return_address(0)) && now(IN(MEMORY))) {
        errno = ENOMEM;
        return NULL;
    }
    return real(n, size);
}

void *realloc(void *p, size_t size)
{
    static void *(*real)(void *, size_t);

    if (!real)
        real = REAL(realloc);
    if (self && kind == MEMORY && !is_capstone(__builtin_return_address(0)) && now(IN(MEMORY))) {
        errno = ENOMEM;
        return NULL;
    }
    return real(p, size);
}

/* --- files
 * ------------------------------------------------------------------------------------------ */

static int fails(unsigned kinds)
{
    if (!now(kinds))
        return 0;
    errno = kind == SPACE ? ENOSPC : kind == INTERRUPT ? EINTR : EIO;
    return 1;
}

int open(const char *path, int flags, ...)
{
    va_list ap;
    mode_t mode;

    va_start(ap, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return fails(IN(IO) | IN(INTERRUPT)) ? -1 : REAL(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list ap;
    mode_t mode;

    va_start(ap, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return fails(IN(IO) | IN(INTERRUPT)) ? -1 : REAL(open)(path, flags, mode);
}

/* Short calls do a byte of the work. */
#define TRANSFER(kinds, call, less)                                                                \
    do {                                                                                           \
        if (kind == SHORT)                                                                         \
            return now(IN(SHORT)) ? less : call;                                                   \
        return fails(kinds) ? -1 : call;                                                           \
    } while (0)

ssize_t read(int fd, void *buf, size_t n)
{
    TRANSFER(IN(IO) | IN(INTERRUPT), REAL(read)(fd, buf, n), REAL(read)(fd, buf, n ? 1 : 0));
}

ssize_t pread(int fd, void *buf, size_t n, off_t where)
{
    TRANSFER(IN(IO), REAL(pread)(fd, buf, n, where), REAL(pread)(fd, buf, n ? 1 : 0, where));
}

ssize_t write(int fd, const void *buf, size_t n)
{
    if (fd == STDERR_FILENO)
        return REAL(write)(fd, buf, n); /* the message about it */
    TRANSFER(IN(IO) | IN(SPACE) | IN(INTERRUPT), REAL(write)(fd, buf, n),
             REAL(write)(fd, buf, n ? 1 : 0));
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t where)
{
    TRANSFER(IN(IO) | IN(SPACE), REAL(pwrite)(fd, buf, n, where),
             REAL(pwrite)(fd, buf, n ? 1 : 0, where));
}

ssize_t writev(int fd, const struct iovec *parts, int n)
{
    if (fd == STDERR_FILENO)
        return REAL(writev)(fd, parts, n);
    TRANSFER(IN(IO) | IN(SPACE), REAL(writev)(fd, parts, n),
             n && parts[0].iov_len ? REAL(write)(fd, parts[0].iov_base, 1)
                                   : REAL(writev)(fd, parts, n));
}

void *mmap(void *addr, size_t n, int prot, int flags, int fd, off_t where)
{
    return fd >= 0 && fails(IN(IO)) ? MAP_FAILED : REAL(mmap)(addr, n, prot, flags, fd, where);
}

int fstat(int fd, struct stat *st)
{
    return fails(IN(IO)) ? -1 : REAL(fstat)(fd, st);
}

int ftruncate(int fd, off_t size)
{
    return fails(IN(IO) | IN(SPACE)) ? -1 : REAL(ftruncate)(fd, size);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
    return fails(IN(INTERRUPT)) ? -1 : REAL(waitpid)(pid, status, options);
}
