/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_breaks.c - ways with breakpoints: a simulated CPU executes random code as it stands in
 * memory, breakpoints included, and stops at the first INT3. What the plan says of where it came
 * from must be what it has executed.
 */
#include "unit.h"

#include "../../ptcapture/block.c"  /* NOLINT(bugprone-suspicious-include): part of a program */
#include "../../ptcapture/breaks.c" /* NOLINT(bugprone-suspicious-include): part of a program */

#include <stdlib.h>
#include <string.h>

#define BASE 0x400000u
#define SIZE 512u

struct code {
    uint8_t bytes[SIZE];
    unsigned unknown; /* bytes from here on have not been told of */
    unsigned fails;   /* the write with this number fails; 0: none */
    unsigned writes;
};

int code_byte(const struct code *code, uint64_t addr, uint8_t *byte)
{
    if (addr < BASE || addr - BASE >= code->unknown)
        return -1;
    *byte = code->bytes[addr - BASE];
    return 0;
}

int code_poke(const struct code *code, uint64_t addr, uint8_t byte)
{
    struct code *own = (struct code *)(uintptr_t)code;

    assert_true(addr >= BASE && addr - BASE < SIZE);
    if (++own->writes == own->fails)
        return -1;
    own->bytes[addr - BASE] = byte;
    return 0;
}

static int fetch(void *context, uint64_t ip, struct code_insn *insn)
{
    const struct code *code = context;

    if (ip < BASE || ip > BASE + SIZE - PTL_INSN_MAX_SIZE)
        return -1;
    memset(insn, 0, sizeof(*insn));
    insn->ip = ip;
    insn->settled = 1;
    if (ptl_insn_decode(&insn->insn, code->bytes + (ip - BASE), PTL_INSN_MAX_SIZE, PTL_MODE_64) < 0)
        return -1;
    if (insn->insn.iclass == PTL_INSN_FAR_CALL)
        insn->traits = CODE_SYSCALL;
    return 0;
}

/* --- random code --------------------------------------------------------------------- */

/* Short instructions, with branches that meet, go back, and go into each other's middle. */
static void fill(struct code *code, unsigned *seed)
{
    static const uint8_t plain[][4] = {{1, 0x90}, {2, 0x66, 0x90}, {3, 0x0f, 0x1f, 0x00}};
    size_t at = 0;

    memset(code->bytes, 0x90, SIZE);
    while (at < SIZE - 32) {
        uint8_t *p = code->bytes + at;
        int kind = rand_r(seed) % 14;

        if (kind < 4) {
            p[0] = (uint8_t)(0x70 | kind);
            p[1] = (uint8_t)(rand_r(seed) % 3 ? rand_r(seed) % 14 : rand_r(seed) % 28 - 14);
            at += 2;
        } else if (kind == 4) {
            p[0] = 0xeb;
            p[1] = (uint8_t)(rand_r(seed) % 28 - 8);
            at += 2;
        } else if (kind == 5 && rand_r(seed) % 2) { /* ret, syscall */
            p[0] = rand_r(seed) % 2 ? 0xc3 : 0x0f;
            p[1] = 0x05;
            at += p[0] == 0xc3 ? 1 : 2;
        } else if (kind == 6) { /* call */
            memset(p, 0, 5);
            p[0] = 0xe8;
            p[1] = (uint8_t)(rand_r(seed) % 20);
            at += 5;
        } else {
            const uint8_t *bytes = plain[rand_r(seed) % 3];
            memcpy(p, bytes + 1, bytes[0]);
            at += bytes[0];
        }
    }
}

/* --- a way ----------------------------------------------------------------------------- */

struct walk {
    uint64_t ran[BLOCK_MAX + 1];
    unsigned count;
    uint64_t rip; /* where it stands; behind an INT3 if `stopped` */
    int stopped;
};

/* Execute what stands in memory until an INT3, or until a signal comes. */
static void execute(struct code *code, uint64_t ip, unsigned signal_after, unsigned *seed,
                    struct walk *walk)
{
    struct code_insn insn;

    memset(walk, 0, sizeof(*walk));
    memset(&insn, 0, sizeof(insn));
    while (walk->count < signal_after) {
        assert_true(ip >= BASE && ip - BASE < SIZE);
        if (code->bytes[ip - BASE] == INT3) {
            walk->stopped = 1;
            ip++;
            break;
        }
        assert_int_equal(fetch(code, ip, &insn), 0);
        assert_true(walk->count < BLOCK_MAX); /* a way ends */
        walk->ran[walk->count++] = ip;
        if (insn.insn.iclass == PTL_INSN_JMP || insn.insn.iclass == PTL_INSN_CALL ||
            (insn.insn.iclass == PTL_INSN_JCC && rand_r(seed) % 2))
            ip = ptl_insn_target(&insn.insn, ip);
        else
            ip += insn.insn.size;
    }
    walk->rip = ip;
}

static void judge(const struct breaks *breaks, const struct block *block, const struct walk *walk)
{
    uint64_t rip = walk->rip;
    int ran;

    if (walk->stopped) {
        rip = breaks_hit(breaks, walk->rip);
        assert_int_equal(rip, walk->rip - 1);
    }
    ran = breaks_ran(breaks, block, rip);
    assert_int_equal(ran, walk->count);
    for (int i = 0; i < ran; i++)
        assert_int_equal(block->insn[i].ip, walk->ran[i]);
}

static void random_code(void **state)
{
    unsigned seed = 1;
    unsigned long ways = 0, instructions = 0, none = 0;
    (void)state;

    for (int program = 0; program < 400; program++) {
        struct code code, before;

        memset(&code, 0, sizeof(code));
        fill(&code, &seed);
        code.unknown = program % 4 ? SIZE : 200;
        for (int i = 0; i < 200; i++) {
            uint64_t ip = BASE + 32 + (uint64_t)(rand_r(&seed) % 400);
            struct breaks breaks;
            struct block block;
            struct walk walk;

            before = code;
            if (!breaks_plan(&breaks, &block, &code, ip, fetch, &code)) {
                assert_int_equal(breaks.count, 0);
                assert_int_equal(block.count, 0);
                none++;
                continue;
            }
            assert_true(block.count >= 2 && breaks.count >= 1);
            assert_int_equal(block.insn[0].ip, ip);
            assert_int_equal(breaks_set(&breaks, &code), 0);
            execute(&code, ip, i % 5 ? UINT32_MAX : (unsigned)(rand_r(&seed) % 8), &seed, &walk);
            judge(&breaks, &block, &walk);
            breaks_lift(&breaks, &code);
            assert_memory_equal(code.bytes, before.bytes, SIZE);
            ways++;
            instructions += walk.count;
        }
    }
    print_message("%lu ways of %lu instructions, %lu none\n", ways, instructions, none);
    assert_true(ways > 20000 && instructions > 2 * ways && none > 1000);
}

/* --- by hand ----------------------------------------------------------------------------- */

static void rows(void **state)
{
    static const struct {
        const char *what;
        uint8_t bytes[16];
        unsigned insns, breaks;
    } row[] = {
        {"straight on to a ret", {0x90, 0x90, 0x90, 0xc3}, 3, 1},
        {"one instruction is not worth it", {0x90, 0xc3}, 0, 0},
        {"to a system call", {0x90, 0x90, 0x0f, 0x05}, 2, 1},
        {"jcc, both ways", {0x90, 0x74, 0x20, 0x0f, 0x05}, 2, 2},
        {"along a jmp", {0x90, 0xeb, 0x02, 0xc3, 0xc3, 0x90, 0xc3}, 3, 1},
        {"jmp back to the beginning", {0x90, 0x90, 0xeb, 0xfc}, 2, 1},
        {"jcc back to the beginning", {0x90, 0x90, 0x75, 0xfc, 0xc3}, 2, 1},
        {"jcc into its fall-through path", {0x90, 0x74, 0x01, 0x90, 0x90, 0xc3}, 2, 2},
        {"jcc behind the prefix of an instruction",
         {0x90, 0x74, 0x01, 0xf0, 0xff, 0x00, 0xc3},
         2,
         2},
        {"two jcc to one place", {0x90, 0x74, 0x22, 0x75, 0x20, 0xc3}, 2, 2},
        {"jcc to the next instruction", {0x90, 0x90, 0x74, 0x00, 0x90, 0xc3}, 2, 1},
        {"four jcc", {0x74, 0x20, 0x75, 0x21, 0x74, 0x22, 0x75, 0x23, 0xc3}, 3, 4},
    };
    (void)state;

    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        struct code code;
        struct breaks breaks;
        struct block block;

        memset(&code, 0, sizeof(code));
        memset(code.bytes, 0x90, SIZE);
        code.unknown = SIZE;
        memcpy(code.bytes, row[i].bytes, sizeof(row[i].bytes));
        (void)breaks_plan(&breaks, &block, &code, BASE, fetch, &code);
        if (block.count != row[i].insns || breaks.count != row[i].breaks)
            fail_msg("%s: %u instructions, %u breakpoints", row[i].what, block.count, breaks.count);
    }
}

/* The code cannot be written: it is as before. */
static void refused(void **state)
{
    (void)state;

    for (unsigned fails = 1; fails <= 2; fails++) {
        struct code code, before;
        struct breaks breaks;
        struct block block;

        memset(&code, 0, sizeof(code));
        memset(code.bytes, 0x90, SIZE);
        memcpy(code.bytes, "\x90\x74\x20\xc3", 4);
        code.unknown = SIZE;
        code.fails = fails;
        before = code;
        assert_int_equal(breaks_plan(&breaks, &block, &code, BASE, fetch, &code), 1);
        assert_int_equal(breaks_set(&breaks, &code), -1);
        assert_int_equal(breaks.count, 0);
        assert_memory_equal(code.bytes, before.bytes, SIZE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows), cmocka_unit_test(random_code),
                                       cmocka_unit_test(refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
