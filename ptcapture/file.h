/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file.h - the output: a new perf.data that only we can have created, with what is known of
 * the machine in its header. Both backends write through `writer`.
 */
#ifndef PTCAPTURE_FILE_H
#define PTCAPTURE_FILE_H

#include "pmu.h"

#include <pt/perfdata.h>

struct capture_file {
    int fd;
    struct ptl_perf_writer *writer;
    char *path;      /* of the file; inside the directory if there is one */
    char *directory; /* NULL: a plain file */
    int pipe;        /* written to standard output */
    int kept;        /* what stood there is now `path`.old */
};

/* Create `path` ("-": standard output) with mode 0600; an existing file is renamed to
 * `path`.old. `directory`: make `path` a directory and write its file `data`. Returns 0 or -1
 * with errno. */
int file_create(struct capture_file *file, const char *path, int directory);

/* Begin the container; the features of this machine are added. `argv`: our own command line;
 * `pmu`: named in PMU_MAPPINGS even if the kernel does not have it. Returns 0 or a negative
 * status. */
int file_start(struct capture_file *file, const struct ptl_perf_writer_config *config,
               const struct pmu *pmu, int argc, char *const *argv);

/* Add the build ids of what was mapped; finish and close. Not `whole`: the header goes on saying
 * that the recorder has not finished. Returns 0 or the first error that kept anything from being
 * written.
 */
int file_finish(struct capture_file *file, int whole);

/* Nothing has been recorded: remove it, and give an old file its name back. */
void file_discard(struct capture_file *file);

/* Bytes on disk. */
uint64_t file_bytes(const struct capture_file *file);

#endif
