/* SPDX-License-Identifier: BSD-3-Clause */
/* writer_features.c - payloads of features (see features.c for the way back). */
#include "perfdata/writer.h"

/* Put `b` in place of the feature's payload; takes its memory. */
static int set_feature(struct ptl_perf_writer *w, unsigned feature, struct bytebuf *b)
{
    if (w->status)
        return ptl__writer_fail(w, w->status);
    if (b->bad || feature >= FEATURES || w->finished || (w->pipe && w->begun)) {
        int status = b->bad ? PTL_NOMEM : PTL_INVALID;
        bytebuf_free(b);
        return status;
    }
    bytebuf_free(&w->features[feature]);
    w->features[feature] = *b;
    w->have[feature] = 1;
    w->placed[feature] = 0;
    return 0;
}

int ptl_perf_writer_feature(struct ptl_perf_writer *writer, unsigned feature, const void *payload,
                            size_t len)
{
    struct bytebuf b = {0};

    bytebuf_put(&b, payload, len);
    return set_feature(writer, feature, &b);
}

int ptl_perf_writer_string(struct ptl_perf_writer *writer, unsigned feature, const char *text)
{
    struct bytebuf b = {0};

    bytebuf_text(&b, text);
    return set_feature(writer, feature, &b);
}

int ptl_perf_writer_nrcpus(struct ptl_perf_writer *writer, uint32_t available, uint32_t online)
{
    const uint32_t pair[2] = {available, online};

    return ptl_perf_writer_feature(writer, PTL_FEAT_NRCPUS, pair, sizeof(pair));
}

static void put_texts(struct bytebuf *b, size_t count, const char *const *texts)
{
    bytebuf_putn(b, count, 4);
    for (size_t i = 0; i < count; i++)
        bytebuf_text(b, texts[i]);
}

int ptl_perf_writer_cmdline(struct ptl_perf_writer *writer, size_t argc, const char *const *argv)
{
    struct bytebuf b = {0};

    put_texts(&b, argc, argv);
    return set_feature(writer, PTL_FEAT_CMDLINE, &b);
}

int ptl_perf_writer_pmus(struct ptl_perf_writer *writer, size_t count, const uint32_t *types,
                         const char *const *names)
{
    struct bytebuf b = {0};

    bytebuf_putn(&b, count, 4);
    for (size_t i = 0; i < count; i++) {
        bytebuf_putn(&b, types[i], 4);
        bytebuf_text(&b, names[i]);
    }
    return set_feature(writer, PTL_FEAT_PMU_MAPPINGS, &b);
}

int ptl_perf_writer_topology(struct ptl_perf_writer *writer, const struct ptl_perf_topology *t)
{
    struct bytebuf b = {0};

    put_texts(&b, t->core_lists, t->cores);
    put_texts(&b, t->thread_lists, t->threads);
    for (size_t i = 0; i < t->cpus; i++) {
        bytebuf_putn(&b, t->core_ids[i], 4);
        bytebuf_putn(&b, t->socket_ids[i], 4);
    }
    put_texts(&b, t->die_lists, t->dies);
    for (size_t i = 0; i < t->cpus; i++)
        bytebuf_putn(&b, t->die_ids[i], 4);
    return set_feature(writer, PTL_FEAT_CPU_TOPOLOGY, &b);
}

int ptl_perf_writer_clock(struct ptl_perf_writer *writer, uint32_t clockid, uint64_t wall_ns,
                          uint64_t clock_ns)
{
    struct bytebuf b = {0};

    bytebuf_putn(&b, 1, 4); /* version */
    bytebuf_putn(&b, clockid, 4);
    bytebuf_putn(&b, wall_ns, 8);
    bytebuf_putn(&b, clock_ns, 8);
    return set_feature(writer, PTL_FEAT_CLOCK_DATA, &b);
}

int ptl_perf_writer_build_id(struct ptl_perf_writer *writer, const struct ptl_perf_build_id *id)
{
    struct ptl_record record = {.type = PTL_REC_HEADER_BUILD_ID, .known = 1};
    uint8_t bytes[4096 + 64];
    int size;

    if (writer->status)
        return ptl__writer_fail(writer, writer->status);
    record.misc = (uint16_t)(id->misc | PTL_MISC_BUILD_ID_SIZE);
    record.u.build_id.pid = id->pid;
    record.u.build_id.size = id->size;
    memcpy(record.u.build_id.id, id->id, sizeof(id->id));
    record.u.build_id.filename = id->filename;
    if (writer->pipe)
        return writer->begun ? ptl_perf_write_record(writer, &record, NULL) : PTL_INVALID;
    size = ptl_record_encode(bytes, sizeof(bytes), &record, NULL);
    if (size < 0)
        return PTL_INVALID;
    ptl__storen(bytes, 0, 4); /* in the feature the type is 0 */
    bytebuf_put(&writer->build_ids, bytes, (size_t)size);
    return writer->build_ids.bad ? ptl__writer_fail(writer, PTL_NOMEM) : 0;
}
