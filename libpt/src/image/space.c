/* SPDX-License-Identifier: BSD-3-Clause */
/* space.c - which section is mapped where. */
#include "image/space.h"

#include "base/alloc.h"
#include "image/section.h"

#include <limits.h>

int ptl_space_new(struct ptl_space **space)
{
    if (!space)
        return PTL_INVALID;
    *space = ptl__calloc(1, sizeof(**space));
    if (!*space)
        return PTL_NOMEM;
    (*space)->generation = 1;
    return 0;
}

void ptl_space_free(struct ptl_space *space)
{
    if (!space)
        return;
    ptl__tree_unref(space->tree);
    ptl__free(space);
}

int ptl_space_clone(struct ptl_space **copy, const struct ptl_space *space)
{
    int status;

    if (!space)
        return PTL_INVALID;
    status = ptl_space_new(copy);
    if (status < 0)
        return status;
    (*copy)->tree = ptl__tree_ref(space->tree);
    (*copy)->generation = space->generation;
    return 0;
}

static int replace(struct ptl_space *space, const struct ptl__range *range)
{
    struct ptl__node *tree;

    if (ptl__tree_replace(&tree, space->tree, range) < 0)
        return PTL_NOMEM;
    ptl__tree_unref(space->tree);
    space->tree = tree;
    space->generation++;
    return 0;
}

/* Neither empty nor wrapping around the end of the address space. */
static int is_range(uint64_t begin, uint64_t size)
{
    return size != 0 && size - 1 <= UINT64_MAX - begin;
}

int ptl_space_map(struct ptl_space *space, uint64_t vaddr, struct ptl_section *section,
                  uint64_t offset, uint64_t size)
{
    struct ptl__range range = {vaddr, vaddr + (size - 1), offset, section};

    if (!space || !section || !is_range(vaddr, size) || offset > section->size ||
        size > section->size - offset)
        return PTL_INVALID;
    return replace(space, &range);
}

int ptl_space_unmap(struct ptl_space *space, uint64_t vaddr, uint64_t size)
{
    struct ptl__range range = {vaddr, vaddr + (size - 1), 0, NULL};

    if (!space || !is_range(vaddr, size))
        return PTL_INVALID;
    return replace(space, &range);
}

static void describe(struct ptl_mapping *out, const struct ptl__range *range)
{
    out->section = range->section;
    out->begin = range->begin;
    out->end = range->last + 1;
    out->offset = range->offset;
    out->bytes = range->section->bytes ? range->section->bytes + range->offset : NULL;
}

int ptl_space_find(const struct ptl_space *space, uint64_t vaddr, struct ptl_mapping *out)
{
    const struct ptl__range *range = ptl__tree_find(space->tree, vaddr);

    if (!range)
        return PTL_NOMAP;
    describe(out, range);
    return 0;
}

int ptl_space_read(const struct ptl_space *space, uint8_t *buf, size_t len, uint64_t vaddr)
{
    size_t done = 0;

    if (len > INT_MAX)
        len = INT_MAX;
    while (done < len) {
        const struct ptl__range *range = ptl__tree_find(space->tree, vaddr);
        uint64_t here;
        size_t want = len - done;
        int n;

        if (!range)
            break;
        here = range->last - vaddr; /* bytes after the first one */
        if (want - 1 > here)
            want = (size_t)here + 1;
        n = ptl_section_read(range->section, buf + done, want,
                             range->offset + (vaddr - range->begin));
        if (n <= 0)
            break;
        done += (size_t)n;
        vaddr += (uint64_t)n;
        if ((size_t)n < want || vaddr == 0)
            break;
    }
    return done ? (int)done : PTL_NOMAP;
}

uint64_t ptl_space_generation(const struct ptl_space *space)
{
    return space->generation;
}

struct each {
    int (*fn)(void *context, const struct ptl_mapping *mapping);
    void *context;
};

static int each_range(void *context, const struct ptl__range *range)
{
    const struct each *each = context;
    struct ptl_mapping mapping;

    describe(&mapping, range);
    return each->fn(each->context, &mapping);
}

int ptl_space_each(const struct ptl_space *space,
                   int (*fn)(void *context, const struct ptl_mapping *mapping), void *context)
{
    struct each each = {fn, context};

    return ptl__tree_each(space->tree, each_range, &each);
}
