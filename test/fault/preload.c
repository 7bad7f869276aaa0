/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preload.c - make one call of a program into libc fail: LD_PRELOAD, with
 *
 *   FAULT_KIND   memory  what allocates, also in the kernel (maps, threads): ENOMEM
 *                io      open, read, write, map, look at a file, close it...: EIO
 *                space   what writes or makes a file: ENOSPC
 *                eintr   what waits: EINTR
 *                short   what reads or writes: one byte only
 *                event   what opens or controls events of the kernel: EIO
 *   FAULT_AT     which of these calls, from 1; 0: none
 *   FAULT_COUNT  a file to which the number of calls is written at the end
 *   FAULT_SERVE  instead of FAULT_AT, for programs of one thread: from FAULT_AT on at each
 *                FAULT_STEP-th call a child in which it fails, in a directory of this name with
 *                the number of the call. Files in the working directory are copied there and those
 *                that are open are the copies, so that the child finds all as if it were the
 *                program itself. When it has ended, its status is written to descriptor
 *                FAULT_TELL, a word of text, and one byte read from FAULT_GO; then the program
 *                goes on. FAULT_LIMIT: seconds that a child may take.
 *
 * Only the first process is meant, and not what libcapstone allocates: it does not look whether it
 * has got the memory (4.0.2 dereferences NULL), and no caller can mend that. Nor what the
 * sanitizers have libc allocate when a thread starts (pthread_getattr_np): without it they end the
 * process.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload.h"

enum kind { NONE, MEMORY, IO, SPACE, INTERRUPT, SHORT, EVENT };

static enum kind kind;
static unsigned long at, step;
static atomic_ulong calls;
static pid_t self;
static const char *count_path, *serve_path;
static unsigned limit;
static __thread int exempt; /* a sanitizer's allocations */

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static unsigned long number(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);

    return text ? strtoul(text, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void begin(void)
{
    static const char *const names[] = {"none", "memory", "io", "space", "eintr", "short", "event"};
    const char *text = getenv("FAULT_KIND");

    count_path = getenv("FAULT_COUNT");
    serve_path = getenv("FAULT_SERVE");
    at = number("FAULT_AT", 0);
    step = number("FAULT_STEP", 1);
    limit = (unsigned)number("FAULT_LIMIT", 0);
    self = getpid();
    for (unsigned i = 0; text && i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(text, names[i]))
            kind = (enum kind)i;
}

__attribute__((destructor)) static void end(void)
{
    unsigned long n = calls;
    char text[24];
    int fd;

    if (!count_path || getpid() != self)
        return;
    kind = NONE;
    fd = REAL(open)(count_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd >= 0) {
        (void)REAL(write)(fd, text, (size_t)snprintf(text, sizeof(text), "%lu\n", n));
        (void)REAL(close)(fd);
    }
}

static int is_capstone(const void *caller)
{
    Dl_info info;

    return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "libcapstone");
}

/* --- children in which a call fails ------------------------------------------------------------
 */

#define MOVE_LAST 64 /* descriptors that are looked at */

static _Noreturn void no_child(const char *what)
{
    dprintf(FAULT_TELL_FD, "%s: %s\n", what, strerror(errno));
    _exit(99);
}

/* All of one file to another one, wherever they stand. */
static void copy_bytes(int from, int to)
{
    char buf[65536];
    ssize_t n;
    off_t where = 0;

    for (; (n = REAL(pread)(from, buf, sizeof(buf), where)) > 0; where += n)
        if (REAL(pwrite)(to, buf, (size_t)n, where) != n)
            no_child("pwrite");
    if (n < 0)
        no_child("pread");
}

/* The files here, to the child's directory. */
static void copy_files(const char *dir)
{
    DIR *here = REAL(opendir)(".");
    struct dirent *entry;
    struct stat st;
    char path[4096];

    if (!here || (mkdir(dir, 0777) && errno != EEXIST))
        no_child(dir);
    while ((entry = REAL(readdir)(here)) != NULL) {
        int from, to;

        if (stat(entry->d_name, &st) || !S_ISREG(st.st_mode))
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
        from = REAL(open)(entry->d_name, O_RDONLY);
        to = REAL(open)(path, O_WRONLY | O_CREAT | O_TRUNC, st.st_mode & 07777);
        if (from < 0 || to < 0)
            no_child(path);
        copy_bytes(from, to);
        (void)REAL(close)(from);
        (void)REAL(close)(to);
    }
    closedir(here);
}

/* A descriptor of the child's own in place of one that it shares with its parent. */
static void own_file(int fd, const char *base, const char *dir)
{
    struct stat st;
    int flags = fcntl(fd, F_GETFL), close_it = fcntl(fd, F_GETFD), fresh;
    char link[64], path[4096];
    off_t where = lseek(fd, 0, SEEK_CUR);
    ssize_t n;

    if (flags < 0 || REAL(fstat)(fd, &st) || !S_ISREG(st.st_mode))
        return;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);
    if (n < 0)
        no_child(link);
    path[n] = 0;
    if (!st.st_nlink) { /* made, and deleted already */
        fresh = REAL(open)(dir, O_TMPFILE | O_RDWR, 0600);
        if (fresh >= 0)
            copy_bytes(fd, fresh);
    } else if (!strncmp(path, base, strlen(base)) && path[strlen(base)] == '/') {
        fresh = REAL(open)(path + strlen(base) + 1, flags & (O_ACCMODE | O_APPEND));
    } else {
        fresh = REAL(open)(link, flags & (O_ACCMODE | O_APPEND));
    }
    if (fresh < 0 || lseek(fresh, where, SEEK_SET) < 0 ||
        dup3(fresh, fd, close_it & FD_CLOEXEC ? O_CLOEXEC : 0) < 0)
        no_child(path);
    (void)REAL(close)(fresh);
}

static void be_child(unsigned long n)
{
    char base[2048], dir[2100];

    if (!getcwd(base, sizeof(base)))
        no_child("getcwd");
    snprintf(dir, sizeof(dir), "%s%lu", serve_path, n);
    copy_files(dir);
    if (chdir(dir))
        no_child(dir);
    for (int fd = 0; fd < MOVE_LAST; fd++)
        own_file(fd, base, dir);
    (void)REAL(close)(FAULT_TELL_FD);
    (void)REAL(close)(FAULT_GO_FD);
    serve_path = count_path = NULL;
    at = 0;
    self = getpid();
    alarm(limit);
}

/* Returns 1 in the child, and 0 in the parent when it has ended. */
static int serve(unsigned long n)
{
    int saved = errno, status = 0;
    enum kind this = kind;
    pid_t child;
    char go;

    if (n < at || (n - at) % step)
        return 0;
    kind = NONE;
    child = fork();
    if (!child) {
        be_child(n);
        kind = this;
        return 1;
    }
    if (child < 0)
        no_child("fork");
    while (REAL(waitpid)(child, &status, 0) < 0 && errno == EINTR)
        ;
    dprintf(FAULT_TELL_FD, "%lu %d\n", n, status);
    if (REAL(read)(FAULT_GO_FD, &go, 1) != 1)
        no_child("go");
    kind = this;
    errno = saved;
    return 0;
}

/* Debuggers stop here: break fault_here. */
__attribute__((noinline)) void fault_here(void);
void fault_here(void)
{
    __asm__ volatile("");
}

/* Is this the call that fails? */
static int now(unsigned kinds)
{
    unsigned long n;
    int fails;

    if (!(kinds >> kind & 1) || kind == NONE || getpid() != self)
        return 0;
    n = ++calls;
    fails = serve_path ? serve(n) : n == at;
    if (fails)
        fault_here();
    return fails;
}

#define IN(k) (1u << (k))

/* --- memory: allocations before `begin` come from dlsym() itself --------------------------------
 */

static int no_memory(const void *caller)
{
    if (!self || kind != MEMORY || exempt || is_capstone(caller) || !now(IN(MEMORY)))
        return 0;
    errno = ENOMEM;
    return 1;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t size)
{
    static void *(*real)(size_t);

    if (!real)
        real = REAL(malloc);
    return no_memory(CALLER) ? NULL : real(size);
}

void *calloc(size_t n, size_t size)
{
    static void *(*real)(size_t, size_t);

    if (!real)
        real = REAL(calloc);
    return no_memory(CALLER) ? NULL : real(n, size);
}

void *realloc(void *p, size_t size)
{
    static void *(*real)(void *, size_t);

    if (!real)
        real = REAL(realloc);
    return no_memory(CALLER) ? NULL : real(p, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return no_memory(CALLER) ? NULL : REAL(aligned_alloc)(alignment, size);
}

/* The sanitizers' own allocate where these cannot see it. */
char *strdup(const char *s)
{
    return no_memory(CALLER) ? NULL : REAL(strdup)(s);
}

char *strndup(const char *s, size_t n)
{
    return no_memory(CALLER) ? NULL : REAL(strndup)(s, n);
}

int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
    int status;

    exempt = 1;
    status = REAL(pthread_getattr_np)(thread, attr);
    exempt = 0;
    return status;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
    return no_memory(CALLER) ? EAGAIN : REAL(pthread_create)(thread, attr, start, arg);
}

/* --- files
 * ------------------------------------------------------------------------------------------ */

static int fails(unsigned kinds)
{
    if (!now(kinds))
        return 0;
    errno = kind == SPACE ? ENOSPC : kind == INTERRUPT ? EINTR : kind == MEMORY ? ENOMEM : EIO;
    return 1;
}

static int fails_open(int flags)
{
    return fails(IN(IO) | IN(INTERRUPT) | (flags & O_CREAT ? IN(SPACE) : 0));
}

int open(const char *path, int flags, ...)
{
    va_list ap;
    mode_t mode;

    va_start(ap, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return fails_open(flags) ? -1 : REAL(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list ap;
    mode_t mode;

    va_start(ap, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return fails_open(flags) ? -1 : REAL(open)(path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    return fails(IN(IO)) ? NULL : REAL(fopen)(path, mode);
}

/* Of a stream that has failed ferror() tells. */
static int fails_stream(FILE *file)
{
    if (!fails(IN(IO)))
        return 0;
    file->_flags |= _IO_ERR_SEEN;
    return 1;
}

char *fgets(char *line, int size, FILE *file)
{
    return fails_stream(file) ? NULL : REAL(fgets)(line, size, file);
}

/* What getline() is, and fscanf(). */
ssize_t __getdelim(char **line, size_t *size, int delimiter, FILE *file)
{
    return fails_stream(file) ? -1 : REAL(__getdelim)(line, size, delimiter, file);
}

int __isoc99_fscanf(FILE *file, const char *format, ...);
int __isoc99_fscanf(FILE *file, const char *format, ...)
{
    va_list ap;
    int n;

    if (fails_stream(file))
        return EOF;
    va_start(ap, format);
    n = vfscanf(file, format, ap);
    va_end(ap);
    return n;
}

DIR *opendir(const char *path)
{
    return fails(IN(IO)) ? NULL : REAL(opendir)(path);
}

struct dirent *readdir(DIR *dir)
{
    return fails(IN(IO)) ? NULL : REAL(readdir)(dir);
}

int mkostemp(char *name, int flags)
{
    return fails(IN(IO) | IN(SPACE)) ? -1 : REAL(mkostemp)(name, flags);
}

int mkdir(const char *path, mode_t mode)
{
    return fails(IN(IO) | IN(SPACE)) ? -1 : REAL(mkdir)(path, mode);
}

int rename(const char *from, const char *to)
{
    return fails(IN(IO) | IN(SPACE)) ? -1 : REAL(rename)(from, to);
}

/* Closed it is, but what was written may be lost. */
int close(int fd)
{
    int status = REAL(close)(fd);

    return status || !fails(IN(IO) | IN(SPACE)) ? status : -1;
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
    TRANSFER(IN(IO) | IN(SPACE) | IN(INTERRUPT), REAL(writev)(fd, parts, n),
             n && parts[0].iov_len ? REAL(write)(fd, parts[0].iov_base, 1)
                                   : REAL(writev)(fd, parts, n));
}

ssize_t vmsplice(int fd, const struct iovec *parts, size_t n, unsigned flags)
{
    const struct iovec one = {parts->iov_base, parts->iov_len ? 1 : 0};

    TRANSFER(IN(IO) | IN(INTERRUPT), REAL(vmsplice)(fd, parts, n, flags),
             REAL(vmsplice)(fd, &one, 1, flags));
}

/* What belongs to no file is memory only. */
void *mmap(void *addr, size_t n, int prot, int flags, int fd, off_t where)
{
    if (fd < 0 ? no_memory(CALLER) : fails(IN(IO) | IN(MEMORY)))
        return MAP_FAILED;
    return REAL(mmap)(addr, n, prot, flags, fd, where);
}

int fstat(int fd, struct stat *st)
{
    return fails(IN(IO)) ? -1 : REAL(fstat)(fd, st);
}

int stat(const char *path, struct stat *st)
{
    return fails(IN(IO)) ? -1 : REAL(stat)(path, st);
}

int lstat(const char *path, struct stat *st)
{
    return fails(IN(IO)) ? -1 : REAL(lstat)(path, st);
}

ssize_t readlink(const char *path, char *buf, size_t size)
{
    return fails(IN(IO)) ? -1 : REAL(readlink)(path, buf, size);
}

off_t lseek(int fd, off_t where, int whence)
{
    return fails(IN(IO)) ? -1 : REAL(lseek)(fd, where, whence);
}

int ftruncate(int fd, off_t size)
{
    return fails(IN(IO) | IN(SPACE)) ? -1 : REAL(ftruncate)(fd, size);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
    return fails(IN(INTERRUPT)) ? -1 : REAL(waitpid)(pid, status, options);
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
    return fails(IN(INTERRUPT) | IN(MEMORY)) ? -1 : REAL(poll)(fds, n, timeout);
}

/* All of it is still to come. */
int nanosleep(const struct timespec *time, struct timespec *left)
{
    if (!fails(IN(INTERRUPT)))
        return REAL(nanosleep)(time, left);
    if (left)
        *left = *time;
    return -1;
}

/* --- events ------------------------------------------------------------------------------------
 */

int ioctl(int fd, unsigned long request, ...)
{
    va_list ap;
    void *argument;

    va_start(ap, request);
    argument = va_arg(ap, void *);
    va_end(ap);
    return fails(IN(EVENT)) ? -1 : REAL(ioctl)(fd, request, argument);
}

long syscall(long number_of, ...)
{
    va_list ap;
    long a[6];

    va_start(ap, number_of);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (number_of == SYS_perf_event_open && fails(IN(EVENT)))
        return -1;
    return REAL(syscall)(number_of, a[0], a[1], a[2], a[3], a[4], a[5]);
}

pid_t fork(void)
{
    return no_memory(CALLER) ? -1 : REAL(fork)();
}

/* The memory of another process: no short ones, those end at a page that cannot be read. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long n_local,
                         const struct iovec *remote, unsigned long n_remote, unsigned long flags)
{
    return fails(IN(IO)) ? -1
                         : REAL(process_vm_readv)(pid, local, n_local, remote, n_remote, flags);
}
