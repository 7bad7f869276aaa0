/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * writer.h - a recording being written.
 *
 * The header always tells the truth: its data size is patched after whole records have
 * reached the file, its feature bits are set only while the table stands behind the data.
 * So the file is readable whenever the recorder is killed.
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
    uint8_t *buffer; /* whole records, not flushed */
    size_t fill;
};

/* writer.c */
int ptl__writer_fail(struct ptl_perf_writer *w, int status);
int ptl__writer_out(struct ptl_perf_writer *w, const void *bytes, size_t len);
int ptl__writer_at(struct ptl_perf_writer *w, const void *bytes, size_t len, uint64_t at);
int ptl__writer_flush(struct ptl_perf_writer *w);
/* writer_header.c */
int ptl__writer_header(struct ptl_perf_writer *w, int with_features);
int ptl__writer_attrs(struct ptl_perf_writer *w);
int ptl__writer_pipe_header(struct ptl_perf_writer *w);
int ptl__writer_dress(struct ptl_perf_writer *w);

#endif
