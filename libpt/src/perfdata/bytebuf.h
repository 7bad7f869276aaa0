/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bytebuf.h - bytes that grow: payloads of features.
 */
#ifndef LIBPT_PERFDATA_BYTEBUF_H
#define LIBPT_PERFDATA_BYTEBUF_H

#include "base/alloc.h"
#include "base/bytes.h"

#define BYTEBUF_MAX ((size_t)1 << 30)

struct bytebuf {
    uint8_t *bytes;
    size_t len, cap;
    int bad; /* without memory: sticks, contents are useless */
};

static inline void bytebuf_put(struct bytebuf *b, const void *bytes, size_t n)
{
    if (b->bad || n > BYTEBUF_MAX - b->len ||
        ptl__grow((void **)&b->bytes, &b->cap, b->len + n, BYTEBUF_MAX, 1)) {
        b->bad = 1;
        return;
    }
    if (n)
        memcpy(b->bytes + b->len, bytes, n);
    b->len += n;
}

static inline void bytebuf_putn(struct bytebuf *b, uint64_t v, size_t n)
{
    bytebuf_put(b, &v, n);
}

/* Text as features have it: u32 length, bytes, zero-padded to 64. */
static inline void bytebuf_text(struct bytebuf *b, const char *text)
{
    static const uint8_t zero[64];
    size_t n = strlen(text), pad = 64 - n % 64; /* at least one NUL */

    bytebuf_putn(b, n + pad, 4);
    bytebuf_put(b, text, n);
    bytebuf_put(b, zero, pad);
}

static inline void bytebuf_free(struct bytebuf *b)
{
    ptl__free(b->bytes);
    memset(b, 0, sizeof(*b));
}

#endif
