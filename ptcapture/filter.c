/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * filter.c - see filter.h. Filters are given in perf record's words:
 *
 *     filter main @ ./prog      filter 0x1000/0x20 @ ./prog     tracestop schedule
 *     filter main / helper @ p  (from main to the end of helper)  filter * @ ./prog
 *
 * and become "filter OFFSET/SIZE@/absolute/path" or, without a file, kernel addresses.
 *
 * Source: perf-record(1), "--filter"; kernel: Documentation of PERF_EVENT_IOC_SET_FILTER in
 * perf_event_open(2).
 */
#include "filter.h"

#include "perf.h"

#include <pt/image.h>

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct item {
    char action[16], start[256], end[256], object[PATH_MAX];
};

static const char *skip(const char *p)
{
    while (isspace((unsigned char)*p) || *p == ',')
        p++;
    return p;
}

/* A word up to a blank, or one of the characters in `stops`. */
static const char *word(const char *p, const char *stops, char *out, size_t size)
{
    size_t n = 0;

    while (*p && !isspace((unsigned char)*p) && !strchr(stops, *p) && n + 1 < size)
        out[n++] = *p++;
    out[n] = '\0';
    while (isspace((unsigned char)*p))
        p++;
    return p;
}

/* One item; returns what follows, NULL if it is malformed. */
static const char *parse_item(const char *p, struct item *item)
{
    memset(item, 0, sizeof(*item));
    p = word(p, ",/@", item->action, sizeof(item->action));
    p = word(p, ",/@", item->start, sizeof(item->start));
    if (!*item->start)
        return NULL;
    if (*p == '/') {
        p = word(skip(p + 1), ",/@", item->end, sizeof(item->end));
        if (!*item->end)
            return NULL;
    }
    if (*p == '@') {
        p = word(skip(p + 1), ",", item->object, sizeof(item->object));
        if (!*item->object)
            return NULL;
    }
    return skip(p);
}

static int number(const char *text, uint64_t *value)
{
    return !opts_size(text, value);
}

/* Address (kernel) or file offset, and size, of a function. */
static int symbol(const char *name, const char *path, uint64_t *start, uint64_t *size)
{
    if (*path)
        return ptl_elf_function(path, name, start, size) ? -1 : 0;
    return kernel_symbol(name, start, size);
}

static int resolve_range(const struct item *item, const char *path, uint64_t *start, uint64_t *size)
{
    uint64_t other, other_size;
    struct stat st;

    *size = 0;
    if (!strcmp(item->start, "*")) {
        *start = 0;
        if (!*path || stat(path, &st))
            return -1;
        *size = (uint64_t)st.st_size;
        return 0;
    }
    if (!number(item->start, start) && symbol(item->start, path, start, size))
        return -1;
    if (!*item->end)
        return 0;
    if (number(item->end, size))
        return 0;
    if (symbol(item->end, path, &other, &other_size) || other + other_size <= *start)
        return -1;
    *size = other + other_size - *start;
    return 0;
}

static const struct {
    const char *word;
    enum filter_action action;
} actions[] = {{"filter", FILTER_ONLY},
               {"start", FILTER_START},
               {"stop", FILTER_STOP},
               {"tracestop", FILTER_STOP}};

static int action_of(const char *word, enum filter_action *action)
{
    for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++) {
        if (!strcmp(word, actions[i].word)) {
            *action = actions[i].action;
            return 0;
        }
    }
    return -1;
}

static int resolve_item(const struct item *item, struct filter_range *range, char *error,
                        size_t size)
{
    if (action_of(item->action, &range->action)) {
        snprintf(error, size, "unknown action \"%s\". Valid are filter, start, stop, tracestop.",
                 item->action);
        return -1;
    }
    if (*item->object && !realpath(item->object, range->path)) {
        snprintf(error, size, "cannot find %s.", item->object);
        return -1;
    }
    if (resolve_range(item, range->path, &range->start, &range->size)) {
        snprintf(error, size, "no function \"%s%s%s\" in %s.", item->start, *item->end ? " / " : "",
                 item->end,
                 *range->path ? range->path : "the kernel (its addresses may be hidden)");
        return -1;
    }
    return 0;
}

static struct filter_range *next_range(struct filter *filter)
{
    struct filter_range *grown =
        realloc(filter->range, (filter->count + 1) * sizeof(*filter->range));

    if (!grown)
        return NULL;
    filter->range = grown;
    memset(&grown[filter->count], 0, sizeof(*grown));
    return &grown[filter->count];
}

static int add_items(struct filter *filter, const char *text, struct item *item, char *error,
                     size_t size)
{
    for (const char *p = skip(text); *p;) {
        struct filter_range *range = next_range(filter);

        p = parse_item(p, item);
        if (!p || !range) {
            snprintf(error, size, "\"%s\" is not of the form: filter START[/SIZE] [@ FILE].", text);
            return -1;
        }
        if (resolve_item(item, range, error, size))
            return -1;
        filter->count++;
    }
    return 0;
}

/* A page is what the kernel takes. */
static int make_text(struct filter *filter, char *error, size_t size)
{
    static const char *const words[] = {"filter", "start", "stop"};
    size_t room = 4095, used = 0;

    filter->text = calloc(1, room);
    for (size_t i = 0; filter->text && i < filter->count; i++) {
        const struct filter_range *range = &filter->range[i];
        char len[24] = "";
        int n;

        if (range->size)
            snprintf(len, sizeof(len), "/0x%llx", (unsigned long long)range->size);
        n = snprintf(filter->text + used, room - used, "%s%s 0x%llx%s%s%s", i ? "," : "",
                     words[range->action], (unsigned long long)range->start, len,
                     *range->path ? "@" : "", range->path);
        if (n < 0 || (size_t)n >= room - used) {
            snprintf(error, size, "too many filters.");
            return -1;
        }
        used += (size_t)n;
    }
    return filter->text ? 0 : -1;
}

int filter_resolve(struct filter *filter, const struct string_list *list, char *error, size_t size)
{
    struct item *item = malloc(sizeof(*item));
    int failed = !item;

    memset(filter, 0, sizeof(*filter));
    snprintf(error, size, "out of memory.");
    for (size_t i = 0; !failed && i < list->count; i++)
        failed = add_items(filter, list->item[i], item, error, size);
    if (!failed)
        failed = make_text(filter, error, size);
    free(item);
    if (failed)
        filter_free(filter);
    return failed ? -1 : 0;
}

void filter_free(struct filter *filter)
{
    free(filter->range);
    free(filter->text);
    memset(filter, 0, sizeof(*filter));
}
