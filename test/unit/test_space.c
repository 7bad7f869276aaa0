/* SPDX-License-Identifier: BSD-3-Clause */
/* test_space.c - address spaces against a model that has one entry per address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first. */
#include <cmocka.h>
#include <pt/image.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SPAN     512 /* addresses in the model */
#define SECTIONS 8
#define SIZE     256 /* bytes of each section */

static uint8_t content[SECTIONS][SIZE];

struct model {
    int16_t section[SPAN]; /* -1: nothing mapped */
    uint16_t offset[SPAN];
};

static uint32_t random_state;

static uint32_t rnd(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

static void make_sections(struct ptl_section **s)
{
    for (unsigned i = 0; i < SECTIONS; i++) {
        for (unsigned j = 0; j < SIZE; j++)
            content[i][j] = (uint8_t)(i * 31 + j * 7 + (j >> 4));
        assert_int_equal(ptl_section_memory(&s[i], content[i], SIZE, 0, "m"), 0);
    }
}

static void drop_sections(struct ptl_section **s)
{
    for (unsigned i = 0; i < SECTIONS; i++)
        ptl_section_unref(s[i]);
}

static void model_set(struct model *m, unsigned at, unsigned size, int section, unsigned offset)
{
    for (unsigned i = 0; i < size; i++) {
        m->section[at + i] = (int16_t)section;
        m->offset[at + i] = (uint16_t)(offset + i);
    }
}

/* Every address, and every read of a few lengths. */
static void compare(const struct ptl_space *space, const struct model *m, uint64_t base,
                    struct ptl_section **s)
{
    for (unsigned i = 0; i < SPAN; i++) {
        struct ptl_mapping map;
        uint8_t buf[40];
        unsigned want = 0;
        int got, found = ptl_space_find(space, base + i, &map);

        while (want < sizeof(buf) && i + want < SPAN && m->section[i + want] >= 0)
            want++;
        got = ptl_space_read(space, buf, sizeof(buf), base + i);
        if (!want) {
            assert_int_equal(found, PTL_NOMAP);
            assert_int_equal(got, PTL_NOMAP);
            continue;
        }
        assert_int_equal(found, 0);
        assert_ptr_equal(map.section, s[m->section[i]]);
        assert_true(map.begin <= base + i && base + i <= map.end - 1);
        assert_int_equal(map.offset + (base + i - map.begin), m->offset[i]);
        assert_ptr_equal(map.bytes, content[m->section[i]] + map.offset);
        assert_int_equal(got, want);
        for (unsigned j = 0; j < want; j++)
            assert_int_equal(buf[j], content[m->section[i + j]][m->offset[i + j]]);
    }
}

/* Mappings come in order, do not overlap, and cover what the model has. */
struct walk {
    uint64_t next;
    unsigned bytes;
};

static int step(void *context, const struct ptl_mapping *map)
{
    struct walk *w = context;

    assert_true(map->begin >= w->next);
    w->bytes += (unsigned)(map->end - map->begin);
    w->next = map->end ? map->end : UINT64_MAX;
    return 0;
}

static void compare_each(const struct ptl_space *space, const struct model *m)
{
    struct walk w = {0, 0};
    unsigned want = 0;

    for (unsigned i = 0; i < SPAN; i++)
        want += m->section[i] >= 0;
    assert_int_equal(ptl_space_each(space, step, &w), 0);
    assert_int_equal(w.bytes, want);
}

static void random_change(struct ptl_space *space, struct model *m, uint64_t base,
                          struct ptl_section **s)
{
    unsigned size = 1 + rnd(rnd(4) ? 24 : 200), at = rnd(SPAN - size + 1);
    uint64_t before = ptl_space_generation(space);

    if (rnd(4)) {
        unsigned i = rnd(SECTIONS), offset = rnd(SIZE - size + 1);
        assert_int_equal(ptl_space_map(space, base + at, s[i], offset, size), 0);
        model_set(m, at, size, (int)i, offset);
    } else {
        assert_int_equal(ptl_space_unmap(space, base + at, size), 0);
        model_set(m, at, size, -1, 0);
    }
    assert_int_not_equal(ptl_space_generation(space), before);
    assert_int_not_equal(ptl_space_generation(space), 0);
}

static void random_changes_at(uint64_t base)
{
    struct ptl_section *s[SECTIONS];
    struct ptl_space *space, *copy;
    struct model m, old;

    make_sections(s);
    for (unsigned round = 0; round < 40; round++) {
        random_state = round + 1;
        memset(&m, 0xff, sizeof(m));
        assert_int_equal(ptl_space_new(&space), 0);
        for (unsigned i = 0; i < 60; i++) {
            random_change(space, &m, base, s);
            if (i % 10 == 0)
                compare(space, &m, base, s);
        }
        compare_each(space, &m);

        /* A copy and its origin go their own ways. */
        old = m;
        assert_int_equal(ptl_space_clone(&copy, space), 0);
        for (unsigned i = 0; i < 30; i++)
            random_change(space, &m, base, s);
        compare(copy, &old, base, s);
        compare(space, &m, base, s);
        ptl_space_free(space);
        compare(copy, &old, base, s);
        ptl_space_free(copy);
    }
    drop_sections(s);
}

static void random_changes(void **state)
{
    (void)state;
    random_changes_at(0);
    random_changes_at(0x7fffffffff00);
    random_changes_at(0xffffffff80000000);
}

static void end_of_the_address_space(void **state)
{
    (void)state;
    random_changes_at(UINT64_MAX - (SPAN - 1));
}

static void last_byte(void **state)
{
    struct ptl_section *s[SECTIONS];
    struct ptl_space *space;
    struct ptl_mapping map;
    uint8_t buf[2];

    (void)state;
    make_sections(s);
    assert_int_equal(ptl_space_new(&space), 0);
    assert_int_equal(ptl_space_map(space, 0, s[1], 0, 1), 0);
    assert_int_equal(ptl_space_map(space, UINT64_MAX, s[0], 9, 1), 0);
    assert_int_equal(ptl_space_find(space, UINT64_MAX, &map), 0);
    assert_int_equal(map.begin, UINT64_MAX);
    assert_int_equal(map.end, 0);
    assert_int_equal(ptl_space_read(space, buf, 2, UINT64_MAX), 1);
    assert_int_equal(buf[0], content[0][9]);
    assert_int_equal(ptl_space_unmap(space, 0, UINT64_MAX), 0);
    assert_int_equal(ptl_space_find(space, 0, &map), PTL_NOMAP);
    assert_int_equal(ptl_space_find(space, UINT64_MAX, &map), 0);
    ptl_space_free(space);
    drop_sections(s);
}

static void bad_arguments(void **state)
{
    struct ptl_section *s[SECTIONS];
    struct ptl_space *space;
    uint64_t generation;

    (void)state;
    make_sections(s);
    assert_int_equal(ptl_space_new(&space), 0);
    generation = ptl_space_generation(space);
    assert_int_equal(ptl_space_map(space, 0, s[0], 0, 0), PTL_INVALID);
    assert_int_equal(ptl_space_map(space, 0, s[0], 0, SIZE + 1), PTL_INVALID);
    assert_int_equal(ptl_space_map(space, 0, s[0], SIZE, 1), PTL_INVALID);
    assert_int_equal(ptl_space_map(space, 0, s[0], UINT64_MAX, 2), PTL_INVALID);
    assert_int_equal(ptl_space_map(space, UINT64_MAX, s[0], 0, 2), PTL_INVALID);
    assert_int_equal(ptl_space_map(space, 0, NULL, 0, 1), PTL_INVALID);
    assert_int_equal(ptl_space_unmap(space, UINT64_MAX, 2), PTL_INVALID);
    assert_int_equal(ptl_space_unmap(space, 1, 0), PTL_INVALID);
    assert_int_equal(ptl_space_generation(space), generation);
    assert_int_equal(ptl_space_new(NULL), PTL_INVALID);
    ptl_space_free(space);
    ptl_space_free(NULL);
    drop_sections(s);
}

/* Sorted, reverse and interleaved insertion stay O(log n) deep: 200,000 mappings in time. */
static void many_mappings(void **state)
{
    enum { N = 200000 };
    struct ptl_section *s[SECTIONS];

    (void)state;
    make_sections(s);
    for (int order = 0; order < 3; order++) {
        struct ptl_space *space;
        struct ptl_mapping map;

        assert_int_equal(ptl_space_new(&space), 0);
        for (uint64_t i = 0; i < N; i++) {
            uint64_t k = order == 0 ? i : order == 1 ? N - 1 - i : (i & 1 ? i : N - 2 - i);
            assert_int_equal(ptl_space_map(space, k * 64, s[k % SECTIONS], k % SIZE, 1), 0);
        }
        for (uint64_t k = 0; k < N; k++) {
            assert_int_equal(ptl_space_find(space, k * 64, &map), 0);
            assert_ptr_equal(map.section, s[k % SECTIONS]);
            assert_int_equal(map.offset, k % SIZE);
            assert_int_equal(ptl_space_find(space, k * 64 + 1, &map), PTL_NOMAP);
        }
        ptl_space_free(space);
    }
    drop_sections(s);
}

static int stop_at_second(void *context, const struct ptl_mapping *map)
{
    int *n = context;

    (void)map;
    return ++*n == 2 ? 17 : 0;
}

static void each_stops(void **state)
{
    struct ptl_section *s[SECTIONS];
    struct ptl_space *space;
    int n = 0;

    (void)state;
    make_sections(s);
    assert_int_equal(ptl_space_new(&space), 0);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(ptl_space_map(space, i * 16, s[i], 0, 8), 0);
    assert_int_equal(ptl_space_each(space, stop_at_second, &n), 17);
    assert_int_equal(n, 2);
    ptl_space_free(space);
    drop_sections(s);
}

/* --- threads: run under TSan ---------------------------------------------- */

static void *reader(void *arg)
{
    const struct ptl_space *space = arg;
    uintptr_t bad = 0;

    for (unsigned i = 0; i < 20000; i++) {
        uint64_t at = (i * 37u) % 2048;
        struct ptl_mapping map;
        uint8_t buf[16];

        if (ptl_space_find(space, at, &map) < 0 || ptl_space_read(space, buf, 16, at) < 1 ||
            buf[0] != map.bytes[at - map.begin])
            bad++;
    }
    return (void *)bad; // NOLINT(performance-no-int-to-ptr): a count
}

/* Copies made, changed and freed by this thread share nodes with what the others read. */
static void *copier(void *arg)
{
    const struct ptl_space *space = arg;
    struct ptl_mapping map;
    uintptr_t bad = 0;

    for (unsigned i = 0; i < 2000; i++) {
        struct ptl_space *copy;
        if (ptl_space_clone(&copy, space) < 0)
            return (void *)1;
        bad += ptl_space_unmap(copy, i, 64) < 0;
        bad += ptl_space_find(copy, i, &map) != PTL_NOMAP;
        ptl_space_free(copy);
    }
    return (void *)bad; // NOLINT(performance-no-int-to-ptr)
}

static void threads_share_a_space(void **state)
{
    struct ptl_section *s[SECTIONS];
    struct ptl_space *space;
    pthread_t thread[4];

    (void)state;
    make_sections(s);
    assert_int_equal(ptl_space_new(&space), 0);
    for (uint64_t i = 0; i < 128; i++)
        assert_int_equal(ptl_space_map(space, i * 16, s[i % SECTIONS], i, 16), 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, i & 1 ? copier : reader, space), 0);
    for (unsigned i = 0; i < 4; i++) {
        void *bad;
        assert_int_equal(pthread_join(thread[i], &bad), 0);
        assert_null(bad);
    }
    ptl_space_free(space);
    drop_sections(s);
}

/* test_space [name]: only that test. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_changes),
        cmocka_unit_test(end_of_the_address_space),
        cmocka_unit_test(last_byte),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(many_mappings),
        cmocka_unit_test(each_stops),
        cmocka_unit_test(threads_share_a_space),
    };

    for (size_t i = 0; argc > 1 && strcmp(tests[i].name, argv[1]); i++)
        if (i + 1 == sizeof tests / sizeof *tests)
            return 2;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
