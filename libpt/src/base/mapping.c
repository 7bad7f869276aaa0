/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mapping.c - see mapping.h and pt/io.h.
 *
 * The mappings stand in a table that a signal handler can read at any moment: places are taken by
 * compare-and-swap, are never freed, and a place whose `begin` is 0 is none. The table is the only
 * thing in the library that changes and belongs to no object: SIGBUS comes to the process.
 */
#include "base/mapping.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACES 64
#define PROOF  8 /* bytes to look at before the file is asked for its size */

/* What is not needed by the handler. */
struct file {
    uint64_t offset; /* of the mapping in the file */
    dev_t dev;
    ino_t ino;
    int fd; /* to ask for the size; -1: ask by name */
    char name[];
};

struct ptl__mapping {
    atomic_int taken;
    atomic_uintptr_t begin, end;
    atomic_size_t left; /* bytes from the begin that are not known to be lost */
    struct file *file;
};

struct chunk {
    struct ptl__mapping places[PLACES];
    _Atomic(struct chunk *) next;
};

static struct chunk table;
static struct sigaction before;
static uintptr_t page_mask;

/* --- the table ------------------------------------------------------------------------------ */

static struct ptl__mapping *find(uintptr_t address)
{
    for (struct chunk *c = &table; c; c = atomic_load_explicit(&c->next, memory_order_acquire))
        for (struct ptl__mapping *m = c->places; m < c->places + PLACES; m++) {
            uintptr_t begin = atomic_load_explicit(&m->begin, memory_order_acquire);

            if (begin && address >= begin &&
                address < atomic_load_explicit(&m->end, memory_order_relaxed))
                return m;
        }
    return NULL;
}

static struct ptl__mapping *take(struct chunk *c)
{
    for (struct ptl__mapping *m = c->places; m < c->places + PLACES; m++) {
        int no = 0;

        if (atomic_compare_exchange_strong(&m->taken, &no, 1))
            return m;
    }
    return NULL;
}

/* A place that nobody has; NULL: no memory. */
static struct ptl__mapping *new_place(void)
{
    struct ptl__mapping *m;
    struct chunk *c = &table;

    while (!(m = take(c))) {
        struct chunk *next = atomic_load(&c->next), *fresh;

        if (!next) {
            fresh = ptl__calloc(1, sizeof(*fresh));
            if (!fresh)
                return NULL;
            if (atomic_compare_exchange_strong(&c->next, &next, fresh))
                next = fresh;
            else
                ptl__free(fresh);
        }
        c = next;
    }
    return m;
}

struct ptl__mapping *ptl__mapping_of(const void *byte)
{
    return find((uintptr_t)byte);
}

/* --- mapping -------------------------------------------------------------------------------- */

static void free_file(struct file *file)
{
    int saved = errno;

    if (file->fd >= 0)
        (void)close(file->fd);
    ptl__free(file);
    errno = saved;
}

/* NULL with errno if that fails. */
static struct file *new_file(const char *name, int fd, uint64_t offset, unsigned flags)
{
    size_t len = strlen(name) + 1;
    struct file *file = ptl__calloc(1, sizeof(*file) + len);
    struct stat st;

    if (!file)
        return NULL;
    memcpy(file->name, name, len);
    file->offset = offset;
    file->fd = flags & PTL_MAP_WATCH ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (fstat(fd, &st)) {
        free_file(file);
        return NULL;
    }
    file->dev = st.st_dev;
    file->ino = st.st_ino;
    return file;
}

/* Map the bytes at a place that has been taken. Returns -1 with errno if that fails. */
static int map_at(struct ptl__mapping *m, struct file *file, int fd, size_t len)
{
    void *p = MAP_FAILED;

    if (file->offset <= INT64_MAX)
        p = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, (off_t)file->offset);
    else
        errno = EOVERFLOW;
    if (p == MAP_FAILED)
        return -1;
    m->file = file;
    atomic_store_explicit(&m->left, len, memory_order_relaxed);
    atomic_store_explicit(&m->end, (uintptr_t)p + len, memory_order_relaxed);
    atomic_store_explicit(&m->begin, (uintptr_t)p, memory_order_release);
    return 0;
}

void *ptl_map(const char *name, int fd, uint64_t offset, size_t len, unsigned flags)
{
    struct file *file = new_file(name, fd, offset, flags);
    struct ptl__mapping *m;

    if (!file)
        return NULL;
    m = new_place();
    if (m && !map_at(m, file, fd, len))
        return (void *)atomic_load(&m->begin);
    if (m)
        atomic_store(&m->taken, 0);
    else
        errno = ENOMEM;
    free_file(file);
    return NULL;
}

void ptl_unmap(void *map, size_t len)
{
    struct ptl__mapping *m = map ? find((uintptr_t)map) : NULL;

    if (!m)
        return;
    atomic_store(&m->begin, 0); /* first: others may get the addresses next */
    (void)munmap(map, len);
    free_file(m->file);
    m->file = NULL;
    atomic_store(&m->taken, 0);
}

/* --- what is left ---------------------------------------------------------------------------- */

/* It never grows: what comes back is not what was there. Called by the handler, too. */
static void lower(struct ptl__mapping *m, size_t left)
{
    size_t now = atomic_load(&m->left);

    while (left < now && !atomic_compare_exchange_weak(&m->left, &now, left))
        ;
}

/* The size of the file; UINT64_MAX if that cannot be known. */
static uint64_t size_of(const struct file *file)
{
    struct stat st;

    if (file->fd >= 0)
        return fstat(file->fd, &st) ? UINT64_MAX : (uint64_t)st.st_size;
    /* The file of that name may be another one by now. */
    if (stat(file->name, &st) || st.st_dev != file->dev || st.st_ino != file->ino)
        return UINT64_MAX;
    return (uint64_t)st.st_size;
}

/* Look at the file again. Returns how many bytes of the mapping are left. */
static size_t look(struct ptl__mapping *m)
{
    uintptr_t begin = atomic_load_explicit(&m->begin, memory_order_relaxed);
    size_t len = atomic_load_explicit(&m->end, memory_order_relaxed) - begin;
    int saved = errno;
    uint64_t size = size_of(m->file), left = size > m->file->offset ? size - m->file->offset : 0;

    errno = saved;
    if (left < len)
        lower(m, (size_t)left);
    return atomic_load(&m->left);
}

size_t ptl__mapping_left(struct ptl__mapping *m, const void *bytes, size_t len)
{
    size_t at = (uintptr_t)bytes - atomic_load_explicit(&m->begin, memory_order_relaxed);
    size_t left = look(m);

    left = left > at ? left - at : 0;
    return left < len ? left : len;
}

/* Is there a byte that is not 0 not far behind? */
static int is_proven(const struct ptl__mapping *m, const uint8_t *p)
{
    uintptr_t end = atomic_load_explicit(&m->end, memory_order_relaxed);

    for (int i = 0; i < PROOF && (uintptr_t)p < end; i++)
        if (*p++)
            return 1;
    return 0;
}

size_t ptl_map_left(const void *bytes, size_t len)
{
    const uint8_t *end = (const uint8_t *)bytes + len;
    struct ptl__mapping *m;

    if (!len || end[-1])
        return len;
    m = find((uintptr_t)bytes);
    return !m || is_proven(m, end) ? len : ptl__mapping_left(m, bytes, len);
}

/* The place number `i`; NULL beyond the last one. */
static struct ptl__mapping *place(size_t i)
{
    struct chunk *c = &table;

    for (; c && i >= PLACES; i -= PLACES)
        c = atomic_load_explicit(&c->next, memory_order_acquire);
    return c ? &c->places[i] : NULL;
}

int ptl_map_loss(size_t *i, struct ptl_map_loss *loss)
{
    struct ptl__mapping *m;

    while ((m = place(*i)) != NULL) {
        uintptr_t begin = atomic_load_explicit(&m->begin, memory_order_acquire);
        size_t left;

        ++*i;
        if (!begin)
            continue;
        left = look(m);
        if (left == atomic_load_explicit(&m->end, memory_order_relaxed) - begin)
            continue;
        loss->name = m->file->name;
        loss->offset = m->file->offset + left;
        loss->err = size_of(m->file) > loss->offset ? EIO : 0;
        return 1;
    }
    return 0;
}

/* --- the guard ------------------------------------------------------------------------------- */

/* Zeros from the page on. Returns 0 if that cannot be. */
static int replace(struct ptl__mapping *m, uintptr_t page)
{
    uintptr_t begin = atomic_load_explicit(&m->begin, memory_order_relaxed);
    uintptr_t end = atomic_load_explicit(&m->end, memory_order_relaxed);
    void *p = mmap((void *)page, end - page, PROT_READ,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

    if (p == MAP_FAILED)
        return 0;
    lower(m, page - begin);
    return 1;
}

static void on_bus_error(int sig, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    struct ptl__mapping *m = info->si_code > 0 ? find(address) : NULL;
    int saved = errno, done = m && replace(m, address & page_mask);

    (void)context;
    if (!done) {
        (void)sigaction(sig, &before, NULL);
        if (info->si_code <= 0) /* it was sent, and would not come again by itself */
            (void)raise(sig);
    }
    errno = saved;
}

int ptl_map_guard(void)
{
    struct sigaction now, guard = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};

    if (sigaction(SIGBUS, NULL, &now))
        return PTL_INTERNAL;
    if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_bus_error)
        return 0;
    before = now;
    page_mask = ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    (void)sigemptyset(&guard.sa_mask);
    return sigaction(SIGBUS, &guard, NULL) ? PTL_INTERNAL : 0;
}
