/* SPDX-License-Identifier: BSD-3-Clause */
/* space.h - an address space: a version of a persistent map. */
#ifndef LIBPT_IMAGE_SPACE_H
#define LIBPT_IMAGE_SPACE_H

#include "image/tree.h"

struct ptl_space {
    struct ptl__node *tree;
    uint64_t generation;
};

#endif
