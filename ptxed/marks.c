/* SPDX-License-Identifier: BSD-3-Clause */
/* marks.c - see marks.h. */
#include "marks.h"

#include "opts.h"

#include <ctype.h>
#include <stdlib.h>

int mark_parse(struct mark *mark, const char *text)
{
    static const char word[] = "ptwrite";
    size_t n = strlen(word);

    *mark = (struct mark){.kind = MARK_FUNCTION, .name = text};
    if (!*text)
        return -1;
    if (!strncmp(text, word, n) && !text[n]) {
        mark->kind = MARK_PTWRITE_ANY;
    } else if (!strncmp(text, word, n) && text[n] == ':') {
        mark->kind = MARK_PTWRITE;
        return opts_size(text + n + 1, &mark->value);
    } else if (isdigit((unsigned char)*text)) {
        mark->kind = MARK_ADDRESS;
        return opts_size(text, &mark->value);
    }
    return 0;
}

int marks_given(const struct marks *marks)
{
    return marks->from.kind != MARK_NONE || marks->to.kind != MARK_NONE;
}

int marks_begin(const struct marks *marks)
{
    return marks->from.kind == MARK_NONE;
}

/* The flow has come to one of the marks, or not: what is between changes. */
static void pass(struct printer *p, int from, int to)
{
    p->marks->passed[0] += from != 0;
    p->marks->passed[1] += to != 0;
    *p->between = *p->between ? !to : from;
}

static void report(const char *prog, const char *path, const char *option, const struct mark *mark,
                   uint64_t passed)
{
    if (mark->kind != MARK_NONE && !passed)
        opts_error(prog, "%s: %s %s: it was never passed.", path, option, mark->name);
}

int marks_report(const struct marks *marks, const char *prog, const char *path)
{
    report(prog, path, "--select:from", &marks->from, marks->passed[0]);
    report(prog, path, "--select:to", &marks->to, marks->passed[1]);
    return marks->from.kind != MARK_NONE && !marks->passed[0];
}

/* --- events ---------------------------------------------------------------------- */

static int event_is(const struct mark *mark, const struct ptl_event *event)
{
    return event->type == PTL_EV_PTWRITE &&
           (mark->kind == MARK_PTWRITE_ANY ||
            (mark->kind == MARK_PTWRITE && mark->value == event->u.ptwrite.payload));
}

/* --- blocks ------------------------------------------------------------------------ */

/* Is the mark at this address, at the beginning of one of the block's functions? */
static int insn_is(const struct mark *mark, const struct printer *p, const struct lines *lines,
                   uint32_t insn, uint64_t ip)
{
    if (mark->kind == MARK_ADDRESS)
        return mark->value == ip;
    if (mark->kind != MARK_FUNCTION)
        return 0;
    for (uint32_t i = 0; i < lines->npart; i++) {
        const char *name = functions_name(p->style.functions, lines->parts[i].function);

        if (lines->parts[i].first == insn)
            return lines->parts[i].entry && name && !strcmp(name, mark->name);
    }
    return 0;
}

/* Can the mark be in the block at all? */
static int block_may(const struct mark *mark, const struct printer *p, const struct ptl_item *item,
                     const struct lines *lines)
{
    uint64_t ip = item->u.block->ip;

    if (mark->kind == MARK_ADDRESS)
        return mark->value - ip < item->size;
    for (uint32_t i = 0; mark->kind == MARK_FUNCTION && i < lines->npart; i++)
        if (insn_is(mark, p, lines, lines->parts[i].first, 0))
            return 1;
    return 0;
}

/* Print instructions `first` to before `end`, which begin `skip` bytes into the block and have
 * `size` bytes, as if they were a block. */
static int print_part(struct printer *p, const struct ptl_item *item, uint32_t first, uint32_t end,
                      uint32_t skip, uint32_t size)
{
    const struct ptl_block *whole = item->u.block;
    struct ptl_block block = *whole;
    struct ptl_item part = *item;
    int status;

    if (first == end)
        return 0;
    if (first == 0 && end == item->ninsn)
        return print_whole(p, item);
    block.ip += skip;
    block.bytes += skip;
    block.size = end == item->ninsn ? whole->size - skip : size;
    block.ninsn = (uint16_t)(end == item->ninsn ? whole->ninsn - first : end - first);
    block.user = NULL;
    if (end != item->ninsn) {
        block.iclass = PTL_INSN_OTHER;
        block.target = 0;
    }
    part.u.block = &block;
    part.ninsn = (uint16_t)(end - first);
    part.size = size;
    if (first)
        part.flags &= (uint8_t)~PTL_ITEM_CONTINUED;
    status = print_whole(p, &part);
    lines_free(block.user);
    return status;
}

/* Step through a block in which a mark may be. */
static int split(struct printer *p, const struct ptl_item *item, const struct lines *lines)
{
    const struct ptl_block *block = item->u.block;
    uint32_t first = 0, begin = 0, at = 0, i;
    int status = 0, on;

    for (i = 0; i < item->ninsn && status == 0; i++) {
        uint64_t ip = block->ip + at;
        struct ptl_insn insn;

        on = *p->between;
        pass(p, insn_is(&p->marks->from, p, lines, i, ip), insn_is(&p->marks->to, p, lines, i, ip));
        if (on && !*p->between)
            status = print_part(p, item, first, i, begin, at - begin);
        if (!on && *p->between) {
            first = i;
            begin = at;
        }
        if (ptl_insn_decode(&insn, block->bytes + at, block->size - at,
                            (enum ptl_exec_mode)block->mode) <= 0)
            break; /* cannot be: the flow has walked here */
        at += insn.size;
    }
    if (status == 0 && *p->between)
        status = print_part(p, item, first, item->ninsn, begin, item->size - begin);
    return status;
}

static int print_between(struct printer *p, const struct ptl_item *item)
{
    const struct lines *lines = lines_of(item->u.block, &p->style, NULL);

    if (!lines)
        return PTL_NOMEM;
    if (block_may(&p->marks->from, p, item, lines) || block_may(&p->marks->to, p, item, lines))
        return split(p, item, lines);
    return *p->between ? print_whole(p, item) : 0;
}

int marks_print(struct printer *p, const struct ptl_item *item)
{
    if (item->kind == PTL_ITEM_BLOCK)
        return print_between(p, item);
    if (item->kind == PTL_ITEM_EVENT) {
        const struct ptl_event *event = item->u.event;

        pass(p, event_is(&p->marks->from, event), event_is(&p->marks->to, event));
        if (!*p->between && event->type != PTL_EV_SYNC) {
            if (p->after_event)
                p->after_event(p->context, event);
            return 0;
        }
    }
    return print_whole(p, item);
}
