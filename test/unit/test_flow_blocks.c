/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_flow_blocks.c - blocks: where they end, whose bytes they have, and what survives
 * remapping.
 */
#include "unit.h"

#include "flow/blocks.h"

#include <stdlib.h>

#define AT 0x1000u

static const uint8_t code[] = {
    0x90, 0x90, 0x75, 0x02,       /* 1000 nop; nop; jnz 1006 */
    0x90, 0xc3,                   /* 1004 nop; ret */
    0x0f, 0x22, 0xd8,             /* 1006 mov cr3, rax */
    0xe8, 0xf2, 0xff, 0xff, 0xff, /* 1009 call 1000 */
    0xb8, 0x01, 0x02, 0x03, 0x04, /* 100e mov eax, imm32 */
    0x0f, 0x05,                   /* 1013 syscall */
};

struct world {
    struct ptl_space *space;
    struct ptl_section *section;
    struct ptl__cache cache;
    struct ptl__view *view;
};

static struct ptl_section *memory(const void *bytes, size_t size)
{
    struct ptl_section *section;
    assert_int_equal(ptl_section_memory(&section, bytes, size, 1, "code"), 0);
    return section;
}

static void map(struct ptl_space *space, uint64_t at, struct ptl_section *section, uint64_t offset,
                uint64_t size)
{
    assert_int_equal(ptl_space_map(space, at, section, offset, size), 0);
}

static struct ptl__view *view_of(struct world *w)
{
    return ptl__cache_view(&w->cache, w->space, ptl_space_generation(w->space));
}

static void open_world(struct world *w, struct ptl_section *section, uint64_t size)
{
    memset(w, 0, sizeof(*w));
    assert_int_equal(ptl_space_new(&w->space), 0);
    w->section = section;
    map(w->space, AT, section, 0, size);
    w->view = view_of(w);
    assert_non_null(w->view);
}

static void close_world(struct world *w)
{
    ptl__cache_free(&w->cache);
    ptl__pool_free(&w->cache.pool);
    ptl_space_free(w->space);
    ptl_section_unref(w->section);
}

static struct ptl__node *node_at(struct world *w, uint64_t ip)
{
    struct ptl__node *node = NULL;
    assert_int_equal(ptl__view_node(&w->cache, w->view, ip, PTL_MODE_64, &node), 0);
    return node;
}

static int status_at(struct world *w, uint64_t ip)
{
    struct ptl__node *node;
    return ptl__view_node(&w->cache, w->view, ip, PTL_MODE_64, &node);
}

/* --- where blocks end --------------------------------------------------------------- */

static const struct {
    uint64_t ip;
    uint16_t ninsn;
    uint32_t size;
    uint8_t iclass;
    uint64_t target;
} rows[] = {
    {0x1000, 3, 4, PTL_INSN_JCC, 0x1006},  {0x1001, 2, 3, PTL_INSN_JCC, 0x1006},
    {0x1004, 2, 2, PTL_INSN_RET, 0},       {0x1006, 1, 3, PTL_INSN_MOV_CR3, 0},
    {0x1009, 1, 5, PTL_INSN_CALL, 0x1000}, {0x100e, 2, 7, PTL_INSN_FAR_CALL, 0},
};

static void check_rows(struct world *w)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct ptl__node *n = node_at(w, rows[i].ip);
        assert_int_equal(n->ninsn, rows[i].ninsn);
        assert_int_equal(n->size, rows[i].size);
        assert_int_equal(n->iclass, rows[i].iclass);
        assert_int_equal(n->target, rows[i].target);
        assert_memory_equal(n->block->bytes, code + (rows[i].ip - AT), n->size);
    }
}

static void test_ends(void **state)
{
    struct world w;

    (void)state;
    open_world(&w, memory(code, sizeof(code)), sizeof(code));
    check_rows(&w);
    assert_ptr_equal(node_at(&w, AT), node_at(&w, AT));
    assert_int_equal(status_at(&w, AT - 1), PTL_NOMAP);
    assert_int_equal(status_at(&w, AT + sizeof(code)), PTL_NOMAP);
    assert_int_equal(status_at(&w, 0x1014), PTL_BAD_INSN); /* 05: cut by the end */
    close_world(&w);
}

static int read_code(void *context, uint8_t *buf, size_t len, uint64_t offset)
{
    (void)context;
    if (offset >= sizeof(code))
        return 0;
    if (len > sizeof(code) - offset)
        len = sizeof(code) - offset;
    memcpy(buf, code + offset, len);
    return (int)len;
}

/* Code behind a callback is copied; what it does not have is not there. */
static void test_reader(void **state)
{
    struct ptl_section *section;
    struct world w;

    (void)state;
    assert_int_equal(ptl_section_reader(&section, read_code, NULL, 4096, "reader"), 0);
    open_world(&w, section, 4096);
    check_rows(&w);
    assert_int_equal(status_at(&w, AT + 2000), PTL_NOMAP);
    close_world(&w);
}

static void test_limit(void **state)
{
    size_t size = BLOCK_MAX_INSNS + 10;
    uint8_t *nops = malloc(size);
    struct world w;

    (void)state;
    assert_non_null(nops);
    memset(nops, 0x90, size);
    open_world(&w, memory(nops, size), size);
    assert_int_equal(node_at(&w, AT)->ninsn, BLOCK_MAX_INSNS);
    assert_int_equal(node_at(&w, AT)->iclass, PTL_INSN_OTHER);
    assert_int_equal(node_at(&w, AT + BLOCK_MAX_INSNS)->ninsn, 10);
    free(nops);
    close_world(&w);
}

/* An instruction that crosses into the next mapping is a block of its own. */
static void test_crossing(void **state)
{
    struct ptl_section *other;
    struct world w;

    (void)state;
    open_world(&w, memory(code, sizeof(code)), 0x10); /* cuts mov eax, imm32 after 2 bytes */
    assert_int_equal(status_at(&w, 0x100e), PTL_BAD_INSN);
    other = memory("\xaa\xbb\xcc\xc3", 4);
    map(w.space, AT + 0x10, other, 0, 4);
    ptl_section_unref(other);
    w.view = view_of(&w);
    assert_int_equal(node_at(&w, 0x100e)->ninsn, 1);
    assert_int_equal(node_at(&w, 0x100e)->size, 5);
    assert_memory_equal(node_at(&w, 0x100e)->block->bytes, "\xb8\x01\xaa\xbb\xcc", 5);
    assert_int_equal(node_at(&w, 0x1013)->iclass, PTL_INSN_RET);
    close_world(&w);
}

/* --- what survives -------------------------------------------------------------------- */

/* Another mapping changes the view, not the code; going back finds the same nodes. */
static void test_views(void **state)
{
    struct ptl_section *other = memory(code, sizeof(code));
    struct ptl__node *node;
    struct ptl__view *first;
    struct world w;

    (void)state;
    open_world(&w, memory(code, sizeof(code)), sizeof(code));
    node = node_at(&w, AT);
    first = w.view;
    map(w.space, 0x9000, other, 0, sizeof(code));
    w.view = view_of(&w);
    assert_ptr_not_equal(w.view, first);
    assert_ptr_not_equal(node_at(&w, AT), node);
    assert_ptr_equal(node_at(&w, AT)->block, node->block);
    assert_int_equal(node_at(&w, 0x9000)->block->ip, 0x9000);
    w.view = first;
    assert_ptr_equal(node_at(&w, AT), node);
    ptl_section_unref(other);
    close_world(&w);
}

/* Other code at the same address; the same file shifted by a little. */
static void test_remapped(void **state)
{
    struct ptl_section *other = memory("\xc3", 1);
    struct world w;

    (void)state;
    open_world(&w, memory(code, sizeof(code)), sizeof(code));
    assert_int_equal(node_at(&w, AT)->iclass, PTL_INSN_JCC);
    map(w.space, AT, other, 0, 1);
    w.view = view_of(&w);
    assert_int_equal(node_at(&w, AT)->iclass, PTL_INSN_RET);
    map(w.space, AT, w.section, 4, 2);
    w.view = view_of(&w);
    assert_int_equal(node_at(&w, AT)->iclass, PTL_INSN_RET);
    assert_int_equal(node_at(&w, AT)->ninsn, 2);
    ptl_section_unref(other);
    close_world(&w);
}

/* A mapping that ends earlier cuts the block; a longer one has the whole again. */
static void test_cut(void **state)
{
    const struct ptl_block *whole;
    struct world w;

    (void)state;
    open_world(&w, memory(code, sizeof(code)), sizeof(code));
    whole = node_at(&w, AT)->block;
    assert_int_equal(ptl_space_unmap(w.space, AT + 2, 2), 0);
    w.view = view_of(&w);
    assert_int_equal(node_at(&w, AT)->ninsn, 2);
    assert_int_equal(node_at(&w, AT)->iclass, PTL_INSN_OTHER);
    map(w.space, AT, w.section, 0, sizeof(code));
    w.view = view_of(&w);
    assert_ptr_equal(node_at(&w, AT)->block, whole);
    close_world(&w);
}

static unsigned freed;

static void count_free(void *user)
{
    (void)user;
    freed++;
}

/* Many views: the oldest go, code and what users keep with it stay until the end. */
static void test_many_views(void **state)
{
    struct world w;

    (void)state;
    freed = 0;
    open_world(&w, memory(code, sizeof(code)), sizeof(code));
    w.cache.free_user = count_free;
    ((struct ptl_block *)(uintptr_t)node_at(&w, AT)->block)->user = &freed;
    for (uint64_t i = 0; i < 500; i++) {
        w.view = ptl__cache_view(&w.cache, w.space, i + 1000);
        assert_non_null(w.view);
        assert_ptr_equal(node_at(&w, AT)->block->user, &freed);
    }
    assert_true(w.cache.nviews <= 64);
    assert_int_equal(w.cache.codes.used, 1);
    close_world(&w);
    assert_int_equal(freed, 1);
}

static void test_split(void **state)
{
    struct ptl_insn last;
    struct world w;
    uint16_t ninsn;
    uint32_t size;

    (void)state;
    open_world(&w, memory(code, sizeof(code)), sizeof(code));
    assert_int_equal(ptl__block_split(node_at(&w, 0x100e)->block, 0x1013, &ninsn, &size), 0);
    assert_int_equal(ninsn, 1);
    assert_int_equal(size, 5);
    assert_true(ptl__block_split(node_at(&w, 0x100e)->block, 0x1010, &ninsn, &size) < 0);
    assert_int_equal(ptl__block_bytes(node_at(&w, AT)->block, 3, &last), 4);
    assert_int_equal(last.iclass, PTL_INSN_JCC);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),  cmocka_unit_test(test_reader),
        cmocka_unit_test(test_limit), cmocka_unit_test(test_crossing),
        cmocka_unit_test(test_views), cmocka_unit_test(test_remapped),
        cmocka_unit_test(test_cut),   cmocka_unit_test(test_many_views),
        cmocka_unit_test(test_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
