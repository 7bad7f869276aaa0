/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slab.h - memory that is handed out in small pieces and given back all at once.
 *
 * Its pages are had some hundred at a time, which costs a small part of what a fault on each
 * costs, above all when several threads fault at the same time.
 */
#ifndef TOOL_SLAB_H
#define TOOL_SLAB_H

#include <stddef.h>

struct slab {
    struct slab_chunk *chunks; /* the one at hand first */
    size_t used;               /* bytes of it */
};

/* Memory for any object. NULL if there is none. A slab begins as zeros. */
void *slab_alloc(struct slab *slab, size_t size);
/* All that was handed out is void; some of the memory is kept for what comes. */
void slab_reset(struct slab *slab);
void slab_free(struct slab *slab);

/* Have the pages of memory that will soon be written throughout. */
void slab_populate(void *memory, size_t size);

#endif
