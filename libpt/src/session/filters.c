/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * filters.c - address ranges that the trace was limited to, from the text that the kernel was
 * given.
 *
 * Source: doc/internals/session.md. A range of a file is one of addresses wherever the file is
 * mapped.
 */
#include "base/alloc.h"
#include "perfdata/skim.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

#define FILTERS_MAX 16 /* processors have four ranges at the most */
#define FOUND_MAX   ((size_t)1 << 20)
#define RANGES_MAX  1024 /* that differ: all of them are looked at */

/* A filter: ranges of the kernel, or of files. */
struct filter {
    struct ptl_addr_range range;
    const char *file; /* NULL: the range is one of addresses */
    size_t file_len;
};

/* Names of files may have blanks: one ends at a comma, a newline, or where the next item begins. */
static size_t file_length(const char *text)
{
    static const char *const items[] = {" filter ", " stop ", " start "};
    size_t n = strcspn(text, ",\n");

    for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++) {
        const char *next = strstr(text, items[i]);

        if (next && (size_t)(next - text) < n)
            n = (size_t)(next - text);
    }
    return n;
}

/* One "filter START/SIZE[@FILE]" or "stop START/SIZE[@FILE]". Returns the rest of the text, or
 * NULL. */
static const char *parse_filter(const char *text, struct filter *filter)
{
    struct ptl_addr_range *range = &filter->range;
    size_t word = strcspn(text, " ");
    uint64_t size;
    char *end;

    *filter = (struct filter){.file = NULL};
    range->config = word == 6 && memcmp(text, "filter", 6) == 0 ? 1
                    : word == 4 && memcmp(text, "stop", 4) == 0 ? 2
                                                                : 0;
    if (!range->config || text[word] != ' ')
        return NULL;
    range->a = strtoull(text + word + 1, &end, 0);
    if (*end != '/')
        return NULL;
    size = strtoull(end + 1, &end, 0);
    if (!size)
        range->config = 0;
    range->b = range->a + size - 1;
    if (*end != '@')
        return end;
    filter->file = end + 1;
    filter->file_len = file_length(end + 1);
    return filter->file + filter->file_len;
}

/* The part of a file's range that a mapping has: as the kernel does, in code only (what is mapped
 * without PROT_EXEC makes no record). Returns 0 if it has none. */
static int mapped(struct ptl_addr_range *range, const struct filter *filter,
                  const struct ptl_rec_mmap *map)
{
    uint64_t a = filter->range.a, b = filter->range.b, end = map->pgoff + map->len - 1;

    if (!map->len || b < map->pgoff || a > end || end < map->pgoff ||
        strncmp(map->filename, filter->file, filter->file_len) != 0 ||
        map->filename[filter->file_len])
        return 0;
    range->config = filter->range.config;
    range->a = map->addr + (a > map->pgoff ? a - map->pgoff : 0);
    range->b = map->addr + ((b < end ? b : end) - map->pgoff);
    return range->a <= range->b;
}

static int add(struct ptl_session *s, const struct ptl_addr_range *range)
{
    if (s->filter_count == FOUND_MAX)
        return 0;
    if (ptl__grow((void **)&s->filters, &s->filter_cap, s->filter_count + 1, FOUND_MAX,
                  sizeof(*range)) < 0)
        return PTL_NOMEM;
    s->filters[s->filter_count++] = *range;
    return 0;
}

static int by_address(const void *x, const void *y)
{
    const struct ptl_addr_range *a = x, *b = y;

    if (a->config != b->config)
        return a->config < b->config ? -1 : 1;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    return a->b < b->b ? -1 : a->b > b->b;
}

/* Children have files where their parents have them: most ranges stand many times. */
static void merge(struct ptl_session *s)
{
    struct ptl_addr_range *r = s->filters;
    size_t n = 0;

    if (s->filter_count)
        qsort(r, s->filter_count, sizeof(*r), by_address);
    for (size_t i = 0; i < s->filter_count; i++) {
        if (n && r[n - 1].config == r[i].config && r[i].a <= r[n - 1].b)
            r[n - 1].b = r[i].b > r[n - 1].b ? r[i].b : r[n - 1].b;
        else
            r[n++] = r[i];
    }
    s->filter_count = n < RANGES_MAX ? n : RANGES_MAX;
}

/* The kernel has a range of a file where the thread's process has mapped the file last. Here it is
 * wherever any process has it: an address that one traces is rarely another's. */
static int find_mapped(struct ptl_session *s, const struct filter *filter)
{
    struct ptl__skim *skim = ptl__malloc(sizeof(*skim));
    struct ptl_perf_record record;
    struct ptl_addr_range range;
    int status = 0;

    if (!skim)
        return PTL_NOMEM;
    ptl__skim_begin(skim, s->perf, PTL__SKIM_MMAPS);
    while (status == 0 && ptl__skim_next(skim, &record) > 0) {
        ptl__skim_decode(&record);
        if (!record.status && mapped(&range, filter, &record.record.u.mmap))
            status = add(s, &range);
    }
    ptl__free(skim);
    return status;
}

/* Ranges that the user has given replace those of the recording. */
static int is_given(const struct ptl_session_config *config)
{
    unsigned n = 0;

    for (size_t i = 0; i < sizeof(config->addr) / sizeof(config->addr[0]); i++)
        n += config->addr[i].config != 0;
    return n != 0;
}

int ptl__session_filters(struct ptl_session *s, const struct ptl_session_config *config)
{
    const char *text = s->pt->info.filter;
    struct filter filter;
    int status = 0;

    if (is_given(config)) {
        memcpy(s->flow.addr, config->addr, sizeof(s->flow.addr));
        return 0;
    }
    for (unsigned n = 0; text && *text && n < FILTERS_MAX && status == 0; n++) {
        text = parse_filter(text + strspn(text, " ,\n"), &filter);
        if (text && filter.range.config)
            status = filter.file ? find_mapped(s, &filter) : add(s, &filter.range);
    }
    merge(s);
    s->flow.more_addr = s->filters;
    s->flow.more_addr_count = s->filter_count;
    return status;
}
