/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map.c - bytes of files as memory: mapped where possible, spooled to an unlinked
 * temporary file where not (pipes), so that they never count against the heap.
 */
#include "perfdata/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pt/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAP_MAX ((size_t)4 << 20) /* a spill larger than this goes to a file */
#define BLOCK    ((size_t)256 << 10)
/* So much the kernel maps around a byte of a file that is touched, also before it. */
#define AROUND ((uint64_t)64 << 10)

static int fail(struct ptl_perf_problem *problem, int status, const char *what)
{
    problem->status = status;
    problem->err = errno;
    snprintf(problem->text, sizeof(problem->text), "%s", what);
    return status;
}

/* A device may have no end, and reading it may have effects. */
static int refuse(struct ptl_perf_problem *problem, int err)
{
    errno = err;
    return fail(problem, PTL_BAD_FILE, "not a file or pipe");
}

/* An unlinked file; -1 with errno. */
static int temporary(const char *dir)
{
    char name[4096];
    int fd;

    if (!dir)
        dir = getenv("TMPDIR");
    if (!dir || !*dir)
        dir = "/tmp";
    fd = ptl_open(dir, O_TMPFILE | O_RDWR, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    if (snprintf(name, sizeof(name), "%s/ptXXXXXX", dir) >= (int)sizeof(name)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        unlink(name);
    return fd;
}

static int write_all(int fd, const uint8_t *bytes, size_t len)
{
    while (len) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

static int map_fd(struct view *view, const char *name, int fd, uint64_t len)
{
    void *p;

    view->len = len;
    view->mapped = 0;
    view->bytes = (const uint8_t *)"";
    if (!len)
        return 0;
    p = ptl_map(name, fd, 0, len, PTL_MAP_WATCH);
    if (!p)
        return -1;
    view->bytes = p;
    view->mapped = 1;
    return 0;
}

/* Everything that can be read from `in`, in a temporary file. */
static int spool(struct view *view, int in, const char *tmpdir, struct ptl_perf_problem *problem)
{
    uint8_t *block = ptl__malloc(BLOCK);
    int fd = temporary(tmpdir), status = 0;
    uint64_t len = 0;

    if (!block)
        status = fail(problem, PTL_NOMEM, "out of memory");
    else if (fd < 0)
        status = fail(problem, PTL_IO, "no temporary file for the spooled input");
    while (!status) {
        ssize_t n = read(in, block, BLOCK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = fail(problem, PTL_BAD_FILE, "cannot read");
        if (n <= 0)
            break;
        if (write_all(fd, block, (size_t)n))
            status = fail(problem, PTL_IO, "cannot write the spooled input");
        len += (uint64_t)n;
    }
    ptl__free(block);
    if (!status && map_fd(view, "temporary file", fd, len))
        status = fail(problem, PTL_IO, "cannot map the spooled input");
    if (fd >= 0)
        close(fd);
    return status;
}

int ptl__view_path(struct view *view, const char *path, const char *tmpdir,
                   struct ptl_perf_problem *problem)
{
    int use_stdin = !strcmp(path, "-");
    int fd = use_stdin ? STDIN_FILENO : ptl_open_input(path);
    struct stat st;
    int status;

    if (fd < 0)
        return fail(problem, PTL_BAD_FILE, "cannot open");
    if (fstat(fd, &st))
        status = fail(problem, PTL_BAD_FILE, "cannot stat");
    else if (!use_stdin && !S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
        status = refuse(problem, S_ISDIR(st.st_mode) ? EISDIR : ENOTSUP);
    else if (!S_ISREG(st.st_mode) || (use_stdin && lseek(fd, 0, SEEK_CUR) != 0))
        status = spool(view, fd, tmpdir, problem);
    else if (map_fd(view, path, fd, (uint64_t)st.st_size))
        status = fail(problem, PTL_BAD_FILE, "cannot map");
    else
        status = 0;
    if (!status && !use_stdin && view->mapped && S_ISREG(st.st_mode))
        view->file = fd + 1;
    else if (!use_stdin)
        close(fd);
    return status;
}

int ptl__view_release(const struct view *view, const uint8_t *bytes, uint64_t len)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t at;

    if (!view->mapped || bytes < view->bytes || (uint64_t)(bytes - view->bytes) >= view->len)
        return 0;
    at = (uint64_t)(bytes - view->bytes);
    at = (at > AROUND ? at - AROUND : 0) / page * page;
    len += (uint64_t)(bytes - view->bytes) - at;
    if (len > view->len - at)
        len = view->len - at;
    /* Pages of a file that is mapped read-only: reading them again brings them back. */
    (void)madvise((void *)(uintptr_t)(view->bytes + at), len, MADV_DONTNEED);
    return 1;
}

size_t ptl__view_read(const struct view *view, uint64_t at, uint8_t *buf, size_t size)
{
    ssize_t n = -1;

    if (at >= view->len)
        return 0;
    if (size > view->len - at)
        size = view->len - at;
    do {
        if (view->file)
            n = pread(view->file - 1, buf, size, (off_t)at);
    } while (view->file && n < 0 && errno == EINTR);
    return n < 0 ? 0 : (size_t)n;
}

void ptl__view_pass(const struct view *view, uint64_t from, uint64_t to)
{
    uint64_t begin = from / PASS_STEP * PASS_STEP, end = to / PASS_STEP * PASS_STEP;

    if (end > begin)
        (void)ptl__view_release(view, view->bytes + begin, end - begin);
}

void ptl__view_close(struct view *view)
{
    if (view->mapped)
        ptl_unmap((void *)(uintptr_t)view->bytes, view->len);
    if (view->file)
        close(view->file - 1);
    memset(view, 0, sizeof(*view));
}

int ptl__spill_add(struct spill *spill, const char *tmpdir, const void *bytes, size_t len)
{
    if (spill->fd < 0 && spill->len + len > HEAP_MAX) {
        spill->fd = temporary(tmpdir);
        if (spill->fd < 0 || write_all(spill->fd, spill->heap, spill->len))
            return PTL_IO;
    }
    if (spill->fd >= 0) {
        if (write_all(spill->fd, bytes, len))
            return PTL_IO;
    } else {
        if (ptl__grow((void **)&spill->heap, &spill->heap_cap, spill->len + len, HEAP_MAX, 1))
            return PTL_NOMEM;
        if (len)
            memcpy(spill->heap + spill->len, bytes, len);
    }
    spill->len += len;
    return 0;
}

int ptl__spill_map(struct spill *spill)
{
    if (spill->fd >= 0)
        return map_fd(&spill->view, "temporary file", spill->fd, spill->len) ? PTL_IO : 0;
    spill->view.bytes = spill->heap;
    spill->view.len = spill->len;
    return 0;
}

void ptl__spill_close(struct spill *spill)
{
    ptl__view_close(&spill->view);
    if (spill->fd >= 0)
        close(spill->fd);
    ptl__free(spill->heap);
}
