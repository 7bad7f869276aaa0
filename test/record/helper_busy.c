/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helper_busy.c - something to record: helper_busy MS THREADS [EXIT-STATUS]. All threads compute
 * for MS milliseconds; the last half of them start only then and compute as long again.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

static __attribute__((noinline)) unsigned hot(unsigned n)
{
    for (volatile unsigned i = 0; i < 1000; i++)
        n = n * 1664525u + 1013904223u;
    return n;
}

static void *compute(void *until)
{
    uint64_t end = now_ms() + *(const uint64_t *)until;
    unsigned n = 1;

    while (now_ms() < end)
        n = hot(n);
    return n ? NULL : until;
}

int main(int argc, char **argv)
{
    uint64_t ms = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
    int threads = argc > 2 ? atoi(argv[2]) : 1, first = (threads + 1) / 2;
    pthread_t id[16];

    for (int i = 0; i < threads && i < 16; i++) {
        if (i == first)
            compute(&ms);
        if (pthread_create(&id[i], NULL, compute, &ms))
            return 99;
    }
    for (int i = 0; i < threads && i < 16; i++)
        pthread_join(id[i], NULL);
    return argc > 3 ? atoi(argv[3]) : 0;
}
