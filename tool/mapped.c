/* SPDX-License-Identifier: BSD-3-Clause */
/* mapped.c - see mapped.h. */
#include "mapped.h"

#include "opts.h"

#include <pt/io.h>
#include <string.h>

/* A file may be mapped more than once. */
static int is_told(const struct ptl_map_loss *loss, size_t end)
{
    struct ptl_map_loss other;
    size_t i = 0;

    while (ptl_map_loss(&i, &other) && i < end)
        if (!strcmp(other.name, loss->name))
            return 1;
    return 0;
}

uint64_t mapped_report(const char *prog)
{
    struct ptl_map_loss loss;
    uint64_t count = 0;
    size_t i = 0;

    while (ptl_map_loss(&i, &loss)) {
        if (is_told(&loss, i))
            continue;
        count++;
        if (loss.err)
            opts_error(prog, "%s: 0x%llx: cannot read what comes here: %s.", loss.name,
                       (unsigned long long)loss.offset, strerror(loss.err));
        else
            opts_error(prog, "%s: 0x%llx: the file was truncated here while it was read.",
                       loss.name, (unsigned long long)loss.offset);
    }
    return count;
}
