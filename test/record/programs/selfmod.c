/* Code that changes: in place, by turns of mprotect, through a second mapping, at an address
 * that is mapped anew, and in the page of the code that changes it. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int (*function)(void);

/* mov $n, %eax; [add $1, %eax;] ret */
static size_t emit(uint8_t *at, int n, int more)
{
    uint8_t *p = at;

    *p++ = 0xb8;
    memcpy(p, &n, sizeof(n));
    p += sizeof(n);
    for (int i = 0; i < more; i++) {
        memcpy(p, "\x83\xc0\x01", 3);
        p += 3;
    }
    *p++ = 0xc3;
    return (size_t)(p - at);
}

int main(void)
{
    const size_t page = 4096;
    int sum = 0, fd;
    uint8_t *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *q;

    for (int i = 0; i < 5; i++) { /* writable all the time, growing, then across two pages */
        emit(p, i, i);
        sum += ((function)(uintptr_t)p)();
        emit(p + page - 4, i, 2 * i + 1);
        sum += ((function)(uintptr_t)(p + page - 4))();
    }
    for (int i = 0; i < 3; i++) { /* a careful compiler */
        mprotect(p, page, PROT_READ | PROT_WRITE);
        emit(p, 10 * i, i % 2);
        mprotect(p, page, PROT_READ | PROT_EXEC);
        sum += ((function)(uintptr_t)p)();
    }
    sum += ((function)(uintptr_t)p)();
    fd = memfd_create("code", 0); /* two views of one page */
    if (fd < 0 || ftruncate(fd, (off_t)page))
        return 1;
    p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    q = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    for (int i = 0; i < 3; i++) {
        emit(p, 100 + i, 3 - i);
        sum += ((function)(uintptr_t)q)();
    }
    for (int i = 0; i < 3; i++) { /* the same address for something else */
        munmap(q, page);
        q = mmap(q, page, PROT_READ | PROT_WRITE | PROT_EXEC,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        emit(q, 1000 + i, 1);
        sum += ((function)(uintptr_t)q)();
    }
    /* It overwrites what follows at once: movb $2, 1(next); next: mov $1, %eax; ret */
    memcpy(q, "\xc6\x05\x01\x00\x00\x00\x02\xb8\x01\x00\x00\x00\xc3", 13);
    sum += ((function)(uintptr_t)q)();
    printf("%d\n", sum);
    return 0;
}
