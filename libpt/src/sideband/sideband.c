/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sideband.c - collecting records, and reading them in order.
 */
#include "sideband/sideband.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "record/trailer.h"

#include <pt/io.h>
#include <stdlib.h>
#include <string.h>

#define RESERVE_MIN ((uint64_t)1 << 18)

/* --- life -------------------------------------------------------------------------- */

int ptl_sideband_new(struct ptl_sideband **sideband, const struct ptl_sideband_config *config)
{
    struct ptl_sideband *sb;

    if (!sideband || !config || config->size != sizeof(*config))
        return PTL_INVALID;
    sb = ptl__calloc(1, sizeof(*sb));
    if (!sb)
        return PTL_NOMEM;
    sb->flags = config->flags;
    sb->position_lane = config->position_lane;
    if (config->vdso)
        sb->vdso = ptl_section_ref(config->vdso);
    if (config->buildid_dir)
        sb->buildid_dir = ptl__strdup(config->buildid_dir);
    if ((config->buildid_dir && !sb->buildid_dir) || ptl_files_new(&sb->cache) < 0 ||
        ptl_timeline_new(&sb->timeline, config->base,
                         config->flags & PTL_SB_POSITIONS ? PTL_TIMELINE_POSITIONS : 0) < 0) {
        ptl_sideband_free(sb);
        return PTL_NOMEM;
    }
    *sideband = sb;
    return 0;
}

static void free_source(struct source *source)
{
    ptl__free(source->name);
    ptl__free(source->sysroot);
    for (unsigned i = 0; i < ABI_COUNT; i++)
        ptl__free(source->vdso[i]);
    ptl__free(source->layouts);
}

void ptl_sideband_free(struct ptl_sideband *sb)
{
    if (!sb)
        return;
    for (size_t i = 0; i < sb->sources_count; i++)
        free_source(&sb->sources[i]);
    for (size_t i = 0; i < sb->ids_count; i++)
        ptl__free(sb->ids[i].name);
    for (size_t i = 0; i < sb->problems_count; i++)
        ptl__free((void *)(uintptr_t)sb->problems[i].name);
    for (size_t i = 0; i < sb->jits_count; i++)
        ptl_section_unref(sb->jits[i].section);
    ptl__sb_free_files(sb);
    ptl__sb_free_bpf(sb);
    ptl__free(sb->sources);
    ptl__free(sb->items);
    ptl__free(sb->processes);
    ptl__free(sb->threads);
    ptl__free(sb->names);
    ptl__free(sb->lanes);
    ptl__free(sb->ids);
    ptl__free(sb->lost);
    ptl__free(sb->problems);
    ptl__free(sb->older_problems);
    ptl__free(sb->jits);
    ptl__map_free(&sb->by_pid);
    ptl__map_free(&sb->by_tid);
    ptl__map_free(&sb->by_name);
    ptl__map_free(&sb->by_lane);
    ptl__map_free(&sb->by_id);
    ptl__map_free(&sb->by_known);
    ptl__map_free(&sb->by_problem);
    ptl_section_unref(sb->vdso);
    ptl_timeline_free(sb->timeline);
    ptl_files_free(sb->cache);
    ptl__free(sb->buildid_dir);
    ptl__free(sb);
}

/* --- sources ----------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const struct ptl_sb_layout *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

static int copy_layouts(struct source *to, const struct ptl_sideband_source *from)
{
    if (!from->layout_count)
        return 0;
    to->layouts = ptl__calloc(from->layout_count, sizeof(*to->layouts));
    if (!to->layouts)
        return PTL_NOMEM;
    memcpy(to->layouts, from->layouts, from->layout_count * sizeof(*to->layouts));
    to->layout_count = from->layout_count;
    qsort(to->layouts, to->layout_count, sizeof(*to->layouts), by_id);
    return 0;
}

/* NULL stays NULL. Returns 0 or PTL_NOMEM. */
static int copy_string(char **to, const char *from)
{
    if (!from)
        return 0;
    *to = ptl__strdup(from);
    return *to ? 0 : PTL_NOMEM;
}

int ptl_sideband_source(struct ptl_sideband *sb, const struct ptl_sideband_source *source,
                        uint32_t *index)
{
    struct source *s;

    if (!sb || !source || source->size != sizeof(*source) || !source->name || !index ||
        sb->finished || sb->sources_count > UINT16_MAX)
        return PTL_INVALID;
    s = MORE(sb, sources);
    if (!s)
        return PTL_NOMEM;
    *s = (struct source){.layout = source->layout,
                         .time = source->time,
                         .tsc_offset = source->tsc_offset,
                         .flags = source->flags,
                         .lanes = source->lanes};
    if (copy_string(&s->name, source->name) < 0 || copy_string(&s->sysroot, source->sysroot) < 0 ||
        copy_string(&s->vdso[ABI_X64], source->vdso_x64) < 0 ||
        copy_string(&s->vdso[ABI_X32], source->vdso_x32) < 0 ||
        copy_string(&s->vdso[ABI_IA32], source->vdso_ia32) < 0 || copy_layouts(s, source) < 0) {
        free_source(s);
        return PTL_NOMEM;
    }
    *index = (uint32_t)sb->sources_count++;
    return 0;
}

int ptl_sideband_lane(struct ptl_sideband *sb, uint32_t lane, uint32_t pid, uint32_t tid)
{
    struct lane *l;

    if (!sb || sb->finished)
        return PTL_INVALID;
    l = MORE(sb, lanes);
    if (!l || ptl__map_put(&sb->by_lane, tid, (uint32_t)sb->lanes_count) < 0)
        return PTL_NOMEM;
    *l = (struct lane){lane, pid, tid};
    sb->lanes_count++;
    return 0;
}

int ptl_sideband_build_id(struct ptl_sideband *sb, const char *filename, const uint8_t *id,
                          size_t len)
{
    if (!sb || !filename || !id || !len || len > sizeof(sb->ids->id) || sb->finished)
        return PTL_INVALID;
    return ptl__sb_know_id(sb, filename, id, len);
}

/* --- items ------------------------------------------------------------------------- */

/* The time of a record, whose bytes are now at `bytes`. Returns 0 if it has none. */
static int time_of(const struct item *item, const uint8_t *bytes, size_t len, uint64_t *time)
{
    struct ptl_record record;
    struct ptl_sample_id id;

    if (!item->layout || !(item->layout->sample_type & PTL_SAMPLE_TIME) || item->type == ITEM_OTHER)
        return 0;
    if (item->type == PTL_REC_SAMPLE) {
        if (ptl_record_decode(&record, bytes, len, item->layout) < 0)
            return 0;
        *time = record.id.time;
        return 1;
    }
    if (!ptl__trailer_read(&id, bytes, len, item->layout))
        return 0;
    *time = id.time;
    return 1;
}

static void stamp(struct source *source, struct item *item, int have_time, uint64_t time)
{
    uint64_t tsc;

    if (have_time) {
        tsc = ptl__sb_ticks(source, time);
        tsc = tsc > source->tsc_offset ? tsc - source->tsc_offset : 0;
    } else {
        tsc = source->last;
    }
    if ((source->flags & PTL_SB_IN_ORDER) && tsc < source->last)
        tsc = source->last;
    source->last = tsc;
    item->tsc = tsc;
}

/* Types that change the timeline. */
static int matters(const struct ptl_sideband *sb, const struct item *item)
{
    const uint64_t types = 1u << PTL_REC_MMAP | 1u << PTL_REC_COMM | 1u << PTL_REC_EXIT |
                           1u << PTL_REC_FORK | 1u << PTL_REC_MMAP2 | 1u << PTL_REC_ITRACE_START |
                           1u << PTL_REC_SWITCH | 1u << PTL_REC_SWITCH_CPU_WIDE |
                           1u << PTL_REC_KSYMBOL | 1u << PTL_REC_TEXT_POKE;

    if (sb->flags & PTL_SB_KEEP)
        return 1;
    if (item->type == PTL_REC_SAMPLE)
        return item->flags & PTL_SB_SCHED_SWITCH;
    if (item->type == PTL_REC_AUX)
        return (sb->flags & PTL_SB_POSITIONS) != 0;
    return item->type < 64 && (types >> item->type & 1);
}

static struct item *add_item(struct ptl_sideband *sb, const struct item *item)
{
    struct item *to = MORE(sb, items);

    if (!to)
        return NULL;
    *to = *item;
    sb->items_count++;
    return to;
}

/* A switch, if it is whole: what is wrong with others is found later. Out tells the next task, in
 * the one that comes; without a task it says nothing. */
static void read_switch(const struct source *source, struct item *item, const uint8_t *copy,
                        size_t len, const struct ptl_sample_id *id, size_t trailer)
{
    size_t body = item->type == PTL_REC_SWITCH_CPU_WIDE ? 8 : 0;
    int out = (ptl__load16(copy + 4) & PTL_MISC_SWITCH_OUT) != 0;

    if (len != PTL_RECORD_HEADER + body + trailer || len != ptl__load16(copy + 6))
        return;
    item->u.to.lane = ptl__sb_lane_of(source, id);
    if (out && body) {
        item->u.to.pid = ptl__load32(copy + PTL_RECORD_HEADER);
        item->u.to.tid = ptl__load32(copy + PTL_RECORD_HEADER + 4);
        item->flags |= ITEM_SWITCH;
    } else if (!out && id->have & PTL_SAMPLE_TID) {
        item->u.to.pid = id->pid;
        item->u.to.tid = id->tid;
        item->flags |= ITEM_SWITCH;
    } else {
        item->flags |= ITEM_IDLE;
    }
}

/* Its trailer is read but once. */
static int add_switch(struct ptl_sideband *sb, struct item *item, const uint8_t *copy, size_t len,
                      struct ptl_sample_id *id)
{
    struct source *source = &sb->sources[item->source];
    size_t trailer = ptl__trailer_read(id, copy, len, item->layout);

    if (!trailer)
        id->have = 0;
    stamp(source, item, (id->have & PTL_SAMPLE_TIME) != 0, id->time);
    read_switch(source, item, copy, len, id, trailer);
    return add_item(sb, item) ? 0 : PTL_NOMEM;
}

static int add_other(struct ptl_sideband *sb, struct item *item, const uint8_t *copy, size_t len)
{
    uint64_t time = 0;
    int have_time;

    if (!matters(sb, item))
        return 0;
    have_time = time_of(item, copy, len, &time);
    stamp(&sb->sources[item->source], item, have_time, time);
    sb->has_pokes |= item->type == PTL_REC_TEXT_POKE;
    return add_item(sb, item) ? 0 : PTL_NOMEM;
}

void ptl__sb_reserve(struct ptl_sideband *sb, uint64_t count)
{
    struct item *items;

    if (sb->items_cap || count < RESERVE_MIN || count >= MAX_ITEMS)
        return;
    items = ptl__malloc_large((size_t)count * sizeof(*items));
    if (!items)
        return;
    sb->items = items;
    sb->items_cap = (size_t)count;
}

static uint8_t type_of(const uint8_t *bytes)
{
    uint32_t type = ptl__load32(bytes);

    return type < PTL_REC_USER ? (uint8_t)type : ITEM_OTHER;
}

int ptl__sb_add(struct ptl_sideband *sb, uint32_t source, const uint8_t *bytes, const uint8_t *copy,
                size_t len, uint64_t offset, const struct ptl_layout *layout, unsigned flags,
                struct ptl_sample_id *id)
{
    struct item item = {
        .bytes = bytes, .layout = layout, .offset = offset, .source = (uint16_t)source};

    id->have = 0;
    if (!sb || sb->finished || source >= sb->sources_count || !bytes || len < PTL_RECORD_HEADER ||
        len > UINT32_MAX)
        return PTL_INVALID;
    item.type = type_of(copy);
    item.flags = flags & PTL_SB_SCHED_SWITCH;
    item.u.raw.len = (uint32_t)len;
    if (item.type == PTL_REC_SWITCH || item.type == PTL_REC_SWITCH_CPU_WIDE)
        return add_switch(sb, &item, copy, len, id);
    return add_other(sb, &item, copy, len);
}

int ptl_sideband_add_record(struct ptl_sideband *sb, uint32_t source, const uint8_t *bytes,
                            size_t len, uint64_t offset, const struct ptl_layout *layout,
                            unsigned flags)
{
    struct ptl_sample_id id;

    return ptl__sb_add(sb, source, bytes, bytes, len, offset, layout, flags, &id);
}

/* The layout of a record in a raw file: by its last 8 bytes. Samples have no trailer; in raw
 * files they are not read. */
static const struct ptl_layout *layout_of(const struct source *source, const uint8_t *bytes,
                                          size_t size)
{
    struct ptl_sb_layout key = {0};
    const struct ptl_sb_layout *found = NULL;

    if (ptl__load32(bytes) == PTL_REC_SAMPLE)
        return NULL;
    if (source->layout_count && size >= 16) {
        key.id = ptl__load64(bytes + size - 8);
        found =
            bsearch(&key, source->layouts, source->layout_count, sizeof(*source->layouts), by_id);
    }
    return found ? &found->layout : &source->layout;
}

/* A record that cannot be read: shown as an error, and the end of its file. */
static int add_broken(struct ptl_sideband *sb, uint32_t source, const uint8_t *bytes, size_t len,
                      uint64_t offset, const struct ptl_layout *layout, int status)
{
    struct item *item = MORE(sb, items);

    if (!item)
        return PTL_NOMEM;
    *item = (struct item){.tsc = sb->sources[source].last,
                          .bytes = bytes,
                          .layout = layout,
                          .offset = offset,
                          .source = (uint16_t)source,
                          .type = type_of(bytes),
                          .u.raw = {.len = (uint32_t)(len < UINT32_MAX ? len : UINT32_MAX),
                                    .status = (int16_t)status,
                                    .note = PTL_SB_NOTE_ERROR}};
    sb->items_count++;
    return 0;
}

int ptl_sideband_add(struct ptl_sideband *sb, uint32_t source, const uint8_t *bytes, size_t len,
                     uint64_t offset)
{
    size_t at = 0;

    if (!sb || sb->finished || source >= sb->sources_count || (!bytes && len))
        return PTL_INVALID;
    while (at < len) {
        int size = ptl_record_size(bytes + at, len - at);
        const struct ptl_layout *layout;
        struct ptl_record record;
        int status;

        if (size < 0 || ptl__load32(bytes + at) == 0)
            break; /* cut, or type 0: the end */
        layout = layout_of(&sb->sources[source], bytes + at, (size_t)size);
        status = ptl_record_decode(&record, bytes + at, len - at, layout);
        if (status < 0 && layout)
            return add_broken(sb, source, bytes + at, len - at, offset + at, layout, status);
        status =
            ptl_sideband_add_record(sb, source, bytes + at, (size_t)size, offset + at, layout, 0);
        if (status < 0)
            return status;
        at += (size_t)size;
    }
    return 0;
}

static size_t len_of(const struct item *item)
{
    return ptl__sb_is_switch(item) ? ptl__load16(item->bytes + 6) : item->u.raw.len;
}

int ptl__sb_decode(const struct item *item, struct ptl_record *record)
{
    int status = ptl_record_decode(record, item->bytes, len_of(item), item->layout);

    return status < 0 ? status : 0;
}

/* --- finishing ----------------------------------------------------------------------- */

int ptl_sideband_finish(struct ptl_sideband *sb)
{
    int status;

    if (!sb || sb->finished)
        return PTL_INVALID;
    sb->finished = 1;
    status = ptl__sb_sort(sb);
    if (status == 0)
        status = ptl__sb_apply(sb);
    ptl__sb_sort_names(sb);
    return status;
}

const struct ptl_timeline *ptl_sideband_timeline(const struct ptl_sideband *sb)
{
    return sb->timeline;
}

int ptl_sideband_get(const struct ptl_sideband *sb, size_t i, struct ptl_sb_record *record)
{
    const struct item *item;
    const struct source *source;
    uint64_t time;

    if (i >= sb->items_count)
        return 0;
    item = &sb->items[i];
    if (ptl_map_left(item->bytes, len_of(item)) < len_of(item))
        return 0; /* the file that it stood in has become shorter */
    source = &sb->sources[item->source];
    *record = (struct ptl_sb_record){
        .source = source->name, .offset = item->offset, .tsc = item->tsc, .note = PTL_SB_NOTE_NONE};
    if (!ptl__sb_is_switch(item)) {
        record->note = item->u.raw.note;
        record->status = item->u.raw.status;
    }
    (void)ptl__sb_decode(item, &record->record);
    if (time_of(item, item->bytes, len_of(item), &time)) {
        record->have_time = 1;
        record->time_tsc = ptl__sb_ticks(source, time);
    }
    return 1;
}

const char *ptl_sb_note_text(const struct ptl_sb_record *record)
{
    static const char *const text[] = {
        [PTL_SB_NOTE_NONE] = "",
        [PTL_SB_NOTE_SIDEBAND_LOST] = "sideband lost",
        [PTL_SB_NOTE_TRACE_LOST] = "trace lost",
        [PTL_SB_NOTE_SECTION_LOST] = "image section lost",
    };

    return record->note < PTL_SB_NOTE_ERROR ? text[record->note] : ptl_strstatus(record->status);
}
