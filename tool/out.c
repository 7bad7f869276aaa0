/* SPDX-License-Identifier: BSD-3-Clause */
/* out.c - see out.h. */
#include "out.h"

#include "hex.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char hex_digits[] = "0123456789abcdef";

int out_open(struct out *out, int fd, size_t cap)
{
    memset(out, 0, sizeof(*out));
    out->fd = fd;
    out->cap = cap < 4096 ? 4096 : cap;
    out->buf = malloc(out->cap);
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
    out->buf = more;
    out->cap *= 2;
}

static void write_all(struct out *out, const char *s, size_t n)
{
    if (n && !out->error && out->gate)
        out->error = out->gate(out->context);
    while (n && !out->error) {
        ssize_t done = write(out->fd, s, n);
        if (done < 0) {
            if (errno != EINTR)
                out->error = errno;
            continue;
        }
        s += done;
        n -= (size_t)done;
    }
}

void out_flush(struct out *out)
{
    if (out->memory) {
        grow(out);
        return;
    }
    write_all(out, out->buf, out->len);
    out->len = 0;
}

int out_close(struct out *out)
{
    out_flush(out);
    free(out->buf);
    out->buf = NULL;
    return out->error;
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

void out_pad(struct out *out, size_t n)
{
    while (n) {
        size_t part = n < 64 ? n : 64;
        memset(out_reserve(out, part), ' ', part);
        out_commit(out, part);
        n -= part;
    }
}

void text_hex16(char *p, uint64_t value)
{
    hex16(p, value);
}
