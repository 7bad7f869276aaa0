/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recording.h - ptdump on a perf.data file: the packets of each piece of trace under a heading,
 * with what the recorder lost.
 */
#ifndef PTDUMP_RECORDING_H
#define PTDUMP_RECORDING_H

#include "infile.h"
#include "options.h"

#include <pt/perfdata.h>

/* Everything was decoded; something was not; wrong usage or nothing to decode. */
enum { EXIT_ALL = 0, EXIT_PART = 1, EXIT_NONE = 2 };

/* A directory, which may hold a recording. */
int recording_is_directory(const char *path);
/* Does the file begin as a perf.data file does? */
int recording_is_file(const struct infile *file);
/* `file` NULL: the directory options->file. Returns the exit status. */
int recording_run(struct options *options, const struct infile *file, struct out *out);

/* extract.c: an enum ptl_perf_piece_kind in a word. */
const char *piece_kind(unsigned kind);
/* extract.c: the work of --list-* and --extract-*. Returns the exit status. */
int extract_run(const struct options *options, const char *name, const struct ptl_perf *perf,
                struct out *out);

#endif
