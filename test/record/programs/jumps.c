/* setjmp and longjmp over many frames, recursion deeper than the 64 returns that a core
 * remembers, jump tables, calls through pointers, a call whose return address is taken away. */
#include <setjmp.h>
#include <stdio.h>

static jmp_buf out;

static int __attribute__((noinline)) dive(int n)
{
    if (n == 0)
        longjmp(out, 7);
    return dive(n - 1) + 1;
}

static int __attribute__((noinline)) deep(int n)
{
    return n ? deep(n - 1) * 3 + 1 : 0;
}

static int __attribute__((noinline)) table(int n)
{
    switch (n & 15) {
    case 0:
        return n + 3;
    case 1:
        return n * 5;
    case 2:
        return n ^ 0x55;
    case 3:
        return n - 9;
    case 4:
        return n | 64;
    case 5:
        return deep(3);
    case 6:
        return n << 2;
    case 7:
        return -n;
    default:
        return n;
    }
}

static int twice(int n)
{
    return 2 * n;
}

static int thrice(int n)
{
    return 3 * n;
}

/* call next; pop: as position-independent code of old does, and a retpoline. */
static long __attribute__((noinline)) odd_calls(void)
{
    long here;

    __asm__ volatile("call 1f\n"
                     "1:\tpop %0\n\t"
                     "call 3f\n"
                     "2:\tjmp 2b\n"
                     "3:\tlea 4f(%%rip), %%rax\n\t"
                     "mov %%rax, (%%rsp)\n\t"
                     "ret\n"
                     "4:\n"
                     : "=&r"(here)
                     :
                     : "rax", "memory");
    return here;
}

int main(void)
{
    int (*volatile call[])(int) = {twice, thrice, deep};
    volatile int sum = 0;

    for (int i = 1; i < 100; i += 13) {
        if (!setjmp(out))
            sum += dive(i);
        else
            sum += i;
        sum += deep(i * 2);
    }
    for (int i = 0; i < 200; i++) {
        sum += table(i);
        sum += call[i % 3](i % 10);
    }
    sum += odd_calls() != 0;
    printf("%d\n", sum);
    return 0;
}
