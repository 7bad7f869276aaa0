/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * items.c - what sample_type selects: the fields of a SAMPLE and of a trailer, both ways.
 */
#include "record/shape.h"

#define BRANCH_HW_INDEX (1ull << 17) /* branch_sample_type: a u64 before the entries */
#define BRANCH_ENTRY    24

static size_t bits(uint64_t mask)
{
    return (size_t)__builtin_popcountll(mask);
}

/* READ: "value [enabled] [running] [id] [lost]", with GROUP "nr [enabled] [running]
 * nr * {value [id] [lost]}" (perf_event.h, enum perf_event_read_format). */
static size_t read_size(const struct ptl__cursor *c, uint64_t format)
{
    size_t times = bits(format & (PTL_READ_TIME_ENABLED | PTL_READ_TIME_RUNNING));
    size_t each = 1 + bits(format & (PTL_READ_ID | PTL_READ_LOST));
    uint64_t n;

    if (!(format & PTL_READ_GROUP))
        return 8 * (times + each);
    if (ptl__left(c) < 8)
        return SIZE_MAX;
    n = ptl__load64(c->pos);
    return n > UINT16_MAX ? SIZE_MAX : 8 * (1 + times + n * each);
}

/* A u64 count, `extra` u64, and `count` entries. */
static size_t counted_size(const struct ptl__cursor *c, size_t extra, size_t entry)
{
    uint64_t n;

    if (ptl__left(c) < 8)
        return SIZE_MAX;
    n = ptl__load64(c->pos);
    return n > UINT16_MAX ? SIZE_MAX : 8 + 8 * extra + n * entry;
}

/* u64 abi; if it is not 0 as many u64 as the mask has bits. */
static size_t regs_size(const struct ptl__cursor *c, uint64_t mask)
{
    if (ptl__left(c) < 8)
        return SIZE_MAX;
    return ptl__load64(c->pos) ? 8 + 8 * bits(mask) : 8;
}

/* u64 size; if it is not 0 the bytes and a u64 with how many of them count. */
static size_t stack_size(const struct ptl__cursor *c)
{
    uint64_t n;

    if (ptl__left(c) < 8)
        return SIZE_MAX;
    n = ptl__load64(c->pos);
    if (!n)
        return 8;
    return n > UINT16_MAX ? SIZE_MAX : 8 + n + 8;
}

static size_t span_size(const struct ptl__cursor *c, const struct item *item,
                        const struct ptl_layout *layout)
{
    switch ((enum item_kind)item->kind) {
    case I_READ:
        return read_size(c, layout->read_format);
    case I_CHAIN:
        return counted_size(c, 0, 8);
    case I_BRANCH:
        return counted_size(c, !!(layout->branch_sample_type & BRANCH_HW_INDEX), BRANCH_ENTRY);
    case I_REGS_USER:
        return regs_size(c, layout->regs_user);
    case I_REGS_INTR:
        return regs_size(c, layout->regs_intr);
    case I_STACK:
        return stack_size(c);
    default:
        return SIZE_MAX;
    }
}

static struct ptl_span span(struct ptl__cursor *c, size_t n)
{
    struct ptl_span out = {ptl__take(c, n), n};
    if (!out.bytes)
        out.len = 0;
    return out;
}

static void item_decode(uint8_t *at, struct ptl__cursor *c, const struct item *item,
                        const struct ptl_layout *layout)
{
    uint64_t v;
    uint32_t pair[2];

    switch ((enum item_kind)item->kind) {
    case I_U64:
        v = ptl__taken(c, 8);
        memcpy(at, &v, 8);
        break;
    case I_TID:
        pair[0] = (uint32_t)ptl__taken(c, 4);
        pair[1] = (uint32_t)ptl__taken(c, 4);
        memcpy(at, pair, 8);
        break;
    case I_CPU:
        pair[0] = (uint32_t)ptl__taken(c, 4);
        memcpy(at, pair, 4);
        ptl__take(c, 4);
        break;
    case I_RAW:
        v = ptl__taken(c, 4);
        *(struct ptl_span *)(void *)at = span(c, v);
        break;
    case I_AUX:
        v = ptl__taken(c, 8);
        *(struct ptl_span *)(void *)at = span(c, v);
        break;
    default:
        *(struct ptl_span *)(void *)at = span(c, span_size(c, item, layout));
        break;
    }
}

void ptl__items_decode(struct ptl_record *record, struct ptl__cursor *c, const struct item *items,
                       const struct ptl_layout *layout)
{
    record->id.have = (uint32_t)(layout->sample_type & PTL_SAMPLE_TRAILER);
    for (const struct item *item = items; item->bits; item++)
        if (layout->sample_type & item->bits)
            item_decode((uint8_t *)record + item->at, c, item, layout);
}

static void item_encode(struct ptl__sink *s, const uint8_t *at, const struct item *item)
{
    const struct ptl_span *bytes = (const void *)at;

    switch ((enum item_kind)item->kind) {
    case I_U64:
    case I_TID:
        ptl__put(s, at, 8);
        break;
    case I_CPU:
        ptl__put(s, at, 4);
        ptl__put_zero(s, 4);
        break;
    case I_RAW: {
        size_t pad = (size_t) - (4 + bytes->len) & 7; /* counts as part of the raw bytes */
        ptl__putn(s, bytes->len + pad, 4);
        ptl__put(s, bytes->bytes, bytes->len);
        ptl__put_zero(s, pad);
        break;
    }
    case I_AUX: {
        size_t pad = (size_t)-bytes->len & 7;
        ptl__putn(s, bytes->len + pad, 8);
        ptl__put(s, bytes->bytes, bytes->len);
        ptl__put_zero(s, pad);
        break;
    }
    case I_READ:
        ptl__put(s, bytes->bytes, bytes->len);
        break;
    default: /* stored with their counts: none is a count of 0 */
        if (bytes->len)
            ptl__put(s, bytes->bytes, bytes->len);
        else
            ptl__put_zero(s, 8);
        break;
    }
}

void ptl__items_encode(struct ptl__sink *s, const struct ptl_record *record,
                       const struct item *items, const struct ptl_layout *layout)
{
    for (const struct item *item = items; item->bits; item++)
        if (layout->sample_type & item->bits)
            item_encode(s, (const uint8_t *)record + item->at, item);
}
