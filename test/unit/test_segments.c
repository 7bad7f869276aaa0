/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_segments.c - a flow that pauses tells what one tells that does not; and a flow begun at
 * a segment tells what one tells that comes from the beginning, if their states are the same.
 */
#include "tracegen.h"

#include <pt/session.h>
#include <stdlib.h>

#define SLOTS     1500
#define CAP       (1u << 18)
#define ITEMS_MAX (1u << 16)
#define SIZE      700 /* of segments */

/* What a flow has told: one number an item. */
struct told {
    uint64_t *item;
    size_t n;
};

struct count {
    int cuts, same;
};

struct world {
    struct gen gen;
    struct ptl_space *space;
    struct ptl_flow_config config;
    struct ptl_perf_piece piece;
    struct ptl_stream stream;
};

static uint64_t mix(uint64_t sum, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;

    while (n--)
        sum = (sum ^ *p++) * UINT64_C(0x100000001b3);
    return sum;
}

static uint64_t mix_number(uint64_t sum, uint64_t n)
{
    return mix(sum, &n, sizeof(n));
}

static uint64_t sum_of(const struct ptl_item *item)
{
    uint64_t sum = mix_number(0, item->kind | (uint64_t)item->flags << 8);

    sum = mix_number(mix_number(sum, item->offset), item->tsc);
    switch (item->kind) {
    case PTL_ITEM_BLOCK:
        return mix_number(mix_number(mix_number(sum, item->ninsn), item->size), item->u.block->ip);
    case PTL_ITEM_EVENT:
        return mix(sum, item->u.event, sizeof(*item->u.event));
    case PTL_ITEM_ERROR:
        sum = mix_number(mix_number(sum, item->u.error->ip), item->u.error->offset);
        return mix_number(sum, (uint64_t)item->u.error->status << 8 | item->u.error->phase);
    default:
        return sum;
    }
}

static void hear(struct ptl_decoder *decoder, struct told *told)
{
    struct ptl_flow *flow = ptl_decoder_flow(decoder);
    struct ptl_item items[32];
    int n;

    while ((n = ptl_flow_next(flow, items, COUNT(items))) > 0)
        for (int i = 0; i < n && told->n < ITEMS_MAX; i++)
            told->item[told->n++] = sum_of(&items[i]);
    assert_int_equal(n, 0);
    assert_true(told->n < ITEMS_MAX);
}

static struct told told_new(void)
{
    struct told told = {calloc(ITEMS_MAX, sizeof(uint64_t)), 0};

    assert_non_null(told.item);
    return told;
}

static void world_open(struct world *w, uint64_t seed, unsigned flags, uint32_t flow_flags)
{
    struct gen *g = &w->gen;
    struct ptl_section *section;

    memset(w, 0, sizeof(*w));
    g->seed = seed;
    g->flags = flags;
    g->cap = CAP;
    g->trace = malloc(CAP);
    g->ran = calloc(SLOTS * GEN_SLOT, sizeof(*g->ran));
    assert_non_null(g->trace);
    assert_non_null(g->ran);
    gen_run(g, SLOTS);
    assert_int_equal(ptl_space_new(&w->space), 0);
    assert_int_equal(ptl_section_memory(&section, g->code, sizeof(g->code), 0, "code"), 0);
    assert_int_equal(ptl_space_map(w->space, GEN_BASE, section, 0, sizeof(g->code)), 0);
    ptl_section_unref(section);
    w->config = (struct ptl_flow_config){
        .size = sizeof(w->config),
        .begin = g->trace,
        .len = g->len,
        .space = w->space,
        .flags = flow_flags,
        .clock = {.mtc_freq = 3, .cpuid_15_eax = 2, .cpuid_15_ebx = 200, .nom_freq = 24}};
    w->piece = (struct ptl_perf_piece){.bytes = g->trace, .size = g->len};
    w->stream = (struct ptl_stream){&w->piece, 1};
}

static void world_close(struct world *w)
{
    ptl_space_free(w->space);
    free(w->gen.trace);
    free(w->gen.ran);
}

static struct ptl_decoder *decoder_new(const struct world *w)
{
    struct ptl_decoder *decoder;

    assert_int_equal(ptl_decoder_raw(&decoder, &w->config), 0);
    return decoder;
}

/* What the flow from the beginning tells of the segment, and what one begun there tells.
 * Returns 1 if their states were the same. */
static int compare_segment(struct ptl_decoder *whole, struct ptl_decoder *part,
                           const struct ptl_segment *segment, struct told *all)
{
    struct ptl_flow_state a, b;
    struct told own = told_new(), warm = told_new();
    size_t from = all->n;
    int same;

    assert_int_equal(ptl_decoder_start(part, segment->warm, segment->begin), 0);
    if (segment->begin.at)
        hear(part, &warm);
    ptl_decoder_get_state(whole, 1, &a);
    ptl_decoder_get_state(part, 1, &b);
    same = segment->begin.at && ptl_flow_state_same(&a, &b);
    if (segment->begin.at)
        ptl_decoder_extend(whole, segment->end);
    else
        assert_int_equal(ptl_decoder_start(whole, segment->begin, segment->end), 0);
    hear(whole, all);
    if (same) {
        ptl_decoder_extend(part, segment->end);
        hear(part, &own);
        assert_int_equal(own.n, all->n - from);
        assert_memory_equal(own.item, all->item + from, own.n * sizeof(*own.item));
    }
    free(own.item);
    free(warm.item);
    return same;
}

/* Adds the number of segments that are begun behind a warm-up, and how many of them well. */
static void check(const struct world *w, struct count *count)
{
    const struct ptl_place all_of_it = {1, 0};
    struct ptl_segment segment = {.end = {0, 0}};
    struct ptl_decoder *plain = decoder_new(w), *whole = decoder_new(w), *part = decoder_new(w);
    struct told expected = told_new(), all = told_new();
    struct ptl_place end = {0, 0};

    assert_int_equal(ptl_decoder_piece(plain, 0), 0);
    hear(plain, &expected);
    while (ptl_segments_next(&w->stream, all_of_it, SIZE, &segment)) {
        assert_int_equal(ptl_place_compare(segment.begin, end), 0);
        assert_true(ptl_place_compare(segment.end, segment.begin) > 0);
        assert_true(ptl_place_compare(segment.warm, segment.begin) <= 0);
        end = segment.end;
        count->cuts += segment.begin.at != 0;
        count->same += compare_segment(whole, part, &segment, &all);
    }
    assert_int_equal(ptl_place_compare(end, all_of_it), 0);
    assert_int_equal(all.n, expected.n);
    assert_memory_equal(all.item, expected.item, all.n * sizeof(*all.item));
    free(expected.item);
    free(all.item);
    ptl_decoder_free(plain);
    ptl_decoder_free(whole);
    ptl_decoder_free(part);
}

static void damage(struct gen *g, uint64_t every)
{
    for (size_t at = gen_below(g, every); at < g->len; at += 1 + gen_below(g, 2 * every))
        g->trace[at] ^= (uint8_t)(1u << gen_below(g, 8));
}

static const uint32_t flow_flags[] = {0, PTL_FLOW_SLOW, PTL_FLOW_TICKS, PTL_FLOW_RESYNC};

static void test_segments(void **state)
{
    struct count count = {0, 0};
    struct world w;

    (void)state;
    for (unsigned seed = 0; seed < 64; seed++) {
        world_open(&w, seed * 11 + 3, (seed & 15) | GEN_EVENTS, flow_flags[seed / 16]);
        check(&w, &count);
        world_close(&w);
    }
    /* Else segments would be decoded twice. */
    assert_true(count.cuts > 100);
    assert_true(count.same * 3 > count.cuts * 2);
}

static void test_damaged(void **state)
{
    struct count count = {0, 0};
    struct world w;

    (void)state;
    for (unsigned seed = 0; seed < 128; seed++) {
        world_open(&w, seed * 5 + 1, (seed & 15) | GEN_EVENTS, flow_flags[seed / 16 % 4]);
        damage(&w.gen, 100 + seed * 10);
        check(&w, &count);
        world_close(&w);
    }
    assert_true(count.cuts > 100);
    assert_true(count.same * 2 > count.cuts);
}

/* Shares follow each other without gap and make the whole. */
static void test_shares(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, 5, GEN_EVENTS, 0);
    for (uint32_t n = 1; n < 40; n++) {
        struct ptl_place end = {0, 0};
        for (uint32_t k = 0; k < n; k++) {
            struct ptl_segment share;
            ptl_segments_share(&w.stream, k, n, &share);
            assert_int_equal(ptl_place_compare(share.begin, end), 0);
            assert_true(ptl_place_compare(share.begin, share.end) <= 0);
            end = share.end;
        }
        assert_int_equal(ptl_place_compare(end, (struct ptl_place){1, 0}), 0);
    }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_shares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
