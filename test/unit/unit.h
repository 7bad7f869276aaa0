/* SPDX-License-Identifier: BSD-3-Clause */
/* unit.h - what every unit test needs: cmocka, and three small helpers. */
#ifndef TEST_UNIT_H
#define TEST_UNIT_H

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
// clang-format on

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Hex text to bytes; returns their number. */
static inline size_t unhex(uint8_t *bytes, const char *hex)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;

    for (; hex[0] && hex[1]; hex += 2)
        bytes[n++] =
            (uint8_t)((strchr(digits, hex[0]) - digits) << 4 | (strchr(digits, hex[1]) - digits));
    return n;
}

/* A random number, the same sequence for the same seed (splitmix64). */
static inline uint64_t rnd(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

#endif
