/* SPDX-License-Identifier: BSD-3-Clause */
/* decode.c - records from bytes, by the shapes of shape_table.c. */
#include "record/shape.h"

#define AUXTRACE_ERROR_MIN 1 /* the first format of AUXTRACE_ERROR that has a time */

int ptl_record_size(const uint8_t *buf, size_t len)
{
    uint16_t size;

    if (len < PTL_RECORD_HEADER)
        return PTL_EOS;
    size = ptl__load16(buf + 6);
    if (size < PTL_RECORD_HEADER)
        return PTL_BAD_PACKET;
    return size <= len ? size : PTL_EOS;
}

struct ptl_layout ptl_layout_of(const struct ptl_attr *attr)
{
    struct ptl_layout layout = {
        .sample_type = attr->sample_type,
        .read_format = attr->read_format,
        .branch_sample_type = attr->branch_sample_type,
        .regs_user = attr->sample_regs_user,
        .regs_intr = attr->sample_regs_intr,
        .no_trailer = !(attr->flags & PTL_ATTR_SAMPLE_ID_ALL),
    };
    return layout;
}

static struct ptl_span rest(struct ptl__cursor *c)
{
    struct ptl_span span = {c->pos, ptl__left(c)};
    c->pos = c->end;
    return span;
}

static const char *string(struct ptl__cursor *c)
{
    struct ptl_span all = rest(c);
    if (!all.len || !memchr(all.bytes, 0, all.len)) {
        c->bad = 1;
        return "";
    }
    return (const char *)all.bytes;
}

static void device(struct ptl_record *record, struct ptl__cursor *c)
{
    struct ptl_rec_mmap *map = &record->u.mmap;
    const uint8_t *p = ptl__take(c, 24);

    if (!p)
        return;
    if (record->misc & PTL_MISC_MMAP_BUILD_ID) {
        map->build_id_size = p[0] <= 20 ? p[0] : 20;
        memcpy(map->build_id, p + 4, 20);
        return;
    }
    map->maj = ptl__load32(p);
    map->min = ptl__load32(p + 4);
    map->ino = ptl__load64(p + 8);
    map->ino_generation = ptl__load64(p + 16);
}

static void poke(struct ptl_record *record, struct ptl__cursor *c)
{
    size_t old_len = ptl__taken(c, 2), new_len = ptl__taken(c, 2);

    record->u.text_poke.old_bytes = (struct ptl_span){ptl__take(c, old_len), old_len};
    record->u.text_poke.new_bytes = (struct ptl_span){ptl__take(c, new_len), new_len};
    c->pos = c->end; /* padding */
}

static void links(struct ptl_record *record, struct ptl__cursor *c)
{
    uint64_t n = ptl__taken(c, 8);
    struct ptl_span all = rest(c);

    record->u.namespaces.links = all;
    if (all.len / 16 != n || all.len % 16)
        c->bad = 1;
}

static void attr(struct ptl_attr *out, struct ptl__cursor *c)
{
    int n = ptl_attr_decode(out, c->pos, ptl__left(c));
    if (n < 0)
        c->bad = 1;
    else
        c->pos += n;
}

static void entries(struct ptl_record *record, struct ptl__cursor *c)
{
    struct ptl_span all = rest(c);

    record->u.id_index.entries = all;
    if (record->u.id_index.count > all.len / 32)
        c->bad = 1;
}

static struct ptl_span sized(struct ptl__cursor *c)
{
    uint64_t n = ptl__taken(c, 8);
    struct ptl_span span = {c->pos, 0};

    if (n > ptl__left(c))
        c->bad = 1;
    else
        span.len = n;
    c->pos = c->end;
    return span;
}

static void field_decode(struct ptl_record *record, struct ptl__cursor *c, const struct field *f,
                         const struct ptl_layout *layout)
{
    void *at = (uint8_t *)record + f->at;
    const uint8_t *p;
    uint64_t v;

    switch ((enum field_kind)f->kind) {
    case F_U8:
    case F_U16:
    case F_U32:
    case F_U64:
        v = ptl__taken(c, (size_t)1 << (f->kind - F_U8));
        memcpy(at, &v, (size_t)1 << (f->kind - F_U8));
        break;
    case F_BYTES:
        p = ptl__take(c, f->n);
        if (p)
            memcpy(at, p, f->n);
        break;
    case F_SKIP:
        ptl__take(c, f->n);
        break;
    case F_STR:
        *(const char **)at = string(c);
        break;
    case F_REST:
        *(struct ptl_span *)at = rest(c);
        break;
    case F_SIZED:
        *(struct ptl_span *)at = sized(c);
        break;
    case F_ENTRIES:
        entries(record, c);
        break;
    case F_DEVICE:
        device(record, c);
        break;
    case F_POKE:
        poke(record, c);
        break;
    case F_LINKS:
        links(record, c);
        break;
    case F_ATTR:
        attr(at, c);
        break;
    case F_WHEN:
        if (record->u.auxtrace_error.format >= AUXTRACE_ERROR_MIN)
            record->u.auxtrace_error.time = ptl__taken(c, 8);
        break;
    case F_SAMPLE:
        ptl__items_decode(record, c, ptl__sample_items, layout);
        break;
    case F_END:
    case F_OPTIONAL:
        break;
    }
}

/* The body by its shape. Bodies of the kernel must be used up; perf's own may grow. */
static int body_decode(struct ptl_record *record, const struct shape *shape,
                       const struct ptl_layout *layout)
{
    struct ptl__cursor c = {record->body.bytes, record->body.bytes + record->body.len, 0};

    for (const struct field *f = shape->fields; f->kind != F_END; f++) {
        if (f->kind == F_OPTIONAL && !ptl__left(&c))
            break;
        field_decode(record, &c, f, layout);
    }
    if (c.bad || (record->type < PTL_REC_USER && ptl__left(&c)))
        return PTL_NOSYNC;
    record->known = 1;
    return 0;
}

int ptl_record_decode(struct ptl_record *record, const uint8_t *buf, size_t len,
                      const struct ptl_layout *layout)
{
    static const struct ptl_layout none = {.no_trailer = 1};
    const struct shape *shape;
    size_t trailer = 0;
    int size = ptl_record_size(buf, len), status;

    if (size < 0)
        return size;
    memset(record, 0, sizeof(*record));
    record->type = ptl__load32(buf);
    record->misc = ptl__load16(buf + 4);
    record->size = (uint16_t)size;
    record->body = (struct ptl_span){buf + PTL_RECORD_HEADER, (size_t)size - PTL_RECORD_HEADER};
    layout = layout ? layout : &none;
    shape = ptl__shape(record->type);
    if (!shape)
        return size;

    if (record->type < PTL_REC_USER && record->type != PTL_REC_SAMPLE) {
        struct ptl__cursor c;
        trailer = ptl__trailer_size(layout);
        if (trailer > record->body.len)
            return PTL_NOSYNC;
        record->body.len -= trailer;
        c = (struct ptl__cursor){record->body.bytes + record->body.len,
                                 record->body.bytes + record->body.len + trailer, 0};
        if (trailer)
            ptl__items_decode(record, &c, ptl__trailer_items, layout);
    }
    if (!shape->fields)
        return size;
    status = body_decode(record, shape, layout);
    return status ? status : size;
}

/* The offset of the identifier in a record of that layout; 0 if it has none. ID is at a
 * place of its own in SAMPLE and in the trailer. */
static size_t identifier_offset(uint32_t type, size_t size, const struct ptl_layout *layout)
{
    uint64_t have = layout->sample_type;
    uint64_t before = PTL_SAMPLE_IP | PTL_SAMPLE_TID | PTL_SAMPLE_TIME | PTL_SAMPLE_ADDR;
    uint64_t behind = PTL_SAMPLE_ID | PTL_SAMPLE_STREAM_ID | PTL_SAMPLE_CPU;

    if (type == PTL_REC_SAMPLE) {
        if (have & PTL_SAMPLE_IDENTIFIER)
            return PTL_RECORD_HEADER;
        if (have & PTL_SAMPLE_ID)
            return PTL_RECORD_HEADER + 8u * (size_t)__builtin_popcountll(have & before);
        return 0;
    }
    if (layout->no_trailer)
        return 0;
    if (have & PTL_SAMPLE_IDENTIFIER)
        return size - 8;
    if (have & PTL_SAMPLE_ID)
        return size - 8u * (size_t)__builtin_popcountll(have & behind);
    return 0;
}

int ptl_record_identifier(const uint8_t *buf, size_t len, const struct ptl_layout *layout,
                          uint64_t *identifier)
{
    int size = ptl_record_size(buf, len);
    uint32_t type;
    size_t at;

    *identifier = 0;
    if (size < 0)
        return PTL_EOS;
    type = ptl__load32(buf);
    if (type >= PTL_REC_USER)
        return PTL_EOS;
    at = identifier_offset(type, (size_t)size, layout);
    /* A record too short for its trailer makes `at` huge or smaller than the header. */
    if (at < PTL_RECORD_HEADER || at > (size_t)size - 8)
        return PTL_EOS;
    *identifier = ptl__load64(buf + at);
    return 0;
}

int ptl_id_index_get(const struct ptl_record *record, uint64_t i, struct ptl_id_index_entry *entry)
{
    const uint8_t *p;

    if (i >= record->u.id_index.count || i >= record->u.id_index.entries.len / 32)
        return PTL_INVALID;
    p = record->u.id_index.entries.bytes + 32 * i;
    entry->id = ptl__load64(p);
    entry->idx = ptl__load64(p + 8);
    entry->cpu = ptl__load64(p + 16);
    entry->tid = ptl__load64(p + 24);
    return 0;
}
