/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * storm.c - storm exec|fork|bomb|threads N: a program that replaces itself N times; processes that
 * each make two more, to a depth of N, or (bomb) until there can be no more; N threads. Without a C
 * library, so that all of it is the storm: build with -nostdlib -static.
 */
#include <sys/syscall.h>

#define CLONE_THREAD_FLAGS 0x50f00 /* VM, FS, FILES, SIGHAND, THREAD, SYSVSEM */
#define THREADS_MAX        4096

static char stacks[THREADS_MAX][256] __attribute__((aligned(16)));
static volatile int ended;

static long call(long number, long a, long b, long c, long d)
{
    register long r10 __asm__("r10") = d;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

static void leave(int status)
{
    call(SYS_exit_group, status, 0, 0, 0);
}

/* A thread counts itself and ends, without a stack of its own code. */
static long begin_thread(char *top)
{
    long result;

    __asm__ volatile("xor %%r10d, %%r10d\n\t"
                     "xor %%r8d, %%r8d\n\t"
                     "syscall\n\t"
                     "test %%eax, %%eax\n\t"
                     "jnz 1f\n\t"
                     "lock incl %[ended]\n\t"
                     "xor %%edi, %%edi\n\t"
                     "mov %[exit], %%eax\n\t"
                     "syscall\n"
                     "1:"
                     : "=a"(result), [ended] "+m"(ended)
                     : "a"(SYS_clone), "D"(CLONE_THREAD_FLAGS), "S"(top),
                       "d"(0), [exit] "i"(SYS_exit)
                     : "rcx", "r8", "r10", "r11", "memory");
    return result;
}

static void threads(int n)
{
    for (int i = 0; i < n; i++)
        if (begin_thread(stacks[i] + sizeof(stacks[i])) < 0)
            leave(1);
    while (ended < n)
        call(SYS_sched_yield, 0, 0, 0, 0);
}

static void forks(int depth, int may_fail)
{
    for (int i = 0; depth && i < 2; i++) {
        long pid = call(SYS_fork, 0, 0, 0, 0);
        if (pid < 0 && !may_fail)
            leave(1);
        if (!pid) {
            forks(depth - 1, may_fail);
            leave(0);
        }
    }
    while (call(SYS_wait4, -1, 0, 0, 0) > 0)
        ;
}

static int number(const char *s)
{
    int n = 0;

    for (; *s; s++)
        n = n * 10 + (*s - '0');
    return n;
}

/* Count the digits down where they stand. */
static void execs(char **argv)
{
    char *s = argv[2], *last = s;

    while (last[1])
        last++;
    while (last > s && *last == '0')
        *last-- = '9';
    --*last;
    call(SYS_execve, (long)argv[0], (long)argv, 0, 0);
    leave(1);
}

__attribute__((used)) static void run(long *stack)
{
    char **argv = (char **)(stack + 1);
    int n = stack[0] > 2 ? number(argv[2]) : 0;

    if (argv[1][0] == 'e' && n)
        execs(argv);
    else if (argv[1][0] == 'f' || argv[1][0] == 'b')
        forks(n, argv[1][0] == 'b');
    else if (argv[1][0] == 't' && n <= THREADS_MAX)
        threads(n);
    leave(0);
}

__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall run\n");
