/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * out.h - the one buffered writer of the tools: no stdio per line.
 *
 * Errors stick: after the first failed write all output is dropped and out_close()
 * reports it once.
 */
#ifndef TOOL_OUT_H
#define TOOL_OUT_H

#include "pipe_pages.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

struct out {
    char *buf;
    size_t len, cap;
    int fd;
    int error;  /* errno of the first failed write, 0 if none */
    int memory; /* all stays in `buf`, which grows */
    /* Text that is not copied yet (out_hold): runs of `buf` and text elsewhere, in order. */
    struct iovec *parts;
    size_t part_count, part_cap;
    size_t parted; /* so much of `buf` is in `parts` */
    char *stage;   /* where they are put together */
    int is_device; /* `fd` */
    int is_pipe;   /* `fd`, whose writers wait */
    /* Text into a pipe, once there is much of it: `buf` is in `pages`, or the stage. */
    struct pipe_pages pages;
    char *own;        /* `buf` otherwise */
    uint64_t written; /* bytes */
    /* Asked before each write, which may wait there: 0, or an errno to fail with. NULL: none. */
    int (*gate)(void *context);
    void *context;
};

/* `cap` at least 4096. Returns 0, or -1 without memory. */
int out_open(struct out *out, int fd, size_t cap);
/* All that is written stays in out->buf: out->len bytes, to be freed with free(). Without memory
 * out->error is set, and what is there is no use. Returns 0 or -1. */
int out_open_memory(struct out *out);
/* Flush and free. Returns 0, or the errno of the first failure. */
int out_close(struct out *out);
/* The same for a tool's standard output: a failure is told, and makes exit status 0 a 1. */
int out_finish(struct out *out, const char *prog, int status);
void out_flush(struct out *out);

/* Room for `n` (<= cap) bytes; write there, then out_commit() what was used. */
static inline char *out_reserve(struct out *out, size_t n)
{
    if (out->cap - out->len < n)
        out_flush(out);
    return out->buf + out->len;
}

static inline void out_commit(struct out *out, size_t n)
{
    out->len += n;
}

void out_write(struct out *out, const char *s, size_t n); /* any length */

/* Let out_hold() remember where text is instead of copying it, up to `parts` runs between two
 * writes. Returns 0, or -1 without memory. */
int out_hold_parts(struct out *out, size_t parts);
/* As out_write(), for text that stays where it is until out_flush(). */
void out_hold(struct out *out, const char *s, size_t n);
/* Room for `n` parts at once, instead of so many out_hold(): write them there and add their number
 * to part_count. NULL if parts are not held. */
struct iovec *out_parts(struct out *out, size_t n);
/* Drop what has not been written. */
void out_drop(struct out *out);
void out_str(struct out *out, const char *s);
void out_char(struct out *out, char c);
/* printf for what is not hot; at most 4095 characters. */
void out_printf(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

void out_hex(struct out *out, uint64_t value); /* lower case, no 0x, no padding */
void out_hex_pad(struct out *out, uint64_t value, unsigned digits); /* zero-padded */
void out_dec(struct out *out, uint64_t value);

/* 16 lower-case digits at `p` (not terminated). The hot one. */
void text_hex16(char *p, uint64_t value);

#endif
