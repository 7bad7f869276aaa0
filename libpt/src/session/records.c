/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * records.c - the records of the recording become sidebands: one for all queues or, when the
 * trace has no time, one for each, with rows by the position in that queue.
 */
#include "base/alloc.h"
#include "perfdata/skim.h"
#include "session/session.h"
#include "sideband/sideband.h"

#include <stdio.h>
#include <string.h>

/* What is known about tasks in each queue. */
struct fill {
    struct ptl_session *session;
    const struct ptl_session_config *config;
    const struct ptl_perf_queue *queues;
    size_t queue_count;
    uint8_t *told; /* queue: records say what runs there */
    uint32_t cpu;  /* of the last such record */
};

static int is_sched_switch(const struct ptl_perf_record *record)
{
    return record->record.type == PTL_REC_SAMPLE && record->event &&
           record->event->attr.type == 2 /* tracepoint */ && record->event->name &&
           strncmp(record->event->name, "sched:sched_switch", 18) == 0;
}

/* --- what runs where -------------------------------------------------------------------- */

static void note_told(struct fill *fill, const struct ptl_sample_id *id)
{
    if (!(id->have & PTL_SAMPLE_CPU) || id->cpu == fill->cpu)
        return;
    fill->cpu = id->cpu;
    for (size_t i = 0; i < fill->queue_count; i++)
        if (fill->queues[i].cpu == id->cpu)
            fill->told[i] = 1;
}

static uint32_t lane_of(const struct ptl_session *s, const struct ptl_perf_queue *queue)
{
    return s->by_thread ? queue->tid : queue->cpu;
}

/* The task of a queue that no record tells of: the thread of the buffer, else whoever wrote
 * its AUX records. */
static int tell_task(struct fill *fill, struct ptl_sideband *sb, size_t i)
{
    const struct ptl_perf_queue *queue = &fill->queues[i];
    uint32_t pid = PTL_PERF_ANY, tid = queue->tid;

    for (size_t k = 0; k < queue->piece_count && (tid == PTL_PERF_ANY || pid == PTL_PERF_ANY);
         k++) {
        const struct ptl_perf_piece *piece = &queue->pieces[k];

        if (piece->tid == PTL_PERF_ANY || !piece->tid || (tid != PTL_PERF_ANY && piece->tid != tid))
            continue;
        tid = piece->tid;
        pid = piece->pid;
    }
    if (tid == PTL_PERF_ANY)
        return 0;
    return ptl_sideband_lane(sb, lane_of(fill->session, queue), pid, tid);
}

static int tell_tasks(struct fill *fill, struct ptl_sideband *sb)
{
    int status = 0;

    for (size_t i = 0; i < fill->queue_count && status == 0; i++)
        if (!fill->told[i])
            status = tell_task(fill, sb, i);
    return status;
}

/* --- one sideband --------------------------------------------------------------------------- */

/* What the record says of losses, and of what runs where. */
static void listen(struct fill *fill, struct ptl_perf_record *record,
                   const struct ptl_sample_id *id, int sched_switch)
{
    switch (record->record.type) {
    case PTL_REC_SWITCH:
    case PTL_REC_SWITCH_CPU_WIDE:
        note_told(fill, id);
        return;
    case PTL_REC_SAMPLE:
        if (!sched_switch)
            return;
        break;
    default:
        break;
    }
    ptl__skim_decode(record);
    if (record->status)
        return;
    ptl_losses_record(&fill->session->losses, &record->record);
    if (sched_switch || record->record.type == PTL_REC_ITRACE_START)
        note_told(fill, &record->record.id);
}

static int add_records(struct fill *fill, struct ptl_sideband *sb, uint32_t source, int first)
{
    struct ptl__skim *skim = ptl__malloc(sizeof(*skim));
    struct ptl_perf_record record;
    struct ptl_sample_id id;
    int status = skim ? 0 : PTL_NOMEM;

    if (skim)
        ptl__skim_begin(skim, fill->session->perf, 0);
    ptl__sb_reserve(sb, ptl__skim_estimate(fill->session->perf));
    while (status == 0 && ptl__skim_next(skim, &record) > 0) {
        int sched_switch = is_sched_switch(&record);

        status = ptl__sb_add(sb, source, record.bytes, skim->copy, record.record.size,
                             record.offset, record.event ? &record.event->layout : NULL,
                             sched_switch ? PTL_SB_SCHED_SWITCH : 0, &id);
        if (first)
            listen(fill, &record, &id, sched_switch);
    }
    ptl__free(skim);
    return status;
}

static int add_build_ids(const struct ptl_session *s, struct ptl_sideband *sb)
{
    const struct ptl_perf_build_id *ids;
    size_t count;
    int status = 0;

    ids = ptl_perf_build_ids(s->perf, &count);
    for (size_t i = 0; i < count && status == 0; i++)
        status = ptl_sideband_build_id(sb, ids[i].filename, ids[i].id, ids[i].size);
    return status;
}

/* A file beside the recording, if there is one. Returns `given` or `path`, or NULL. */
static const char *beside(const struct ptl_session *s, const char *given, const char *name,
                          char *path, size_t size)
{
    int n = snprintf(path, size, "%s%s", s->beside, name);
    struct ptl_section *section;

    if (given)
        return given;
    if (n < 0 || (size_t)n >= size || ptl_section_file(&section, path, 0, UINT64_MAX) < 0)
        return NULL;
    ptl_section_unref(section);
    return path;
}

static int add_source(struct fill *fill, struct ptl_sideband *sb, uint32_t *index)
{
    const struct ptl_session *s = fill->session;
    const struct ptl_session_config *config = fill->config;
    char x64[4096], x32[4096], ia32[4096];
    const struct ptl_sideband_source source = {
        .size = sizeof(source),
        .name = "perf.data",
        .lanes = s->by_thread ? PTL_SB_LANE_TID : PTL_SB_LANE_CPU,
        .time = s->time,
        .tsc_offset = config->tsc_offset + (s->time.mult ? s->tsc_high : 0),
        .sysroot = config->sysroot,
        .vdso_x64 = beside(s, config->vdso_x64, "vdso-x64.so", x64, sizeof(x64)),
        .vdso_x32 = beside(s, config->vdso_x32, "vdso-x32.so", x32, sizeof(x32)),
        .vdso_ia32 = beside(s, config->vdso_ia32, "vdso-ia32.so", ia32, sizeof(ia32)),
    };

    return ptl_sideband_source(sb, &source, index);
}

static int fill_one(struct fill *fill, struct ptl_sideband *sb, int first)
{
    uint32_t source;
    int status = add_source(fill, sb, &source);

    if (status == 0)
        status = add_build_ids(fill->session, sb);
    if (status == 0)
        status = ptl__session_bpf(fill->session, sb);
    if (status == 0)
        status = add_records(fill, sb, source, first);
    if (status == 0)
        status = tell_tasks(fill, sb);
    return status < 0 ? status : ptl_sideband_finish(sb);
}

static int make_one(struct fill *fill, size_t i)
{
    struct ptl_session *s = fill->session;
    struct ptl_sideband_config config = {.size = sizeof(config),
                                         .base = s->base,
                                         .buildid_dir = fill->config->buildid_dir,
                                         .vdso = s->vdso};
    int status;

    if (fill->config->flags & PTL_SESSION_KEEP_RECORDS)
        config.flags |= PTL_SB_KEEP;
    if (s->timeless) {
        config.flags |= PTL_SB_POSITIONS;
        config.position_lane = fill->queue_count ? lane_of(s, &fill->queues[i]) : 0;
    }
    status = ptl_sideband_new(&s->sidebands[i], &config);
    if (status < 0)
        return status;
    s->sideband_count++;
    return fill_one(fill, s->sidebands[i], i == 0);
}

int ptl__session_records(struct ptl_session *s, const struct ptl_session_config *config)
{
    struct fill fill = {.session = s, .config = config, .cpu = PTL_PERF_ANY};
    size_t n;
    int status = 0;

    fill.queues = ptl_perf_queues(s->perf, &fill.queue_count);
    n = s->timeless && fill.queue_count ? fill.queue_count : 1;
    s->sidebands = ptl__calloc(n, sizeof(struct ptl_sideband *));
    fill.told = ptl__calloc(fill.queue_count, 1);
    if (!s->sidebands || !fill.told)
        status = PTL_NOMEM;
    for (size_t i = 0; i < n && status == 0; i++)
        status = make_one(&fill, i);
    ptl__free(fill.told);
    return status;
}

int ptl__session_kernel_map(const struct ptl_session *s, struct ptl_rec_mmap *map)
{
    struct ptl_perf_iter iter = {0};
    struct ptl_perf_record record;

    /* They are among the first records; those that come later are of other things. */
    for (unsigned i = 0; i < 1000 && ptl_perf_next(s->perf, &iter, &record) > 0; i++) {
        if (record.status == 0 && record.record.type == PTL_REC_MMAP &&
            (record.record.misc & PTL_MISC_CPUMODE) == PTL_MISC_KERNEL &&
            strncmp(record.record.u.mmap.filename, "[kernel.kallsyms]", 17) == 0) {
            *map = record.record.u.mmap;
            return 1;
        }
    }
    return 0;
}
