/* 32-bit code: INT 0x80, whatever the [vdso] uses, a signal, a far jump to 64-bit code and back
 * (not with STAY32: qemu's emulated CPU crashes in the far return). The 64-bit instructions have
 * the same length in both modes: perf goes by the class of the ELF file. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile int hits;

static void handler(int sig)
{
    hits += sig;
}

static int __attribute__((noinline)) deep(int n)
{
    return n ? deep(n - 1) + 1 : 0;
}

static int far_and_back(void)
{
    int result = 7;

#ifndef STAY32
    __asm__ volatile("ljmp $0x33, $1f\n"
                     "1:\t.code64\n\t"
                     "mov $7, %%eax\n\t"
                     ".byte 0x68\n\t.long 2f\n\t" /* push $2f */
                     "movl $0x23, 4(%%rsp)\n\t"
                     "lretl\n\t"
                     ".code32\n"
                     "2:\n"
                     : "=a"(result)
                     :
                     : "memory");
#endif
    return result;
}

int main(void)
{
    int pid;

    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    __asm__ volatile("int $0x80" : "=a"(pid) : "a"(20));
    printf("%d %d %d %d\n", hits, pid == getpid(), deep(100), far_and_back());
    return 0;
}
