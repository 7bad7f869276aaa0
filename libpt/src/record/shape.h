/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shape.h - the layouts of record bodies as data, shared by decoder and encoder.
 *
 * A shape is a list of fields in wire order; each says what it is on the wire and where
 * it lives in the plain struct. Both directions walk the same list.
 */
#ifndef LIBPT_RECORD_SHAPE_H
#define LIBPT_RECORD_SHAPE_H

#include "base/bytes.h"

#include <pt/record.h>

enum field_kind {
    F_END,
    F_U8,
    F_U16,
    F_U32,
    F_U64,
    F_BYTES,    /* `n` bytes, copied */
    F_SKIP,     /* `n` zero bytes */
    F_STR,      /* the rest: NUL-terminated, zero-padded to 8 */
    F_REST,     /* the rest, as a span */
    F_ENTRIES,  /* the rest, as a span: 32 bytes each, as many as the count before says */
    F_OPTIONAL, /* older writers end here */
    F_DEVICE,   /* MMAP2: device and inode, or build id */
    F_POKE,     /* TEXT_POKE: two lengths, old and new bytes */
    F_LINKS,    /* NAMESPACES: count, then as many pairs of u64 */
    F_ATTR,     /* a perf_event_attr */
    F_WHEN,     /* AUXTRACE_ERROR: u64 time if the format has it */
    F_SIZED,    /* COMPRESSED2: u64 length, bytes, padding */
    F_SAMPLE    /* SAMPLE: by the layout */
};

struct field {
    uint8_t kind; /* enum field_kind */
    uint8_t n;
    uint16_t at; /* in struct ptl_record */
};

struct shape {
    uint32_t type;
    const char *name;
    const struct field *fields; /* NULL: the body is not decoded */
};

/* NULL for unknown types. */
const struct shape *ptl__shape(uint32_t type);

/* One item of a SAMPLE or of a trailer. */
enum item_kind {
    I_U64,
    I_TID, /* u32 pid, tid */
    I_CPU, /* u32 cpu, u32 0 */
    I_READ,
    I_CHAIN, /* u64 n, n u64 */
    I_RAW,   /* u32 size, bytes: a multiple of 8 together */
    I_BRANCH,
    I_REGS_USER,
    I_REGS_INTR,
    I_STACK,
    I_AUX /* u64 size, bytes */
};

struct item {
    uint64_t bits; /* present if any of these is in sample_type */
    uint16_t at;   /* in struct ptl_record; for I_TID and I_CPU that of the first u32 */
    uint8_t kind;
};

extern const struct item ptl__trailer_items[]; /* ends with bits 0 */
extern const struct item ptl__sample_items[];

static inline size_t ptl__trailer_size(const struct ptl_layout *layout)
{
    if (!layout || layout->no_trailer)
        return 0;
    return 8u * (size_t)__builtin_popcountll(layout->sample_type & PTL_SAMPLE_TRAILER);
}

void ptl__items_decode(struct ptl_record *record, struct ptl__cursor *c, const struct item *items,
                       const struct ptl_layout *layout);
void ptl__items_encode(struct ptl__sink *s, const struct ptl_record *record,
                       const struct item *items, const struct ptl_layout *layout);

#endif
