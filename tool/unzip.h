/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unzip.h - what libpt needs to read and write compressed perf.data (`perf record -z`).
 */
#ifndef TOOL_UNZIP_H
#define TOOL_UNZIP_H

#include <pt/perfdata.h>

extern const struct ptl_unzip zstd_unzip;

/* Level 1..22; `level` is the context of the streams. */
struct ptl_zip zstd_zip(int level);

#endif
