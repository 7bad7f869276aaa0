/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slab.h - memory that is handed out in small pieces and given back all at once.
 *
 * It is of huge pages: a fault on each small one costs many times what is done with it, above all
 * when several threads fault at the same time.
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

/* As malloc(), for memory of some MiB that will be used throughout. */
void *slab_malloc(size_t size);

#endif
