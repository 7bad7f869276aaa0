/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * marks.h - only what ran between two marks (--select:from, --select:to): from each first
 * mark on, up to the next second one.
 */
#ifndef PTXED_MARKS_H
#define PTXED_MARKS_H

#include "print.h"

enum mark_kind { MARK_NONE, MARK_ADDRESS, MARK_FUNCTION, MARK_PTWRITE, MARK_PTWRITE_ANY };

struct mark {
    enum mark_kind kind;
    uint64_t value;
    const char *name;
};

struct marks {
    struct mark from, to;
    uint64_t passed[2]; /* how often the flow has come by each */
};

/* "0x401136", "main", "ptwrite", "ptwrite:7". Returns 0 or -1. */
int mark_parse(struct mark *mark, const char *text);
/* Are there any? */
int marks_given(const struct marks *marks);
/* Is it shown before any mark? */
int marks_begin(const struct marks *marks);

/* Say which marks were never passed. Returns 1 if it never began. */
int marks_report(const struct marks *marks, const char *prog, const char *path);

/* print_item() for what is between. `printer->between` is the state, of the stream at hand. */
int marks_print(struct printer *printer, const struct ptl_item *item);

#endif
