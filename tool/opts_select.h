/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opts_select.h - which part of a recording: processors, tasks, AUX buffers, a stretch of time;
 * one table for all tools. Use as an OPT_SUB row whose context is a struct opts_select.
 *
 * Lists select what any of their entries matches; an empty list selects everything.
 */
#ifndef TOOL_OPTS_SELECT_H
#define TOOL_OPTS_SELECT_H

#include "opts.h"

/* Inclusive ranges of numbers. */
struct select_list {
    struct select_range {
        uint64_t from, to;
    } * range;
    size_t count;
};

enum select_time { SELECT_OPEN, SELECT_ABSOLUTE, SELECT_RELATIVE, SELECT_PERCENT };

struct select_bound {
    enum select_time kind;
    uint64_t value; /* ns; millionths of the whole for SELECT_PERCENT */
};

struct opts_select {
    const char *prog;  /* set by the tool before parsing, for messages */
    const char *given; /* the last of these options, NULL: none */
    struct select_list cpus, pids, tids, idxs;
    const char **comms;
    size_t comm_count;
    struct select_bound from, to;
};

extern const struct opt opts_select_table[];
void opts_select_close(struct opts_select *select);

int select_has(const struct select_list *list, uint64_t value);
/* `comm` NULL: not known, and not selected by any name. */
int select_task(const struct opts_select *select, uint32_t pid, uint32_t tid, const char *comm);
/* Does it depend on the task? */
int select_by_task(const struct opts_select *select);
/* `option` (NULL: none was given) needs a recording, and the file `name` is a raw trace. Returns 0
 * if none was, else -1: the message has been printed. */
int select_refuse(const char *prog, const char *option, const char *name);
/* Is a stretch of time asked for? */
int select_by_time(const struct opts_select *select);
/* The stretch in ns, of a recording from `first` to `last`; everything: 0 to UINT64_MAX. */
void select_window(const struct opts_select *select, uint64_t first, uint64_t last, uint64_t *from,
                   uint64_t *to);

#endif
