/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * order.c - when records apply, and the one order of all of them.
 *
 * Recorders write ring after ring, so a file is a sequence of sorted runs: a stable merge sort
 * that begins with the runs it finds needs few passes.
 */
#include "base/alloc.h"
#include "sideband/sideband.h"

#include <string.h>

uint64_t ptl__sb_ticks(const struct source *source, uint64_t time)
{
    if (!time || !source->time.mult)
        return time;
    return ptl_ns_to_tsc(&source->time, time);
}

/* The end of the sorted run that begins at `from`. */
static size_t run_end(const struct item *item, size_t from, size_t n)
{
    while (from + 1 < n && item[from].tsc <= item[from + 1].tsc)
        from++;
    return from + 1 < n ? from + 1 : n;
}

static void merge(struct item *to, const struct item *from, size_t a, size_t b, size_t end)
{
    size_t left = a, right = b;

    for (size_t i = a; i < end; i++) {
        int take_left = left < b && (right == end || from[left].tsc <= from[right].tsc);

        to[i] = from[take_left ? left++ : right++];
    }
}

/* Merge neighbouring runs of `from` into `to`. Returns 1 if there was but one. */
static int merge_pass(struct item *to, const struct item *from, size_t n)
{
    size_t at = 0, runs = 0;

    while (at < n) {
        size_t middle = run_end(from, at, n);
        size_t end = middle < n ? run_end(from, middle, n) : n;

        merge(to, from, at, middle, end);
        at = end;
        runs++;
    }
    return runs <= 1;
}

int ptl__sb_sort(struct ptl_sideband *sb)
{
    size_t n = sb->items_count;
    struct item *other;
    int done = 0;

    if (run_end(sb->items, 0, n) == n)
        return 0;
    other = ptl__malloc_large(n * sizeof(*other));
    if (!other)
        return PTL_NOMEM;
    while (!done) {
        struct item *sorted = other;

        done = merge_pass(other, sb->items, n);
        other = sb->items;
        sb->items = sorted;
    }
    sb->items_cap = n;
    ptl__free(other);
    return 0;
}
