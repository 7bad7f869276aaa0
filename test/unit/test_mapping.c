/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_mapping.c - files that become shorter while they are mapped: what is left of them, what
 * readers make of it, and that no other SIGBUS is kept from anybody.
 *
 * What is expected of a decoder is what it makes of the same bytes in memory, as many as are left.
 */
#include "base/mapping.h"
#include "image/section.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pt/coverage.h>
#include <pt/flow.h>
#include <pt/packet.h>
#include <pt/record.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u

/* A file with these bytes, mapped; its descriptor stays open. */
struct mapped {
    char name[64];
    int fd;
    uint8_t *bytes;
    size_t len;
};

static void map(struct mapped *m, const void *bytes, size_t len, unsigned flags)
{
    assert_int_equal(ptl_map_guard(), 0); /* cmocka has a handler of its own in each test */
    strcpy(m->name, "/tmp/test_mappingXXXXXX");
    m->fd = mkstemp(m->name);
    assert_true(m->fd >= 0);
    assert_int_equal(write(m->fd, bytes, len), len);
    m->len = len;
    m->bytes = ptl_map(m->name, m->fd, 0, len, flags);
    assert_non_null(m->bytes);
}

static void unmap(struct mapped *m)
{
    ptl_unmap(m->bytes, m->len);
    assert_null(ptl__mapping_of(m->bytes));
    close(m->fd);
    unlink(m->name);
}

static void cut(const struct mapped *m, size_t size)
{
    assert_int_equal(ftruncate(m->fd, (off_t)size), 0);
}

static void expect_loss(const struct mapped *m, uint64_t offset)
{
    struct ptl_map_loss loss;
    size_t i = 0;

    assert_int_equal(ptl_map_loss(&i, &loss), 1);
    assert_string_equal(loss.name, m->name);
    assert_int_equal(loss.offset, offset);
    assert_int_equal(loss.err, 0);
    assert_int_equal(ptl_map_loss(&i, &loss), 0);
}

/* --- bytes ---------------------------------------------------------------------------------- */

static void pages(unsigned flags)
{
    static uint8_t ones[4 * PAGE];
    struct ptl_map_loss loss;
    struct mapped m;
    size_t none = 0;

    memset(ones, 0xff, sizeof(ones));
    map(&m, ones, sizeof(ones) - 10, flags);
    assert_int_equal(ptl_map_left(m.bytes, m.len), m.len);
    assert_int_equal(ptl_map_loss(&none, &loss), 0);
    /* Within the last page: nothing faults. */
    cut(&m, 3 * PAGE + 1000);
    assert_int_equal(ptl_map_left(m.bytes, m.len), 3 * PAGE + 1000);
    expect_loss(&m, 3 * PAGE + 1000);
    /* Pages are gone: they read as 0. */
    cut(&m, PAGE + 100);
    assert_int_equal(m.bytes[2 * PAGE + 7], 0);
    assert_int_equal(m.bytes[m.len - 1], 0);
    assert_int_equal(m.bytes[PAGE + 99], 0xff);
    assert_int_equal(ptl_map_left(m.bytes, m.len), PAGE + 100);
    assert_int_equal(ptl_map_left(m.bytes + PAGE, 100), 100);
    assert_int_equal(ptl_map_left(m.bytes + PAGE, 101), 100);
    assert_int_equal(ptl_map_left(m.bytes + 2 * PAGE, 5), 0);
    expect_loss(&m, PAGE + 100);
    /* What comes back is not what was there. */
    cut(&m, m.len);
    assert_int_equal(ptl_map_left(m.bytes, m.len), PAGE + 100);
    unmap(&m);
}

static void watched(void **state)
{
    (void)state;
    pages(PTL_MAP_WATCH);
}

static void named(void **state)
{
    (void)state;
    pages(0);
}

/* Without a descriptor, and the name is another file's by now: the fault tells how far pages went.
 */
static void renamed(void **state)
{
    static uint8_t ones[3 * PAGE];
    struct mapped m;
    int fd;

    (void)state;
    memset(ones, 0xff, sizeof(ones));
    map(&m, ones, sizeof(ones), 0);
    unlink(m.name);
    fd = open(m.name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    close(fd);
    assert_int_equal(ptl_map_left(m.bytes, m.len), m.len);
    cut(&m, PAGE);
    assert_int_equal(m.bytes[2 * PAGE], 0);
    assert_int_equal(ptl_map_left(m.bytes, m.len), 2 * PAGE);
    unmap(&m);
}

/* A page that cannot be read, of a file as long as ever: another file's, which is cut, in its
 * place. */
static void failing(void **state)
{
    static uint8_t ones[3 * PAGE];
    struct mapped m, other;
    struct ptl_map_loss loss;
    size_t i = 0;

    (void)state;
    memset(ones, 0xff, sizeof(ones));
    map(&m, ones, sizeof(ones), PTL_MAP_WATCH);
    map(&other, ones, PAGE, 0);
    assert_ptr_equal(mmap(m.bytes + PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, other.fd, 0),
                     m.bytes + PAGE);
    cut(&other, 0);
    assert_int_equal(m.bytes[PAGE + 5], 0);
    assert_int_equal(m.bytes[2 * PAGE], 0);
    assert_int_equal(ptl_map_left(m.bytes, m.len), PAGE);
    assert_int_equal(ptl_map_loss(&i, &loss), 1);
    assert_string_equal(loss.name, m.name);
    assert_int_equal(loss.offset, PAGE);
    assert_int_equal(loss.err, EIO);
    unmap(&other);
    unmap(&m);
}

/* More mappings than a part of the table holds; places are used again. */
static void many(void **state)
{
    struct mapped m[200];
    uint8_t byte = 1;

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < COUNT(m); i++)
            map(&m[i], &byte, 1, 0);
        for (size_t i = 0; i < COUNT(m); i++)
            assert_non_null(ptl__mapping_of(m[i].bytes));
        cut(&m[150], 0);
        assert_int_equal(ptl_map_left(m[150].bytes, 1), 0);
        assert_int_equal(ptl_map_left(m[151].bytes, 1), 1);
        expect_loss(&m[150], 0);
        for (size_t i = 0; i < COUNT(m); i++)
            unmap(&m[i]);
    }
}

static void errors(void **state)
{
    (void)state;
    errno = 0;
    assert_null(ptl_map("none", -1, 0, 1, 0));
    assert_int_equal(errno, EBADF);
    ptl_unmap(NULL, 0);
    assert_int_equal(ptl_map_left("ab", 3), 3); /* no file's */
    assert_int_equal(ptl_map_left(NULL, 0), 0);
}

/* --- other signals ---------------------------------------------------------------------------- */

static void touch_foreign(void)
{
    FILE *f = tmpfile();
    volatile uint8_t *p;

    if (!f || ftruncate(fileno(f), 2 * PAGE))
        _exit(1);
    p = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fileno(f), 0);
    if (p == MAP_FAILED || ftruncate(fileno(f), 0))
        _exit(1);
    (void)p[PAGE];
    _exit(0);
}

static void sent(void)
{
    (void)kill(getpid(), SIGBUS);
    _exit(0);
}

static void touch_unguarded(void)
{
    static const uint8_t two[2 * PAGE] = {1};
    struct mapped m;

    map(&m, two, sizeof(two), 0);
    (void)signal(SIGBUS, SIG_DFL);
    unlink(m.name);
    cut(&m, 0);
    (void)*(volatile uint8_t *)&m.bytes[PAGE];
    _exit(0);
}

static void on_bus_error(int sig)
{
    _exit(40 + (sig == SIGBUS));
}

/* Who had a handler before gets what is not ours. */
static void chained(void)
{
    (void)signal(SIGBUS, on_bus_error);
    if (ptl_map_guard() || ptl_map_guard())
        _exit(1);
    touch_foreign();
}

/* How a child that does this ends; sanitizers have handlers of their own: they come first. */
static int end_of(void (*what)(void), int plain)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        if (plain) {
            (void)signal(SIGBUS, SIG_DFL);
            if (ptl_map_guard())
                _exit(1);
        }
        what();
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void foreign(void **state)
{
    int status;

    (void)state;
    status = end_of(touch_foreign, 1);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    status = end_of(sent, 1);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    status = end_of(touch_unguarded, 0); /* the test can fail */
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    status = end_of(chained, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 41);
}

/* --- traces -------------------------------------------------------------------------------------
 */

#define CODE   0x401000u
#define ROUNDS 1500

/* 401000: nop; je 401000; nop; jmp 401000 */
static const uint8_t code[] = {0x90, 0x74, 0xfd, 0x90, 0xeb, 0xfa};

static uint8_t trace[ROUNDS * 64];

static size_t put(size_t len, const struct ptl_packet *packet)
{
    int n = ptl_packet_encode(trace + len, sizeof(trace) - len, packet);

    assert_true(n > 0);
    return len + (size_t)n;
}

static size_t make_trace(void)
{
    const struct ptl_packet on = {.type = PTL_PKT_TIP_PGE, .payload.ip = {CODE, PTL_IPC_SEXT_48}},
                            off = {.type = PTL_PKT_TIP_PGD},
                            mode = {.type = PTL_PKT_MODE_EXEC, .payload.mode_exec.csl = 1},
                            psb = {.type = PTL_PKT_PSB}, psbend = {.type = PTL_PKT_PSBEND};
    uint64_t seed = 1;
    size_t len = 0;

    for (int i = 0; i < ROUNDS; i++) {
        len = put(len, &psb);
        len = put(len, &psbend);
        len = put(len, &mode);
        len = put(len, &on);
        for (int k = 0; k < 8; k++) {
            const struct ptl_packet tnt = {.type = PTL_PKT_TNT8,
                                           .payload.tnt = {rnd(&seed) & 63, 6}};

            len = put(len, &tnt);
        }
        len = put(len, &off);
    }
    return len;
}

struct told {
    uint64_t hash, items, insns, blocks, covered;
};

static void add(struct told *told, uint64_t value)
{
    told->hash = (told->hash ^ value) * 0x9e3779b97f4a7c15u;
}

static void tell(struct told *told, const struct ptl_item *item)
{
    if (item->kind == PTL_ITEM_COUNT) { /* how they are told is the flow's business */
        told->insns += item->u.ran->insns;
        told->blocks += item->u.ran->blocks;
        return;
    }
    told->items++;
    add(told, item->kind);
    add(told, item->offset);
    if (item->kind == PTL_ITEM_BLOCK)
        add(told, item->u.block->ip + item->ninsn);
    if (item->kind == PTL_ITEM_EVENT)
        add(told, item->u.event->type);
    if (item->kind == PTL_ITEM_ERROR)
        add(told, (uint64_t)item->u.error->status);
}

/* Decode; after `calls` calls the file `m` (NULL: none) is cut to `size`. */
static struct told decode(const uint8_t *bytes, size_t len, uint32_t flags, const struct mapped *m,
                          unsigned calls, size_t size)
{
    struct ptl_coverage *coverage;
    const struct ptl_coverage_block *blocks;
    struct ptl_section *section;
    struct ptl_space *space;
    struct ptl_item items[64];
    struct ptl_flow *flow;
    struct told told = {0};
    size_t count;
    int n;

    assert_int_equal(ptl_section_memory(&section, code, sizeof(code), 0, "code"), 0);
    assert_int_equal(ptl_space_new(&space), 0);
    assert_int_equal(ptl_space_map(space, CODE, section, 0, sizeof(code)), 0);
    const struct ptl_flow_config config = {
        .size = sizeof(config), .begin = bytes, .len = len, .flags = flags, .space = space};
    assert_int_equal(ptl_flow_new(&flow, &config), 0);
    if (m && !calls)
        cut(m, size);
    while ((n = ptl_flow_next(flow, items, COUNT(items))) > 0) {
        for (int i = 0; i < n; i++)
            tell(&told, &items[i]);
        if (m && !--calls)
            cut(m, size);
    }
    assert_int_equal(n, 0);
    assert_int_equal(ptl_coverage_new(&coverage), 0);
    if (flags & PTL_FLOW_COVERAGE) {
        assert_int_equal(ptl_coverage_add(coverage, flow), 0);
        blocks = ptl_coverage_blocks(coverage, &count);
        for (size_t i = 0; i < count; i++)
            told.covered += blocks[i].count * (blocks[i].ip + 1);
    }
    ptl_coverage_free(coverage);
    ptl_flow_free(flow);
    ptl_space_free(space);
    ptl_section_unref(section);
    return told;
}

/* Each kind of decoding, cut at several places ahead. */
static void flows(void **state)
{
    static const uint32_t kinds[] = {0,
                                     PTL_FLOW_SLOW,
                                     PTL_FLOW_PROVEN,
                                     PTL_FLOW_RESYNC,
                                     PTL_FLOW_COUNT,
                                     PTL_FLOW_COUNT | PTL_FLOW_FEW_EVENTS,
                                     PTL_FLOW_COVERAGE,
                                     PTL_FLOW_PSB_ONLY};
    const size_t len = make_trace();

    (void)state;
    assert_true(len > 10 * PAGE);
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (size_t size = 5 * PAGE; size < 5 * PAGE + 60; size++) {
            struct told want = decode(trace, size, kinds[k], NULL, 0, 0), got;
            struct mapped m;

            map(&m, trace, len, PTL_MAP_WATCH);
            got = decode(m.bytes, m.len, kinds[k], &m, kinds[k] & PTL_FLOW_COUNT ? 0 : 3, size);
            unmap(&m);
            if (memcmp(&got, &want, sizeof(got)) != 0)
                fail_msg("flags %x, cut at %zu: %llu items, not %llu", kinds[k], size,
                         (unsigned long long)got.items, (unsigned long long)want.items);
        }
}

/* Cut within its last page, and before what has been decoded: nothing more comes. */
static void behind(void **state)
{
    const size_t len = make_trace();
    struct told want, got;
    struct mapped m;

    (void)state;
    want = decode(trace, len - 40, 0, NULL, 0, 0);
    map(&m, trace, len, PTL_MAP_WATCH);
    got = decode(m.bytes, m.len, 0, &m, 3, len - 40);
    unmap(&m);
    assert_memory_equal(&got, &want, sizeof(got));
    map(&m, trace, len, PTL_MAP_WATCH);
    got = decode(m.bytes, m.len, 0, &m, 20, 10);
    unmap(&m);
    assert_true(got.items >= 20 * 32 && got.items <= 20 * 64 + 2);
}

/* Code that cuts the trace when it is read, so in the middle of a call. */
struct trap {
    const struct mapped *m;
    size_t size;
};

static int read_code(void *context, uint8_t *buf, size_t len, uint64_t offset)
{
    const struct trap *trap = context;

    if (trap->m)
        cut(trap->m, trap->size);
    memcpy(buf, code + offset, len);
    return (int)len;
}

struct item {
    uint64_t offset, what; /* what: kind, and where it ran */
};

#define END (1000u + PTL_ITEM_END)

static uint64_t what(const struct ptl_item *item)
{
    if (item->kind == PTL_ITEM_BLOCK)
        return item->u.block->ip << 16 | item->ninsn;
    return item->kind == PTL_ITEM_EVENT ? item->u.event->type : 1000u + item->kind;
}

/* All items. Returns how many there are. */
static size_t items_of(const uint8_t *bytes, size_t len, struct trap *trap, struct item *all,
                       size_t most)
{
    struct ptl_section *section;
    struct ptl_space *space;
    struct ptl_item items[256];
    struct ptl_flow *flow;
    size_t count = 0;
    int n;

    assert_int_equal(ptl_section_reader(&section, read_code, trap, sizeof(code), "code"), 0);
    assert_int_equal(ptl_space_new(&space), 0);
    assert_int_equal(ptl_space_map(space, CODE, section, 0, sizeof(code)), 0);
    const struct ptl_flow_config config = {
        .size = sizeof(config), .begin = bytes, .len = len, .space = space};
    assert_int_equal(ptl_flow_new(&flow, &config), 0);
    while ((n = ptl_flow_next(flow, items, COUNT(items))) > 0)
        for (int i = 0; i < n && count < most; i++)
            all[count++] = (struct item){items[i].offset, what(&items[i])};
    ptl_flow_free(flow);
    ptl_space_free(space);
    ptl_section_unref(section);
    return count;
}

/* What was told of bytes that were no more is taken back. */
static void during(void **state)
{
    static struct item want[100000], got[COUNT(want)];
    const size_t len = make_trace();
    struct trap none = {NULL, 0};
    size_t all = items_of(trace, len, &none, want, COUNT(want));

    (void)state;
    for (size_t size = 60; size < 140; size++) {
        struct mapped m;
        struct trap trap = {&m, size};
        size_t n, sure = 0;

        map(&m, trace, len, PTL_MAP_WATCH);
        n = items_of(m.bytes, m.len, &trap, got, COUNT(got));
        unmap(&m);
        while (want[sure].offset + PTL_PACKET_MAX_SIZE < size)
            sure++;
        assert_true(n >= sure && n < all);
        if (got[n - 1].what == END) /* the second call saw that the trace ends there */
            n--;
        for (size_t i = 0; i < n; i++)
            assert_true(got[i].what == want[i].what && got[i].offset <= size);
    }
}

/* --- code ---------------------------------------------------------------------------------------
 */

/* The code of a block that is met when its file has been cut: it is as if it never had been there.
 */
static void sections(void **state)
{
    static uint8_t image[3 * PAGE];
    struct ptl_section *section;
    struct mapped m;
    uint8_t buf[16];

    (void)state;
    memset(image, 0x90, sizeof(image));
    for (unsigned i = 0; i < 3; i++)
        memcpy(image + i * PAGE, code, sizeof(code));
    map(&m, image, sizeof(image), 0);
    assert_int_equal(ptl_section_file(&section, m.name, 0, UINT64_MAX), 0);
    assert_int_equal(ptl_section_read(section, buf, 16, PAGE), 16);
    cut(&m, PAGE + 2);
    assert_int_equal(ptl_section_read(section, buf, 16, PAGE), 2);
    assert_int_equal(ptl_section_read(section, buf, 16, 2 * PAGE), 0);
    assert_int_equal(ptl_section_read(section, buf, 16, 0), 16);
    ptl_section_unref(section);
    unmap(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watched), cmocka_unit_test(named),   cmocka_unit_test(renamed),
        cmocka_unit_test(many),    cmocka_unit_test(errors),  cmocka_unit_test(foreign),
        cmocka_unit_test(flows),   cmocka_unit_test(behind),  cmocka_unit_test(sections),
        cmocka_unit_test(during),  cmocka_unit_test(failing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
