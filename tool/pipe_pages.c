/* SPDX-License-Identifier: BSD-3-Clause */
/* pipe_pages.c - see pipe_pages.h. */
#include "pipe_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>

#define HUGE_PAGE ((size_t)2 << 20)
/* Two in turn: when one is let go, a reader who only reads has done with it, so it goes back to the
 * kernel from here, and comes back as the fresh one while the cache still holds it. */
#define PAGES    ((size_t)2)
#define MAP_SIZE ((PAGES + 1) * HUGE_PAGE) /* can be aligned */
/* Shorter text is copied, which fills up pages that the pipe has: each part handed over takes one
 * of its slots, however short. */
#define GIVE_MIN ((size_t)16 << 10)

static char *first_page(const struct pipe_pages *pages)
{
    uintptr_t begin = (uintptr_t)pages->map;

    return pages->map + ((HUGE_PAGE - begin % HUGE_PAGE) % HUGE_PAGE);
}

static int map_pages(struct pipe_pages *pages)
{
    void *map = mmap(NULL, MAP_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (map == MAP_FAILED)
        return -1;
    pages->map = map;
    pages->page = first_page(pages) + (PAGES - 1) * HUGE_PAGE; /* the first one is next */
    return madvise(first_page(pages), PAGES * HUGE_PAGE, MADV_HUGEPAGE);
}

static long faults(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_minflt;
}

/* Once its first byte has been written, a huge page has no more faults. */
static int is_huge(volatile char *page)
{
    long before;

    page[0] = 0;
    before = faults();
    page[HUGE_PAGE / 2] = 0;
    page[HUGE_PAGE - 1] = 0;
    return faults() == before;
}

/* The next page, with fresh memory: what was there is the reader's alone now. */
static int turn_page(struct pipe_pages *pages)
{
    char *first = first_page(pages);

    pages->page += HUGE_PAGE;
    if (pages->page == first + PAGES * HUGE_PAGE)
        pages->page = first;
    pages->at = 0;
    return madvise(pages->page, HUGE_PAGE, MADV_DONTNEED) || !is_huge(pages->page) ? -1 : 0;
}

char *pipe_pages_room(struct pipe_pages *pages, size_t n)
{
    if (pages->unusable || n > PIPE_PAGES_MAX)
        return NULL;
    if ((!pages->map || n > HUGE_PAGE - pages->at) &&
        ((!pages->map && map_pages(pages)) || turn_page(pages))) {
        pages->unusable = 1;
        return NULL;
    }
    return pages->page + pages->at;
}

size_t pipe_pages_give(struct pipe_pages *pages, int fd, const char *room, size_t n)
{
    size_t given = 0;

    if (n < GIVE_MIN)
        return 0;
    while (given < n && !pages->unusable) {
        struct iovec part = {(void *)(uintptr_t)(room + given), n - given};
        ssize_t done = vmsplice(fd, &part, 1, 0);

        if (done >= 0)
            given += (size_t)done;
        else if (errno != EINTR)
            pages->unusable = 1;
    }
    pages->at += given;
    return given;
}

/* The pipe keeps what it holds. */
void pipe_pages_close(struct pipe_pages *pages)
{
    if (pages->map)
        (void)munmap(pages->map, MAP_SIZE);
    pages->map = NULL;
}
