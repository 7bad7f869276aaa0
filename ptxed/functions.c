/* SPDX-License-Identifier: BSD-3-Clause */
/* functions.c - see functions.h. A hash table by name and section; numbers are places in an
 * array. */
#include "functions.h"

#include "json.h"
#include "plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct function {
    const struct ptl_section *section;
    const char *name; /* the symbols' own: one pointer for each symbol */
    uint64_t insns, entries;
};

struct functions {
    struct function *all;
    uint32_t count, cap;
    uint32_t *slots; /* number + 1; 0: free */
    uint32_t mask;
};

#define FIRST_CAP 256u /* a power of two */

struct functions *functions_new(void)
{
    struct functions *f = calloc(1, sizeof(*f));

    if (!f)
        return NULL;
    f->cap = FIRST_CAP;
    f->mask = 2 * FIRST_CAP - 1;
    f->all = calloc(f->cap, sizeof(*f->all));
    f->slots = calloc(f->mask + 1, sizeof(*f->slots));
    if (f->all && f->slots)
        return f;
    functions_free(f);
    return NULL;
}

void functions_free(struct functions *f)
{
    if (!f)
        return;
    free(f->all);
    free(f->slots);
    free(f);
}

/* Where it is in `slots`, or where it belongs. */
static uint32_t *find_slot(const struct functions *f, const struct ptl_section *section,
                           const char *name)
{
    uint64_t hash =
        ((uint64_t)(uintptr_t)section * 31 + (uint64_t)(uintptr_t)name) * 0x9e3779b97f4a7c15u;
    uint32_t i = (uint32_t)(hash >> 32) & f->mask;

    while (f->slots[i] &&
           (f->all[f->slots[i] - 1].section != section || f->all[f->slots[i] - 1].name != name))
        i = (i + 1) & f->mask;
    return &f->slots[i];
}

/* Twice as much room. */
static int grow(struct functions *f)
{
    struct function *all = realloc(f->all, 2 * (size_t)f->cap * sizeof(*all));
    uint32_t *slots = calloc(4 * (size_t)f->cap, sizeof(*slots));

    if (all)
        f->all = all;
    if (!all || !slots) {
        free(slots);
        return -1;
    }
    free(f->slots);
    f->slots = slots;
    f->cap *= 2;
    f->mask = 2 * f->cap - 1;
    for (uint32_t i = 0; i < f->count; i++)
        *find_slot(f, all[i].section, all[i].name) = i + 1;
    return 0;
}

uint32_t functions_number(struct functions *f, const struct ptl_section *section, const char *name)
{
    uint32_t *slot = find_slot(f, section, name);

    if (*slot)
        return *slot - 1;
    if (f->count == f->cap) {
        if (grow(f))
            return UINT32_MAX;
        slot = find_slot(f, section, name);
    }
    f->all[f->count] = (struct function){.section = section, .name = name};
    *slot = ++f->count;
    return f->count - 1;
}

const char *functions_name(const struct functions *f, uint32_t function)
{
    return function < f->count ? f->all[function].name : NULL;
}

void functions_count(struct functions *f, const struct function_part *parts, uint32_t count,
                     uint32_t ninsn)
{
    for (uint32_t i = 0; i < count && parts[i].first < ninsn; i++) {
        uint32_t end = i + 1 < count && parts[i + 1].first < ninsn ? parts[i + 1].first : ninsn;
        struct function *function = &f->all[parts[i].function];

        function->insns += end - parts[i].first;
        function->entries += parts[i].entry;
    }
}

/* --- the table ------------------------------------------------------------------------- */

static const char *file_of(const struct function *function)
{
    const char *name = function->section ? ptl_section_name(function->section) : NULL;

    return name ? name : "";
}

static int by_insns(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    int order = strcmp(x->name ? x->name : "", y->name ? y->name : "");

    if (x->insns != y->insns)
        return x->insns > y->insns ? -1 : 1;
    return order ? order : strcmp(file_of(x), file_of(y));
}

static void print_json(const struct function *function, struct out *out)
{
    struct json json;

    json_begin(&json, out, "function");
    json_count(&json, "insns", function->insns);
    json_count(&json, "entries", function->entries);
    if (function->name)
        json_string(&json, "function", function->name);
    json_string(&json, "file", file_of(function));
    json_end(&json);
}

/* Where there is no symbol nothing is known of entries. */
static void print_text(const struct function *function, struct out *out, uint64_t sum)
{
    char entries[24] = "-", names[2100];

    if (function->name)
        snprintf(entries, sizeof(entries), "%llu", (unsigned long long)function->entries);
    snprintf(names, sizeof(names), "%.1024s (%.1024s)",
             function->name ? function->name : "[no symbol]", file_of(function));
    plain_mask(names);
    out_printf(out, "%12llu %6.2f%% %11s  %s\n", (unsigned long long)function->insns,
               100 * (double)function->insns / (double)sum, entries, names);
}

/* The numbers are places, so the table is sorted once, at the end. */
void functions_print(struct functions *f, struct out *out, int json)
{
    uint64_t sum = 0;

    if (f->count)
        qsort(f->all, f->count, sizeof(*f->all), by_insns);
    for (uint32_t i = 0; i < f->count; i++)
        sum += f->all[i].insns;
    if (!json)
        out_str(out, "       insns       %     entries  function\n");
    for (const struct function *x = f->all; x < f->all + f->count && x->insns; x++) {
        if (json)
            print_json(x, out);
        else
            print_text(x, out, sum);
    }
}
