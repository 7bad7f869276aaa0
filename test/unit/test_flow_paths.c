/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_flow_paths.c - random runs of random programs: the decoder tells what ran, on both
 * paths; and both paths tell the same of damaged traces, and come to an end. Blocks that are
 * counted are as many as those that are told, between any two events and errors.
 */
#include "tracegen.h"

#include <pt/coverage.h>
#include <pt/flow.h>
#include <stdlib.h>

#define SLOTS   3000
#define CAP     (1u << 19)
#define MAX_RAN (SLOTS * GEN_SLOT)

static struct ptl_space *space_of(const struct gen *g)
{
    struct ptl_section *section;
    struct ptl_space *space;

    assert_int_equal(ptl_space_new(&space), 0);
    assert_int_equal(ptl_section_memory(&section, g->code, sizeof(g->code), 0, "code"), 0);
    assert_int_equal(ptl_space_map(space, GEN_BASE, section, 0, sizeof(g->code)), 0);
    ptl_section_unref(section);
    return space;
}

static struct gen *gen_new(uint64_t seed, unsigned flags)
{
    struct gen *g = calloc(1, sizeof(*g));

    assert_non_null(g);
    g->seed = seed;
    g->flags = flags;
    g->cap = CAP;
    g->trace = malloc(CAP);
    g->ran = calloc(MAX_RAN, sizeof(*g->ran));
    assert_non_null(g->trace);
    assert_non_null(g->ran);
    gen_run(g, SLOTS);
    return g;
}

static void gen_free(struct gen *g)
{
    free(g->trace);
    free(g->ran);
    free(g);
}

static struct ptl_flow *flow_of(const struct gen *g, const struct ptl_space *space, uint32_t flags)
{
    struct ptl_flow_config config = {
        .size = sizeof(config),
        .begin = g->trace,
        .len = g->len,
        .space = space,
        .flags = flags,
        .clock = {.mtc_freq = 3, .cpuid_15_eax = 2, .cpuid_15_ebx = 200, .nom_freq = 24}};
    struct ptl_flow *flow;

    assert_int_equal(ptl_flow_new(&flow, &config), 0);
    return flow;
}

/* --- what ran ------------------------------------------------------------------------- */

static size_t compare_block(const struct gen *g, size_t at, const struct ptl_item *item)
{
    const struct ptl_block *b = item->u.block;
    uint32_t size = 0;

    for (uint16_t i = 0; i < item->ninsn; i++) {
        struct ptl_insn insn;
        assert_true(at < g->nran);
        assert_int_equal(b->ip + size, g->ran[at++]);
        assert_true(ptl_insn_decode(&insn, b->bytes + size, b->size - size,
                                    (enum ptl_exec_mode)b->mode) > 0);
        size += insn.size;
    }
    assert_int_equal(size, item->size);
    return at;
}

static void check_run(uint64_t seed, unsigned flags, uint32_t flow_flags, size_t cap)
{
    struct gen *g = gen_new(seed, flags);
    struct ptl_space *space = space_of(g);
    struct ptl_flow *flow = flow_of(g, space, flow_flags);
    struct ptl_item items[64];
    size_t at = 0;
    int n;

    while ((n = ptl_flow_next(flow, items, cap)) > 0)
        for (int i = 0; i < n; i++) {
            if (items[i].kind == PTL_ITEM_BLOCK)
                at = compare_block(g, at, &items[i]);
            else
                assert_int_equal(items[i].kind, PTL_ITEM_EVENT);
        }
    assert_int_equal(n, 0);
    assert_int_equal(at, g->nran);
    ptl_flow_free(flow);
    ptl_space_free(space);
    gen_free(g);
}

/* So many packets from `at` on; a PSB+ stays whole. */
static size_t packets(const struct gen *g, size_t at, unsigned count)
{
    struct ptl_packet packet;
    int in_psb = 0;

    for (unsigned i = 0; (i < count || in_psb) && at < g->len; i++) {
        int size = ptl_packet_decode(&packet, g->trace + at, g->len - at, 0);
        assert_true(size > 0);
        at += (size_t)size;
        in_psb = packet.type == PTL_PKT_PSB || (in_psb && packet.type != PTL_PKT_PSBEND);
    }
    return at;
}

/* The trace in pieces that go on from each other: a target may be in the piece behind the bits it
 * was deferred for. */
static void check_pieces(uint64_t seed, uint32_t flow_flags)
{
    struct gen *g = gen_new(seed, GEN_RETCOMP | GEN_TIMING | GEN_DEFER);
    struct ptl_space *space = space_of(g);
    size_t whole = g->len, at = 0, from = 0, to = packets(g, 0, 50);
    struct ptl_item items[64];
    struct ptl_flow *flow;
    int n;

    g->len = to;
    flow = flow_of(g, space, flow_flags);
    g->len = whole;
    for (;;) {
        while ((n = ptl_flow_next(flow, items, 64)) > 0)
            for (int i = 0; i < n; i++) {
                if (items[i].kind == PTL_ITEM_BLOCK)
                    at = compare_block(g, at, &items[i]);
                else if (items[i].kind == PTL_ITEM_ERROR)
                    fail_msg("%zu-%zu: error %d at %llx", from, to, items[i].u.error->status,
                             (unsigned long long)items[i].u.error->offset);
            }
        assert_int_equal(n, 0);
        if (to == whole)
            break;
        from = to;
        to = packets(g, from, 1 + (unsigned)(seed + from) % 7);
        assert_int_equal(ptl_flow_continue(flow, g->trace + from, to - from, from), 0);
    }
    assert_true(at >= g->told);
    ptl_flow_free(flow);
    ptl_space_free(space);
    gen_free(g);
}

static void test_pieces(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        check_pieces(seed, 0);
        check_pieces(seed, PTL_FLOW_SLOW);
    }
}

static void test_truth(void **state)
{
    static const uint32_t flow_flags[] = {0, PTL_FLOW_SLOW, PTL_FLOW_TICKS, PTL_FLOW_COLD_BLOCKS};

    (void)state;
    for (unsigned flags = 0; flags < 16; flags++)
        for (size_t i = 0; i < COUNT(flow_flags); i++)
            check_run(flags * 7 + 1, flags, flow_flags[i], flags & 1 ? 64 : 16);
}

/* --- both paths ------------------------------------------------------------------------- */

static void same_item(const struct ptl_item *a, const struct ptl_item *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->flags, b->flags);
    assert_int_equal(a->offset, b->offset);
    assert_int_equal(a->tsc, b->tsc);
    switch (a->kind) {
    case PTL_ITEM_BLOCK:
        assert_int_equal(a->ninsn, b->ninsn);
        assert_int_equal(a->size, b->size);
        assert_int_equal(a->u.block->ip, b->u.block->ip);
        assert_int_equal(a->u.block->mode, b->u.block->mode);
        break;
    case PTL_ITEM_EVENT:
        assert_memory_equal(a->u.event, b->u.event, sizeof(*a->u.event));
        break;
    case PTL_ITEM_ERROR:
        assert_int_equal(a->u.error->status, b->u.error->status);
        assert_int_equal(a->u.error->phase, b->u.error->phase);
        assert_int_equal(a->u.error->ip, b->u.error->ip);
        assert_int_equal(a->u.error->offset, b->u.error->offset);
        break;
    default:
        break;
    }
}

/* The next item of a flow, from batches of any size. */
struct reader {
    struct ptl_flow *flow;
    struct ptl_item items[64];
    size_t cap;
    int n, at;
};

static const struct ptl_item *next_item(struct reader *r)
{
    if (r->at == r->n) {
        r->n = ptl_flow_next(r->flow, r->items, r->cap);
        r->at = 0;
        assert_true(r->n >= 0);
    }
    return r->n ? &r->items[r->at++] : NULL;
}

static void check_same(const struct gen *g, const struct ptl_space *space, uint32_t flags)
{
    struct reader fast = {.flow = flow_of(g, space, flags), .cap = 64};
    struct reader slow = {.flow = flow_of(g, space, flags | PTL_FLOW_SLOW), .cap = 17};
    const struct ptl_item *a, *b;
    size_t items = 0;

    do {
        a = next_item(&fast);
        b = next_item(&slow);
        assert_int_equal(!a, !b);
        if (a && b)
            same_item(a, b);
        /* Linear: some bytes of trace cannot make so many items. */
        assert_true(++items < 200 * g->len);
    } while (a);
    ptl_flow_free(fast.flow);
    ptl_flow_free(slow.flow);
}

/* --- counting --------------------------------------------------------------------------- */

static void add(struct ptl_ran *sum, const struct ptl_ran *more)
{
    sum->insns += more->insns;
    sum->blocks += more->blocks;
    sum->runs += more->runs;
}

/* What ran before the next item that is not about blocks, and that item. */
static const struct ptl_item *next_event(struct reader *r, struct ptl_ran *ran, int few)
{
    const struct ptl_item *item;

    memset(ran, 0, sizeof(*ran));
    while ((item = next_item(r)) != NULL) {
        if (item->kind == PTL_ITEM_COUNT) {
            assert_true(item->u.ran->runs > 0);
            add(ran, item->u.ran);
        } else if (item->kind == PTL_ITEM_BLOCK) {
            ran->insns += item->ninsn;
            ran->blocks += !(item->flags & PTL_ITEM_CONTINUED);
            ran->runs++;
        } else if (item->kind != PTL_ITEM_EVENT || !few || item->u.event->type == PTL_EV_SYNC ||
                   item->u.event->type == PTL_EV_OVERFLOW) {
            break;
        }
    }
    return item;
}

static void check_counts(const struct gen *g, const struct ptl_space *space, uint32_t flags,
                         uint32_t count, size_t cap)
{
    struct reader told = {.flow = flow_of(g, space, flags | PTL_FLOW_SLOW), .cap = 64};
    struct reader counted = {.flow = flow_of(g, space, flags | count), .cap = cap};
    int few = (count & PTL_FLOW_FEW_EVENTS) != 0;
    const struct ptl_item *a, *b;
    struct ptl_ran x, y;

    do {
        a = next_event(&told, &x, few);
        b = next_event(&counted, &y, few);
        assert_int_equal(x.insns, y.insns);
        assert_int_equal(x.blocks, y.blocks);
        assert_int_equal(x.runs, y.runs);
        assert_int_equal(!a, !b);
        if (a && b)
            same_item(a, b);
    } while (a);
    ptl_flow_free(told.flow);
    ptl_flow_free(counted.flow);
}

/* The same trace again and again, as programs repeat themselves. */
static void repeat(struct gen *g)
{
    size_t len = g->len;

    while (g->len + len <= g->cap && g->len < 8 * len) {
        memcpy(g->trace + g->len, g->trace, len);
        g->len += len;
    }
}

static void check_all_counts(const struct gen *g, const struct ptl_space *space)
{
    static const uint32_t flags[] = {0, PTL_FLOW_RESYNC,
                                     PTL_FLOW_END_ON_CALL | PTL_FLOW_END_ON_JUMP,
                                     PTL_FLOW_COLD_BLOCKS, PTL_FLOW_NORETCOMP};

    for (size_t i = 0; i < COUNT(flags); i++) {
        check_counts(g, space, flags[i], PTL_FLOW_COUNT, 64);
        check_counts(g, space, flags[i], PTL_FLOW_COUNT | PTL_FLOW_FEW_EVENTS, 16);
    }
}

/* --- coverage ----------------------------------------------------------------------------- */

/* How often each block ran, by address, as told. */
static void tell_coverage(const struct gen *g, const struct ptl_space *space, uint32_t flags,
                          uint64_t *counts)
{
    struct reader told = {.flow = flow_of(g, space, flags), .cap = 64};
    const struct ptl_item *item;

    while ((item = next_item(&told)) != NULL)
        if (item->kind == PTL_ITEM_BLOCK)
            counts[item->u.block->ip - GEN_BASE]++;
    ptl_flow_free(told.flow);
}

static void add_coverage(const struct gen *g, const struct ptl_space *space, uint32_t flags,
                         struct ptl_coverage *coverage)
{
    struct reader counted = {.flow = flow_of(g, space, flags | PTL_FLOW_COVERAGE), .cap = 64};

    for (int i = 0; next_item(&counted); i++)
        if (i % 100 == 99)
            assert_int_equal(ptl_coverage_add(coverage, counted.flow), 0);
    assert_int_equal(ptl_coverage_add(coverage, counted.flow), 0);
    assert_int_equal(ptl_coverage_add(coverage, counted.flow), 0); /* nothing more */
    ptl_flow_free(counted.flow);
}

static void check_coverage(const struct gen *g, const struct ptl_space *space, uint32_t flags)
{
    static uint64_t told[GEN_BYTES], counted[GEN_BYTES];
    const struct ptl_coverage_block *blocks;
    struct ptl_coverage *coverage;
    uint64_t last = 0;
    size_t n;

    memset(told, 0, sizeof(told));
    memset(counted, 0, sizeof(counted));
    tell_coverage(g, space, flags, told);
    assert_int_equal(ptl_coverage_new(&coverage), 0);
    add_coverage(g, space, flags, coverage);
    add_coverage(g, space, flags | PTL_FLOW_FEW_EVENTS, coverage);
    blocks = ptl_coverage_blocks(coverage, &n);
    for (size_t i = 0; i < n; i++) {
        assert_true(blocks[i].ip >= last && blocks[i].count > 0);
        last = blocks[i].ip;
        assert_int_equal(blocks[i].offset, blocks[i].ip - GEN_BASE);
        counted[blocks[i].ip - GEN_BASE] += blocks[i].count;
    }
    for (size_t i = 0; i < GEN_BYTES; i++)
        assert_int_equal(counted[i], 2 * told[i]);
    ptl_coverage_free(coverage);
}

static void damage(struct gen *g, uint64_t *seed)
{
    for (size_t hits = 1 + rnd(seed) % 12; hits; hits--)
        g->trace[rnd(seed) % g->len] = (uint8_t)rnd(seed);
}

static void test_same(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags < 16; flags++) {
        struct gen *g = gen_new(flags + 100, flags);
        struct ptl_space *space = space_of(g);
        uint64_t seed = flags;

        check_same(g, space, 0);
        check_same(g, space, PTL_FLOW_END_ON_CALL | PTL_FLOW_END_ON_JUMP);
        for (int i = 0; i < 6; i++) {
            damage(g, &seed);
            check_same(g, space, i & 1 ? PTL_FLOW_RESYNC : 0);
            check_same(g, space, PTL_FLOW_COLD_BLOCKS);
        }
        ptl_space_free(space);
        gen_free(g);
    }
}

/* Code that is damaged, too: unmapped targets, loops without trace, unknown instructions. */
static void test_same_bad_code(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags < 16; flags++) {
        struct gen *g = gen_new(flags + 200, flags);
        struct ptl_space *space = space_of(g);
        uint64_t seed = flags + 50;

        for (int i = 0; i < 100; i++)
            g->code[rnd(&seed) % GEN_BYTES] = (uint8_t)rnd(&seed);
        check_same(g, space, 0);
        check_same(g, space, PTL_FLOW_RESYNC);
        ptl_space_free(space);
        gen_free(g);
    }
}

static void test_counts(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags < 16; flags++) {
        struct gen *g = gen_new(flags + 300, flags);
        struct ptl_space *space = space_of(g);
        uint64_t seed = flags + 70;

        repeat(g);
        check_all_counts(g, space);
        check_coverage(g, space, 0);
        check_coverage(g, space, PTL_FLOW_NORETCOMP);
        for (int i = 0; i < 4; i++) {
            damage(g, &seed);
            check_all_counts(g, space);
            check_coverage(g, space, PTL_FLOW_RESYNC);
        }
        for (int i = 0; i < 60; i++)
            g->code[rnd(&seed) % GEN_BYTES] = (uint8_t)rnd(&seed);
        ptl_space_free(space);
        space = space_of(g);
        check_all_counts(g, space);
        ptl_space_free(space);
        gen_free(g);
    }
}

/* --- what is proven ------------------------------------------------------------------------ */

/* An item as a few numbers. */
struct said {
    uint64_t what, where;
    uint16_t ninsn;
};

static struct said said_of(const struct ptl_item *item)
{
    struct said said = {(uint64_t)item->kind << 32, item->offset, 0};

    if (item->kind == PTL_ITEM_BLOCK) {
        said.what |= item->u.block->ip & UINT32_MAX;
        said.ninsn = item->ninsn;
    } else if (item->kind == PTL_ITEM_EVENT) {
        said.what |= item->u.event->type;
    } else if (item->kind == PTL_ITEM_ERROR) {
        said.what |= (uint32_t)item->u.error->status;
    }
    return said;
}

struct saying {
    struct said *all;
    size_t count, proven;
    uint64_t withheld;
};

static void withhold(struct saying *s)
{
    for (size_t i = s->proven; i < s->count; i++)
        s->withheld += s->all[i].ninsn;
    s->count = s->proven;
}

/* The rule, for one item more: what a PSB+ follows is proven, what an error follows is not. */
static void hear(struct saying *s, const struct ptl_item *item)
{
    int is_event = item->kind == PTL_ITEM_EVENT, at_proof = s->proven == s->count;
    int proves =
        is_event && (item->u.event->type == PTL_EV_PSB || item->u.event->type == PTL_EV_SYNC ||
                     (item->u.event->status && at_proof));

    if (item->kind == PTL_ITEM_ERROR || item->kind == PTL_ITEM_END)
        withhold(s);
    s->all[s->count++] = said_of(item);
    if (proves || item->kind == PTL_ITEM_ERROR || item->kind == PTL_ITEM_END)
        s->proven = s->count;
}

static void check_proven(const struct gen *g, const struct ptl_space *space, size_t cap)
{
    struct reader all = {.flow = flow_of(g, space, 0), .cap = 64};
    struct reader proven = {.flow = flow_of(g, space, PTL_FLOW_PROVEN), .cap = cap};
    struct saying want = {.all = calloc(MAX_RAN * 2, sizeof(struct said))};
    const struct ptl_item *item;
    size_t at = 0;

    assert_non_null(want.all);
    while ((item = next_item(&all)) != NULL)
        hear(&want, item);
    while ((item = next_item(&proven)) != NULL) {
        struct said got = said_of(item);

        assert_true(at < want.count);
        assert_int_equal(got.what, want.all[at].what);
        assert_int_equal(got.where, want.all[at].where);
        assert_int_equal(got.ninsn, want.all[at++].ninsn);
    }
    assert_int_equal(at, want.count);
    assert_int_equal(ptl_flow_withheld(proven.flow), want.withheld);
    free(want.all);
    ptl_flow_free(all.flow);
    ptl_flow_free(proven.flow);
}

/* Counted instructions are as many as those told. */
static void check_proven_count(const struct gen *g, const struct ptl_space *space)
{
    struct reader told = {.flow = flow_of(g, space, PTL_FLOW_PROVEN), .cap = 64};
    struct reader counted = {
        .flow = flow_of(g, space, PTL_FLOW_PROVEN | PTL_FLOW_COUNT | PTL_FLOW_FEW_EVENTS),
        .cap = 64};
    const struct ptl_item *item;
    uint64_t a = 0, b = 0;

    while ((item = next_item(&told)) != NULL)
        a += item->kind == PTL_ITEM_BLOCK ? item->ninsn : 0;
    while ((item = next_item(&counted)) != NULL) {
        b += item->kind == PTL_ITEM_COUNT ? item->u.ran->insns : 0;
        assert_true(item->kind != PTL_ITEM_EVENT || item->u.event->type != PTL_EV_PSB);
    }
    assert_int_equal(a, b);
    assert_int_equal(ptl_flow_withheld(told.flow), ptl_flow_withheld(counted.flow));
    ptl_flow_free(told.flow);
    ptl_flow_free(counted.flow);
}

static void test_proven(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags < 16; flags += 3) {
        struct gen *g = gen_new(flags + 400, flags);
        struct ptl_space *space = space_of(g);
        uint64_t seed = flags + 90;

        for (int i = 0; i < 6; i++) {
            check_proven(g, space, i & 1 ? 16 : 64);
            check_proven_count(g, space);
            damage(g, &seed);
        }
        g->len /= 2; /* it may end while tracing is on */
        check_proven(g, space, 64);
        ptl_space_free(space);
        gen_free(g);
    }
}

static void test_proven_refused(void **state)
{
    static const uint32_t flags[] = {PTL_FLOW_COVERAGE, PTL_FLOW_DISTNT, PTL_FLOW_NO_BRANCH,
                                     PTL_FLOW_PSB_ONLY};
    struct ptl_flow_config config = {.size = sizeof(config)};
    struct ptl_flow *flow;

    (void)state;
    for (size_t i = 0; i < COUNT(flags); i++) {
        config.flags = PTL_FLOW_PROVEN | flags[i];
        assert_int_equal(ptl_flow_new(&flow, &config), PTL_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truth),          cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_same),           cmocka_unit_test(test_same_bad_code),
        cmocka_unit_test(test_counts),         cmocka_unit_test(test_proven),
        cmocka_unit_test(test_proven_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
