/* SPDX-License-Identifier: BSD-3-Clause */
/* print.c - see print.h. */
#include "print.h"

#include "coverage.h"
#include "marks.h"
#include "print_json.h"
#include "text_event.h"

#define BATCH 256 /* items a call */

static void check_failed(void *context, uint64_t ip, const char *what)
{
    struct printer *p = context;

    if (p->flags & PRINT_JSON)
        print_json_check(p, ip, what);
    else
        out_printf(&p->out, "[%llx, %llx: %s]\n", (unsigned long long)p->offset,
                   (unsigned long long)ip, what);
    p->stats.errors++;
}

/* Room for a line of the event or error, behind what lines begin with. */
static char *begin_line(struct printer *p)
{
    if (p->lead_len)
        out_write(&p->out, p->lead, p->lead_len);
    return out_reserve(&p->out, TEXT_EVENT_MAX + 1);
}

static void end_line(struct printer *p, char *buf, size_t n)
{
    buf[n] = '\n';
    out_commit(&p->out, n + 1);
}

static void print_error(struct printer *p, const struct ptl_error *error)
{
    if (p->flags & PRINT_JSON) {
        print_json_error(p, error);
    } else {
        char *buf = begin_line(p);

        end_line(p, buf, text_error(buf, error));
    }
    if (!p->stats.errors++)
        p->stats.first = *error;
}

static void print_event(struct printer *p, const struct ptl_event *event)
{
    char text[TEXT_EVENT_MAX];
    size_t n = 0;

    if (event->type == PTL_EV_SYNC)
        p->stats.syncs++;
    else
        p->stats.events++;
    if ((p->flags & (PRINT_JSON | PRINT_QUIET)) == PRINT_JSON) {
        if (text_event_shown(event, p->event_flags))
            print_json_event(p, event);
    } else if (!(p->flags & PRINT_QUIET))
        n = text_event(text, event, p->event_flags);
    if (n) {
        char *buf = begin_line(p);

        memcpy(buf, text, n);
        end_line(p, buf, n);
    }
    if (p->after_event)
        p->after_event(p->context, event);
}

/* --- blocks --------------------------------------------------------------------- */

static void count_block(struct printer *p, const struct ptl_item *item)
{
    p->stats.insns += item->ninsn - p->first;
    if (item->flags & PTL_ITEM_CONTINUED)
        return;
    p->stats.blocks++;
    if ((p->flags & (PRINT_BLOCKS | PRINT_QUIET | PRINT_JSON)) != PRINT_BLOCKS)
        return;
    if (p->flags & (PRINT_STAT_BLOCK | PRINT_STAT_INSN))
        out_printf(&p->out, "[block %llx]\n", (unsigned long long)p->stats.blocks);
    else
        out_str(&p->out, "[block]\n");
}

/* What stands before each line of the item. */
static size_t line_prefix(const struct printer *p, const struct ptl_item *item, char *buf)
{
    size_t n = p->lead_len;

    if (n)
        memcpy(buf, p->lead, n);
    if (p->flags & PRINT_OFFSET) {
        text_hex16(buf + n, item->offset);
        memcpy(buf + n + 16, "  ", 2);
        n += 18;
    }
    if (p->flags & PRINT_TIME) {
        text_hex16(buf + n, item->tsc);
        memcpy(buf + n + 16, "  ", 2);
        n += 18;
    }
    if (item->flags & PTL_ITEM_SPECULATIVE) {
        memcpy(buf + n, "? ", 2);
        n += 2;
    }
    return n;
}

static void print_lines(struct printer *p, const struct ptl_item *item, const struct lines *lines)
{
    uint32_t first = p->first;
    uint32_t count = item->ninsn < lines->ninsn ? item->ninsn : lines->ninsn;
    char prefix[PRINT_LEAD_MAX + 64];
    size_t n = line_prefix(p, item, prefix);

    if (first >= count) /* the file of the code was truncated before the lines were made */
        return;
    if (!n) {
        out_hold(&p->out, lines->str + lines->marks[first],
                 lines->marks[count] - lines->marks[first]);
        return;
    }
    for (uint32_t i = first; i < count; i++) {
        uint32_t begin = lines->marks[i];
        out_write(&p->out, prefix, n);
        out_write(&p->out, lines->str + begin, lines->marks[i + 1] - begin);
    }
}

static int print_block(struct printer *p, const struct ptl_item *item)
{
    struct line_check check = {p->check_text, check_failed, p};
    const struct ptl_block *block = item->u.block;
    const struct lines *lines;

    count_block(p, item);
    p->offset = item->offset;
    if ((p->flags & (PRINT_JSON_BLOCKS | PRINT_QUIET)) == PRINT_JSON_BLOCKS)
        print_json_block(p, item);
    if (!(p->flags & PRINT_CHECK) && !p->style.functions &&
        p->flags & (PRINT_QUIET | PRINT_JSON_BLOCKS))
        return 0;
    lines = lines_of(block, &p->style, p->flags & PRINT_CHECK ? &check : NULL);
    if (!lines)
        return PTL_NOMEM;
    if (p->flags & PRINT_STAT_FUNCTIONS)
        functions_count(p->style.functions, lines->parts, lines->npart, item->ninsn);
    if (p->flags & (PRINT_QUIET | PRINT_JSON_BLOCKS))
        return 0;
    if (p->flags & PRINT_JSON)
        print_json_insns(p, item, lines);
    else if (item->ninsn == lines->ninsn && !p->first &&
             !(p->flags & (PRINT_OFFSET | PRINT_TIME)) && !p->lead_len &&
             !(item->flags & PTL_ITEM_SPECULATIVE))
        out_hold(&p->out, lines->str, lines->len);
    else
        print_lines(p, item, lines);
    return 0;
}

static void print_end(struct printer *p)
{
    if (p->flags & PRINT_JSON) {
        print_json_mark(p, "end");
        return;
    }
    if (p->lead_len)
        out_write(&p->out, p->lead, p->lead_len);
    out_str(&p->out, "[end of trace]\n");
}

/* Is the item before the first instruction that is wanted? */
static int is_skipped(struct printer *p, const struct ptl_item *item)
{
    p->first = 0;
    if (!p->skip)
        return 0;
    if (item->kind == PTL_ITEM_COUNT) {
        uint64_t skipped = item->u.ran->insns < p->skip ? item->u.ran->insns : p->skip;

        p->stats.insns += item->u.ran->insns - skipped;
        p->skip -= skipped;
    }
    if (item->kind != PTL_ITEM_BLOCK)
        return 1;
    if (item->ninsn <= p->skip) {
        p->skip -= item->ninsn;
        return 1;
    }
    p->first = (uint32_t)p->skip;
    p->skip = 0;
    return 0;
}

/* --- all items ------------------------------------------------------------------ */

int print_item(struct printer *p, const struct ptl_item *item)
{
    if (is_skipped(p, item))
        return 0;
    return p->marks ? marks_print(p, item) : print_whole(p, item);
}

int print_whole(struct printer *p, const struct ptl_item *item)
{
    if (p->by_item && coverage_item(p, item) < 0)
        return PTL_NOMEM;
    switch (item->kind) {
    case PTL_ITEM_BLOCK:
        return print_block(p, item);
    case PTL_ITEM_EVENT:
        ptl_losses_item(&p->stats.losses, item);
        print_event(p, item->u.event);
        return 0;
    case PTL_ITEM_ERROR:
        ptl_losses_item(&p->stats.losses, item);
        print_error(p, item->u.error);
        return 0;
    case PTL_ITEM_COUNT:
        p->stats.insns += item->u.ran->insns;
        p->stats.blocks += item->u.ran->blocks;
        return 0;
    case PTL_ITEM_END:
        p->stats.ended_on = 1;
        if (!(p->flags & PRINT_QUIET))
            print_end(p);
        return 0;
    default:
        return 0;
    }
}

/* Is a whole block its lines and nothing else? */
static int is_plain(const struct printer *p)
{
    const unsigned other = PRINT_QUIET | PRINT_OFFSET | PRINT_TIME | PRINT_BLOCKS | PRINT_CHECK |
                           PRINT_JSON | PRINT_JSON_BLOCKS | PRINT_STAT_FUNCTIONS;

    return !(p->flags & other) && !p->marks && !p->skip && !p->lead_len;
}

int print_plain(struct printer *p, const struct ptl_item *items, int n)
{
    struct iovec *parts = is_plain(p) ? out_parts(&p->out, (size_t)n) : NULL;
    uint64_t insns = 0;
    int i;

    if (!parts)
        return 0;
    for (i = 0; i < n && items[i].kind == PTL_ITEM_BLOCK && !items[i].flags; i++) {
        const struct lines *lines = items[i].u.block->user;

        if (!lines || lines->ninsn != items[i].ninsn)
            break;
        parts[i] = (struct iovec){(void *)(uintptr_t)lines->str, lines->len};
        insns += items[i].ninsn;
    }
    p->out.part_count += (size_t)i;
    p->stats.insns += insns;
    p->stats.blocks += (uint64_t)i;
    return i;
}

int print_flow(struct printer *p, struct ptl_flow *flow)
{
    uint64_t skipped = ptl_flow_skipped(flow), withheld = ptl_flow_withheld(flow);
    struct ptl_item items[BATCH];
    int n;

    while ((n = ptl_flow_next(flow, items, BATCH)) > 0) {
        for (int i = print_plain(p, items, n); i < n; i += print_plain(p, items + i, n - i)) {
            int status = print_item(p, &items[i++]);
            if (status)
                return status;
        }
        if (p->out.error)
            return PTL_IO;
    }
    p->stats.losses.count[PTL_LOSS_SKIPPED] += ptl_flow_skipped(flow) - skipped;
    p->stats.withheld += ptl_flow_withheld(flow) - withheld;
    return n;
}

void print_add_stats(struct printer *p, const struct print_stats *more)
{
    if (!p->stats.errors)
        p->stats.first = more->first;
    p->stats.insns += more->insns;
    p->stats.blocks += more->blocks;
    p->stats.errors += more->errors;
    p->stats.syncs += more->syncs;
    p->stats.events += more->events;
    p->stats.withheld += more->withheld;
    p->stats.decoded += more->decoded;
    p->stats.ended_on |= more->ended_on;
    ptl_losses_add(&p->stats.losses, &more->losses);
}

void print_statistics(struct printer *p)
{
    if (p->flags & PRINT_JSON) {
        print_json_statistics(p);
    } else {
        if (p->flags & PRINT_STAT_INSN)
            out_printf(&p->out, "insn: %llu.\n", (unsigned long long)p->stats.insns);
        if (p->flags & PRINT_STAT_BLOCK)
            out_printf(&p->out, "blocks:\t%llu.\n", (unsigned long long)p->stats.blocks);
        if (p->flags & PRINT_STAT_DECODED)
            out_printf(&p->out, "decoded: %llu bytes.\n", (unsigned long long)p->stats.decoded);
    }
    if (p->flags & PRINT_STAT_FUNCTIONS)
        functions_print(p->style.functions, &p->out, (p->flags & PRINT_JSON) != 0);
}
