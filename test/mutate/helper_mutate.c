/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helper_mutate KIND FILE STEP [CODE [ADDRESS]]: open and decode damaged versions of a file
 * (versions.h) with the library, as ptxed does.
 *
 * FILE is a recording, an ELF file, or else raw trace (CODE: raw bytes at ADDRESS or 0x400000).
 * Prints "versions N told N".
 */
#include "versions.h"

#include <malloc.h>
#include <pt/session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_NS                                                                                   \
    500000000u /* whatever the file: images are opened, sanitizers and valgrind slow               \
                */
#define LIMIT_MEMORY (4u << 20)
#define BYTE_NS      2000u /* a byte of a file of which the unchanged one tells little */
#define BYTE_MEMORY  64u

static struct ptl_space *code;

/* --- memory: this program is linked with --wrap, so all of the library's comes by ---------------
 */

static size_t heap, heap_most;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void __wrap_free(void *p);

static void *got(void *p)
{
    heap += p ? malloc_usable_size(p) : 0;
    heap_most = heap > heap_most ? heap : heap_most;
    return p;
}

void *__wrap_malloc(size_t size)
{
    return got(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return got(__real_calloc(count, size));
}

void *__wrap_realloc(void *p, size_t size)
{
    size_t old = p ? malloc_usable_size(p) : 0;

    p = __real_realloc(p, size);
    heap -= p ? old : 0;
    return got(p);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    return got(__real_aligned_alloc(align, size));
}

void __wrap_free(void *p)
{
    heap -= p ? malloc_usable_size(p) : 0;
    __real_free(p);
}

/* --- decoding: returns 1 if it was told that something is missing -------------------------------
 */

static void pull(struct ptl_flow *flow, struct ptl_losses *losses)
{
    struct ptl_item items[256];
    int n;

    while ((n = ptl_flow_next(flow, items, 256)) > 0)
        for (int i = 0; i < n; i++)
            ptl_losses_item(losses, &items[i]);
    losses->count[PTL_LOSS_SKIPPED] += ptl_flow_skipped(flow);
}

/* From the middle on, as for a stretch of time: what is before is looked over only. */
static void decode_half(struct ptl_decoder *decoder, const struct ptl_session *session, uint32_t q,
                        struct ptl_losses *losses)
{
    const struct ptl_stream stream = ptl_session_stream(session, q);
    const struct ptl_place end = {stream.count, 0}, half = {stream.count / 2, 0};
    struct ptl_place warm, begin;

    (void)ptl_session_find(session, q, ptl_session_ticks(session, 0));
    ptl_segments_cut_before(&stream, half, &warm, &begin);
    if (warm.piece < stream.count && ptl_decoder_start(decoder, warm, end) == 0)
        pull(ptl_decoder_flow(decoder), losses);
}

static int decode_recording(const char *path, uint32_t flags)
{
    struct ptl_session_config config = {
        .size = sizeof(config), .sysroot = "/nonexistent", .flow_flags = flags, .base = code};
    struct ptl_losses losses = {0}, half = {0};
    const struct ptl_perf_queue *queues;
    struct ptl_session *session;
    size_t count;

    if (ptl_session_open(&session, path, &config, NULL) < 0)
        return 1;
    losses = *ptl_session_losses(session);
    queues = ptl_perf_queues(ptl_session_perf(session), &count);
    for (uint32_t q = 0; q < count; q++) {
        struct ptl_decoder *decoder;

        if (ptl_decoder_new(&decoder, session, q) < 0)
            continue;
        for (size_t i = 0; i < queues[q].piece_count; i++)
            if (ptl_decoder_piece(decoder, i) >= 0)
                pull(ptl_decoder_flow(decoder), &losses);
        decode_half(decoder, session, q, &half);
        ptl_decoder_free(decoder);
    }
    ptl_session_close(session);
    return !count || losses.count[PTL_LOSS_DAMAGED] || losses.count[PTL_LOSS_MISSING];
}

static int decode_elf(const char *path)
{
    struct ptl_symbols *symbols;
    struct ptl_space *space;
    uint8_t id[64];
    size_t n = sizeof(id);
    uint64_t value;
    int told;

    if (ptl_space_new(&space) < 0)
        return 1;
    told = ptl_space_load_elf(space, path, 0, NULL, NULL) < 0;
    if (ptl_symbols_new(&symbols, space) == 0)
        ptl_symbols_free(symbols);
    (void)!ptl_elf_build_id(path, id, &n);
    (void)!ptl_elf_symbol(path, "main", &value);
    ptl_space_free(space);
    return told;
}

static int decode_trace(const uint8_t *bytes, size_t len, uint32_t flags)
{
    struct ptl_flow_config config = {
        .size = sizeof(config), .begin = bytes, .len = len, .flags = flags, .space = code};
    struct ptl_losses losses = {0};
    struct ptl_flow *flow;

    if (ptl_flow_new(&flow, &config) < 0)
        return 1;
    pull(flow, &losses);
    ptl_flow_free(flow);
    return ptl_losses_kinds(&losses) != 0;
}

/* --- versions -----------------------------------------------------------------------------------
 */

static uint64_t cpu_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int decode(struct versions *v, struct cost *cost)
{
    static unsigned long n; /* every 64th with what costs more */
    const uint32_t flags = n++ & 63 ? 0 : PTL_FLOW_RESYNC | PTL_FLOW_TICKS;
    const uint64_t begin = cpu_time();
    const size_t before = heap_most = heap;
    char path[64];
    int told;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", v->fd);
    if (versions_is_recording(v))
        told = decode_recording(path, flags);
    else if (v->size > 4 && !memcmp(v->whole, "\177ELF", 4))
        told = decode_elf(path);
    else
        told = decode_trace(v->bytes, v->len, flags);
    cost->ns = cpu_time() - begin;
    cost->memory = heap_most - before;
    return told;
}

static int map_code(const char *path, uint64_t at)
{
    struct ptl_section *section = NULL;

    if (ptl_space_new(&code) < 0 || ptl_section_file(&section, path, 0, UINT64_MAX) < 0 ||
        ptl_space_map(code, at, section, 0, ptl_section_size(section)) < 0)
        return -1;
    ptl_section_unref(section);
    return 0;
}

int main(int argc, char **argv)
{
    struct versions v = {.run = decode,
                         .limit_base = {LIMIT_NS, LIMIT_MEMORY},
                         .limit_byte = {BYTE_NS, BYTE_MEMORY}};
    size_t step;

    if (argc < 4)
        return 2;
    v.name = argv[2];
    v.fd = memfd_create("mutate", MFD_CLOEXEC);
    step = strtoul(argv[3], NULL, 0);
    if (v.fd < 0 || !step || versions_open(&v, argv[2]) < 0)
        return 2;
    if (argc > 4 && map_code(argv[4], argc > 5 ? strtoull(argv[5], NULL, 0) : 0x400000) < 0)
        return 2;
    versions_run(&v, argv[1], step);
    if (code)
        ptl_space_free(code);
    close(v.fd);
    versions_close(&v);
    return 0;
}
