/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unpack.c - see unpack.h.
 *
 * Each is a loop of its library's over one stream; what follows the stream is not looked at.
 * Without input, feed() says whether the stream was whole: a file that was cut is an error.
 */
#include "unpack.h"

#include <stdlib.h>
#include <zstd.h>

#ifdef HAVE_LZMA
#include <lzma.h>
#endif
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

/* --- zstd ------------------------------------------------------------------------------ */

struct zst {
    ZSTD_DStream *stream;
    int ended;
};

static void zst_close(void *stream)
{
    struct zst *z = stream;

    ZSTD_freeDStream(z->stream);
    free(z);
}

static void *zst_open(void *context)
{
    struct zst *z = calloc(1, sizeof(*z));

    (void)context;
    if (!z)
        return NULL;
    z->stream = ZSTD_createDStream();
    if (z->stream)
        return z;
    free(z);
    return NULL;
}

static int64_t zst_feed(void *stream, const uint8_t **src, size_t *left, uint8_t *dst, size_t cap)
{
    struct zst *z = stream;
    ZSTD_inBuffer in = {*src, *left, 0};
    ZSTD_outBuffer out = {dst, cap, 0};
    size_t status, before;

    do {
        if (z->ended)
            break;
        before = in.pos;
        status = ZSTD_decompressStream(z->stream, &out, &in);
        if (ZSTD_isError(status))
            return PTL_BAD_FILE;
        z->ended = status == 0;
    } while (!out.pos && in.pos > before);
    *src += in.pos;
    *left -= in.pos;
    return out.pos || z->ended || in.pos ? (int64_t)out.pos : PTL_BAD_FILE;
}

/* --- xz ---------------------------------------------------------------------------------- */

#ifdef HAVE_LZMA
#define XZ_MEMORY ((uint64_t)128 << 20) /* xz -9 wants 65 MiB */

struct xz {
    lzma_stream stream;
    int ended;
};

static void xz_close(void *stream)
{
    struct xz *x = stream;

    lzma_end(&x->stream);
    free(x);
}

static void *xz_open(void *context)
{
    struct xz *x = calloc(1, sizeof(*x));

    (void)context;
    if (!x)
        return NULL;
    if (lzma_stream_decoder(&x->stream, XZ_MEMORY, 0) == LZMA_OK)
        return x;
    xz_close(x);
    return NULL;
}

static int64_t xz_feed(void *stream, const uint8_t **src, size_t *left, uint8_t *dst, size_t cap)
{
    struct xz *x = stream;
    lzma_ret status;

    if (x->ended)
        return 0;
    x->stream.next_in = *src;
    x->stream.avail_in = *left;
    x->stream.next_out = dst;
    x->stream.avail_out = cap;
    status = lzma_code(&x->stream, LZMA_RUN); /* as far as input or room go */
    x->ended = status == LZMA_STREAM_END;
    if (status == LZMA_MEM_ERROR)
        return PTL_NOMEM;
    if (status != LZMA_OK && !x->ended)
        return PTL_BAD_FILE;
    if (!x->ended && x->stream.avail_in == *left && x->stream.avail_out == cap)
        return PTL_BAD_FILE; /* cut */
    *src = x->stream.next_in;
    *left = x->stream.avail_in;
    return (int64_t)(cap - x->stream.avail_out);
}
#endif

/* --- gzip -------------------------------------------------------------------------------- */

#ifdef HAVE_ZLIB
#define GZ_WINDOW (15 + 16) /* 32 KiB; a gzip header */
#define GZ_PART   ((size_t)1 << 30)

struct gz {
    z_stream stream;
    int ended;
};

static void gz_close(void *stream)
{
    struct gz *g = stream;

    (void)inflateEnd(&g->stream);
    free(g);
}

static void *gz_open(void *context)
{
    struct gz *g = calloc(1, sizeof(*g));

    (void)context;
    if (!g)
        return NULL;
    if (inflateInit2(&g->stream, GZ_WINDOW) == Z_OK)
        return g;
    free(g);
    return NULL;
}

static int64_t gz_feed(void *stream, const uint8_t **src, size_t *left, uint8_t *dst, size_t cap)
{
    struct gz *g = stream;
    uInt in = (uInt)(*left < GZ_PART ? *left : GZ_PART), out;
    int status;

    if (g->ended)
        return 0;
    out = (uInt)(cap < GZ_PART ? cap : GZ_PART);
    g->stream.next_in = (z_const Bytef *)(uintptr_t)*src;
    g->stream.avail_in = in;
    g->stream.next_out = dst;
    g->stream.avail_out = out;
    status = inflate(&g->stream, Z_NO_FLUSH);
    g->ended = status == Z_STREAM_END;
    if (status == Z_MEM_ERROR)
        return PTL_NOMEM;
    if (status != Z_OK && !g->ended) /* Z_BUF_ERROR: cut */
        return PTL_BAD_FILE;
    *src += in - g->stream.avail_in;
    *left -= in - g->stream.avail_in;
    return (int64_t)(out - g->stream.avail_out);
}
#endif

/* --- all --------------------------------------------------------------------------------- */

const struct ptl_unpack file_unpackers[] = {
    {{0x28, 0xb5, 0x2f, 0xfd}, 4, {zst_open, zst_feed, zst_close, NULL}},
#ifdef HAVE_LZMA
    {{0xfd, '7', 'z', 'X', 'Z', 0}, 6, {xz_open, xz_feed, xz_close, NULL}},
#endif
#ifdef HAVE_ZLIB
    {{0x1f, 0x8b}, 2, {gz_open, gz_feed, gz_close, NULL}},
#endif
    {.magic_size = 0},
};
