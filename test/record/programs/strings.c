/* Repeated string instructions: with many, one and no iterations, and ones that end early. */
#include <stdio.h>
#include <string.h>

static void copy(void *to, const void *from, size_t n)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static size_t find_zero(const char *s)
{
    size_t n = 1000;

    __asm__ volatile("repne scasb" : "+D"(s), "+c"(n) : "a"(0) : "memory");
    return 1000 - n - 1;
}

int main(void)
{
    char a[200] = "a few words to copy", b[200];
    size_t sum = 0;

    for (size_t i = 0; i < 40; i++) {
        copy(b, a, i % 20);
        sum += find_zero(a + i % 10);
    }
    memset(b, 1, sizeof(b));
    printf("%zu %d\n", sum, b[7]);
    return 0;
}
