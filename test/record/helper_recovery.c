/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helper_recovery TRACE PERIOD SEED FLAGS CODE...: what comes out of a trace with damage.
 *
 * One bit is flipped at a random place in every PERIOD bytes. FLAGS: 1 for PTL_FLOW_RESYNC and 2
 * for PTL_FLOW_PROVEN, added up. CODE is an ELF file, or FILE:BASE for raw bytes.
 *
 * The whole trace tells the truth: which instructions ran at which of its packets. With damage,
 * instructions of each packet are compared with those: an instruction is right if it stands in the
 * same order at the same packet. Prints numbers:
 *
 *   ran      instructions of the whole trace
 *   flips    bits flipped
 *   right    instructions that came out and had run
 *   wrong    instructions that came out and had not run
 *   astray   of those, before the next PSB after a flip: the flip itself told of them
 *   errors   that were reported
 *   denied   wrong instructions of a stretch between two PSBs in which there was an error
 */
#include <pt/flow.h>
#include <pt/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 256

struct insn {
    uint64_t ip;
    size_t offset;
};

struct trace {
    uint8_t *bytes;
    size_t len;
};

struct list {
    struct insn *insn;
    size_t count, cap, errors;
    uint8_t *error_at; /* by byte of the trace: there is an error */
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "helper_recovery: %s: %s\n", what, why);
    exit(2);
}

static uint8_t *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    uint8_t *bytes;
    long size = 0;

    if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET))
        die(path, "cannot read");
    bytes = malloc((size_t)size + 1);
    if (!bytes || fread(bytes, 1, (size_t)size, f) != (size_t)size)
        die(path, "cannot read");
    fclose(f);
    *len = (size_t)size;
    return bytes;
}

static void map_code(struct ptl_space *space, char *arg)
{
    char *colon = strrchr(arg, ':');
    struct ptl_section *section;
    int status;

    if (!colon) {
        status = ptl_space_load_elf(space, arg, 0, NULL, NULL);
    } else {
        *colon = '\0';
        status = ptl_section_file(&section, arg, 0, UINT64_MAX);
        if (status == 0) {
            status = ptl_space_map(space, strtoull(colon + 1, NULL, 0), section, 0,
                                   ptl_section_size(section));
            ptl_section_unref(section);
        }
    }
    if (status < 0)
        die(arg, ptl_strstatus(status));
}

static void add(struct list *list, uint64_t ip, uint64_t offset)
{
    if (list->count == list->cap) {
        list->cap = list->cap ? list->cap * 2 : 1 << 16;
        list->insn = realloc(list->insn, list->cap * sizeof(*list->insn));
        if (!list->insn)
            die("memory", "none left");
    }
    list->insn[list->count++] = (struct insn){ip, (size_t)offset};
}

static void add_block(struct list *list, const struct ptl_item *item)
{
    const struct ptl_block *b = item->u.block;
    size_t at = 0;

    for (unsigned i = 0; i < item->ninsn; i++) {
        struct ptl_insn insn;
        int n = ptl_insn_decode(&insn, b->bytes + at, b->size - at, (enum ptl_exec_mode)b->mode);

        add(list, b->ip + at, item->offset);
        at += n > 0 ? (size_t)n : 1;
    }
}

static void decode(struct list *list, const uint8_t *trace, size_t len,
                   const struct ptl_space *space, uint32_t flags)
{
    struct ptl_flow_config config = {
        .size = sizeof(config), .begin = trace, .len = len, .space = space, .flags = flags};
    struct ptl_item items[BATCH];
    struct ptl_flow *flow;
    int n;

    if (ptl_flow_new(&flow, &config) < 0)
        die("flow", "cannot be made");
    while ((n = ptl_flow_next(flow, items, BATCH)) > 0)
        for (int i = 0; i < n; i++) {
            if (items[i].kind == PTL_ITEM_BLOCK)
                add_block(list, &items[i]);
            if (items[i].kind != PTL_ITEM_ERROR)
                continue;
            list->errors++;
            list->error_at[items[i].offset] = 1;
        }
    ptl_flow_free(flow);
}

/* --- damage ---------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Flip the bits. `bad` has a byte for each of the trace: 1 from the packet that may be hit to the
 * PSB+ where, at the latest, decoding notices: on the way to the place that it tells. */
static size_t damage(uint8_t *trace, uint8_t *bad, size_t len, size_t period, uint64_t seed)
{
    const size_t reach = PTL_PACKET_MAX_SIZE - 1;
    size_t flips = 0;

    for (size_t at = 0; at + period <= len; at += period) {
        size_t place = at + next_random(&seed) % period, from = place > reach ? place - reach : 0;
        size_t end;

        if (place < 16)
            continue; /* the first PSB: nothing could be decoded before the next one */
        trace[place] ^= (uint8_t)(1u << (place * 7 + at / period) % 8);
        end = ptl_psb_find(trace, len, place + 1);
        memset(bad + from, 1, end - from + 1);
        flips++;
    }
    return flips;
}

/* --- comparing -------------------------------------------------------------------------- */

struct result {
    size_t right, wrong, astray, denied;
};

/* The instructions of one packet: as many as possible in the same order, from both ends. */
static size_t same(const struct insn *a, size_t n, const struct insn *b, size_t m)
{
    size_t front = 0, back = 0, least = n < m ? n : m;

    while (front < least && a[front].ip == b[front].ip)
        front++;
    while (front + back < least && a[n - 1 - back].ip == b[m - 1 - back].ip)
        back++;
    return front + back;
}

static size_t group(const struct list *list, size_t i)
{
    size_t n = 0;

    while (i + n < list->count && list->insn[i + n].offset == list->insn[i].offset)
        n++;
    return n;
}

/* Is there an error between the place's PSB and the next one? */
static int is_denied(const struct trace *trace, const struct list *got, size_t offset, size_t *psb)
{
    size_t next;

    while ((next = ptl_psb_find(trace->bytes, trace->len, *psb + 1)) <= offset && next < trace->len)
        *psb = next;
    return memchr(got->error_at + *psb, 1, next - *psb) != NULL;
}

static struct result compare(const struct list *truth, const struct list *got,
                             const struct trace *trace, const uint8_t *bad)
{
    struct result r = {0};
    size_t t = 0, psb = 0;

    for (size_t g = 0; g < got->count;) {
        size_t offset = got->insn[g].offset, m = group(got, g), n, right = 0;

        while (t < truth->count && truth->insn[t].offset < offset)
            t++;
        n = t < truth->count && truth->insn[t].offset == offset ? group(truth, t) : 0;
        if (n)
            right = same(truth->insn + t, n, got->insn + g, m);
        t += n;
        r.right += right;
        r.wrong += m - right;
        if (m != right && is_denied(trace, got, offset, &psb))
            r.denied += m - right;
        if (bad[offset])
            r.astray += m - right;
        else if (m != right && getenv("RECOVERY_VERBOSE"))
            printf("wrong at %zx: %zu of %zu, first %llx\n", offset, m - right, m,
                   (unsigned long long)got->insn[g].ip);
        g += m;
    }
    return r;
}

int main(int argc, char **argv)
{
    struct list truth = {0}, got = {0};
    struct ptl_space *space;
    struct trace trace;
    struct result r;
    uint8_t *bad;
    size_t period, flips;
    uint64_t seed;
    uint32_t flags;

    if (argc < 6 || ptl_space_new(&space) < 0)
        die("usage", "TRACE PERIOD SEED FLAGS CODE...");
    trace.bytes = read_file(argv[1], &trace.len);
    period = strtoul(argv[2], NULL, 0);
    seed = strtoul(argv[3], NULL, 0);
    flags =
        (argv[4][0] & 1 ? PTL_FLOW_RESYNC : 0u) | (argv[4][0] & 2 ? (uint32_t)PTL_FLOW_PROVEN : 0u);
    for (int i = 5; i < argc; i++)
        map_code(space, argv[i]);
    bad = calloc(trace.len + 1, 1);
    truth.error_at = calloc(trace.len + 1, 1);
    got.error_at = calloc(trace.len + 1, 1);
    if (!bad || !truth.error_at || !got.error_at || period < 64)
        die(argv[2], "not a period");
    decode(&truth, trace.bytes, trace.len, space, 0);
    flips = damage(trace.bytes, bad, trace.len, period, seed);
    decode(&got, trace.bytes, trace.len, space, flags);
    r = compare(&truth, &got, &trace, bad);
    printf("ran %zu flips %zu right %zu wrong %zu astray %zu errors %zu denied %zu\n", truth.count,
           flips, r.right, r.wrong, r.astray, got.errors, r.denied);
    free(truth.insn);
    free(got.insn);
    free(truth.error_at);
    free(got.error_at);
    free(trace.bytes);
    free(bad);
    ptl_space_free(space);
    return 0;
}
