/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * writer.h - a recording being written.
 *
 * The file is whole whenever the recorder is killed. Payloads of features stand before the data,
 * and each batch of whole records is followed by a table of them; only then one write of the
 * header makes both valid together. The next batch goes behind the table, which by then must be
 * skipped: its first entry (of feature 0, which nobody has) is at the same time the header of a
 * record that readers ignore. The last table is an ordinary one.
 */
#ifndef LIBPT_PERFDATA_WRITER_H
#define LIBPT_PERFDATA_WRITER_H

#include "perfdata/bytebuf.h"
#include "perfdata/internal.h"

#define HEADER_SIZE  104
#define PIPE_SIZE    16
#define FEATURES     32 /* those that we write */
#define MAX_RECORD   65528
#define WRITE_BUFFER ((size_t)256 << 10)

struct ptl_perf_writer {
    int fd;
    uint8_t pipe, begun, finished;
    uint8_t dressed; /* the file ends in a feature table, the header says so */
    int status, err; /* of the first failure, sticks */
    struct event_set set;
    char **names; /* of the events */
    size_t name_cap;

    struct bytebuf features[FEATURES];
    uint8_t have[FEATURES];
    uint64_t placed[FEATURES]; /* where in the file it stands before the data; 0: it does not */
    struct bytebuf build_ids, index; /* entries */
    uint64_t first_time, last_time;

    const struct ptl_zip *zip;
    void *zipping;
    uint8_t *zipped; /* one record */
    uint32_t mmap_len;
    uint64_t zip_in, zip_out;

    uint64_t attrs_at, data_at;
    uint64_t at;     /* in the file, behind what has been flushed */
    uint64_t told;   /* end of data as the header has it */
    uint64_t whole;  /* `at` when the header was written: nothing is behind */
    uint8_t *buffer; /* whole records, not flushed */
    size_t fill;
};

/* writer.c */
int ptl__writer_fail(struct ptl_perf_writer *w, int status);
int ptl__writer_out(struct ptl_perf_writer *w, const void *bytes, size_t len);
int ptl__writer_at(struct ptl_perf_writer *w, const void *bytes, size_t len, uint64_t at);
int ptl__writer_flush(struct ptl_perf_writer *w);
/* writer_header.c */
/* The header, with these feature bits. */
int ptl__writer_header(struct ptl_perf_writer *w, uint64_t features);
/* All up to `at` is whole records: a table behind them, and the header. */
int ptl__writer_tell(struct ptl_perf_writer *w);
int ptl__writer_attrs(struct ptl_perf_writer *w);
int ptl__writer_pipe_header(struct ptl_perf_writer *w);
int ptl__writer_dress(struct ptl_perf_writer *w);

#endif
