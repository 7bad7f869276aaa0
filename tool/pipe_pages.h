/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipe_pages.h - text for a pipe that is handed over (vmsplice) instead of copied.
 *
 * What has been handed over is the reader's, who may pass it on in turn (splice, tee) and keep it
 * for as long as he likes. So it is never written again: each page of memory is filled once, and a
 * fresh one takes its place. That pays with huge pages only; without them there is no room.
 */
#ifndef TOOL_PIPE_PAGES_H
#define TOOL_PIPE_PAGES_H

#include <stddef.h>
#include <sys/types.h>

/* The most that pipe_pages_room() has. */
#define PIPE_PAGES_MAX ((size_t)256 << 10)

struct pipe_pages {
    char *map;    /* NULL: none yet */
    char *page;   /* the huge page at hand, of those in `map` */
    size_t at;    /* so much of it has been handed over */
    int unusable; /* no huge pages, or no vmsplice */
};

/* Memory for `n` (<= PIPE_PAGES_MAX) bytes, to be written and given. NULL: there is none any more;
 * what was had before may still be given. */
char *pipe_pages_room(struct pipe_pages *pages, size_t n);
/* Hand the first `n` bytes of the room to the pipe. Returns how many it took: if these are fewer,
 * write() says why or takes the rest. Does not return before the pipe has room. */
size_t pipe_pages_give(struct pipe_pages *pages, int fd, const char *room, size_t n);
void pipe_pages_close(struct pipe_pages *pages);

#endif
