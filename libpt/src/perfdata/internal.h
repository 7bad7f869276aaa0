/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * internal.h - an open recording.
 *
 *   streams    the mapped files: the file itself, data.N of a directory
 *   segments   runs of whole records in file order: parts of streams, or unzipped bytes
 *   spill      bytes that had to be made: unzipped records, trace joined across buffers
 *
 * Opening walks all records once for structure (walk.c), then looks at those that tell of AUX
 * data (aux.c), by the places that the walk kept; then nothing changes any more.
 */
#ifndef LIBPT_PERFDATA_INTERNAL_H
#define LIBPT_PERFDATA_INTERNAL_H

#include "base/alloc.h"
#include "base/bytes.h"

#include <pt/perfdata.h>

struct view {
    const uint8_t *bytes;
    uint64_t len;
    uint8_t mapped; /* by us */
    int file;       /* 1 + descriptor, to read what is not worth a page; 0: none */
};

struct stream {
    struct view view;
    uint64_t begin, end; /* records */
    uint32_t number;     /* 0, or N + 1 for data.N */
};

struct segment {
    const uint8_t *bytes; /* of unzipped and copied ones: set when the spill is complete */
    uint64_t spilled;     /* offset in the spill */
    uint64_t len;
    uint64_t file; /* offset of the segment, or of the COMPRESSED record, in its file */
    uint32_t stream;
    uint8_t unzipped;
    uint8_t copied; /* a few records between long traces */
};

/* Append-only bytes: in memory while small, else in an unlinked file that is mapped at
 * the end. */
struct spill {
    uint8_t *heap;
    size_t heap_cap;
    uint64_t len;
    int fd; /* -1: in memory */
    struct view view;
};

struct id_row {
    uint64_t id;
    uint32_t event;
};

/* The events of a recording and who has which id. */
struct event_set {
    struct ptl_perf_event *events;
    size_t count, cap;
    uint64_t *ids; /* of all events, one after another */
    size_t id_count, id_cap;
    struct id_row *rows;   /* sorted by id */
    uint8_t by_identifier; /* all events have IDENTIFIER */
};

struct feature {
    const uint8_t *bytes;
    uint64_t len;
};

/* An AUX record, until it has become a piece. */
struct aux_note {
    uint64_t offset, size, time, record, order;
    uint32_t flags, pid, tid, cpu;
    uint32_t queue; /* UINT32_MAX: none */
};

struct index_row { /* ID_INDEX */
    uint64_t id;
    uint32_t idx;
};

struct place_row { /* a record */
    uint64_t at;   /* in its segment */
    size_t segment;
};

struct join_row { /* a piece whose bytes are in the joins */
    size_t piece;
    uint64_t at;
};

struct ptl_perf {
    struct stream *streams;
    size_t stream_count, stream_cap;
    struct segment *segments;
    size_t segment_count, segment_cap;
    struct spill spill;  /* unzipped records */
    struct spill copies; /* of records that stand alone in their pages */
    struct spill joins;  /* trace of pieces that lie in several buffers */
    const char *tmpdir;
    const struct ptl_unzip *unzip;
    void *unzipping; /* of the stream being walked */
    uint8_t unzip_refused;

    uint64_t plain; /* records of the kernel that are not compressed */
    /* Where those of the types PTL__SKIM_INDEXED are, so that nobody reads all the others to
     * find them again. */
    struct place_row *places;
    size_t place_count, place_cap;
    uint8_t unindexed; /* there are too many, or they are in compressed ones */

    struct event_set set;

    struct feature features[PTL_FEAT_MAX];
    struct ptl_perf_info info;
    struct ptl_perf_build_id *build_ids;
    size_t build_id_count, build_id_cap;
    struct ptl_perf_pt pt;
    uint8_t have_pt;
    struct ptl_rec_time_conv time_conv;

    struct ptl_perf_buffer *buffers;
    size_t buffer_count, buffer_cap;
    struct index_row *index_rows;
    size_t index_count, index_cap;
    struct aux_note *notes;
    size_t note_count, note_cap;
    struct ptl_perf_queue *queues;
    size_t queue_count, queue_cap;
    struct ptl_perf_piece *pieces;
    size_t piece_count, piece_cap;
    struct join_row *join_rows;
    size_t join_count, join_cap;

    struct ptl_perf_problem *problems;
    size_t problem_count, problem_cap;
    void **kept; /* small allocations, freed at the end */
    size_t kept_count, kept_cap;
    char *directory;
};

/* One more element of a growing array; PTL_NOMEM. The limit is the size of the input or
 * what fits memory, whichever is met first. */
#define GROW(array, cap, count)                                                                    \
    ptl__grow((void **)&(array), &(cap), (count) + 1, SIZE_MAX / sizeof(*(array)), sizeof(*(array)))

/* Remember a problem; formatted like printf. Never fails: without memory it is dropped. */
void ptl__perf_complain(struct ptl_perf *perf, int status, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void *ptl__perf_keep(struct ptl_perf *perf, size_t size);
/* `len` bytes that should hold a NUL as a string: themselves, or a copy. NULL: no memory. */
const char *ptl__perf_text(struct ptl_perf *perf, const uint8_t *bytes, size_t len);

/* map.c */
int ptl__view_path(struct view *view, const char *path, const char *tmpdir,
                   struct ptl_perf_problem *problem);
/* Bytes are read in steps of this size before their pages are given back. */
#define PASS_STEP ((uint64_t)16 << 20)
/* The bytes were read up to `to`, `from` the last time: give pages back where a step ends. */
void ptl__view_pass(const struct view *view, uint64_t from, uint64_t to);
/* Read bytes without touching their page. Returns how many; 0: map them instead. */
size_t ptl__view_read(const struct view *view, uint64_t at, uint8_t *buf, size_t size);
/* Give back the pages of bytes that lie in it. Returns 0 if they do not. */
int ptl__view_release(const struct view *view, const uint8_t *bytes, uint64_t len);
void ptl__view_close(struct view *view);
int ptl__spill_add(struct spill *spill, const char *tmpdir, const void *bytes, size_t len);
int ptl__spill_map(struct spill *spill);
void ptl__spill_close(struct spill *spill);

/* header.c */
int ptl__perf_header(struct ptl_perf *perf, struct ptl_perf_problem *problem);
/* features.c */
int ptl__perf_features(struct ptl_perf *perf);
int ptl__perf_add_build_id(struct ptl_perf *perf, const uint8_t *bytes, size_t len);
/* events.c */
int ptl__events_add(struct event_set *set, const struct ptl_attr *attr, const uint8_t *ids,
                    size_t id_count, size_t max_ids);
int ptl__events_sort(struct event_set *set);
void ptl__events_free(struct event_set *set);
/* The event with that id, or the first one. */
const struct ptl_perf_event *ptl__events_find(const struct event_set *set, uint64_t id);
/* Who wrote the record of the kernel at `bytes`. */
const struct ptl_perf_event *ptl__events_writer(const struct event_set *set, const uint8_t *bytes,
                                                size_t size);
/* walk.c */
int ptl__perf_walk(struct ptl_perf *perf);
/* Bytes behind the record at `bytes` that belong to it. */
uint64_t ptl__perf_behind(const uint8_t *bytes, size_t size);
/* aux.c: note AUX records and samples; pieces.c: cut */
int ptl__perf_notes(struct ptl_perf *perf);
int ptl__perf_pieces(struct ptl_perf *perf);
/* overlap.c: how many bytes at the start of `b` are the end of `a`; *adjoins: `b` goes on
 * where `a` ended. */
uint64_t ptl__overlap(const uint8_t *a, uint64_t a_len, const uint8_t *b, uint64_t b_len,
                      int *adjoins);

#endif
