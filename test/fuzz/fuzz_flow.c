/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_flow.c - instruction flow over any trace and any code, fast and slow walker.
 *
 * Input: a control block of 16 bytes, then code, then trace.
 *   0..1  bytes of code      2..3  PTL_FLOW_* flags      4..7  errata
 *   8     config of the address range      9     bytes per buffer (0: one buffer; else the
 *   trace is given to ptl_flow_continue in pieces of 16 times that)
 *   10..11  begin and end of the range, in 16 bytes from BASE      12..15  clock
 * The code lies at BASE and, for 16 and 32-bit addresses, at 0x1000.
 *
 * Properties: it ends; items are in order and whole; the walkers agree, also when they count and
 * when they keep how often each block ran; what PTL_FLOW_PROVEN tells and what it withholds is all
 * that ran, if nothing contradicts it.
 */
#include <pt/coverage.h>
#include <pt/flow.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BASE      0x400000u
#define LOW_BASE  0x1000u
#define MAX_ITEMS 100000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *control, *code, *trace;
    size_t code_len, trace_len;
};

/* What the walkers must agree on: a running hash over all instructions and events, and one over
 * events and errors alone. */
struct digest {
    uint64_t insns, events, errors, hash, told, withheld;
};

#define NOT_PROVEN (PTL_FLOW_COVERAGE | PTL_FLOW_DISTNT | PTL_FLOW_NO_BRANCH | PTL_FLOW_PSB_ONLY)

static uint64_t mixed(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static void mix(struct digest *d, uint64_t value)
{
    d->hash = mixed(d->hash, value);
}

static void mix_told(struct digest *d, uint64_t value, uint64_t offset)
{
    mix(d, value);
    d->told = mixed(mixed(mixed(d->told, value), offset), d->insns);
}

static void take_block(struct digest *d, const struct ptl_item *item)
{
    const struct ptl_block *b = item->u.block;
    unsigned sum = 0;
    if (item->ninsn < 1 || item->ninsn > b->ninsn || item->size > b->size || !item->size ||
        (!(item->flags & PTL_ITEM_PARTIAL) && item->ninsn != b->ninsn))
        abort();
    for (uint32_t i = 0; i < b->size; i++)
        sum += b->bytes[i];
    (void)sum;
    /* By instruction addresses: where blocks are cut is the walker's affair. */
    d->insns += item->ninsn;
    mix(d, b->ip + item->size);
}

static void take(struct digest *d, const struct ptl_item *item)
{
    switch (item->kind) {
    case PTL_ITEM_BLOCK:
        take_block(d, item);
        break;
    case PTL_ITEM_EVENT:
        if (item->u.event->type > PTL_EV_MAX_VALUE)
            abort();
        d->events++;
        mix_told(d, item->u.event->type + item->u.event->ip * 64, item->u.event->offset);
        break;
    case PTL_ITEM_ERROR:
        if (item->u.error->status >= 0)
            abort();
        d->errors++;
        mix_told(d, (uint64_t)-item->u.error->status + item->u.error->ip * 64,
                 item->u.error->offset);
        break;
    case PTL_ITEM_COUNT:
        d->insns += item->u.ran->insns;
        break;
    case PTL_ITEM_END:
        break;
    default:
        abort();
    }
}

static void configure(struct ptl_flow_config *config, const struct input *in)
{
    uint16_t flags;
    memcpy(&flags, in->control + 2, sizeof(flags));
    memcpy(&config->errata, in->control + 4, sizeof(config->errata));
    config->flags = flags & ~(PTL_FLOW_SLOW | PTL_FLOW_COUNT | PTL_FLOW_FEW_EVENTS);
    if (flags & PTL_FLOW_PROVEN)
        config->flags &= ~(uint32_t)NOT_PROVEN;
    config->addr[0].config = in->control[8] % 3;
    config->addr[0].a = BASE + 16u * in->control[10];
    config->addr[0].b = BASE + 16u * in->control[11];
    config->clock.mtc_freq = in->control[12] & 15;
    config->clock.nom_freq = in->control[13];
    config->clock.cpuid_15_eax = in->control[14];
    config->clock.cpuid_15_ebx = in->control[15];
}

/* What ran how often: no more blocks than instructions. */
static void take_coverage(const struct digest *d, struct ptl_flow *flow)
{
    const struct ptl_coverage_block *blocks;
    struct ptl_coverage *coverage;
    uint64_t runs = 0;
    unsigned sum = 0;
    size_t count;

    if (ptl_coverage_new(&coverage) < 0)
        abort();
    if (ptl_coverage_add(coverage, flow) < 0)
        abort();
    blocks = ptl_coverage_blocks(coverage, &count);
    for (size_t i = 0; i < count; i++) {
        if (!blocks[i].count || !blocks[i].size || !blocks[i].ninsn)
            abort();
        runs += blocks[i].count;
        for (uint32_t k = 0; blocks[i].bytes && k < blocks[i].size; k++)
            sum += blocks[i].bytes[k];
    }
    (void)sum;
    if (runs > d->insns)
        abort();
    ptl_coverage_free(coverage);
}

/* Decode the trace; `step` bytes at a time. Returns whether it ended by itself. */
static bool run(struct digest *d, struct ptl_flow_config *config, size_t step)
{
    struct ptl_item items[32];
    struct ptl_flow *flow;
    const uint8_t *trace = config->begin;
    size_t len = config->len, at;
    unsigned count = 0;
    int n = 0;

    if (!step || step > len)
        step = len;
    config->len = at = step;
    if (ptl_flow_new(&flow, config) < 0)
        return false;
    for (;;) {
        while ((n = ptl_flow_next(flow, items, 32)) > 0 && count < MAX_ITEMS) {
            count += (unsigned)n;
            for (int i = 0; i < n; i++)
                take(d, &items[i]);
        }
        if (n < 0 && n != PTL_NOMEM)
            abort();
        if (n || at >= len || count >= MAX_ITEMS)
            break;
        step = step < len - at ? step : len - at;
        if (ptl_flow_continue(flow, trace + at, step, at) < 0)
            break;
        at += step;
    }
    if (config->flags & PTL_FLOW_COVERAGE)
        take_coverage(d, flow);
    d->withheld = ptl_flow_withheld(flow);
    ptl_flow_free(flow);
    return n == 0 && at >= len;
}

static struct ptl_space *make_space(const struct input *in)
{
    struct ptl_section *section;
    struct ptl_space *space;
    if (ptl_space_new(&space) < 0)
        return NULL;
    if (in->code_len && ptl_section_memory(&section, in->code, in->code_len, 1, "code") == 0) {
        (void)!ptl_space_map(space, BASE, section, 0, in->code_len);
        (void)!ptl_space_map(space, LOW_BASE, section, 0, in->code_len);
        ptl_section_unref(section);
    }
    return space;
}

static bool split(struct input *in, const uint8_t *data, size_t size)
{
    uint16_t code_len;
    if (size < 16)
        return false;
    memcpy(&code_len, data, sizeof(code_len));
    in->control = data;
    in->code = data + 16;
    in->code_len = code_len < size - 16 ? code_len : size - 16;
    in->trace = in->code + in->code_len;
    in->trace_len = size - 16 - in->code_len;
    return in->trace_len > 0;
}

/* The same once more, from the beginning. */
static bool run_with(struct digest *d, struct ptl_flow_config *config, const struct input *in,
                     const uint8_t *trace, uint32_t flags)
{
    config->begin = trace;
    config->len = in->trace_len;
    config->flags = flags;
    return run(d, config, 16u * in->control[9]);
}

static void compare(struct ptl_flow_config *config, const struct input *in, const uint8_t *trace)
{
    struct digest fast = {0}, slow = {0}, counted = {0}, told = {0};
    uint32_t flags = config->flags;
    bool whole = run_with(&fast, config, in, trace, flags);

    whole &= run_with(&counted, config, in, trace, flags | PTL_FLOW_COUNT);
    whole &= run_with(&slow, config, in, trace, flags | PTL_FLOW_SLOW);
    if (!whole)
        return;
    if (fast.insns != slow.insns || fast.events != slow.events || fast.errors != slow.errors)
        abort();
    if (counted.insns != slow.insns || counted.told != slow.told)
        abort();
    if (!(flags & PTL_FLOW_PROVEN) || fast.errors)
        return;
    flags &= ~(uint32_t)PTL_FLOW_PROVEN;
    if (run_with(&told, config, in, trace, flags) && told.insns != fast.insns + fast.withheld)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ptl_flow_config config = {.size = sizeof(config)};
    struct input in;
    uint8_t *trace;

    if (!split(&in, data, size) || !(trace = malloc(in.trace_len)))
        return 0;
    memcpy(trace, in.trace, in.trace_len);
    config.space = make_space(&in);
    configure(&config, &in);
    if (config.space) {
        compare(&config, &in, trace);
        ptl_space_free((struct ptl_space *)config.space);
    }
    free(trace);
    return 0;
}
