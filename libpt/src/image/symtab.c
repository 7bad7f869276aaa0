/* SPDX-License-Identifier: BSD-3-Clause */
/* symtab.c - see symtab.h. */
#include "image/symtab.h"

#include "base/alloc.h"

#include <pt/status.h>
#include <stdlib.h>
#include <string.h>

int ptl__symlist_add(struct ptl__symlist *list, const struct ptl__sym *sym)
{
    void *syms = list->syms;

    if (ptl__grow(&syms, &list->cap, list->count + 1, SIZE_MAX / sizeof(*sym), sizeof(*sym)) < 0)
        return PTL_NOMEM;
    list->syms = syms;
    list->syms[list->count++] = *sym;
    return 0;
}

/* By start; then the name that is to be kept first. The last rule makes the order the same
 * for any order in the file. */
static int compare(const void *va, const void *vb)
{
    const struct ptl__sym *a = va, *b = vb;
    size_t na, nb;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    na = strspn(a->name, "_"); /* memcpy rather than __memcpy */
    nb = strspn(b->name, "_");
    if (na != nb)
        return na < nb ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Keep one symbol for each start, with the end of whichever knows one. */
static void merge_same_start(struct ptl__symlist *list)
{
    size_t n = 0;

    for (size_t i = 0; i < list->count; i++) {
        const struct ptl__sym *sym = &list->syms[i];
        if (n && list->syms[n - 1].start == sym->start) {
            if (list->syms[n - 1].end == sym->start)
                list->syms[n - 1].end = sym->end;
            continue;
        }
        list->syms[n++] = *sym;
    }
    list->count = n;
}

/* The sweep: a stack of the symbols that cover the position, innermost on top. */
struct sweep {
    struct ptl__symtab *table;
    const struct ptl__sym **stack;
    size_t depth;
};

static void emit(struct sweep *sweep, uint64_t start, const struct ptl__sym *sym)
{
    struct ptl__symtab *t = sweep->table;
    struct ptl__symrange range = {start, sym ? sym->start : 0, sym ? sym->name : NULL};

    if (t->count && t->ranges[t->count - 1].start == start)
        t->count--; /* that one was empty */
    t->ranges[t->count++] = range;
}

/* Leave the symbols that end at or before `at`. */
static void leave(struct sweep *sweep, uint64_t at)
{
    while (sweep->depth && sweep->stack[sweep->depth - 1]->end <= at) {
        uint64_t end = sweep->stack[--sweep->depth]->end;
        /* Those that ended earlier below it never show again. */
        while (sweep->depth && sweep->stack[sweep->depth - 1]->end <= end)
            sweep->depth--;
        emit(sweep, end, sweep->depth ? sweep->stack[sweep->depth - 1] : NULL);
    }
}

static void sweep_all(struct sweep *sweep, struct ptl__symlist *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct ptl__sym *sym = &list->syms[i];
        leave(sweep, sym->start);
        if (sym->end == sym->start) {
            if (sweep->depth) /* a label inside a function */
                continue;
            sym->end = sym->limit;
            if (i + 1 < list->count && list->syms[i + 1].start < sym->end)
                sym->end = list->syms[i + 1].start;
            if (sym->end <= sym->start)
                continue;
        }
        emit(sweep, sym->start, sym);
        sweep->stack[sweep->depth++] = sym;
    }
    leave(sweep, UINT64_MAX);
}

static int build(struct ptl__symlist *list, struct ptl__symtab *table)
{
    struct sweep sweep = {.table = table};

    qsort(list->syms, list->count, sizeof(*list->syms), compare);
    merge_same_start(list);
    /* Each symbol is entered once and left once. */
    table->ranges = ptl__calloc(list->count * 2, sizeof(*table->ranges));
    sweep.stack = ptl__calloc(list->count, sizeof(struct ptl__sym *));
    if (table->ranges && sweep.stack)
        sweep_all(&sweep, list);
    ptl__free(sweep.stack);
    return table->ranges && sweep.stack ? 0 : PTL_NOMEM;
}

int ptl__symlist_finish(struct ptl__symlist *list, char *names, struct ptl__symtab **table)
{
    int status = 0;

    *table = ptl__calloc(1, sizeof(**table));
    if (*table) {
        (*table)->names = names;
        if (list->count)
            status = build(list, *table);
    } else {
        ptl__free(names);
        status = PTL_NOMEM;
    }
    ptl__free(list->syms);
    *list = (struct ptl__symlist){0};
    if (status < 0) {
        ptl__symtab_free(*table);
        *table = NULL;
    }
    return status;
}

void ptl__symtab_free(struct ptl__symtab *table)
{
    if (!table)
        return;
    ptl__free(table->ranges);
    ptl__free(table->names);
    ptl__free(table);
}

const char *ptl__symtab_find(const struct ptl__symtab *table, uint64_t at, uint64_t *offset)
{
    size_t low = 0, high = table->count; /* the last range that starts at or before `at` */

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (table->ranges[mid].start <= at)
            low = mid + 1;
        else
            high = mid;
    }
    if (!low || !table->ranges[low - 1].name)
        return NULL;
    *offset = at - table->ranges[low - 1].sym_start;
    return table->ranges[low - 1].name;
}
