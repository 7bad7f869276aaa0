/* 64-bit code that makes system calls by INT 0x80, where the kernel knows that. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    int sum = 0;

    for (int i = 0; i < 10; i++) {
        long pid;

        __asm__ volatile("int $0x80" : "=a"(pid) : "a"(20) : "r8", "r9", "r10", "r11", "memory");
        sum += pid == getpid();
    }
    printf("%d\n", sum);
    return sum != 10;
}
