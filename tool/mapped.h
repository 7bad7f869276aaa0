/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mapped.h - files that became shorter, or could not be read, while they were mapped (pt/io.h).
 */
#ifndef TOOL_MAPPED_H
#define TOOL_MAPPED_H

#include <stdint.h>

/* Say where the bytes of each such file ended. Returns how many there are. To be called when all
 * has been decoded, and the files are still open. */
uint64_t mapped_report(const char *prog);

#endif
