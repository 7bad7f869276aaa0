/* SPDX-License-Identifier: BSD-3-Clause */
/* test_timeline.c - timeline and cursor against a model that replays everything each time. */
#include "fault.h"
#include "unit.h"

#include <pt/timeline.h>

#define SPAN   48 /* addresses of user code in the model; as many of kernel code */
#define KERNEL 0xffffffff80000000u
#define SPACES 80 /* more than a cursor keeps */
#define OPS    400
#define LANES  2
#define BYTES  200

enum op_kind { OP_SPACE, OP_MAP, OP_UNMAP, OP_SWITCH };

struct op {
    enum op_kind kind;
    uint64_t when;
    uint32_t space; /* OP_SPACE: the parent */
    unsigned addr, size, offset;
    unsigned lane, at_once;
};

struct image {
    uint8_t byte[SPAN]; /* 0: nothing */
};

struct model {
    struct op op[OPS];
    unsigned n;
    struct image kernel, space[SPACES];
    unsigned nspaces;
};

/* The state of one lane as a decoder sees it. */
struct watch {
    uint64_t now;
    unsigned read; /* ops looked at */
    uint32_t current, pending;
    int waiting;
};

static uint8_t content[BYTES];
static uint64_t seed;

static unsigned pick(unsigned n)
{
    return (unsigned)(rnd(&seed) % n);
}

static struct ptl_section *make_section(void)
{
    struct ptl_section *section;

    for (unsigned i = 0; i < BYTES; i++)
        content[i] = (uint8_t)(i + 1);
    assert_int_equal(ptl_section_memory(&section, content, BYTES, 0, "m"), 0);
    return section;
}

/* --- the model ----------------------------------------------------------------- */

static void model_apply(struct model *m, const struct op *op)
{
    struct image *image;

    if (op->kind == OP_SPACE) {
        m->space[m->nspaces] =
            op->space == PTL_TIMELINE_NONE ? (struct image){{0}} : m->space[op->space];
        m->nspaces++;
        return;
    }
    image = op->space == PTL_TIMELINE_KERNEL ? &m->kernel : &m->space[op->space];
    for (unsigned i = 0; i < op->size; i++)
        image->byte[op->addr + i] = op->kind == OP_MAP ? content[op->offset + i] : 0;
}

static void model_at(struct model *m, uint64_t when)
{
    m->nspaces = 0;
    memset(&m->kernel, 0, sizeof(m->kernel));
    for (unsigned i = 0; i < m->n && m->op[i].when <= when; i++)
        if (m->op[i].kind != OP_SWITCH)
            model_apply(m, &m->op[i]);
}

static void watch_move(const struct model *m, struct watch *w, unsigned lane, uint64_t when,
                       int may_switch)
{
    if (when > w->now)
        w->now = when;
    for (; w->read < m->n && m->op[w->read].when <= w->now; w->read++) {
        const struct op *op = &m->op[w->read];

        if (op->kind != OP_SWITCH || op->lane != lane)
            continue;
        w->waiting = !op->at_once;
        *(op->at_once ? &w->current : &w->pending) = op->space;
    }
    if (w->waiting && may_switch) {
        w->current = w->pending;
        w->waiting = 0;
    }
}

/* --- making one ------------------------------------------------------------------- */

static void random_op(struct op *op, unsigned nspaces)
{
    static const enum op_kind kinds[] = {OP_SPACE,  OP_MAP,    OP_MAP,   OP_MAP,
                                         OP_SWITCH, OP_SWITCH, OP_UNMAP, OP_MAP};

    op->kind = kinds[pick(COUNT(kinds))];
    op->space = pick(nspaces);
    if (op->kind == OP_SPACE && (nspaces == SPACES || pick(3) == 0))
        op->kind = OP_MAP;
    if (op->kind == OP_SPACE && pick(4) == 0)
        op->space = PTL_TIMELINE_NONE;
    if ((op->kind == OP_MAP || op->kind == OP_UNMAP) && pick(6) == 0)
        op->space = PTL_TIMELINE_KERNEL;
    op->addr = pick(SPAN - 1);
    op->size = 1 + pick(SPAN - op->addr);
    op->offset = pick(BYTES - SPAN);
    op->lane = pick(LANES);
    op->at_once = pick(4) == 0;
}

static void add_op(struct ptl_timeline *tl, const struct op *op, struct ptl_section *section)
{
    uint64_t vaddr = op->addr + (op->space == PTL_TIMELINE_KERNEL ? KERNEL : 0);
    uint32_t id;

    switch (op->kind) {
    case OP_SPACE:
        assert_int_equal(ptl_timeline_space(tl, op->space, &id), 0);
        break;
    case OP_MAP:
        assert_int_equal(
            ptl_timeline_map(tl, op->space, op->when, vaddr, section, op->offset, op->size), 0);
        break;
    case OP_UNMAP:
        assert_int_equal(ptl_timeline_unmap(tl, op->space, op->when, vaddr, op->size), 0);
        break;
    case OP_SWITCH:
        assert_int_equal(ptl_timeline_switch(tl, op->lane, op->when, op->space, op->space + 100,
                                             op->space + 1000, (int)op->at_once),
                         0);
        break;
    }
}

static struct ptl_timeline *make(struct model *m, struct ptl_section *section, unsigned flags)
{
    struct ptl_timeline *tl;
    unsigned nspaces = 0;
    uint64_t when = 0;

    assert_int_equal(ptl_timeline_new(&tl, NULL, flags), 0);
    memset(m, 0, sizeof(*m));
    while (m->n < OPS) {
        struct op *op = &m->op[m->n++];

        when += pick(3);
        if (nspaces)
            random_op(op, nspaces);
        else
            *op = (struct op){.kind = OP_SPACE, .space = PTL_TIMELINE_NONE};
        op->when = when;
        nspaces += op->kind == OP_SPACE;
        add_op(tl, op, section);
    }
    return tl;
}

/* --- comparing ---------------------------------------------------------------------- */

static void compare(struct model *m, const struct watch *w, const struct ptl_cursor *cursor)
{
    struct ptl_context ctx = ptl_cursor_context(cursor);

    model_at(m, w->now);
    assert_int_equal(ctx.pid, w->current == PTL_TIMELINE_NONE ? UINT32_MAX : w->current + 100);
    assert_int_equal(ctx.tid, w->current == PTL_TIMELINE_NONE ? UINT32_MAX : w->current + 1000);
    for (unsigned i = 0; i < SPAN; i++) {
        struct ptl_mapping map;
        unsigned want = w->current == PTL_TIMELINE_NONE ? 0 : m->space[w->current].byte[i];
        int status = ptl_space_find(ctx.space, i, &map);

        assert_int_equal(status < 0 ? 0 : map.bytes[i - map.begin], want);
        status = ptl_space_find(ctx.space, KERNEL + i, &map);
        assert_int_equal(status < 0 ? 0 : map.bytes[KERNEL + i - map.begin], m->kernel.byte[i]);
    }
}

static struct ptl_moment random_moment(uint64_t when)
{
    struct ptl_moment moment = {.tsc = when, .have_tsc = 1, .have_ip = 1, .ip = pick(SPAN)};

    switch (pick(6)) {
    case 0:
        moment.have_ip = 0;
        break;
    case 1:
        moment.ip += KERNEL;
        break;
    case 2:
        moment.leaves = 1;
        break;
    default:
        break;
    }
    return moment;
}

static void test_forward(void **state)
{
    struct ptl_section *section = make_section();
    static struct model m;

    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        struct ptl_timeline *tl = make(&m, section, 0);
        struct ptl_cursor *cursor;
        unsigned lane = pick(LANES);
        struct watch w = {.current = PTL_TIMELINE_NONE};
        uint64_t when = 0;

        assert_int_equal(ptl_cursor_new(&cursor, tl, lane, 0), 0);
        for (unsigned i = 0; i < 120; i++) {
            struct ptl_moment moment = random_moment(when);
            struct ptl_context before = ptl_cursor_context(cursor);
            struct ptl_context after;
            int mask = ptl_cursor_move(cursor, &moment);

            watch_move(&m, &w, lane, when, ptl_moment_may_switch(&moment, (uint64_t)1 << 63));
            compare(&m, &w, cursor);
            after = ptl_cursor_context(cursor);
            assert_int_equal(!(mask & PTL_CURSOR_SWITCHED), before.tid == after.tid);
            assert_int_equal(!(mask & PTL_CURSOR_REMAPPED), before.version == after.version);
            when = when + pick(8) - pick(2); /* now and then back: applies nothing */
            if (when > 1u << 20)
                when = 0;
        }
        ptl_cursor_free(cursor);
        ptl_timeline_free(tl);
    }
    ptl_section_unref(section);
}

/* At a PSB the state depends on the time alone, wherever the cursor was before. */
static void test_sync(void **state)
{
    struct ptl_section *section = make_section();
    static struct model m;

    (void)state;
    for (unsigned round = 0; round < 100; round++) {
        struct ptl_timeline *tl = make(&m, section, 0);
        struct ptl_cursor *cursor;

        assert_int_equal(ptl_cursor_new(&cursor, tl, 1, 0), 0);
        for (unsigned i = 0; i < 60; i++) {
            struct ptl_moment moment = random_moment(pick(OPS));
            struct watch w = {.current = PTL_TIMELINE_NONE};

            moment.sync = (uint8_t)(pick(3) > 0);
            assert_true(ptl_cursor_move(cursor, &moment) >= 0);
            if (!moment.sync)
                continue;
            watch_move(&m, &w, 1, moment.tsc, 1);
            compare(&m, &w, cursor);
        }
        ptl_cursor_free(cursor);
        ptl_timeline_free(tl);
    }
    ptl_section_unref(section);
}

static void test_positions(void **state)
{
    struct ptl_section *section = make_section();
    static struct model m;
    struct ptl_timeline *tl = make(&m, section, PTL_TIMELINE_POSITIONS);
    struct ptl_cursor *cursor;
    struct watch w = {.current = PTL_TIMELINE_NONE};

    (void)state;
    assert_int_equal(ptl_cursor_new(&cursor, tl, 0, 0), 0);
    for (uint64_t offset = 0; offset < OPS; offset += 3) {
        struct ptl_moment moment = {.offset = offset, .tsc = 1u << 30, .have_tsc = 1, .leaves = 1};

        assert_true(ptl_cursor_move(cursor, &moment) >= 0);
        watch_move(&m, &w, 0, offset, 1);
        compare(&m, &w, cursor);
    }
    ptl_cursor_free(cursor);
    ptl_timeline_free(tl);
    ptl_section_unref(section);
}

/* What the caller mapped itself is below everything. */
static void test_base(void **state)
{
    struct ptl_section *section = make_section();
    struct ptl_space *base;
    struct ptl_timeline *tl;
    struct ptl_cursor *cursor;
    struct ptl_moment moment = {.tsc = 5, .have_tsc = 1};
    struct ptl_mapping map;
    uint32_t id;

    (void)state;
    assert_int_equal(ptl_space_new(&base), 0);
    assert_int_equal(ptl_space_map(base, 0x1000, section, 0, 100), 0);
    assert_int_equal(ptl_timeline_new(&tl, base, 0), 0);
    ptl_space_free(base);
    assert_int_equal(ptl_timeline_space(tl, PTL_TIMELINE_NONE, &id), 0);
    assert_int_equal(ptl_timeline_map(tl, id, 3, 0x1010, section, 50, 10), 0);
    assert_int_equal(ptl_timeline_switch(tl, 7, 3, id, 1, 1, 0), 0);
    assert_int_equal(ptl_cursor_new(&cursor, tl, 7, 0), 0);

    assert_int_equal(ptl_space_find(ptl_cursor_context(cursor).space, 0x1010, &map), 0);
    assert_int_equal(map.offset, 0);
    assert_int_equal(ptl_cursor_move(cursor, &moment), PTL_CURSOR_SWITCHED | PTL_CURSOR_REMAPPED);
    assert_int_equal(ptl_space_find(ptl_cursor_context(cursor).space, 0x1010, &map), 0);
    assert_int_equal(map.offset, 50);
    assert_int_equal(ptl_space_find(ptl_cursor_context(cursor).space, 0x1000, &map), 0);
    assert_int_equal(map.offset, 0);
    assert_int_equal(ptl_cursor_move(cursor, &moment), 0);

    ptl_cursor_free(cursor);
    ptl_timeline_free(tl);
    ptl_section_unref(section);
}

/* Without memory there is no cursor, and nothing else happens. */
static void test_no_memory(void **state)
{
    struct ptl_cursor *cursor = NULL;
    struct ptl_timeline *tl;
    int more = 1;

    (void)state;
    assert_int_equal(ptl_timeline_new(&tl, NULL, 0), 0);
    for (unsigned n = 1; more; n++) {
        int status;

        fault_arm(FAULT_MEMORY, n);
        status = ptl_cursor_new(&cursor, tl, 0, 0);
        more = fault_disarm();
        assert_int_equal(status, more ? PTL_NOMEM : 0);
    }
    ptl_cursor_free(cursor);
    ptl_timeline_free(tl);
}

/* When a switch counts: the table of the judgement. */
static void test_judgement(void **state)
{
    const uint64_t ks = 0xffff800000000000;
    const struct {
        struct ptl_moment moment;
        int want;
    } row[] = {
        {{.have_ip = 1, .ip = 0x401000}, 0}, /* user code */
        {{.have_ip = 1, .ip = ks - 1}, 0},   /* the last user byte */
        {{.have_ip = 1, .ip = ks}, 1},       /* the kernel begins */
        {{.have_ip = 1, .ip = UINT64_MAX}, 1},
        {{.have_ip = 0, .ip = 0x401000}, 1},                               /* unknown place */
        {{.have_ip = 1, .ip = 0x401000, .have_from = 1, .from = ks}, 1},   /* back from it */
        {{.have_ip = 1, .ip = ks, .have_from = 1, .from = 0x401000}, 1},   /* into it */
        {{.have_ip = 1, .ip = 0x401000, .have_from = 1, .from = 0x10}, 0}, /* user to user */
        {{.have_ip = 1, .ip = 0x401000, .from = ks}, 0},                   /* `from` not valid */
        {{.have_ip = 1, .ip = 0x401000, .leaves = 1}, 1},                  /* disabled, paging */
        {{.have_ip = 1, .ip = 0x401000, .sync = 1}, 1},                    /* PSB+ */
        {{.have_ip = 1, .ip = 0x401000, .have_tsc = 1, .tsc = ks}, 0},     /* time is no matter */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(row); i++)
        assert_int_equal(ptl_moment_may_switch(&row[i].moment, ks), row[i].want);
}

static void test_bad(void **state)
{
    struct ptl_section *section = make_section();
    struct ptl_timeline *tl;
    uint32_t id;

    (void)state;
    assert_int_equal(ptl_timeline_new(&tl, NULL, 0), 0);
    assert_int_equal(ptl_timeline_space(tl, 0, &id), PTL_INVALID);
    assert_int_equal(ptl_timeline_map(tl, 0, 0, 0, section, 0, 1), PTL_INVALID);
    assert_int_equal(ptl_timeline_space(tl, PTL_TIMELINE_NONE, &id), 0);
    assert_int_equal(ptl_timeline_map(tl, id, 0, 0, section, 0, 0), PTL_INVALID);
    assert_int_equal(ptl_timeline_map(tl, id, 0, 0, section, 1, BYTES), PTL_INVALID);
    assert_int_equal(ptl_timeline_map(tl, id, 0, UINT64_MAX, section, 0, 2), PTL_INVALID);
    assert_int_equal(ptl_timeline_map(tl, id, 0, UINT64_MAX, section, 0, 1), 0);
    assert_int_equal(ptl_timeline_switch(tl, 0, 0, 1, 0, 0, 0), PTL_INVALID);
    ptl_timeline_free(tl);
    ptl_timeline_free(NULL);
    ptl_cursor_free(NULL);
    ptl_section_unref(section);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),   cmocka_unit_test(test_sync),
        cmocka_unit_test(test_positions), cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_base),      cmocka_unit_test(test_judgement),
        cmocka_unit_test(test_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
