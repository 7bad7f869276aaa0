/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timeline.h - rows of a timeline, as the cursor reads them.
 *
 * Every list is sorted by `when` and only grows at its end while the timeline is built. So
 * "what an address space held at some point" is a count of rows, and a fork is two numbers:
 * the parent, and how many of its rows the child begins with.
 */
#ifndef LIBPT_IMAGE_TIMELINE_H
#define LIBPT_IMAGE_TIMELINE_H

#include <pt/timeline.h>

/* A mapping appears, or (no section) goes. */
struct ptl__map_row {
    uint64_t when, vaddr, size;
    uint64_t offset; /* in the section */
    struct ptl_section *section;
};

struct ptl__map_rows {
    struct ptl__map_row *row;
    size_t n, cap;
};

struct ptl__switch_row {
    uint64_t when;
    uint32_t space; /* or PTL_TIMELINE_NONE */
    uint32_t pid, tid;
    uint8_t at_once;
};

struct ptl__lane {
    uint32_t id;
    struct ptl__switch_row *row;
    size_t n, cap;
};

struct ptl__tl_space {
    struct ptl__map_rows rows;
    size_t parent_rows; /* of the parent, to begin with */
    uint32_t parent;    /* or PTL_TIMELINE_NONE */
};

#define PTL__KNOWN_LANES 16

struct ptl_timeline {
    struct ptl_space *base; /* may be NULL */
    struct ptl__map_rows kernel;
    struct ptl__tl_space *space;
    size_t nspaces, spaces_cap;
    struct ptl__lane *lane;
    size_t nlanes, lanes_cap;
    size_t known_lane[PTL__KNOWN_LANES]; /* where those lie that had switches lately */
    unsigned flags;
};

/* The lane, or NULL if nothing is known of it. */
const struct ptl__lane *ptl__timeline_lane(const struct ptl_timeline *timeline, uint32_t id);

/* Where a cursor stands: what it does from here on depends on this and the timeline alone. */
struct ptl__cursor_state {
    uint64_t now, pos, pending; /* `pending`: 1 + its row */
    uint64_t rows, kernel;      /* applied to the current view */
    uint32_t view, pid, tid, unused;
};
void ptl__cursor_get_state(const struct ptl_cursor *cursor, struct ptl__cursor_state *state);

#endif
