/* 32-bit code inside of a 64-bit program: far jumps there and back. The instructions there have
 * the same length in both modes, since some decoders go by the class of the ELF file. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static const char code32[] = "\xb8\x05\x00\x00\x00" /* mov $5, %eax */
                             "\x83\xc0\x02"         /* 1: add $2, %eax */
                             "\x83\xf8\x0b"         /* cmp $11, %eax */
                             "\x75\xf8"             /* jne 1b */
                             "\xcb";                /* lretl */

int main(void)
{
    uint8_t *low = mmap((void *)0x10000000, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    uint64_t result = 0, stack;
    struct {
        uint32_t ip;
        uint16_t cs;
    } __attribute__((packed)) there = {(uint32_t)(uintptr_t)low, 0x23};

    memcpy(low, code32, sizeof(code32));
    stack = (uint64_t)(uintptr_t)(low + 8192 - 64);
    for (int i = 0; i < 3; i++) {
        __asm__ volatile("mov %%rsp, %%rbx\n\t"
                         "mov %[stack], %%rsp\n\t"
                         "lcall *(%[there])\n\t"
                         "mov %%rbx, %%rsp\n\t"
                         : "=a"(result)
                         : [stack] "r"(stack), [there] "r"(&there) /* not by RSP */
                         : "rbx", "memory", "cc");
    }
    printf("%d\n", (int)result);
    return 0;
}
