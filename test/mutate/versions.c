/* SPDX-License-Identifier: BSD-3-Clause */
/* versions.c - see versions.h. */
#include "versions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, size)   ((void)(begin), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(begin, size) ((void)(begin), (void)(size))
#endif

#define FACTOR   4  /* times what a byte of the unchanged file costs */
#define VARIANTS 64 /* run() repeats itself after so many */

#define ENDS        65536u /* bytes at both ends that are taken throughout */
#define BETWEEN     4000u
#define LARGE       (512u << 10)
#define HEADERS     64u /* records */
#define TRACE_ENDS  64u /* bytes at both ends of a piece of trace */
#define FILE_HEADER 104u
#define PIPE_HEADER 16u
#define AUXTRACE    71u /* perf's record types */
#define TRACING     66u

static void die(const struct versions *v, const char *what, const char *kind, size_t where)
{
    fprintf(stderr, "%s: %s: %s at %zu\n", v->name, what, kind, where);
    exit(1);
}

/* --- what is where ------------------------------------------------------------------------------
 */

static void mark(struct versions *v, uint64_t at, uint64_t n, enum level level)
{
    if (at > v->size)
        return;
    if (n > v->size - at)
        n = v->size - at;
    for (uint8_t *p = v->level + at; n--; p++)
        if (*p < level)
            *p = (uint8_t)level;
}

static uint64_t number(const struct versions *v, uint64_t at, unsigned size)
{
    uint64_t value = 0;

    if (v->size >= size && at <= v->size - size)
        memcpy(&value, v->whole + at, size);
    return value;
}

static void mark_records(struct versions *v, uint64_t at, uint64_t end)
{
    for (unsigned n = 0; at + 8 <= end; n++) {
        uint64_t size = number(v, at + 6, 2), type = number(v, at, 4), trace = 0;

        if (size < 8)
            return;
        if (type == AUXTRACE)
            trace = number(v, at + 8, 8);
        else if (type == TRACING)
            trace = number(v, at + 8, 4);
        mark(v, at, size, DATA);
        mark(v, at, type == AUXTRACE ? size : 8, n < HEADERS || trace ? HEADER : DATA);
        at += size;
        mark(v, at, trace < TRACE_ENDS ? trace : TRACE_ENDS, DATA);
        mark(v, at + trace - (trace < TRACE_ENDS ? 0 : TRACE_ENDS), TRACE_ENDS, DATA);
        at += trace;
    }
}

static void mark_file(struct versions *v)
{
    const uint64_t attr = number(v, 16, 8), attrs = number(v, 24, 8), data = number(v, 40, 8),
                   data_end = data + number(v, 48, 8);
    unsigned features = 0;

    mark(v, 0, FILE_HEADER, HEADER);
    mark(v, attrs, number(v, 32, 8), HEADER);
    for (uint64_t at = attrs; attr >= 16 && at + attr <= attrs + number(v, 32, 8); at += attr)
        mark(v, number(v, at + attr - 16, 8), number(v, at + attr - 8, 8), HEADER);
    mark_records(v, data, data_end);
    mark(v, data_end, v->size, DATA);
    for (unsigned i = 72; i < FILE_HEADER; i++)
        features += (unsigned)__builtin_popcount(v->whole[i]);
    mark(v, data_end, features * 16u, HEADER);
}

static void mark_elf(struct versions *v)
{
    mark(v, 0, 64, HEADER);
    mark(v, number(v, 32, 8), number(v, 56, 2) * number(v, 54, 2), HEADER);
    mark(v, number(v, 40, 8), number(v, 60, 2) * number(v, 58, 2), HEADER);
}

int versions_is_recording(const struct versions *v)
{
    return v->size >= FILE_HEADER && !memcmp(v->whole, "PERFILE2", 8);
}

int versions_is_pipe(const struct versions *v)
{
    return versions_is_recording(v) && v->whole[8] == PIPE_HEADER;
}

static void mark_all(struct versions *v)
{
    if (versions_is_pipe(v)) {
        mark(v, 0, PIPE_HEADER, HEADER);
        mark_records(v, PIPE_HEADER, v->size);
        return;
    }
    if (versions_is_recording(v)) {
        mark_file(v);
        return;
    }
    if (v->size > 8 && !memcmp(v->whole, "\177ELF\2", 5))
        mark_elf(v);
    else
        mark(v, 0, 256, HEADER); /* the first PSB of a trace */
    mark(v, 0, v->size <= 4 * ENDS ? v->size : ENDS, DATA);
    mark(v, v->size - (v->size < 4096 ? v->size : 4096), 4096, DATA);
}

/* --- the file -----------------------------------------------------------------------------------
 */

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *p = NULL;
    long n;

    if (f && !fseek(f, 0, SEEK_END) && (n = ftell(f)) >= 0 && !fseek(f, 0, SEEK_SET)) {
        p = malloc((size_t)n + 1);
        *size = p ? fread(p, 1, (size_t)n, f) : 0;
    }
    if (f)
        fclose(f);
    return p;
}

int versions_open(struct versions *v, const char *path)
{
    v->whole = read_file(path, &v->size);
    if (!v->whole || v->size < 16)
        return -1;
    v->bytes = malloc(v->size + 1);
    v->level = calloc(v->size, 1);
    if (!v->bytes || !v->level)
        return -1;
    memcpy(v->bytes, v->whole, v->size);
    v->len = v->size;
    mark_all(v);
    return pwrite(v->fd, v->whole, v->size, 0) == (ssize_t)v->size ? 0 : -1;
}

void versions_close(struct versions *v)
{
    ASAN_UNPOISON_MEMORY_REGION(v->bytes, v->size);
    free(v->whole);
    free(v->bytes);
    free(v->level);
}

/* Some bytes of the version are others now: also in the file. */
static void changed(struct versions *v, size_t at, size_t n)
{
    if (pwrite(v->fd, v->bytes + at, n, (off_t)at) != (ssize_t)n)
        die(v, "cannot write", "version", at);
}

static void restore(struct versions *v, size_t at, size_t n)
{
    memcpy(v->bytes + at, v->whole + at, n);
    changed(v, at, n);
}

/* --- one version --------------------------------------------------------------------------------
 */

static void note_worst(uint64_t *worst, uint64_t cost, uint64_t limit)
{
    if (cost * 1000 / limit > *worst)
        *worst = cost * 1000 / limit;
}

static int version(struct versions *v, const char *kind, size_t where)
{
    const uint64_t ns = v->limit_base.ns + v->limit_byte.ns * v->len,
                   memory = v->limit_base.memory + v->limit_byte.memory * v->len;
    struct cost cost, again;
    int told = v->run(v, &cost);

    if (told < 0)
        die(v, "fails", kind, where);
    if (cost.memory > memory)
        die(v, "too much memory", kind, where);
    /* Time depends on what else the machine does: only what is slow each time is. */
    for (int i = 0; i < 4 && cost.ns > ns; i++) {
        (void)v->run(v, &again);
        if (again.ns < cost.ns)
            cost.ns = again.ns;
    }
    if (cost.ns > ns)
        die(v, "too slow", kind, where);
    note_worst(&v->worst_ns, cost.ns, ns);
    note_worst(&v->worst_memory, cost.memory, memory);
    v->count++;
    v->told += (unsigned long)told;
    return told;
}

/* What the unchanged file costs, and so what others may. run() may do more with some than with
 * others: the dearest counts, each at its best. */
static void measure(struct versions *v)
{
    struct cost best[VARIANTS];

    for (unsigned i = 0; i < 2 * VARIANTS; i++) {
        struct cost cost, *mine = &best[i % VARIANTS];

        if (v->run(v, &cost) < 0)
            die(v, "fails", "unchanged", 0);
        if (i < VARIANTS || cost.ns < mine->ns)
            *mine = cost;
    }
    for (unsigned i = 0; i < VARIANTS; i++) {
        v->unchanged.ns = best[i].ns > v->unchanged.ns ? best[i].ns : v->unchanged.ns;
        if (best[i].memory > v->unchanged.memory)
            v->unchanged.memory = best[i].memory;
    }
    v->limit_byte.ns += FACTOR * (v->unchanged.ns / v->size + 1);
    v->limit_byte.memory += FACTOR * (v->unchanged.memory / v->size + 1);
}

/* --- all versions -------------------------------------------------------------------------------
 */

static void prefix(struct versions *v, size_t len)
{
    v->len = len;
    if (ftruncate(v->fd, (off_t)len))
        die(v, "cannot cut", "prefix", len);
    ASAN_POISON_MEMORY_REGION(v->bytes + len, v->size - len);
    if (!version(v, "prefix", len) && versions_is_recording(v) && !versions_is_pipe(v))
        die(v, "cut without a word", "prefix", len);
}

static int is_taken(const struct versions *v, size_t len)
{
    return v->size <= LARGE || len < ENDS || v->size - len <= ENDS ||
           len % (v->size / BETWEEN) == 0;
}

/* From the longest on, so that nothing has to be written. */
static void prefixes(struct versions *v, size_t step)
{
    size_t n = 0;

    for (size_t len = v->size; len-- > 0;)
        if (is_taken(v, len) && n++ % step == 0)
            prefix(v, len);
    ASAN_UNPOISON_MEMORY_REGION(v->bytes, v->size);
    v->len = v->size;
    changed(v, 0, v->size);
}

static void bytes(struct versions *v, size_t step)
{
    size_t n = 0;

    for (size_t at = 0; at < v->size; at++) {
        const uint8_t old = v->whole[at];
        const uint8_t values[] = {old ^ 1, old ^ 0x80, 0, 0xff, (uint8_t)(old + 1)};

        for (size_t i = 0; v->level[at] && i < sizeof(values); i++) {
            if (n++ % step)
                continue;
            v->bytes[at] = values[i];
            changed(v, at, 1);
            (void)version(v, "bytes", at);
        }
        if (v->bytes[at] != old)
            restore(v, at, 1);
    }
}

static void values(struct versions *v, size_t step)
{
    size_t n = 0;

    for (size_t at = 0; at < v->size; at++) {
        for (unsigned i = 1; v->level[at] == HEADER && i < 256; i++) {
            if (n++ % step)
                continue;
            v->bytes[at] = (uint8_t)(v->whole[at] ^ i);
            changed(v, at, 1);
            (void)version(v, "values", at);
        }
        if (v->bytes[at] != v->whole[at])
            restore(v, at, 1);
    }
}

static size_t next_random(uint64_t *state, size_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(*state >> 33) % (below ? below : 1);
}

static void swaps(struct versions *v, size_t step)
{
    uint64_t state = 1;

    for (unsigned i = 0; i < 1000; i++) {
        size_t n = 1 + next_random(&state, i & 1 ? 64 : 4096), a, b;

        if (n > v->size / 2)
            n = v->size / 2;
        a = next_random(&state, v->size - n + 1);
        b = next_random(&state, v->size - n + 1);
        if (i % step)
            continue;
        memcpy(v->bytes + a, v->whole + b, n);
        memcpy(v->bytes + b, v->whole + a, n);
        changed(v, a, n);
        changed(v, b, n);
        (void)version(v, "swaps", i);
        restore(v, a, n);
        restore(v, b, n);
    }
}

void versions_run(struct versions *v, const char *kind, size_t step)
{
    measure(v);
    if (!strcmp(kind, "prefix"))
        prefixes(v, step);
    else if (!strcmp(kind, "bytes"))
        bytes(v, step);
    else if (!strcmp(kind, "values"))
        values(v, step);
    else if (!strcmp(kind, "swaps"))
        swaps(v, step);
    else
        exit(2);
    printf("versions %lu told %lu, unchanged %lu us %lu KiB, at most %lu %% of the time and %lu %% "
           "of the "
           "memory allowed\n",
           v->count, v->told, (unsigned long)(v->unchanged.ns / 1000),
           (unsigned long)(v->unchanged.memory >> 10), (unsigned long)(v->worst_ns / 10),
           (unsigned long)(v->worst_memory / 10));
}
