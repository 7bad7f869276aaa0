/* SPDX-License-Identifier: BSD-3-Clause */
/* encode.c - records to bytes, by the shapes of shape_table.c. */
#include "record/shape.h"

#define MAX_RECORD 65528 /* the largest multiple of 8 in the header's u16 */

static void string(struct ptl__sink *s, const char *text)
{
    size_t n = text ? strlen(text) : 0;

    ptl__put(s, text, n);
    ptl__put_zero(s, 8 - n % 8); /* at least one NUL */
}

static void device(struct ptl__sink *s, const struct ptl_record *record)
{
    const struct ptl_rec_mmap *map = &record->u.mmap;

    if (record->misc & PTL_MISC_MMAP_BUILD_ID) {
        ptl__putn(s, map->build_id_size, 4);
        ptl__put(s, map->build_id, 20);
        return;
    }
    ptl__putn(s, map->maj, 4);
    ptl__putn(s, map->min, 4);
    ptl__putn(s, map->ino, 8);
    ptl__putn(s, map->ino_generation, 8);
}

static void poke(struct ptl__sink *s, const struct ptl_record *record)
{
    struct ptl_span old_bytes = record->u.text_poke.old_bytes;
    struct ptl_span new_bytes = record->u.text_poke.new_bytes;

    if (old_bytes.len > UINT16_MAX || new_bytes.len > UINT16_MAX) {
        s->bad = 1;
        return;
    }
    ptl__putn(s, old_bytes.len, 2);
    ptl__putn(s, new_bytes.len, 2);
    ptl__put(s, old_bytes.bytes, old_bytes.len);
    ptl__put(s, new_bytes.bytes, new_bytes.len);
    ptl__put_zero(s, (size_t) - (12 + old_bytes.len + new_bytes.len) & 7);
}

static void attr(struct ptl__sink *s, const struct ptl_attr *in)
{
    int n = ptl_attr_encode(s->pos, (size_t)(s->end - s->pos), in);
    if (n < 0)
        s->bad = 1;
    else
        s->pos += n;
}

static void sized(struct ptl__sink *s, struct ptl_span bytes)
{
    ptl__putn(s, bytes.len, 8);
    ptl__put(s, bytes.bytes, bytes.len);
    ptl__put_zero(s, (size_t)-bytes.len & 7);
}

static void field_encode(struct ptl__sink *s, const struct ptl_record *record,
                         const struct field *f, const struct ptl_layout *layout)
{
    const void *at = (const uint8_t *)record + f->at;
    const struct ptl_span *bytes = at;

    switch ((enum field_kind)f->kind) {
    case F_U8:
    case F_U16:
    case F_U32:
    case F_U64:
        ptl__put(s, at, (size_t)1 << (f->kind - F_U8));
        break;
    case F_BYTES:
        ptl__put(s, at, f->n);
        break;
    case F_SKIP:
        ptl__put_zero(s, f->n);
        break;
    case F_STR:
        string(s, *(const char *const *)at);
        break;
    case F_REST:
    case F_ENTRIES:
        ptl__put(s, bytes->bytes, bytes->len);
        break;
    case F_SIZED:
        sized(s, *bytes);
        break;
    case F_DEVICE:
        device(s, record);
        break;
    case F_POKE:
        poke(s, record);
        break;
    case F_LINKS:
        ptl__putn(s, bytes->len / 16, 8);
        ptl__put(s, bytes->bytes, bytes->len);
        break;
    case F_ATTR:
        attr(s, at);
        break;
    case F_WHEN:
        if (record->u.auxtrace_error.format >= 1)
            ptl__putn(s, record->u.auxtrace_error.time, 8);
        break;
    case F_SAMPLE:
        ptl__items_encode(s, record, ptl__sample_items, layout);
        break;
    case F_END:
    case F_OPTIONAL:
        break;
    }
}

static void body_encode(struct ptl__sink *s, const struct ptl_record *record,
                        const struct ptl_layout *layout)
{
    const struct shape *shape = ptl__shape(record->type);

    if (!record->known || !shape || !shape->fields) {
        ptl__put(s, record->body.bytes, record->body.len);
        return;
    }
    for (const struct field *f = shape->fields; f->kind != F_END; f++)
        field_encode(s, record, f, layout);
}

int ptl_record_encode(uint8_t *buf, size_t cap, const struct ptl_record *record,
                      const struct ptl_layout *layout)
{
    static const struct ptl_layout none = {.no_trailer = 1};
    struct ptl__sink s = {buf, buf + (cap < MAX_RECORD ? cap : MAX_RECORD), 0};
    const struct shape *shape = ptl__shape(record->type);

    layout = layout ? layout : &none;
    if (record->known && (!shape || !shape->fields))
        return PTL_INVALID;
    if (record->type == PTL_REC_SAMPLE && record->known && !layout->sample_type)
        return PTL_INVALID;
    ptl__put_zero(&s, PTL_RECORD_HEADER);
    body_encode(&s, record, layout);
    if (shape && record->type < PTL_REC_USER && record->type != PTL_REC_SAMPLE &&
        !layout->no_trailer)
        ptl__items_encode(&s, record, ptl__trailer_items, layout);
    if (s.bad)
        return cap < MAX_RECORD ? PTL_EOS : PTL_INVALID;
    ptl__storen(buf, record->type, 4);
    ptl__storen(buf + 4, record->misc, 2);
    ptl__storen(buf + 6, (uint64_t)(s.pos - buf), 2);
    return (int)(s.pos - buf);
}
