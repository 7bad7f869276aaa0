/* SPDX-License-Identifier: BSD-3-Clause */
/* out.c - see out.h. */
#include "out.h"

#include "hex.h"
#include "opts.h"
#include "slab.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPE_SIZE (1 << 20)           /* the most that any user may ask for */
#define STAGE     ((size_t)256 << 10) /* stays in the second level cache */
#define HOLD_MIN  64                  /* bytes: shorter text is copied at once */
#define MUCH      ((uint64_t)1 << 20) /* bytes: less is not worth fresh pages */

static const char hex_digits[] = "0123456789abcdef";

int out_open(struct out *out, int fd, size_t cap)
{
    struct stat st;

    memset(out, 0, sizeof(*out));
    out->fd = fd;
    out->cap = cap < 4096 ? 4096 : cap;
    out->buf = out->own = slab_malloc(out->cap);
    if (!fstat(fd, &st)) {
        out->is_device = S_ISCHR(st.st_mode);
        out->is_pipe = S_ISFIFO(st.st_mode) && !(fcntl(fd, F_GETFL) & O_NONBLOCK);
        /* A pipe that holds more lets writer and reader sleep less. */
        if (S_ISFIFO(st.st_mode))
            (void)fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE);
    }
    return out->buf ? 0 : -1;
}

int out_open_memory(struct out *out)
{
    int status = out_open(out, -1, 0);

    out->memory = 1;
    return status;
}

static void grow(struct out *out)
{
    char *more = realloc(out->buf, 2 * out->cap);

    if (!more) {
        out->error = ENOMEM;
        out->len = 0; /* there is room for what comes, and no use for it */
        return;
    }
    out->buf = out->own = more;
    out->cap *= 2;
}

static void ask_gate(struct out *out)
{
    if (!out->error && out->gate)
        out->error = out->gate(out->context);
}

static void write_all(struct out *out, const char *s, size_t n)
{
    while (n && !out->error) {
        ssize_t done = write(out->fd, s, n);
        if (done < 0) {
            if (errno != EINTR)
                out->error = errno;
            continue;
        }
        s += done;
        n -= (size_t)done;
        out->written += (uint64_t)done;
    }
}

/* --- pages for a pipe --------------------------------------------------------------------- */

/* Where up to `n` bytes for the pipe are put: fresh pages, or `otherwise`. */
static char *room_for(struct out *out, size_t n, char *otherwise)
{
    char *room = out->is_pipe && out->written >= MUCH ? pipe_pages_room(&out->pages, n) : NULL;

    return room ? room : otherwise;
}

/* Write what lies in such room. */
static void write_room(struct out *out, const char *room, size_t n, const char *otherwise)
{
    size_t given = 0;

    if (room != otherwise && n && !out->error)
        given = pipe_pages_give(&out->pages, out->fd, room, n);
    out->written += given;
    write_all(out, room + given, n - given);
}

/* --- text that is not copied yet ------------------------------------------------------- */

int out_hold_parts(struct out *out, size_t parts)
{
    if (out->buf != out->own) { /* the stage will be where it is */
        out_flush(out);
        out->buf = out->own;
    }
    out->parts = slab_malloc(parts * sizeof(*out->parts));
    out->stage = malloc(STAGE);
    out->part_cap = out->parts && out->stage ? parts : 0;
    return out->part_cap ? 0 : -1;
}

/* What has been written to `buf` since the last part is one. */
static void part_of_buf(struct out *out)
{
    if (out->len > out->parted)
        out->parts[out->part_count++] =
            (struct iovec){out->buf + out->parted, out->len - out->parted};
    out->parted = out->len;
}

void out_hold(struct out *out, const char *s, size_t n)
{
    if (n < HOLD_MIN || !out->part_cap) {
        out_write(out, s, n);
        return;
    }
    if (out->part_count + 3 > out->part_cap) /* this one, and `buf` before and behind it */
        out_flush(out);
    part_of_buf(out);
    out->parts[out->part_count++] = (struct iovec){(void *)(uintptr_t)s, n};
}

struct iovec *out_parts(struct out *out, size_t n)
{
    if (n + 2 > out->part_cap)
        return NULL;
    if (out->part_count + n + 2 > out->part_cap)
        out_flush(out);
    part_of_buf(out);
    return out->parts + out->part_count;
}

/* Put together in a buffer that the cache holds: for pipes and files that costs less than a
 * vector of parts, each of which the kernel would copy for itself. */
static void write_copied(struct out *out)
{
    char *stage = room_for(out, STAGE, out->stage);
    size_t len = 0;

    for (size_t i = 0; i < out->part_count && !out->error; i++) {
        const char *s = out->parts[i].iov_base;
        size_t n = out->parts[i].iov_len;

        if (n > STAGE - len) {
            write_room(out, stage, len, out->stage);
            stage = room_for(out, STAGE, out->stage);
            len = 0;
        }
        if (n > STAGE) {
            write_all(out, s, n);
            continue;
        }
        memcpy(stage + len, s, n);
        len += n;
    }
    write_room(out, stage, len, out->stage);
}

/* Devices get the parts as they are. */
static void write_vector(struct out *out)
{
    struct iovec *part = out->parts, *end = part + out->part_count;

    while (part < end && !out->error) {
        size_t n = (size_t)(end - part) < IOV_MAX ? (size_t)(end - part) : IOV_MAX;
        ssize_t done = writev(out->fd, part, (int)n);

        if (done < 0) {
            if (errno != EINTR)
                out->error = errno;
            continue;
        }
        for (; part < end && (size_t)done >= part->iov_len; part++)
            done -= (ssize_t)part->iov_len;
        if (done) {
            part->iov_base = (char *)part->iov_base + done;
            part->iov_len -= (size_t)done;
        }
    }
}

void out_drop(struct out *out)
{
    out->len = out->part_count = out->parted = 0;
}

/* --- both --------------------------------------------------------------------------------- */

void out_flush(struct out *out)
{
    if (out->memory) {
        grow(out);
        return;
    }
    if (out->len || out->part_count)
        ask_gate(out);
    if (out->part_count || (out->part_cap && out->is_pipe)) {
        part_of_buf(out);
        if (out->is_device)
            write_vector(out);
        else
            write_copied(out);
    } else {
        write_room(out, out->buf, out->len, out->own);
    }
    out_drop(out);
    if (!out->part_cap && !out->gate)
        out->buf = room_for(out, out->cap, out->own);
}

int out_close(struct out *out)
{
    out_flush(out);
    pipe_pages_close(&out->pages);
    free(out->own);
    free(out->parts);
    free(out->stage);
    out->buf = out->own = NULL;
    out->parts = NULL;
    out->stage = NULL;
    return out->error;
}

int out_finish(struct out *out, const char *prog, int status)
{
    int error = out_close(out);

    if (!error)
        return status;
    opts_error(prog, "cannot write: %s.", strerror(error));
    return status ? status : 1;
}

void out_write(struct out *out, const char *s, size_t n)
{
    while (out->memory && !out->error && n > out->cap - out->len)
        grow(out);
    if (n > out->cap - out->len) {
        if (out->memory)
            return;
        out_flush(out);
        if (n > out->cap) {
            ask_gate(out);
            write_all(out, s, n);
            return;
        }
    }
    memcpy(out->buf + out->len, s, n);
    out->len += n;
}

void out_str(struct out *out, const char *s)
{
    out_write(out, s, strlen(s));
}

void out_char(struct out *out, char c)
{
    *out_reserve(out, 1) = c;
    out_commit(out, 1);
}

void out_printf(struct out *out, const char *format, ...)
{
    char *p = out_reserve(out, 4096);
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsnprintf(p, 4096, format, ap);
    va_end(ap);
    if (n > 0)
        out_commit(out, n < 4096 ? (size_t)n : 4095);
}

void out_hex(struct out *out, uint64_t value)
{
    char *p = out_reserve(out, 16);
    unsigned digits = 1;

    while (digits < 16 && value >> (4 * digits))
        digits++;
    for (unsigned i = 0; i < digits; i++)
        p[i] = hex_digits[(value >> (4 * (digits - 1 - i))) & 15];
    out_commit(out, digits);
}

void out_hex_pad(struct out *out, uint64_t value, unsigned digits)
{
    unsigned need = 1;

    while (need < 16 && value >> (4 * need))
        need++;
    for (unsigned i = need; i < digits; i++)
        out_char(out, '0');
    out_hex(out, value);
}

void out_dec(struct out *out, uint64_t value)
{
    char digits[20];
    unsigned n = 0;

    do {
        digits[sizeof(digits) - ++n] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    out_write(out, digits + sizeof(digits) - n, n);
}

void text_hex16(char *p, uint64_t value)
{
    hex16(p, value);
}
