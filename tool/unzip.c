/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unzip.c - streaming zstd behind libpt's interface.
 *
 * perf's stream is one frame that never ends; each record is flushed, so that what it
 * holds can be had without the next one.
 */
#include "unzip.h"

#include <zstd.h>

static void *unzip_open(void *context)
{
    (void)context;
    return ZSTD_createDStream();
}

static int64_t unzip_feed(void *stream, const uint8_t **src, size_t *left, uint8_t *dst, size_t cap)
{
    ZSTD_inBuffer in = {*src, *left, 0};
    ZSTD_outBuffer out = {dst, cap, 0};
    size_t before;

    do { /* some input makes no output by itself */
        size_t status;
        before = in.pos;
        status = ZSTD_decompressStream(stream, &out, &in);
        if (ZSTD_isError(status))
            return PTL_BAD_FILE;
    } while (!out.pos && in.pos < in.size && in.pos > before);
    *src += in.pos;
    *left -= in.pos;
    return (int64_t)out.pos;
}

static void unzip_close(void *stream)
{
    ZSTD_freeDStream(stream);
}

const struct ptl_unzip zstd_unzip = {unzip_open, unzip_feed, unzip_close, NULL};

static void *zip_open(void *context)
{
    ZSTD_CStream *stream = ZSTD_createCStream();

    if (stream && ZSTD_isError(ZSTD_initCStream(stream, (int)(intptr_t)context))) {
        ZSTD_freeCStream(stream);
        return NULL;
    }
    return stream;
}

static int64_t zip_flush(void *stream, const uint8_t *src, size_t len, uint8_t *dst, size_t cap)
{
    ZSTD_inBuffer in = {src, len, 0};
    ZSTD_outBuffer out = {dst, cap, 0};
    size_t left;

    do {
        left = ZSTD_compressStream2(stream, &out, &in, ZSTD_e_flush);
        if (ZSTD_isError(left) || (left && out.pos == out.size))
            return PTL_IO;
    } while (left || in.pos < in.size);
    return (int64_t)out.pos;
}

static void zip_close(void *stream)
{
    ZSTD_freeCStream(stream);
}

struct ptl_zip zstd_zip(int level)
{
    struct ptl_zip zip = {zip_open, zip_flush, zip_close, (void *)(intptr_t)level, (uint32_t)level};
    return zip;
}
