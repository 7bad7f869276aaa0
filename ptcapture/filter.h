/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * filter.h - address filters: --filter with its symbols resolved.
 */
#ifndef PTCAPTURE_FILTER_H
#define PTCAPTURE_FILTER_H

#include "options.h"

#include <limits.h>

enum filter_action {
    FILTER_ONLY,  /* trace is written inside */
    FILTER_START, /* tracing begins */
    FILTER_STOP   /* tracing ends */
};

struct filter_range {
    enum filter_action action;
    uint64_t start, size; /* in the file; without one an address of the kernel. size 0: not told */
    char path[PATH_MAX];  /* absolute; empty: the kernel */
};

struct filter {
    struct filter_range *range;
    size_t count;
    char *text; /* as the kernel takes it */
};

/* Returns 0, or -1 with a message in `error`. */
int filter_resolve(struct filter *filter, const struct string_list *list, char *error, size_t size);
void filter_free(struct filter *filter);

#endif
