/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_block.c - which instructions have executed between two taken branches: inferred from where
 * a thread began and stopped, against what really executed. A simulated CPU with a working branch
 * step tells only of its taken branches; what it executes comes from random code, and from a real
 * program that is stepped instruction by instruction.
 */
#include "unit.h"

#include "../../ptcapture/block.c" /* NOLINT(bugprone-suspicious-include): part of a program */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define BASE 0x400000u

/* --- the code --------------------------------------------------------------------- */

struct memory {
    uint8_t bytes[512];
    pid_t pid; /* 0: `bytes` at BASE */
};

static int fetch(void *context, uint64_t ip, struct code_insn *insn)
{
    const struct memory *memory = context;
    uint8_t bytes[PTL_INSN_MAX_SIZE];
    struct iovec local = {bytes, sizeof(bytes)}, remote = {NULL, sizeof(bytes)};

    remote.iov_base = (void *)(uintptr_t)ip; /* NOLINT(performance-no-int-to-ptr) */
    if (memory->pid) {
        if (process_vm_readv(memory->pid, &local, 1, &remote, 1, 0) != (ssize_t)sizeof(bytes))
            return -1;
    } else {
        if (ip < BASE || ip > BASE + sizeof(memory->bytes) - sizeof(bytes))
            return -1;
        memcpy(bytes, memory->bytes + (ip - BASE), sizeof(bytes));
    }
    insn->ip = ip;
    insn->settled = 1;
    insn->traits = 0;
    if (ptl_insn_decode(&insn->insn, bytes, sizeof(bytes), PTL_MODE_64) < 0)
        return -1;
    if (insn->insn.iclass == PTL_INSN_FAR_CALL)
        insn->traits = CODE_SYSCALL;
    return 0;
}

/* --- the inference beside the truth ---------------------------------------------------- */

struct follower {
    struct memory memory;
    struct block block;
    unsigned begun; /* a block is being stepped: instructions of it so far */
    uint64_t ran[BLOCK_MAX + 1];
    unsigned long blocks, singles, in_blocks;
};

static void finish(struct follower *f, uint64_t rip, int branched)
{
    int n = block_ran(&f->block, rip, branched);

    assert_int_equal(n, f->begun);
    for (int i = 0; i < n; i++)
        assert_int_equal(f->block.insn[i].ip, f->ran[i]);
    f->blocks++;
    f->in_blocks += f->begun;
    f->begun = 0;
    f->block.count = 0;
}

/* The instruction at `ip` has executed, `next` follows; `interrupted`: by a signal then. */
static void executed(struct follower *f, uint64_t ip, uint64_t next, int interrupted)
{
    struct code_insn insn;
    int branched;

    assert_int_equal(fetch(&f->memory, ip, &insn), 0);
    /* All branches but conditional ones are taken; those may go to the next instruction, too. */
    branched = insn.insn.iclass == PTL_INSN_JCC
                   ? next != ip + insn.insn.size
                   : insn.insn.iclass != PTL_INSN_OTHER && insn.insn.iclass != PTL_INSN_MOV_CR3;
    if (!f->block.count && !block_plan(&f->block, ip, fetch, &f->memory)) {
        f->singles++;
        return;
    }
    assert_true(f->begun < BLOCK_MAX);
    f->ran[f->begun++] = ip;
    if (branched)
        finish(f, next, 1);
    else if (interrupted)
        finish(f, next, 0);
}

/* --- random code ----------------------------------------------------------------------- */

/* Short instructions of all kinds, dense enough that branches meet often. */
static void fill(struct memory *memory, unsigned *seed)
{
    size_t at = 0;

    memset(memory, 0, sizeof(*memory));
    while (at < sizeof(memory->bytes) - 32) {
        uint8_t *p = memory->bytes + at;
        int to = rand_r(seed) % 24 - 12;

        switch (rand_r(seed) % 12) {
        case 0: /* jcc */
        case 1:
        case 2:
            p[0] = (uint8_t)(0x70 | (rand_r(seed) & 15));
            p[1] = (uint8_t)(rand_r(seed) % 3 ? rand_r(seed) % 12 : to);
            at += 2;
            break;
        case 3: /* jmp */
            p[0] = 0xeb;
            p[1] = (uint8_t)(rand_r(seed) % 12);
            at += 2;
            break;
        case 4: /* ret */
            p[0] = 0xc3;
            at += 1;
            break;
        case 5: /* call *rax, jmp *rax */
            p[0] = 0xff;
            p[1] = rand_r(seed) & 1 ? 0xd0 : 0xe0;
            at += 2;
            break;
        case 6: /* syscall */
            p[0] = 0x0f;
            p[1] = 0x05;
            at += 2;
            break;
        default: /* nop */
            *p = 0x90;
            at += 1;
            break;
        }
    }
    memset(memory->bytes + at, 0x90, sizeof(memory->bytes) - at);
}

static void random_code(void **state)
{
    unsigned seed = 1;
    unsigned long blocks = 0, singles = 0, in_blocks = 0;
    (void)state;

    for (int program = 0; program < 300; program++) {
        struct follower f;
        uint64_t ip = BASE;

        memset(&f, 0, sizeof(f));
        fill(&f.memory, &seed);
        for (int step = 0; step < 3000; step++) {
            struct code_insn insn;
            uint64_t next;

            if (fetch(&f.memory, ip, &insn) || ip > BASE + 400)
                break;
            next = ip + insn.insn.size;
            if (is_indirect(&insn.insn)) /* to where others go, too */
                next = BASE + (uint64_t)(rand_r(&seed) % 60);
            else if (is_direct(&insn.insn) ||
                     (insn.insn.iclass == PTL_INSN_JCC && rand_r(&seed) % 2))
                next = ptl_insn_target(&insn.insn, ip);
            if (next < BASE)
                break;
            executed(&f, ip, next, rand_r(&seed) % 50 == 0);
            ip = next;
        }
        blocks += f.blocks;
        singles += f.singles;
        in_blocks += f.in_blocks;
    }
    print_message("%lu blocks of %lu instructions, %lu alone\n", blocks, in_blocks, singles);
    assert_true(blocks > 10000 && in_blocks > 2 * blocks && singles > 1000);
}

/* --- a real program ---------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void work(void)
{
    char text[64][24];
    const char *sorted[64];
    double sum = 0;

    for (int i = 0; i < 64; i++) {
        snprintf(text[i], sizeof(text[i]), "%d:%g", i * 7919 % 64, i / 7.0);
        sorted[i] = text[i];
        sum += strtod(text[i] + 2, NULL);
    }
    qsort(sorted, 64, sizeof(*sorted), compare);
    _exit(sum < 1);
}

static void real_code(void **state)
{
    struct follower f;
    struct user_regs_struct regs;
    uint64_t ip;
    int status;
    pid_t pid = fork();
    (void)state;

    if (!pid) {
        if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL) && !raise(SIGSTOP))
            work();
        _exit(99);
    }
    memset(&f, 0, sizeof(f));
    f.memory.pid = pid;
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSTOPPED(status))
        skip();
    assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
    ip = regs.rip;
    for (int step = 0; step < 50000; step++) {
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid ||
            !WIFSTOPPED(status))
            break;
        assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
        if (regs.rip != ip) /* else an iteration of a repeated instruction */
            executed(&f, ip, regs.rip, 0);
        ip = regs.rip;
    }
    if (WIFSTOPPED(status)) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    print_message("%lu blocks of %lu instructions, %lu alone\n", f.blocks, f.in_blocks, f.singles);
    assert_true(f.blocks > 1000 && f.in_blocks > 2 * f.blocks);
}

/* --- what is not clear --------------------------------------------------------------------- */

static void rows(void **state)
{
    static const struct {
        const char *what;
        uint8_t bytes[16];
        int plan;
    } row[] = {
        {"jmp", {0x90, 0xeb, 0x10}, 1},
        {"ret", {0x90, 0xc3}, 1},
        {"jcc, jmp", {0x74, 0x20, 0xeb, 0x10}, 1},
        {"a loop: jcc to the beginning", {0x90, 0x75, 0xfd, 0xeb, 0x10}, 1},
        {"jcc, ret: could return to where jcc goes", {0x74, 0x20, 0xc3}, 0},
        {"jcc into its fall-through path", {0x74, 0x01, 0x90, 0x90, 0xeb, 0x10}, 0},
        {"two jcc to one place", {0x74, 0x22, 0x75, 0x20, 0xeb, 0x10}, 0},
        {"jcc and jmp to one place", {0x74, 0x12, 0xeb, 0x10}, 0},
        {"syscall", {0x90, 0x0f, 0x05, 0xeb, 0x10}, 0},
        {"jcc to the next instruction", {0x74, 0x00, 0xeb, 0x10}, 0},
    };
    (void)state;

    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        struct memory memory;
        struct block block;

        memset(&memory, 0x90, sizeof(memory));
        memory.pid = 0;
        memcpy(memory.bytes, row[i].bytes, sizeof(row[i].bytes));
        if (block_plan(&block, BASE, fetch, &memory) != row[i].plan)
            fail_msg("%s", row[i].what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows), cmocka_unit_test(random_code),
                                       cmocka_unit_test(real_code)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
