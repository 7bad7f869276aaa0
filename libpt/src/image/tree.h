/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree.h - a persistent map of disjoint address ranges.
 *
 * Nodes never change once made; a change copies the path from the root to it and shares
 * the rest. So a copy of a map costs one reference, all versions of a process' address
 * space together cost O(changes * log ranges), and readers need no lock.
 *
 * The empty map is NULL. Functions that make a map give the caller a reference; arguments
 * are borrowed. On failure (out of memory) nothing has changed.
 */
#ifndef LIBPT_IMAGE_TREE_H
#define LIBPT_IMAGE_TREE_H

#include <pt/image.h>

struct ptl__range {
    uint64_t begin, last; /* inclusive, so that the last address has a name */
    uint64_t offset;      /* of `begin` in the section */
    struct ptl_section *section;
};

struct ptl__node;

struct ptl__node *ptl__tree_ref(struct ptl__node *tree);
void ptl__tree_unref(struct ptl__node *tree);

/* `*out`: `tree` with [range->begin, range->last] replaced by `range`, or by nothing if it
 * has no section. Returns 0 or PTL_NOMEM. */
int ptl__tree_replace(struct ptl__node **out, struct ptl__node *tree,
                      const struct ptl__range *range);

/* The range that holds `addr`, or NULL. */
const struct ptl__range *ptl__tree_find(const struct ptl__node *tree, uint64_t addr);

/* Calls `fn` in address order until it returns non-zero. */
int ptl__tree_each(const struct ptl__node *tree,
                   int (*fn)(void *context, const struct ptl__range *range), void *context);

#endif
