/* SPDX-License-Identifier: BSD-3-Clause */
/* opts_select.c - see opts_select.h. */
#include "opts_select.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FAILED  3 /* exit status 2, plus 1 */
#define SECOND  1000000000ull
#define PERCENT 10000ull /* millionths */

static int bad(const struct opts_select *s, const struct opt *opt, const char *arg)
{
    opts_error(s->prog, "%s: bad argument: %s.", opt->name, arg);
    return FAILED;
}

/* --- lists --------------------------------------------------------------------------- */

/* "3", "0-2,5". */
static int parse_ranges(struct select_list *list, const char *arg)
{
    for (;;) {
        struct select_range *range = realloc(list->range, (list->count + 1) * sizeof(*range));
        const char *end;
        int failed;

        if (!range)
            return -1;
        list->range = range;
        range += list->count;
        failed = opts_scan(arg, &range->from, &end);
        range->to = range->from;
        if (*end == '-')
            failed |= opts_scan(end + 1, &range->to, &end);
        if (failed || range->to < range->from)
            return -1;
        list->count++;
        if (!*end)
            return 0;
        if (*end != ',')
            return -1;
        arg = end + 1;
    }
}

static int add_ranges(void *context, const struct opt *opt, const char *arg)
{
    struct opts_select *s = context;
    struct select_list *list = (void *)((char *)context + opt->value);

    s->given = opt->name;
    return parse_ranges(list, arg) ? bad(s, opt, arg) : 0;
}

static int add_comm(void *context, const struct opt *opt, const char *arg)
{
    struct opts_select *s = context;
    const char **comms = realloc(s->comms, (s->comm_count + 1) * sizeof(*comms));

    if (!comms)
        return bad(s, opt, arg);
    s->given = opt->name;
    s->comms = comms;
    comms[s->comm_count++] = arg;
    return 0;
}

int select_has(const struct select_list *list, uint64_t value)
{
    for (size_t i = 0; i < list->count; i++)
        if (value >= list->range[i].from && value <= list->range[i].to)
            return 1;
    return !list->count;
}

int select_by_task(const struct opts_select *s)
{
    return s->pids.count || s->tids.count || s->comm_count;
}

int select_task(const struct opts_select *s, uint32_t pid, uint32_t tid, const char *comm)
{
    int named = !s->comm_count;

    for (size_t i = 0; i < s->comm_count && !named; i++)
        named = comm && !strcmp(comm, s->comms[i]);
    return named && select_has(&s->pids, pid) && select_has(&s->tids, tid);
}

int select_refuse(const char *prog, const char *option, const char *name)
{
    if (!option)
        return 0;
    opts_error(prog, "%s: only with a recording (perf.data); %s is a raw trace.", option, name);
    return -1;
}

/* --- time ------------------------------------------------------------------------------ */

/* Digits, and up to `places` behind a point; scaled by 10^places. Returns the rest, or NULL. */
static const char *parse_decimal(const char *s, unsigned places, uint64_t *value)
{
    uint64_t v = 0;
    int any = 0, point = 0;

    for (; isdigit((unsigned char)*s) || (*s == '.' && !point); s++) {
        if (*s == '.') {
            point = 1;
            continue;
        }
        any = 1;
        if (point && !places)
            continue; /* finer than we count */
        if (v > (UINT64_MAX - 9) / 10)
            return NULL;
        v = v * 10 + (uint64_t)(*s - '0');
        places -= (unsigned)point;
    }
    for (; places; places--) {
        if (v > UINT64_MAX / 10)
            return NULL;
        v *= 10;
    }
    *value = v;
    return any ? s : NULL;
}

/* "12.5" seconds, "+0.5" seconds from the start, "20%". Returns the rest, or NULL. */
static const char *parse_bound(const char *s, struct select_bound *bound)
{
    const char *end = s + strcspn(s, ",");
    int percent = end > s && end[-1] == '%';

    bound->kind = *s == '+' ? SELECT_RELATIVE : SELECT_ABSOLUTE;
    s += *s == '+';
    if (end == s) {
        bound->kind = SELECT_OPEN;
        return end;
    }
    if (percent)
        bound->kind = SELECT_PERCENT;
    s = parse_decimal(s, percent ? 4 : 9, &bound->value);
    return s && s + percent == end ? end : NULL;
}

/* A stretch that ends before it begins, as far as can be told without the recording. */
static int is_backwards(const struct opts_select *s)
{
    return s->from.kind != SELECT_OPEN && s->from.kind == s->to.kind && s->to.value < s->from.value;
}

static int set_time(void *context, const struct opt *opt, const char *arg)
{
    struct opts_select *s = context;
    const char *rest = parse_bound(arg, &s->from);

    s->given = opt->name;
    s->to.kind = SELECT_OPEN; /* whatever was said before */
    if (rest && *rest == ',')
        rest = parse_bound(rest + 1, &s->to);
    if (!*arg || !rest || *rest || is_backwards(s))
        return bad(s, opt, arg);
    return 0;
}

int select_by_time(const struct opts_select *s)
{
    return s->from.kind != SELECT_OPEN || s->to.kind != SELECT_OPEN;
}

/* Later than any time is at the end of time. */
static uint64_t later(uint64_t first, uint64_t by)
{
    return by > UINT64_MAX - first ? UINT64_MAX : first + by;
}

static uint64_t part_of(uint64_t whole, uint64_t percent)
{
    double part = (double)whole * (double)percent / (double)(100 * PERCENT);

    return part < 0x1p64 ? (uint64_t)part : UINT64_MAX;
}

static uint64_t resolve(const struct select_bound *bound, uint64_t first, uint64_t last,
                        uint64_t open)
{
    switch (bound->kind) {
    case SELECT_ABSOLUTE:
        return bound->value;
    case SELECT_RELATIVE:
        return later(first, bound->value);
    case SELECT_PERCENT:
        return later(first, part_of(last - first, bound->value));
    default:
        return open;
    }
}

void select_window(const struct opts_select *s, uint64_t first, uint64_t last, uint64_t *from,
                   uint64_t *to)
{
    *from = resolve(&s->from, first, last, 0);
    *to = resolve(&s->to, first, last, UINT64_MAX);
}

/* --- the table ------------------------------------------------------------------------------ */

const struct opt opts_select_table[] = {
    {"--select:cpu", NULL, "<list>", "only the trace of these processors, e.g. 0-2,5", add_ranges,
     offsetof(struct opts_select, cpus), 0, NULL},
    {"--select:aux", NULL, "<list>", "only these AUX buffers, by number", add_ranges,
     offsetof(struct opts_select, idxs), 0, NULL},
    {"--select:pid", NULL, "<list>", "only these processes", add_ranges,
     offsetof(struct opts_select, pids), 0, NULL},
    {"--select:tid", NULL, "<list>", "only these threads", add_ranges,
     offsetof(struct opts_select, tids), 0, NULL},
    {"--select:comm", NULL, "<name>", "only threads of this name; may be repeated", add_comm, 0, 0,
     NULL},
    {"--select:time", NULL, "<from>[,<to>]",
     "only this stretch of time (either end may be empty): seconds as perf shows them, +seconds "
     "from the beginning, or percent%. The time of what is printed is that of the last timing "
     "packet "
     "up to it; where the trace has no time there is nothing to select by",
     set_time, 0, 0, NULL},
    {.name = NULL},
};

void opts_select_close(struct opts_select *s)
{
    free(s->cpus.range);
    free(s->pids.range);
    free(s->tids.range);
    free(s->idxs.range);
    free(s->comms);
}
