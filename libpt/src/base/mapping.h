/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mapping.h - files as memory: the one room that maps them, because a file may become shorter while
 * it is mapped (pt/io.h).
 *
 * A lost page is found out by a fault, or not at all: the bytes between the new end of a file and
 * the end of their page just read as 0, and so does everything behind them once the guard has
 * mapped zeros there. Hence the rule that readers go by: what is lost is 0 up to the end of the
 * mapping. A byte that is not 0 proves that all before it is there, and costs a load; only where
 * there is a 0 the file is asked for its size.
 */
#ifndef LIBPT_BASE_MAPPING_H
#define LIBPT_BASE_MAPPING_H

#include <pt/io.h>
#include <stdint.h>

struct ptl__mapping;

/* The mapping in which the byte lies; NULL: it is no byte of a file. */
struct ptl__mapping *ptl__mapping_of(const void *byte);
/* ptl_map_left() of bytes in this mapping; the file is asked in any case. */
size_t ptl__mapping_left(struct ptl__mapping *mapping, const void *bytes, size_t len);

#endif
