/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perf_filter.c - address filters: perf record's words, with symbols, to the kernel's.
 *
 *     filter main @ ./prog      filter 0x1000/0x20 @ ./prog     tracestop schedule
 *     filter main / helper @ p  (from main to the end of helper)  filter * @ ./prog
 *
 * becomes "filter OFFSET/SIZE@/absolute/path" or, without a file, kernel addresses.
 *
 * Source: perf-record(1), "--filter"; kernel: Documentation of PERF_EVENT_IOC_SET_FILTER in
 * perf_event_open(2).
 */
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
    char *end;

    *value = strtoull(text, &end, 0);
    return isdigit((unsigned char)*text) && !*end;
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
    const char *word, *kernel;
} actions[] = {{"filter", "filter"}, {"start", "start"}, {"stop", "stop"}, {"tracestop", "stop"}};

static const char *kernel_action(const char *word)
{
    for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++) {
        if (!strcmp(word, actions[i].word))
            return actions[i].kernel;
    }
    return NULL;
}

static int resolve_item(const struct item *item, char *out, size_t room, char *error, size_t size)
{
    const char *action = kernel_action(item->action);
    char path[PATH_MAX] = "";
    uint64_t start, len;
    int n;

    if (!action) {
        snprintf(error, size, "unknown action \"%s\". Valid are filter, start, stop, tracestop.",
                 item->action);
        return -1;
    }
    if (*item->object && !realpath(item->object, path)) {
        snprintf(error, size, "cannot find %s.", item->object);
        return -1;
    }
    if (resolve_range(item, path, &start, &len)) {
        snprintf(error, size, "no function \"%s%s%s\" in %s.", item->start, *item->end ? " / " : "",
                 item->end, *path ? path : "the kernel (its addresses may be hidden)");
        return -1;
    }
    if (!len)
        n = snprintf(out, room, "%s 0x%llx%s%s", action, (unsigned long long)start,
                     *path ? "@" : "", path);
    else
        n = snprintf(out, room, "%s 0x%llx/0x%llx%s%s", action, (unsigned long long)start,
                     (unsigned long long)len, *path ? "@" : "", path);
    if (n < 0 || (size_t)n >= room) {
        snprintf(error, size, "too many filters.");
        return -1;
    }
    return n;
}

char *perf_filter_resolve(const struct string_list *filters, char *error, size_t size)
{
    size_t room = 4095, used = 0; /* a page is what the kernel takes */
    char *text = calloc(1, room);
    struct item *item = malloc(sizeof(*item));

    for (size_t i = 0; text && item && i < filters->count; i++) {
        const char *p = skip(filters->item[i]);
        while (*p) {
            int n;
            p = parse_item(p, item);
            if (!p) {
                snprintf(error, size, "\"%s\" is not of the form: filter START[/SIZE] [@ FILE].",
                         filters->item[i]);
                goto failed;
            }
            if (used)
                text[used++] = ',';
            n = resolve_item(item, text + used, room - used - 1, error, size);
            if (n < 0)
                goto failed;
            used += (size_t)n;
        }
    }
    free(item);
    return text;
failed:
    free(item);
    free(text);
    return NULL;
}
