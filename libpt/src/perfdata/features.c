/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * features.c - the features of a header that are text or numbers.
 *
 * A text is u32 length (padded) and as many bytes. Damaged features count as absent.
 */
#include "perfdata/internal.h"

#include <stdlib.h>

static struct ptl__cursor cursor(const struct ptl_perf *perf, unsigned feature)
{
    const struct feature *f = &perf->features[feature];
    static const uint8_t nothing[1];
    const uint8_t *bytes = f->bytes ? f->bytes : nothing;
    struct ptl__cursor c = {bytes, bytes + f->len, !f->bytes};
    return c;
}

static const char *text(struct ptl_perf *perf, struct ptl__cursor *c)
{
    size_t len = ptl__taken(c, 4);
    const uint8_t *p = ptl__take(c, len);
    return p && !c->bad ? ptl__perf_text(perf, p, len) : NULL;
}

struct text_row {
    unsigned feature;
    size_t at; /* in struct ptl_perf_info */
};
static const struct text_row texts[] = {
    {PTL_FEAT_HOSTNAME, offsetof(struct ptl_perf_info, hostname)},
    {PTL_FEAT_OSRELEASE, offsetof(struct ptl_perf_info, osrelease)},
    {PTL_FEAT_VERSION, offsetof(struct ptl_perf_info, version)},
    {PTL_FEAT_ARCH, offsetof(struct ptl_perf_info, arch)},
    {PTL_FEAT_CPUDESC, offsetof(struct ptl_perf_info, cpudesc)},
    {PTL_FEAT_CPUID, offsetof(struct ptl_perf_info, cpuid)},
};

static void numbers(struct ptl_perf *perf)
{
    struct ptl_perf_info *info = &perf->info;
    struct ptl__cursor c = cursor(perf, PTL_FEAT_NRCPUS);

    info->nrcpus_available = (uint32_t)ptl__taken(&c, 4);
    info->nrcpus_online = (uint32_t)ptl__taken(&c, 4);
    c = cursor(perf, PTL_FEAT_TOTAL_MEM);
    info->total_mem_kb = ptl__taken(&c, 8);
    c = cursor(perf, PTL_FEAT_SAMPLE_TIME);
    info->first_time = ptl__taken(&c, 8);
    info->last_time = ptl__taken(&c, 8);
    c = cursor(perf, PTL_FEAT_CLOCKID);
    info->clock_resolution = ptl__taken(&c, 8);
    info->compressed = perf->features[PTL_FEAT_COMPRESSED].bytes != NULL;

    c = cursor(perf, PTL_FEAT_CLOCK_DATA);
    ptl__take(&c, 4); /* version */
    info->clockid = (uint32_t)ptl__taken(&c, 4);
    info->clock_wall_ns = ptl__taken(&c, 8);
    info->clock_ns = ptl__taken(&c, 8);
    info->have_clock_data = !c.bad;
}

static int cmdline(struct ptl_perf *perf)
{
    struct ptl__cursor c = cursor(perf, PTL_FEAT_CMDLINE);
    uint64_t n = ptl__taken(&c, 4);
    const char **argv;

    if (c.bad || n > ptl__left(&c) / 4)
        return 0;
    argv = ptl__perf_keep(perf, (n + 1) * sizeof(*argv));
    if (!argv)
        return PTL_NOMEM;
    for (uint64_t i = 0; i < n; i++) {
        argv[i] = text(perf, &c);
        if (!argv[i])
            return 0;
    }
    perf->info.cmdline = argv;
    return 0;
}

/* "GenuineIntel,6,85,4" */
static void cpuid(struct ptl_perf_info *info)
{
    unsigned long v[3] = {0, 0, 0};
    const char *p = info->cpuid ? strchr(info->cpuid, ',') : NULL;

    info->intel = info->cpuid && !strncmp(info->cpuid, "GenuineIntel,", 13);
    for (unsigned i = 0; i < 3 && p && *p == ','; i++) {
        char *end;
        v[i] = strtoul(p + 1, &end, 10);
        p = end;
    }
    info->cpu_family = (uint16_t)v[0];
    info->cpu_model = (uint8_t)v[1];
    info->cpu_stepping = (uint8_t)v[2];
}

/* EVENT_DESC: u32 n, u32 attr size; n times {attr; u32 ids; text; u64 ids[]}. Names go to the
 * event with the same first id, or of the same rank. */
static void event_names(struct ptl_perf *perf)
{
    struct ptl__cursor c = cursor(perf, PTL_FEAT_EVENT_DESC);
    uint64_t n = ptl__taken(&c, 4), attr_size = ptl__taken(&c, 4);

    for (uint64_t i = 0; i < n && !c.bad; i++) {
        struct ptl_perf_event *event = i < perf->set.count ? &perf->set.events[i] : NULL;
        const uint8_t *ids;
        const char *name;
        uint64_t id_count;

        ptl__take(&c, attr_size);
        id_count = ptl__taken(&c, 4);
        name = text(perf, &c);
        ids = ptl__take(&c, id_count * 8);
        if (!ids || !name)
            return;
        for (size_t k = 0; id_count && k < perf->set.count; k++)
            if (perf->set.events[k].id_count && perf->set.events[k].ids[0] == ptl__load64(ids)) {
                event = &perf->set.events[k];
                break;
            }
        if (event && !event->name)
            event->name = name;
    }
}

int ptl__perf_add_build_id(struct ptl_perf *perf, const uint8_t *bytes, size_t len)
{
    struct ptl_perf_build_id *id;

    if (len < PTL_RECORD_HEADER + 4 + 24 + 1)
        return 0;
    if (GROW(perf->build_ids, perf->build_id_cap, perf->build_id_count))
        return PTL_NOMEM;
    id = &perf->build_ids[perf->build_id_count];
    memset(id, 0, sizeof(*id));
    id->misc = ptl__load16(bytes + 4);
    id->pid = (int32_t)ptl__load32(bytes + 8);
    memcpy(id->id, bytes + 12, 20);
    id->size = id->misc & PTL_MISC_BUILD_ID_SIZE ? bytes[32] : 20;
    if (id->size > 20 || !id->size)
        id->size = 20;
    id->filename = ptl__perf_text(perf, bytes + 36, len - 36);
    if (!id->filename)
        return PTL_NOMEM;
    perf->build_id_count++;
    return 0;
}

/* BUILD_ID: entries like records, one after another by their size. */
static int build_ids(struct ptl_perf *perf)
{
    struct ptl__cursor c = cursor(perf, PTL_FEAT_BUILD_ID);

    while (!c.bad) {
        int size = ptl_record_size(c.pos, ptl__left(&c)), status;
        if (size < 0)
            break;
        status = ptl__perf_add_build_id(perf, c.pos, (size_t)size);
        if (status)
            return status;
        c.pos += size;
    }
    return 0;
}

int ptl__perf_features(struct ptl_perf *perf)
{
    int status;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct ptl__cursor c = cursor(perf, texts[i].feature);
        const char *value = text(perf, &c);
        memcpy((uint8_t *)&perf->info + texts[i].at, &value, sizeof(value));
    }
    numbers(perf);
    cpuid(&perf->info);
    event_names(perf);
    status = cmdline(perf);
    return status ? status : build_ids(perf);
}

const uint8_t *ptl_perf_feature(const struct ptl_perf *perf, unsigned feature, size_t *len)
{
    const struct feature *f = &perf->features[feature < PTL_FEAT_MAX ? feature : 0];

    *len = f->len;
    return f->bytes;
}

const struct ptl_perf_info *ptl_perf_info(const struct ptl_perf *perf)
{
    return &perf->info;
}

const struct ptl_perf_build_id *ptl_perf_build_ids(const struct ptl_perf *perf, size_t *count)
{
    *count = perf->build_id_count;
    return perf->build_ids;
}
