/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_flow_tasks.c - compressed returns of threads that share one processor's trace.
 *
 *   401000  call 401010          402000  call 401020
 *   401005  syscall              402005  syscall
 *   401010  call 401020
 *   401015  ret                  401020  syscall
 *                                401022  ret
 *   K       call K+0x20          K+0x20  mov cr3, rax
 *   K+5     sysret               K+0x23  ret
 */
#include "unit.h"

#include <pt/flow.h>
#include <pt/packet.h>
#include <stdio.h>

#define USER   0x401000u
#define KERNEL 0xffffffff81000000u
#define MANY   100 /* threads */

enum { A = 11, B = 12 };

static uint8_t user[0x1010], kernel[0x30];
static uint8_t trace[1 << 16];
static size_t len;
static struct ptl_timeline *timeline;
static uint64_t now;

static struct ptl_section *section(const uint8_t *bytes, size_t size)
{
    struct ptl_section *s;

    assert_int_equal(ptl_section_memory(&s, bytes, size, 0, "code"), 0);
    return s;
}

/* --- trace -------------------------------------------------------------------------- */

static void put(struct ptl_packet packet)
{
    int n = ptl_packet_encode(trace + len, sizeof(trace) - len, &packet);

    assert_true(n > 0);
    len += (size_t)n;
}

static void put_tsc(void)
{
    put((struct ptl_packet){.type = PTL_PKT_TSC, .payload.tsc.tsc = now += 10});
}

static void psb(void)
{
    put((struct ptl_packet){.type = PTL_PKT_PSB});
    put_tsc();
    put((struct ptl_packet){.type = PTL_PKT_PSBEND});
}

static void on(uint64_t ip)
{
    put_tsc();
    put((struct ptl_packet){.type = PTL_PKT_MODE_EXEC, .payload.mode_exec.csl = 1});
    put((struct ptl_packet){.type = PTL_PKT_TIP_PGE, .payload.ip = {ip, PTL_IPC_FULL}});
}

static void off(void)
{
    put((struct ptl_packet){.type = PTL_PKT_TIP_PGD, .payload.ip = {0, PTL_IPC_SUPPRESSED}});
}

static void taken(uint8_t count)
{
    put((struct ptl_packet){.type = PTL_PKT_TNT8, .payload.tnt = {(1u << count) - 1, count}});
}

static void tip(uint64_t ip)
{
    put((struct ptl_packet){.type = PTL_PKT_TIP, .payload.ip = {ip, PTL_IPC_FULL}});
}

/* From the next packet with a time on that thread runs. */
static void run(uint32_t tid)
{
    assert_int_equal(ptl_timeline_switch(timeline, 0, now + 5, 0, 1, tid, 0), 0);
}

/* --- decoding ----------------------------------------------------------------------- */

struct result {
    char text[8192];
    int error;
};

/* " 11: 401000 401010" ...: who runs, and where blocks begin. */
static void see(struct result *r, const struct ptl_item *item)
{
    size_t n = strlen(r->text), room = sizeof(r->text) - n;

    if (item->kind == PTL_ITEM_BLOCK)
        snprintf(r->text + n, room, " %llx", (unsigned long long)item->u.block->ip & 0xfffffff);
    else if (item->kind == PTL_ITEM_ERROR && !r->error)
        r->error = item->u.error->status;
    else if (item->kind == PTL_ITEM_EVENT && item->u.event->type == PTL_EV_CONTEXT)
        snprintf(r->text + n, room, " %u:", item->u.event->u.context.tid);
}

static void decode(struct result *r)
{
    struct ptl_flow_config config = {.size = sizeof(config), .begin = trace, .len = len};
    struct ptl_item items[64];
    struct ptl_flow *flow;
    int n;

    memset(r, 0, sizeof(*r));
    assert_int_equal(ptl_cursor_new(&config.cursor, timeline, 0, 0), 0);
    assert_int_equal(ptl_flow_new(&flow, &config), 0);
    while ((n = ptl_flow_next(flow, items, 64)) > 0)
        for (int i = 0; i < n; i++)
            see(r, &items[i]);
    assert_int_equal(n, 0);
    ptl_flow_free(flow);
    ptl_cursor_free(config.cursor);
}

static int begin(void **state)
{
    struct ptl_section *u, *k;
    uint32_t space;

    (void)state;
    unhex(user, "e80b0000000f05");
    unhex(user + 0x10, "e80b000000c3");
    unhex(user + 0x20, "0f05c3");
    unhex(user + 0x1000, "e81bf0ffff0f05");
    unhex(kernel, "e81b0000000f07");
    unhex(kernel + 0x20, "0f22d8c3");
    len = now = 0;
    u = section(user, sizeof(user));
    k = section(kernel, sizeof(kernel));
    assert_int_equal(ptl_timeline_new(&timeline, NULL, 0), 0);
    assert_int_equal(ptl_timeline_space(timeline, PTL_TIMELINE_NONE, &space), 0);
    assert_int_equal(ptl_timeline_map(timeline, space, 0, USER, u, 0, sizeof(user)), 0);
    assert_int_equal(
        ptl_timeline_map(timeline, PTL_TIMELINE_KERNEL, 0, KERNEL, k, 0, sizeof(kernel)), 0);
    ptl_section_unref(u);
    ptl_section_unref(k);
    run(A);
    psb();
    return 0;
}

static int end(void **state)
{
    (void)state;
    ptl_timeline_free(timeline);
    return 0;
}

/* --- user code only ------------------------------------------------------------------- */

/* A calls twice, B once; each returns after the other has run. */
static void two_threads(void)
{
    on(0x401000);
    off();
    run(B);
    on(0x402000);
    off();
    run(A);
    on(0x401022);
    taken(2);
    off();
    run(B);
    on(0x401022);
    taken(1);
    off();
}

static void test_own_stack(void **state)
{
    struct result r;

    (void)state;
    two_threads();
    decode(&r);
    assert_int_equal(r.error, 0);
    assert_string_equal(r.text, " 11: 401000 401010 401020"
                                " 12: 402000 401020"
                                " 11: 401022 401015 401005"
                                " 12: 401022 402005");
}

/* What a processor really writes: no return is compressed over a time without trace. Every
 * return takes a call off whatever stack is in use, so both ways of keeping books go well. */
static void test_hardware(void **state)
{
    struct result r;

    (void)state;
    on(0x401000);
    off();
    run(B);
    on(0x402000);
    off();
    run(A);
    on(0x401022);
    tip(0x401015);
    tip(0x401005);
    off();
    run(B);
    on(0x401022);
    tip(0x402005);
    off();
    decode(&r);
    assert_int_equal(r.error, 0);
    assert_string_equal(r.text, " 11: 401000 401010 401020"
                                " 12: 402000 401020"
                                " 11: 401022 401015 401005"
                                " 12: 401022 402005");
}

/* A thread without calls of its own goes on with the processor's. */
static void test_processor_order(void **state)
{
    struct result r;

    (void)state;
    on(0x401000);
    off();
    run(B);
    on(0x401022);
    taken(1);
    off();
    decode(&r);
    assert_int_equal(r.error, 0);
    assert_string_equal(r.text, " 11: 401000 401010 401020 12: 401022 401015");
}

/* A PSB ends all memory, of those that do not run, too. */
static void test_psb(void **state)
{
    struct result r;

    (void)state;
    on(0x401000);
    off();
    run(B);
    psb();
    on(0x401005);
    off();
    run(A);
    on(0x401022);
    taken(1);
    off();
    decode(&r);
    assert_int_equal(r.error, PTL_RETSTACK_EMPTY);
}

static void test_many(void **state)
{
    struct result r;
    char want[sizeof(r.text)] = " 11: 401005";
    size_t n = strlen(want);

    (void)state;
    on(0x401005);
    off();
    for (unsigned i = 0; i < MANY; i++) {
        run(100 + i);
        on(i % 2 ? 0x402000 : 0x401000);
        off();
        n += (size_t)snprintf(want + n, sizeof(want) - n, " %u:%s 401020", 100 + i,
                              i % 2 ? " 402000" : " 401000 401010");
    }
    for (unsigned i = 0; i < MANY; i++) {
        run(100 + i);
        on(0x401022);
        taken(1);
        off();
        n += (size_t)snprintf(want + n, sizeof(want) - n, " %u: 401022%s", 100 + i,
                              i % 2 ? " 402005" : " 401015");
    }
    decode(&r);
    assert_int_equal(r.error, 0);
    assert_string_equal(r.text, want);
}

/* --- the kernel traced, too ------------------------------------------------------------- */

/* B's call is known. A enters the kernel, which switches to B in the middle of a function: its
 * return goes to the call that A made, as the processor's one stack has it. */
static void test_switch_in_kernel(void **state)
{
    struct result r;

    (void)state;
    run(B);
    on(0x402000);
    off();
    run(A);
    on(0x401000);
    tip(KERNEL);
    run(B);
    put_tsc();
    put((struct ptl_packet){.type = PTL_PKT_PIP, .payload.pip.cr3 = 0x1000});
    taken(1);
    tip(0x402005);
    off();
    decode(&r);
    assert_int_equal(r.error, 0);
    assert_string_equal(r.text, " 11: 12: 402000 401020"
                                " 11: 401000 401010 401020 1000000 1000020"
                                " 12: 1000023 1000005 402005");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_own_stack, begin, end),
        cmocka_unit_test_setup_teardown(test_hardware, begin, end),
        cmocka_unit_test_setup_teardown(test_processor_order, begin, end),
        cmocka_unit_test_setup_teardown(test_psb, begin, end),
        cmocka_unit_test_setup_teardown(test_many, begin, end),
        cmocka_unit_test_setup_teardown(test_switch_in_kernel, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
