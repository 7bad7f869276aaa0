/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_two_threads.c - decoders in several threads over one const space, with sections of
 * both kinds: every thread sees the same, and TSan sees nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first. */
#include <cmocka.h>
#include <pt/flow.h>
#include <pt/packet.h>
#include <pthread.h>
#include <string.h>

#define CODE   0x401000u
#define ROUNDS 500
#define NPROC  4

/* 401000: call 402000; dec ecx; jnz 401000; syscall    402000: nop; ret */
static const uint8_t loop[] = {0xe8, 0xfb, 0x0f, 0, 0, 0xff, 0xc9, 0x75, 0xf7, 0x0f, 0x05};
static const uint8_t callee[] = {0x90, 0xc3};

struct trace {
    uint8_t bytes[ROUNDS * 64];
    size_t len;
};

static void put(struct trace *t, uint8_t type, uint64_t a, uint8_t b)
{
    struct ptl_packet p = {.type = type};
    int n;

    if (type == PTL_PKT_TNT8) {
        p.payload.tnt.bits = a;
        p.payload.tnt.count = b;
    } else if (type == PTL_PKT_MODE_EXEC) {
        p.payload.mode_exec.csl = 1;
    } else if (type == PTL_PKT_TIP_PGE || type == PTL_PKT_TIP_PGD) {
        p.payload.ip.ip = a;
        p.payload.ip.ipc = b;
    }
    n = ptl_packet_encode(t->bytes + t->len, sizeof(t->bytes) - t->len, &p);
    assert_true(n > 0);
    t->len += (size_t)n;
}

/* Each round: PSB+, on, three times around the loop (RET taken; JNZ taken, taken, not), off. */
static void make_trace(struct trace *t)
{
    t->len = 0;
    for (int i = 0; i < ROUNDS; i++) {
        put(t, PTL_PKT_PSB, 0, 0);
        put(t, PTL_PKT_PSBEND, 0, 0);
        put(t, PTL_PKT_MODE_EXEC, 0, 0);
        put(t, PTL_PKT_TIP_PGE, CODE, PTL_IPC_FULL);
        put(t, PTL_PKT_TNT8, 0x3e, 6);
        put(t, PTL_PKT_TIP_PGD, 0, PTL_IPC_SUPPRESSED);
    }
}

static int read_callee(void *context, uint8_t *buf, size_t len, uint64_t offset)
{
    (void)context;
    memcpy(buf, callee + offset, len);
    return (int)len;
}

struct job {
    const struct trace *trace;
    const struct ptl_space *space;
    uint64_t instructions, blocks, hash;
    unsigned errors;
    int status;
};

static void count(struct job *job, const struct ptl_item *item)
{
    job->errors += item->kind == PTL_ITEM_ERROR;
    if (item->kind != PTL_ITEM_BLOCK)
        return;
    job->blocks++;
    job->instructions += item->ninsn;
    job->hash = job->hash * 31 + item->u.block->ip + item->u.block->bytes[0];
}

static void *decode(void *arg)
{
    struct job *job = arg;
    struct ptl_flow_config config = {.size = sizeof(config),
                                     .begin = job->trace->bytes,
                                     .len = job->trace->len,
                                     .space = job->space};
    struct ptl_item items[64];
    struct ptl_flow *flow;
    int n = ptl_flow_new(&flow, &config);

    if (n == 0) {
        while ((n = ptl_flow_next(flow, items, 64)) > 0)
            for (int i = 0; i < n; i++)
                count(job, &items[i]);
        ptl_flow_free(flow);
    }
    job->status = n;
    return NULL;
}

static void threads_decode_the_same(void **state)
{
    static struct trace trace;
    struct ptl_section *memory, *reader;
    struct job jobs[NPROC] = {{0}};
    pthread_t thread[NPROC];
    struct ptl_space *space;

    (void)state;
    make_trace(&trace);
    assert_int_equal(ptl_section_memory(&memory, loop, sizeof(loop), 0, "loop"), 0);
    assert_int_equal(ptl_section_reader(&reader, read_callee, NULL, sizeof(callee), "callee"), 0);
    assert_int_equal(ptl_space_new(&space), 0);
    assert_int_equal(ptl_space_map(space, CODE, memory, 0, sizeof(loop)), 0);
    assert_int_equal(ptl_space_map(space, CODE + 0x1000, reader, 0, sizeof(callee)), 0);
    for (int i = 0; i < NPROC; i++) {
        jobs[i].trace = &trace;
        jobs[i].space = space;
        assert_int_equal(pthread_create(&thread[i], NULL, decode, &jobs[i]), 0);
    }
    for (int i = 0; i < NPROC; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < NPROC; i++) {
        assert_int_equal(jobs[i].status, 0);
        assert_int_equal(jobs[i].errors, 0);
        assert_int_equal(jobs[i].instructions, ROUNDS * (3 * 5 + 1));
        assert_int_equal(jobs[i].hash, jobs[0].hash);
        assert_int_equal(jobs[i].blocks, jobs[0].blocks);
    }
    ptl_space_free(space);
    ptl_section_unref(memory);
    ptl_section_unref(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_decode_the_same)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
