/* SPDX-License-Identifier: BSD-3-Clause */
/* filtered.c - functions that call each other, for address filters. */
#include <stdio.h>

static volatile int bias;

__attribute__((noinline)) int leaf(int a)
{
    return a * 3 + bias;
}

__attribute__((noinline)) int hot(int n)
{
    int sum = 0;

    for (int i = 0; i < n; i++) {
        sum += i & 1 ? leaf(i) : -i;
        if (sum == 12345)
            return 7;
    }
    return sum;
}

__attribute__((noinline)) int cold(int n)
{
    int sum = 0;

    for (int i = 0; i < n; i++)
        sum += leaf(i) ^ i;
    return sum;
}

int main(void)
{
    int sum = 0;

    for (int i = 0; i < 20; i++) {
        sum += hot(10);
        sum += cold(7);
    }
    printf("%d\n", sum);
    return 0;
}
