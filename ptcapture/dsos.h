/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsos.h - build ids of the files whose code was mapped, so that a later reader can tell whether
 * the file it finds is the one that ran.
 */
#ifndef PTCAPTURE_DSOS_H
#define PTCAPTURE_DSOS_H

#include <pt/perfdata.h>

/* Go through the records of the recording at `path`, as far as it has been written, and add the
 * build id of each file that they map as code (and the kernel's) to `writer`. Files that cannot
 * be read or have no id are left out. Returns 0 or a negative status of the writer. */
int dsos_add(struct ptl_perf_writer *writer, const char *path);

/* The build id of the file `path`, under the name that records have for it. */
int dsos_add_file(struct ptl_perf_writer *writer, const char *path, const char *name,
                  uint16_t misc);

#endif
