/* SPDX-License-Identifier: BSD-3-Clause */
/* infile.c - see infile.h. */
#include "infile.h"

#include "opts.h"

#include <errno.h>
#include <fcntl.h>
#include <pt/io.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FAILED 3 /* exit status 2, plus 1 */

static int cannot_open(const char *prog, const char *name)
{
    opts_error(prog, "failed to open %s: %s.", name, strerror(errno));
    return FAILED;
}

/* All that a pipe or a terminal gives. */
static int read_all(struct infile *file, int fd)
{
    size_t cap = 0;
    uint8_t *buf = NULL;

    for (;;) {
        ssize_t n;
        if (file->base_len == cap) {
            uint8_t *more;
            cap = cap ? 2 * cap : 1 << 16;
            more = realloc(buf, cap);
            if (!more)
                break;
            buf = more;
        }
        n = read(fd, buf + file->base_len, cap - file->base_len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        if (n == 0) {
            file->base = buf;
            return 0;
        }
        file->base_len += (size_t)n;
    }
    free(buf);
    file->base_len = 0;
    return -1;
}

static int map_all(struct infile *file, int fd, size_t size)
{
    void *base;

    file->base_len = size;
    if (!size)
        return 0;
    base = ptl_map(file->name, fd, 0, size, PTL_MAP_WATCH);
    if (!base) {
        file->base_len = 0;
        return -1;
    }
    file->base = base;
    file->mapped = 1;
    /* Read once from begin to end: let the kernel read ahead, and forget what was read. */
    (void)madvise(base, size, MADV_SEQUENTIAL);
    return 0;
}

/* Where standard input is. */
static void find_begin(struct infile *file, int fd)
{
    off_t at = strcmp(file->name, "-") ? 0 : lseek(fd, 0, SEEK_CUR);

    if (at > 0)
        file->begin = (uint64_t)at < file->base_len ? (size_t)at : file->base_len;
}

/* "-" is standard input. */
static int open_input(const char *name)
{
    return strcmp(name, "-") ? ptl_open_input(name) : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
}

/* An empty file like any other. */
static int is_null(const struct stat *st)
{
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

static int load(struct infile *file, const char *prog)
{
    struct stat st;
    int fd = open_input(file->name), status = -1;

    if (fd < 0)
        return cannot_open(prog, file->name);
    if (!fstat(fd, &st)) {
        if (S_ISREG(st.st_mode) && (uint64_t)st.st_size > SIZE_MAX)
            errno = EFBIG;
        else if (S_ISREG(st.st_mode))
            status = map_all(file, fd, (size_t)st.st_size);
        else if (is_null(&st))
            status = 0;
        else if (S_ISBLK(st.st_mode) || (S_ISCHR(st.st_mode) && !isatty(fd)))
            errno = ENOTSUP; /* /dev/zero has no end */
        else
            status = read_all(file, fd);
    }
    if (status)
        status = cannot_open(prog, file->name);
    else if (file->mapped)
        find_begin(file, fd);
    close(fd);
    return status;
}

int infile_open(struct infile *file, const char *prog, const char *arg)
{
    struct file_range range;
    size_t len;
    int status;

    memset(file, 0, sizeof(*file));
    if (opts_file_range(&range, arg)) {
        opts_error(prog, "bad file %s: invalid argument.", arg);
        return FAILED;
    }
    file->name = range.name;
    status = load(file, prog);
    len = file->base_len - file->begin;
    if (!status && !len) {
        opts_error(prog, "%s: nothing to read: the input is empty.", file->name);
        status = FAILED;
    } else if (!status && range.from >= len) {
        opts_error(prog, "%s: the range begins at 0x%llx, behind the last of 0x%llx bytes.",
                   file->name, (unsigned long long)range.from, (unsigned long long)len);
        status = FAILED;
    } else if (!status && range.to > len) {
        opts_error(prog, "bad range 0x%llx in %s.", (unsigned long long)range.to, file->name);
        status = FAILED;
    }
    if (status) {
        infile_close(file);
        return status;
    }
    file->from = range.from;
    file->bytes = (const uint8_t *)file->base + file->begin + range.from;
    file->len = (size_t)((range.to ? range.to : len) - range.from);
    return 0;
}

void infile_forget(const struct infile *file, const uint8_t *pos)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE),
           n = (size_t)(pos - (const uint8_t *)file->base) / page * page;

    if (file->mapped && n)
        (void)madvise(file->base, n, MADV_DONTNEED);
}

void infile_done(struct infile *file, size_t upto)
{
    const size_t step = 4 << 20; /* pages are given back in pieces of this size */
    size_t begin = file->done, end = file->begin + (size_t)file->from + upto;

    if (end > file->base_len || end < begin + 2 * step)
        return;
    file->done = (end - step) & ~(step - 1);
    if (file->mapped)
        (void)madvise((char *)file->base + begin, file->done - begin, MADV_DONTNEED);
}

void infile_close(struct infile *file)
{
    if (file->mapped)
        ptl_unmap(file->base, file->base_len);
    else
        free(file->base);
    free(file->name);
    memset(file, 0, sizeof(*file));
}
