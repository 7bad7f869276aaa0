/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * header.c - the header of a perf.data file:
 *
 *   0   char[8]   "PERFILE2"
 *   8   u64       header size: 104; 16 is the pipe format, records follow
 *   16  u64       size of an attr entry: attr, u64 offset and u64 size of its ids
 *   24  u64, u64  attrs: offset, size
 *   40  u64, u64  data
 *   56  u64, u64  event types, obsolete
 *   72  256 bits  features; their table {u64 offset, u64 size} follows the data
 */
#include "perfdata/internal.h"

#include <stdio.h>

#define HEADER_SIZE 104
#define PIPE_SIZE   16

static int refuse(struct ptl_perf_problem *problem, int status, uint64_t offset, const char *text)
{
    problem->status = status;
    problem->offset = offset;
    snprintf(problem->text, sizeof(problem->text), "%s", text);
    return status;
}

static int check_magic(const struct view *view, struct ptl_perf_problem *problem)
{
    if (view->len < 8)
        return refuse(problem, PTL_NOT_SUPPORTED, 0, "too short for a perf.data file");
    if (!memcmp(view->bytes, "2ELIFREP", 8))
        return refuse(problem, PTL_NOT_SUPPORTED, 0,
                      "recorded on a big-endian machine, which cannot have Intel PT");
    if (!memcmp(view->bytes, "PERFFILE", 8) || !memcmp(view->bytes, "ELIFFREP", 8))
        return refuse(problem, PTL_NOT_SUPPORTED, 0,
                      "version 1 of perf.data (before Linux 3.6), which cannot hold Intel PT");
    if (memcmp(view->bytes, "PERFILE2", 8) != 0)
        return refuse(problem, PTL_NOT_SUPPORTED, 0, "not a perf.data file");
    return 0;
}

static int read_attrs(struct ptl_perf *perf, const struct view *view)
{
    uint64_t entry = ptl__load64(view->bytes + 16);
    uint64_t at = ptl__load64(view->bytes + 24), size = ptl__load64(view->bytes + 32);
    uint64_t end;

    if (entry < PTL_ATTR_SIZE_MIN + 16 || entry > 4096) {
        ptl__perf_complain(perf, PTL_BAD_CONFIG, 16, "attr entries of %llu bytes",
                           (unsigned long long)entry);
        return 0;
    }
    if (at > view->len || size > view->len - at) {
        ptl__perf_complain(perf, PTL_TRUNCATED, at, "the attrs are beyond the end of the file");
        size = at < view->len ? view->len - at : 0;
    }
    for (end = at + size; size && end - at >= entry; at += entry) {
        const uint8_t *p = view->bytes + at;
        uint64_t ids = ptl__load64(p + entry - 16), ids_size = ptl__load64(p + entry - 8);
        struct ptl_attr attr;

        if (ptl_attr_decode(&attr, p, entry - 16) < 0) {
            ptl__perf_complain(perf, PTL_BAD_CONFIG, at, "an attr without a valid size");
            continue;
        }
        if (ids > view->len || ids_size > view->len - ids) {
            ptl__perf_complain(perf, PTL_TRUNCATED, at, "event ids beyond the end of the file");
            ids_size = 0;
        }
        if (ptl__events_add(&perf->set, &attr, view->bytes + (ids_size ? ids : 0), ids_size / 8,
                            view->len / 8))
            return PTL_NOMEM;
    }
    return 0;
}

/* Is there a table for these feature bits at `at`? Feature 0 means nothing; our writer uses its
 * entry for something else. */
static int table_fits(const struct view *view, uint64_t at)
{
    const uint8_t *bits = view->bytes + 72;

    for (unsigned i = 0; i < PTL_FEAT_MAX; i++) {
        uint64_t offset, size;
        if (!(bits[i / 8] >> (i % 8) & 1))
            continue;
        if (at > view->len || view->len - at < 16)
            return 0;
        offset = ptl__load64(view->bytes + at);
        size = ptl__load64(view->bytes + at + 8);
        if (i && (offset > view->len || size > view->len - offset))
            return 0;
        at += 16;
    }
    return 1;
}

static void read_table(struct ptl_perf *perf, const struct view *view, uint64_t at)
{
    const uint8_t *bits = view->bytes + 72;

    for (unsigned i = 0; i < PTL_FEAT_MAX; i++) {
        if (!(bits[i / 8] >> (i % 8) & 1))
            continue;
        if (i) {
            perf->features[i].bytes = view->bytes + ptl__load64(view->bytes + at);
            perf->features[i].len = ptl__load64(view->bytes + at + 8);
        }
        at += 16;
    }
}

static int any_feature(const struct view *view)
{
    for (unsigned i = 72; i < HEADER_SIZE; i++)
        if (view->bytes[i])
            return 1;
    return 0;
}

/* Is it a table that our writer puts down while it writes? A finished file has another one. */
static int is_unfinished(const struct view *view, uint64_t at)
{
    return (view->bytes[72] & 1) && at < view->len && view->len - at >= PTL_RECORD_HEADER &&
           ptl__load32(view->bytes + at) == PTL_REC_HEADER_EVENT_TYPE;
}

/* Where the records are; what of it is there; features behind them. */
static void locate_data(struct ptl_perf *perf, struct stream *stream)
{
    const struct view *view = &stream->view;
    uint64_t at = ptl__load64(view->bytes + 40), size = ptl__load64(view->bytes + 48);

    if (at > view->len) {
        ptl__perf_complain(perf, PTL_TRUNCATED, view->len,
                           "the file ends before its data, which begin at %llu",
                           (unsigned long long)at);
        stream->begin = stream->end = view->len;
        return;
    }
    stream->begin = at;
    if (!size && any_feature(view) && !table_fits(view, at)) {
        stream->end = view->len;
        ptl__perf_complain(perf, PTL_TRUNCATED, 48,
                           "the recorder did not finish: records are read to the end of the file, "
                           "there is no information about machine and events");
        return;
    }
    if (size > view->len - at) {
        stream->end = view->len;
        ptl__perf_complain(
            perf, PTL_TRUNCATED, view->len,
            "the file is cut: %llu of %llu bytes of data are there, information about "
            "machine and events is lost",
            (unsigned long long)(view->len - at), (unsigned long long)size);
        return;
    }
    stream->end = at + size;
    if (is_unfinished(view, stream->end))
        ptl__perf_complain(perf, PTL_TRUNCATED, stream->end,
                           "the recorder did not finish, it was killed or could not write: what is "
                           "here is whole, what came later is missing");
    if (table_fits(view, stream->end))
        read_table(perf, view, stream->end);
    else
        ptl__perf_complain(perf, PTL_TRUNCATED, stream->end,
                           "the file is cut behind its data: information about machine and events "
                           "is lost");
}

int ptl__perf_header(struct ptl_perf *perf, struct ptl_perf_problem *problem)
{
    struct stream *stream = &perf->streams[0];
    const struct view *view = &stream->view;
    uint64_t size;
    int status = check_magic(view, problem);

    if (status)
        return status;
    if (view->len < PIPE_SIZE)
        return refuse(problem, PTL_TRUNCATED, view->len, "the file ends in its header");
    size = ptl__load64(view->bytes + 8);
    if (size == PIPE_SIZE) {
        perf->info.pipe = 1;
        stream->begin = PIPE_SIZE;
        stream->end = view->len;
        return 0;
    }
    if (size != HEADER_SIZE)
        return refuse(problem, PTL_NOT_SUPPORTED, 8, "a header of unknown size (want 104 or 16)");
    if (view->len < HEADER_SIZE)
        return refuse(problem, PTL_TRUNCATED, view->len, "the file ends in its header");
    status = read_attrs(perf, view);
    if (status)
        return refuse(problem, status, 0, "out of memory");
    locate_data(perf, stream);
    return 0;
}
