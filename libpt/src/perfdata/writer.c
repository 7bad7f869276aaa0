/* SPDX-License-Identifier: BSD-3-Clause */
/* writer.c - records into a perf.data file or pipe. */
#include "perfdata/writer.h"

#include <errno.h>
#include <unistd.h>

#define DEFAULT_MMAP_LEN (129u * 4096) /* perf's ring: control page and 512 KiB */
#define ZIP_CHUNK        ((size_t)32 << 10)

/* --- output ------------------------------------------------------------------- */

int ptl__writer_fail(struct ptl_perf_writer *w, int status)
{
    if (!w->status) {
        w->status = status;
        w->err = errno;
    }
    errno = w->err;
    return w->status;
}

int ptl__writer_at(struct ptl_perf_writer *w, const void *bytes, size_t len, uint64_t at)
{
    const uint8_t *p = bytes;

    while (len && !w->status) {
        ssize_t n = w->pipe ? write(w->fd, p, len) : pwrite(w->fd, p, len, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ptl__writer_fail(w, PTL_IO);
        p += n;
        at += (uint64_t)n;
        len -= (size_t)n;
    }
    return w->status;
}

/* Before data go where the last feature table stands the header must forget it. */
static int undress(struct ptl_perf_writer *w)
{
    if (!w->dressed)
        return 0;
    w->dressed = 0;
    return ptl__writer_header(w, 0);
}

static int append(struct ptl_perf_writer *w, const void *bytes, size_t len)
{
    int status = undress(w);

    if (!status)
        status = ptl__writer_at(w, bytes, len, w->at);
    if (!status)
        w->at += len;
    return status;
}

static int flush_buffer(struct ptl_perf_writer *w)
{
    int status = w->fill ? append(w, w->buffer, w->fill) : w->status;

    w->fill = 0;
    return status;
}

int ptl__writer_flush(struct ptl_perf_writer *w)
{
    int status = flush_buffer(w);
    return status ? status : ptl__writer_tell(w);
}

/* Whole records (or, before the header is written, a pipe's first bytes). */
int ptl__writer_out(struct ptl_perf_writer *w, const void *bytes, size_t len)
{
    if (w->status)
        return ptl__writer_fail(w, w->status);
    if (len > WRITE_BUFFER - w->fill) {
        int status = ptl__writer_flush(w);
        if (status)
            return status;
    }
    if (len > WRITE_BUFFER) {
        int status = append(w, bytes, len);
        return status ? status : ptl__writer_tell(w);
    }
    if (len)
        memcpy(w->buffer + w->fill, bytes, len);
    w->fill += len;
    return 0;
}

static int can_write(struct ptl_perf_writer *w)
{
    if (w->status)
        return ptl__writer_fail(w, w->status);
    return w->begun && !w->finished ? 0 : PTL_INVALID;
}

/* --- life ------------------------------------------------------------------------ */

int ptl_perf_writer_new(struct ptl_perf_writer **writer, int fd,
                        const struct ptl_perf_writer_config *config)
{
    struct ptl_perf_writer *w = ptl__calloc(1, sizeof(*w));

    *writer = NULL;
    if (!w)
        return PTL_NOMEM;
    w->fd = fd;
    if (config && config->size >= sizeof(*config)) {
        w->zip = config->zip;
        w->mmap_len = config->mmap_len;
        w->pipe = config->pipe;
    }
    if (!w->mmap_len)
        w->mmap_len = DEFAULT_MMAP_LEN;
    w->buffer = ptl__malloc(WRITE_BUFFER);
    if (w->zip) {
        w->zipping = w->zip->open(w->zip->context);
        w->zipped = ptl__malloc(MAX_RECORD);
    }
    if (!w->buffer || (w->zip && (!w->zipping || !w->zipped))) {
        ptl_perf_writer_free(w);
        return PTL_NOMEM;
    }
    *writer = w;
    return 0;
}

void ptl_perf_writer_free(struct ptl_perf_writer *w)
{
    if (!w)
        return;
    for (size_t i = 0; w->names && i < w->set.count; i++)
        ptl__free(w->names[i]);
    ptl__free(w->names);
    ptl__events_free(&w->set);
    for (unsigned i = 0; i < FEATURES; i++)
        bytebuf_free(&w->features[i]);
    bytebuf_free(&w->build_ids);
    bytebuf_free(&w->index);
    if (w->zipping)
        w->zip->close(w->zipping);
    ptl__free(w->zipped);
    ptl__free(w->buffer);
    ptl__free(w);
}

int ptl_perf_writer_event(struct ptl_perf_writer *w, const struct ptl_attr *attr,
                          const uint64_t *ids, size_t id_count, const char *name)
{
    char *copy;

    if (w->status)
        return ptl__writer_fail(w, w->status);
    if (w->begun)
        return PTL_INVALID;
    if (ptl__grow((void **)&w->names, &w->name_cap, w->set.count + 1, SIZE_MAX / 8, sizeof(char *)))
        return ptl__writer_fail(w, PTL_NOMEM);
    copy = name ? ptl__strdup(name) : NULL;
    if ((name && !copy) ||
        ptl__events_add(&w->set, attr, (const uint8_t *)ids, id_count, SIZE_MAX / 8)) {
        ptl__free(copy);
        return ptl__writer_fail(w, PTL_NOMEM);
    }
    w->names[w->set.count - 1] = copy;
    return 0;
}

int ptl_perf_writer_begin(struct ptl_perf_writer *w)
{
    int status;

    if (w->status)
        return ptl__writer_fail(w, w->status);
    if (w->begun || !w->set.count)
        return PTL_INVALID;
    if (ptl__events_sort(&w->set))
        return ptl__writer_fail(w, PTL_NOMEM);
    w->begun = 1;
    if (w->pipe)
        return ptl__writer_pipe_header(w);
    status = ptl__writer_attrs(w);
    if (!status)
        status = ptl__writer_tell(w);
    w->whole = 0; /* once more: perf warns of data without a record */
    return status ? status : ptl__writer_tell(w);
}

int ptl_perf_writer_sync(struct ptl_perf_writer *w)
{
    int status = can_write(w);

    if (!status)
        status = ptl__writer_flush(w);
    if (!status && !w->pipe)
        status = ptl__writer_dress(w);
    return status;
}

int ptl_perf_writer_finish(struct ptl_perf_writer *w)
{
    int status = ptl_perf_writer_sync(w);

    w->finished = !status;
    return status;
}

uint64_t ptl_perf_writer_bytes(const struct ptl_perf_writer *w)
{
    return w->at + w->fill;
}

/* --- records ------------------------------------------------------------------------ */

int ptl_perf_write_record(struct ptl_perf_writer *w, const struct ptl_record *record,
                          const struct ptl_layout *layout)
{
    uint8_t stack[1024], *bytes = stack;
    int status = can_write(w), size;

    if (status)
        return status;
    size = ptl_record_encode(stack, sizeof(stack), record, layout);
    if (size == PTL_EOS) {
        bytes = ptl__malloc(MAX_RECORD);
        if (!bytes)
            return ptl__writer_fail(w, PTL_NOMEM);
        size = ptl_record_encode(bytes, MAX_RECORD, record, layout);
    }
    status = size < 0 ? size : ptl__writer_out(w, bytes, (size_t)size);
    if (bytes != stack)
        ptl__free(bytes);
    return status;
}

/* One piece of the stream in one COMPRESSED record. */
static int zip_chunk(struct ptl_perf_writer *w, const uint8_t *bytes, size_t len)
{
    int64_t n = w->zip->flush(w->zipping, bytes, len, w->zipped + PTL_RECORD_HEADER,
                              MAX_RECORD - PTL_RECORD_HEADER);

    if (n < 0)
        return ptl__writer_fail(w, (int)n);
    w->zip_in += len;
    w->zip_out += (uint64_t)n;
    ptl__storen(w->zipped, PTL_REC_COMPRESSED, 4);
    ptl__storen(w->zipped + 4, 0, 2);
    ptl__storen(w->zipped + 6, (uint64_t)n + PTL_RECORD_HEADER, 2);
    return ptl__writer_out(w, w->zipped, (size_t)n + PTL_RECORD_HEADER);
}

static int put_part(struct ptl_perf_writer *w, const uint8_t *bytes, size_t len)
{
    int status = 0;

    if (!w->zip)
        return ptl__writer_out(w, bytes, len);
    for (size_t n; len && !status; bytes += n, len -= n) {
        n = len < ZIP_CHUNK ? len : ZIP_CHUNK;
        status = zip_chunk(w, bytes, n);
    }
    return status;
}

static void note_time(struct ptl_perf_writer *w, const uint8_t *bytes, size_t size)
{
    const struct ptl_perf_event *event;
    struct ptl_record record;

    if (ptl__load32(bytes) >= PTL_REC_USER)
        return;
    event = ptl__events_writer(&w->set, bytes, size);
    if (ptl_record_decode(&record, bytes, size, &event->layout) < 0 || !record.id.time)
        return;
    if (!w->first_time || record.id.time < w->first_time)
        w->first_time = record.id.time;
    if (record.id.time > w->last_time)
        w->last_time = record.id.time;
}

/* Bytes `at`.. of the parts put together; the record there may be cut between them. */
static void gather(uint8_t *out, const struct iovec *parts, size_t count, size_t at, size_t len)
{
    for (size_t i = 0; i < count && len; i++) {
        size_t n;
        if (at >= parts[i].iov_len) {
            at -= parts[i].iov_len;
            continue;
        }
        n = parts[i].iov_len - at < len ? parts[i].iov_len - at : len;
        memcpy(out, (const uint8_t *)parts[i].iov_base + at, n);
        out += n;
        len -= n;
        at = 0;
    }
}

static int note_times(struct ptl_perf_writer *w, const struct iovec *parts, size_t count,
                      size_t total)
{
    uint8_t header[PTL_RECORD_HEADER], *whole;
    size_t at = 0;

    whole = ptl__malloc(UINT16_MAX);
    if (!whole)
        return ptl__writer_fail(w, PTL_NOMEM);
    while (total - at >= PTL_RECORD_HEADER) {
        size_t size;
        gather(header, parts, count, at, sizeof(header));
        size = ptl__load16(header + 6);
        if (size < PTL_RECORD_HEADER || size > total - at)
            break;
        gather(whole, parts, count, at, size);
        note_time(w, whole, size);
        at += size;
    }
    ptl__free(whole);
    return at == total ? 0 : PTL_INVALID;
}

int ptl_perf_write_ring(struct ptl_perf_writer *w, const struct iovec *parts, size_t count)
{
    size_t total = 0;
    int status = can_write(w);

    for (size_t i = 0; i < count; i++)
        total += parts[i].iov_len;
    if (status || !total)
        return status;
    status = note_times(w, parts, count, total);
    /* Whole records only become visible together: flush what is before them, and let no
     * flush in between tell of half a record. */
    if (!status && !w->zip && total > WRITE_BUFFER - w->fill)
        status = ptl__writer_flush(w);
    for (size_t i = 0; i < count && !status; i++) {
        if (!w->zip && total > WRITE_BUFFER)
            status = append(w, parts[i].iov_base, parts[i].iov_len);
        else
            status = put_part(w, parts[i].iov_base, parts[i].iov_len);
    }
    if (!status && !w->zip && total > WRITE_BUFFER)
        status = ptl__writer_tell(w);
    return status;
}

int ptl_perf_write_auxtrace(struct ptl_perf_writer *w, const struct ptl_rec_auxtrace *auxtrace,
                            const struct iovec *parts, size_t count)
{
    static const uint8_t zero[8];
    struct ptl_record record = {.type = PTL_REC_AUXTRACE, .known = 1};
    uint8_t bytes[64], entry[16];
    uint64_t total = 0;
    int status = can_write(w), size;

    if (status)
        return status;
    for (size_t i = 0; i < count; i++)
        total += parts[i].iov_len;
    record.u.auxtrace = *auxtrace;
    record.u.auxtrace.size = (total + 7) & ~(uint64_t)7;
    size = ptl_record_encode(bytes, sizeof(bytes), &record, NULL);
    if (size < 0)
        return PTL_INTERNAL;
    status = flush_buffer(w);
    ptl__storen(entry, w->at, 8);
    ptl__storen(entry + 8, (uint64_t)size, 8); /* of the record, without the trace */
    if (!status)
        status = append(w, bytes, (size_t)size);
    for (size_t i = 0; i < count && !status; i++)
        status = append(w, parts[i].iov_base, parts[i].iov_len);
    if (!status)
        status = append(w, zero, record.u.auxtrace.size - total);
    if (status)
        return status;
    bytebuf_put(&w->index, entry, sizeof(entry));
    if (w->index.bad)
        return ptl__writer_fail(w, PTL_NOMEM);
    return ptl__writer_tell(w);
}

int ptl_perf_write_pt_info(struct ptl_perf_writer *w, const struct ptl_pt_info *info)
{
    struct ptl_record record = {.type = PTL_REC_AUXTRACE_INFO, .known = 1};
    uint8_t priv[8192];
    int n = ptl_pt_info_encode(priv, sizeof(priv), info);

    if (n < 0)
        return PTL_INVALID;
    record.u.auxtrace_info.type = PTL_AUXTRACE_PT;
    record.u.auxtrace_info.priv.bytes = priv;
    record.u.auxtrace_info.priv.len = (size_t)n;
    return ptl_perf_write_record(w, &record, NULL);
}

int ptl_perf_write_id_index(struct ptl_perf_writer *w, const struct ptl_id_index_entry *entries,
                            size_t count)
{
    enum { EACH = 32, MOST = (MAX_RECORD - 16) / EACH };
    struct ptl_record record = {.type = PTL_REC_ID_INDEX, .known = 1};
    struct bytebuf b = {0};
    int status = 0;

    for (size_t i = 0; i < count && !status; i += record.u.id_index.count) {
        record.u.id_index.count = count - i < MOST ? count - i : MOST;
        b.len = 0;
        for (size_t k = i; k < i + record.u.id_index.count; k++) {
            bytebuf_putn(&b, entries[k].id, 8);
            bytebuf_putn(&b, entries[k].idx, 8);
            bytebuf_putn(&b, entries[k].cpu, 8);
            bytebuf_putn(&b, entries[k].tid, 8);
        }
        record.u.id_index.entries = (struct ptl_span){b.bytes, b.len};
        status = b.bad ? ptl__writer_fail(w, PTL_NOMEM) : ptl_perf_write_record(w, &record, NULL);
    }
    bytebuf_free(&b);
    return status;
}

int ptl_perf_write_time_conv(struct ptl_perf_writer *w, const struct ptl_rec_time_conv *conv)
{
    struct ptl_record record = {.type = PTL_REC_TIME_CONV, .known = 1};

    record.u.time_conv = *conv;
    return ptl_perf_write_record(w, &record, NULL);
}

int ptl_perf_write_round(struct ptl_perf_writer *w)
{
    const struct ptl_record record = {.type = PTL_REC_FINISHED_ROUND, .known = 1};
    return ptl_perf_write_record(w, &record, NULL);
}

int ptl_perf_write_init_done(struct ptl_perf_writer *w)
{
    const struct ptl_record record = {.type = PTL_REC_FINISHED_INIT, .known = 1};
    int status = ptl_perf_write_record(w, &record, NULL);

    return status ? status : ptl__writer_flush(w);
}
