/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helper_mutate KIND FILE STEP [CODE]: open and decode damaged versions of a file, as ptxed does.
 *
 *   prefix  the first 0, STEP, 2 * STEP ... bytes
 *   bytes   every STEP-th byte of the first 8 KiB and of the last 4 KiB changed in five ways
 *   swaps   1000 / STEP times: two random blocks change places
 *
 * FILE is a recording, an ELF file, or else raw trace (CODE: raw bytes at 0x400000). Each version
 * has to end, in time that its size allows (LIMIT_NS a byte and LIMIT_BASE), and memory likewise.
 * Of a cut recording something must be told: an error, or a loss. Prints "versions N told N".
 */
#include <pt/session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_NS   20000u        /* a byte: sanitizers and valgrind are slow */
#define LIMIT_BASE 2000000000u   /* ns */
#define LIMIT_MEM  (1024u << 10) /* KiB beyond 64 times the file */
#define HEAD       8192u
#define TAIL       4096u

struct mutate {
    const char *name;
    uint8_t *whole, *bytes;
    size_t size, len;
    int fd;
    char path[64];
    struct ptl_space *code;
    unsigned long versions, told;
};

static void die(const struct mutate *m, const char *what, size_t where)
{
    fprintf(stderr, "%s: %s at %zu\n", m->name, what, where);
    exit(1);
}

/* --- decoding: returns 1 if it was told that something is missing ------------------------------
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

static int decode_recording(const struct mutate *m)
{
    struct ptl_session_config config = {.size = sizeof(config), .sysroot = "/nonexistent"};
    struct ptl_losses losses = {0};
    const struct ptl_perf_queue *queues;
    struct ptl_session *session;
    size_t count;

    if (ptl_session_open(&session, m->path, &config, NULL) < 0)
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
        ptl_decoder_free(decoder);
    }
    ptl_session_close(session);
    return !count || losses.count[PTL_LOSS_DAMAGED] || losses.count[PTL_LOSS_MISSING];
}

static int decode_elf(const struct mutate *m)
{
    struct ptl_symbols *symbols;
    struct ptl_space *space;
    uint8_t id[64];
    size_t n = sizeof(id);
    uint64_t value;
    int told;

    if (ptl_space_new(&space) < 0)
        return 1;
    told = ptl_space_load_elf(space, m->path, 0, NULL, NULL) < 0;
    if (ptl_symbols_new(&symbols, space) == 0)
        ptl_symbols_free(symbols);
    (void)!ptl_elf_build_id(m->path, id, &n);
    (void)!ptl_elf_symbol(m->path, "main", &value);
    ptl_space_free(space);
    return told;
}

static int decode_trace(const struct mutate *m)
{
    struct ptl_flow_config config = {.size = sizeof(config), .begin = m->bytes, .len = m->len};
    struct ptl_losses losses = {0};
    struct ptl_flow *flow;

    config.space = m->code;
    if (ptl_flow_new(&flow, &config) < 0)
        return 1;
    pull(flow, &losses);
    ptl_flow_free(flow);
    return ptl_losses_kinds(&losses) != 0;
}

/* A stream that ends behind a record has ended, for all that it says. */
static int is_pipe(const struct mutate *m)
{
    return m->whole[8] == 16;
}

static int is_recording(const struct mutate *m)
{
    return m->size >= 8 && !memcmp(m->whole, "PERFILE2", 8);
}

/* --- one version --------------------------------------------------------------------------------
 */

static uint64_t cpu_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int version(struct mutate *m, size_t len, size_t where)
{
    uint64_t begin = cpu_time();
    struct rusage usage;
    int told;

    m->len = len;
    if (ftruncate(m->fd, 0) || pwrite(m->fd, m->bytes, len, 0) != (ssize_t)len)
        die(m, "cannot write", where);
    if (is_recording(m))
        told = decode_recording(m);
    else if (m->size > 4 && !memcmp(m->whole, "\177ELF", 4))
        told = decode_elf(m);
    else
        told = decode_trace(m);
    if (cpu_time() - begin > LIMIT_BASE + LIMIT_NS * (uint64_t)m->size)
        die(m, "too slow", where);
    getrusage(RUSAGE_SELF, &usage);
    if ((uint64_t)usage.ru_maxrss > LIMIT_MEM + m->size / 16)
        die(m, "too much memory", where);
    m->versions++;
    m->told += (unsigned long)told;
    return told;
}

/* --- all versions -------------------------------------------------------------------------------
 */

static void prefixes(struct mutate *m, size_t step)
{
    for (size_t n = 0; n < m->size; n += step)
        if (!version(m, n, n) && is_recording(m) && !is_pipe(m))
            die(m, "cut without a word", n);
}

static void bytes(struct mutate *m, size_t step)
{
    for (size_t at = 0; at < m->size; at += step) {
        const uint8_t old = m->whole[at];
        const uint8_t values[] = {old ^ 1, old ^ 0x80, 0, 0xff, (uint8_t)(old + 1)};

        if (at >= HEAD && at + TAIL < m->size)
            at = (m->size - TAIL) / step * step;
        if (at >= m->size)
            break;
        for (size_t i = 0; i < sizeof(values); i++) {
            m->bytes[at] = values[i];
            (void)version(m, m->size, at);
        }
        m->bytes[at] = m->whole[at];
    }
}

static size_t next_random(uint64_t *state, size_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(*state >> 33) % (below ? below : 1);
}

static void swaps(struct mutate *m, size_t step)
{
    uint64_t state = 1;

    for (unsigned i = 0; i < 1000 / step; i++) {
        size_t n = 1 + next_random(&state, i & 1 ? 64 : 4096), a, b;

        if (n > m->size / 2)
            n = m->size / 2;
        a = next_random(&state, m->size - n + 1);
        b = next_random(&state, m->size - n + 1);
        memcpy(m->bytes + a, m->whole + b, n);
        memcpy(m->bytes + b, m->whole + a, n);
        (void)version(m, m->size, i);
        memcpy(m->bytes, m->whole, m->size);
    }
}

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

static void map_code(struct mutate *m, const char *path)
{
    struct ptl_section *section = NULL;

    if (ptl_space_new(&m->code) < 0 || ptl_section_file(&section, path, 0, UINT64_MAX) < 0 ||
        ptl_space_map(m->code, 0x400000, section, 0, ptl_section_size(section)) < 0)
        die(m, "no code", 0);
    ptl_section_unref(section);
}

int main(int argc, char **argv)
{
    struct mutate m = {0};
    size_t step;

    if (argc < 4)
        return 2;
    m.name = argv[2];
    m.whole = read_file(argv[2], &m.size);
    m.bytes = m.whole ? malloc(m.size + 1) : NULL;
    m.fd = memfd_create("mutate", MFD_CLOEXEC);
    step = strtoul(argv[3], NULL, 0);
    if (!m.bytes || m.fd < 0 || !step || m.size < 16)
        return 2;
    memcpy(m.bytes, m.whole, m.size);
    snprintf(m.path, sizeof(m.path), "/proc/self/fd/%d", m.fd);
    if (argc > 4)
        map_code(&m, argv[4]);
    if (!strcmp(argv[1], "prefix"))
        prefixes(&m, step);
    else if (!strcmp(argv[1], "bytes"))
        bytes(&m, step);
    else
        swaps(&m, step);
    printf("versions %lu told %lu\n", m.versions, m.told);
    if (m.code)
        ptl_space_free(m.code);
    close(m.fd);
    free(m.whole);
    free(m.bytes);
    return 0;
}
