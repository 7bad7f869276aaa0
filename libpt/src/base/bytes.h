/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bytes.h - unaligned little-endian loads and stores, and a bounded cursor.
 *
 * Foreign bytes are only read through these. A cursor never runs past its end: a read
 * that does not fit sets `bad` and yields zero, so a parser checks once at the end.
 */
#ifndef LIBPT_BASE_BYTES_H
#define LIBPT_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t ptl__load16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint32_t ptl__load32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint64_t ptl__load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

/* The low `n` (0..8) bytes at `p`, zero-extended. */
static inline uint64_t ptl__loadn(const uint8_t *p, size_t n)
{
    uint64_t v = 0;
    memcpy(&v, p, n);
    return v;
}

static inline void ptl__storen(uint8_t *p, uint64_t v, size_t n)
{
    memcpy(p, &v, n);
}

struct ptl__cursor {
    const uint8_t *pos, *end;
    int bad;
};

static inline size_t ptl__left(const struct ptl__cursor *c)
{
    return (size_t)(c->end - c->pos);
}

/* `n` bytes, or NULL (and `bad`) if there are not that many. */
static inline const uint8_t *ptl__take(struct ptl__cursor *c, size_t n)
{
    const uint8_t *p = c->pos;
    if (ptl__left(c) < n) {
        c->bad = 1;
        c->pos = c->end;
        return NULL;
    }
    c->pos += n;
    return p;
}

static inline uint64_t ptl__taken(struct ptl__cursor *c, size_t n)
{
    const uint8_t *p = ptl__take(c, n);
    return p ? ptl__loadn(p, n) : 0;
}

/* The same for writing: what does not fit sets `bad` and is dropped. */
struct ptl__sink {
    uint8_t *pos, *end;
    int bad;
};

/* Room for `n` bytes, or NULL (and `bad`). */
static inline uint8_t *ptl__room(struct ptl__sink *s, size_t n)
{
    uint8_t *p = s->pos;
    if ((size_t)(s->end - s->pos) < n) {
        s->bad = 1;
        s->pos = s->end;
        return NULL;
    }
    s->pos += n;
    return p;
}

static inline void ptl__put(struct ptl__sink *s, const void *bytes, size_t n)
{
    uint8_t *p = ptl__room(s, n);
    if (p && n)
        memcpy(p, bytes, n);
}

static inline void ptl__putn(struct ptl__sink *s, uint64_t v, size_t n)
{
    ptl__put(s, &v, n);
}

static inline void ptl__put_zero(struct ptl__sink *s, size_t n)
{
    uint8_t *p = ptl__room(s, n);
    if (p)
        memset(p, 0, n);
}

#endif
