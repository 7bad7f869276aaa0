/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * functions.h - which functions the instructions are of, and how many ran in each
 * (--stat:functions).
 */
#ifndef PTXED_FUNCTIONS_H
#define PTXED_FUNCTIONS_H

#include "out.h"

#include <pt/image.h>

struct functions;

/* A stretch of a block that is of one function. */
struct function_part {
    uint32_t first;    /* instruction of the block */
    uint32_t function; /* its number */
    uint32_t entry;    /* it is the function's first one */
};

struct functions *functions_new(void); /* NULL: without memory */
void functions_free(struct functions *functions);

/* The number of a function: `name` NULL where there is no symbol. Both live as long as the
 * functions. UINT32_MAX without memory. */
uint32_t functions_number(struct functions *functions, const struct ptl_section *section,
                          const char *name);
/* Its name; NULL: none. */
const char *functions_name(const struct functions *functions, uint32_t function);

/* The first `ninsn` instructions of a block with these parts ran. */
void functions_count(struct functions *functions, const struct function_part *parts, uint32_t count,
                     uint32_t ninsn);

/* A table, the function with most instructions first. */
void functions_print(struct functions *functions, struct out *out, int json);

#endif
