/* SPDX-License-Identifier: BSD-3-Clause */
/* section.c - ranges of bytes: of a file, of memory, of a callback. */
#include "image/section.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pt/io.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct ptl_section *section_new(enum ptl__section_kind kind, const char *name)
{
    size_t len = strlen(name) + 1;
    struct ptl_section *s = ptl__calloc(1, sizeof(*s) + len);

    if (!s)
        return NULL;
    atomic_init(&s->refs, 1);
    s->kind = kind;
    memcpy(s->name, name, len);
    return s;
}

/* Sets errno if `st` is not a regular file. */
static int check_regular(const struct stat *st)
{
    if (S_ISREG(st->st_mode))
        return 0;
    errno = S_ISDIR(st->st_mode) ? EISDIR : ENOTSUP;
    return PTL_BAD_FILE;
}

static int close_failed(int fd)
{
    int saved = errno;

    (void)close(fd);
    errno = saved;
    return PTL_BAD_FILE;
}

int ptl__open_regular(const char *path, uint64_t *size)
{
    struct stat st;
    int fd;

    /* A FIFO without a writer would block in open(2), and opening a device may do things
     * to it: hence the look before, and O_NONBLOCK for a file that changes in between. */
    if (stat(path, &st) < 0 || check_regular(&st) < 0)
        return PTL_BAD_FILE;
    fd = ptl_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return PTL_BAD_FILE;
    if (fstat(fd, &st) < 0 || check_regular(&st) < 0)
        return close_failed(fd);
    *size = (uint64_t)st.st_size;
    return fd;
}

/* Map the section's range, which is not empty and within the file. */
static int map_file(struct ptl_section *s, int fd)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t skip = s->offset % page;

    if (s->size > SIZE_MAX - skip) {
        errno = EOVERFLOW;
        return PTL_BAD_FILE;
    }
    s->map_size = (size_t)(s->size + skip);
    /* Without a descriptor each: there may be thousands. */
    s->map = ptl_map(s->name, fd, s->offset - skip, s->map_size, 0);
    if (!s->map)
        return PTL_BAD_FILE; /* ENOMEM: too large for the address space */
    s->bytes = (const uint8_t *)s->map + skip;
    return 0;
}

static int file_open(struct ptl_section **section, const char *path, uint64_t offset, uint64_t size,
                     int fd, uint64_t file_size)
{
    struct ptl_section *s;
    int status;

    if (offset >= file_size || size == 0)
        return PTL_INVALID;
    s = section_new(PTL__SECTION_FILE, path);
    if (!s)
        return PTL_NOMEM;
    s->offset = offset;
    s->size = size < file_size - offset ? size : file_size - offset;
    s->file_size = file_size;
    status = map_file(s, fd);
    if (status < 0) {
        ptl__free(s);
        return status;
    }
    *section = s;
    return 0;
}

int ptl_section_file(struct ptl_section **section, const char *path, uint64_t offset, uint64_t size)
{
    uint64_t file_size = 0;
    int fd, status, saved;

    if (!section || !path)
        return PTL_INVALID;
    fd = ptl__open_regular(path, &file_size);
    if (fd < 0)
        return fd;
    status = file_open(section, path, offset, size, fd, file_size);
    saved = errno;
    (void)close(fd);
    errno = saved;
    return status;
}

int ptl_section_memory(struct ptl_section **section, const void *bytes, size_t size, int copy,
                       const char *name)
{
    struct ptl_section *s;

    if (!section || !bytes || size == 0)
        return PTL_INVALID;
    s = section_new(copy ? PTL__SECTION_COPY : PTL__SECTION_MEMORY, name ? name : "");
    if (!s)
        return PTL_NOMEM;
    s->bytes = bytes;
    s->size = size;
    if (copy) {
        s->map = ptl__malloc(size);
        if (!s->map) {
            ptl__free(s);
            return PTL_NOMEM;
        }
        s->bytes = memcpy(s->map, bytes, size);
    }
    *section = s;
    return 0;
}

int ptl_section_reader(struct ptl_section **section, ptl_read_fn read, void *context, uint64_t size,
                       const char *name)
{
    struct ptl_section *s;

    if (!section || !read || size == 0)
        return PTL_INVALID;
    s = section_new(PTL__SECTION_READER, name ? name : "");
    if (!s)
        return PTL_NOMEM;
    s->read = read;
    s->context = context;
    s->size = size;
    *section = s;
    return 0;
}

static int read_fd(void *context, uint8_t *buf, size_t len, uint64_t offset)
{
    const struct ptl_section *s = context;
    ssize_t n;

    if (offset > INT64_MAX)
        return 0;
    do
        n = pread(s->fd, buf, len, (off_t)offset);
    while (n < 0 && errno == EINTR);
    return n < 0 ? PTL_IO : (int)n;
}

int ptl__section_pread(struct ptl_section **section, const char *path)
{
    struct ptl_section *s;
    uint64_t size = 0;
    int fd = ptl__open_regular(path, &size);

    if (fd < 0)
        return fd;
    s = size ? section_new(PTL__SECTION_PREAD, path) : NULL;
    if (!s) {
        (void)close(fd);
        return size ? PTL_NOMEM : PTL_INVALID;
    }
    s->fd = fd;
    s->size = size;
    s->read = read_fd;
    s->context = s;
    *section = s;
    return 0;
}

struct ptl_section *ptl_section_ref(struct ptl_section *section)
{
    if (section)
        atomic_fetch_add_explicit(&section->refs, 1, memory_order_relaxed);
    return section;
}

void ptl_section_unref(struct ptl_section *section)
{
    if (!section)
        return;
    /* Release what this thread did to the section, acquire what the others did. */
    if (atomic_fetch_sub_explicit(&section->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (section->kind == PTL__SECTION_FILE)
        ptl_unmap(section->map, section->map_size);
    else if (section->kind == PTL__SECTION_PREAD)
        (void)close(section->fd);
    else
        ptl__free(section->map);
    ptl__free(section);
}

const char *ptl_section_name(const struct ptl_section *section)
{
    return section->name;
}

uint64_t ptl_section_offset(const struct ptl_section *section)
{
    return section->offset;
}

uint64_t ptl_section_size(const struct ptl_section *section)
{
    return section->size;
}

const uint8_t *ptl_section_bytes(const struct ptl_section *section)
{
    return section->bytes;
}

size_t ptl__section_left(const struct ptl_section *section, const uint8_t *bytes, size_t len)
{
    return section->kind == PTL__SECTION_FILE ? ptl_map_left(bytes, len) : len;
}

int ptl_section_read(const struct ptl_section *section, uint8_t *buf, size_t len, uint64_t offset)
{
    int n;

    if (offset >= section->size)
        return 0;
    if (len > section->size - offset)
        len = (size_t)(section->size - offset);
    if (len > INT_MAX)
        len = INT_MAX;
    if (section->bytes) {
        memcpy(buf, section->bytes + offset, len);
        return (int)ptl__section_left(section, section->bytes + offset, len);
    }
    n = section->read(section->context, buf, len, offset);
    return n > 0 && (size_t)n > len ? PTL_INVALID : n; /* a callback that lies */
}
