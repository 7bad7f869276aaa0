/* SPDX-License-Identifier: BSD-3-Clause */
/* block_probe.c - does PTRACE_SINGLEBLOCK stop behind taken branches only? Hypervisors may run it
 * as single steps. */
#include "block.h"

#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define APPROACH 20000 /* steps from the child's first stop to its loop, at most */
#define ROUNDS   4

/* A loop of four instructions without a branch, and one that is taken; and one that is not. */
void block_probe_loop(void);
extern const char block_probe_top[], block_probe_end[];
__asm__(".text\n"
        ".type block_probe_loop, @function\n"
        "block_probe_loop:\n"
        "	mov $1000, %ecx\n"
        "block_probe_top:\n"
        "	nop\n"
        "	nop\n"
        "	test %ecx, %ecx\n"
        "	jz block_probe_end\n"
        "	dec %ecx\n"
        "	jnz block_probe_top\n"
        "block_probe_end:\n"
        "	ret\n"
        ".size block_probe_loop, . - block_probe_loop\n");

static void child(void)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) || raise(SIGSTOP))
        _exit(1);
    block_probe_loop();
    _exit(0);
}

/* The next place where the child stops; 0: it does not. */
static uint64_t next_stop(pid_t pid)
{
    int status;

    if (ptrace(PTRACE_SINGLEBLOCK, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid ||
        !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
        return 0;
    return (uint64_t)ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, rip), NULL);
}

static int watch(pid_t pid)
{
    const uint64_t top = (uint64_t)(uintptr_t)block_probe_top;
    const uint64_t end = (uint64_t)(uintptr_t)block_probe_end;
    uint64_t rip = 1;

    for (int i = 0; i < APPROACH && rip && !(rip >= top && rip < end); i++)
        rip = next_stop(pid);
    for (int i = 0; i < ROUNDS && rip; i++) {
        if (next_stop(pid) != top)
            return 0;
    }
    return rip != 0;
}

int block_probe(void)
{
    int status, works;
    pid_t pid = fork();

    if (pid == 0)
        child();
    if (pid < 0)
        return 0;
    works = waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && watch(pid);
    kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) == pid && !WIFEXITED(status) && !WIFSIGNALED(status))
        ;
    return works;
}
