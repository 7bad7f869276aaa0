/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hex.h - digits and words for the hot paths. Hexadecimal digits are made eight nibbles at a
 * time, without loop or table.
 */
#ifndef TOOL_HEX_H
#define TOOL_HEX_H

#include <stdint.h>
#include <string.h>

/* The 8 lower-case digits of `value`, the first one in the lowest byte. */
static inline uint64_t hex8(uint32_t value)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t v = __builtin_bswap32(value), letters;

    v = (v | v << 16) & 0x0000ffff0000ffffu; /* one byte in two places, */
    v = (v | v << 8) & 0x00ff00ff00ff00ffu;
    v = (v >> 4 & 0x000f000f000f000fu) | (v & 0x000f000f000f000fu) << 8; /* one nibble in each */
    letters = (v + 6 * ones) >> 4 & ones; /* 1 where the nibble is above 9 */
    return v + '0' * ones + letters * ('a' - '0' - 10);
}

/* 16 digits at `p`, not terminated. */
static inline void hex16(char *p, uint64_t value)
{
    uint64_t high = hex8((uint32_t)(value >> 32)), low = hex8((uint32_t)value);

    memcpy(p, &high, 8);
    memcpy(p + 8, &low, 8);
}

/* The digits of `value` without leading zeros; writes 16 bytes. Returns the end. */
static inline char *hex_short(char *p, uint64_t value)
{
    char digits[32];
    unsigned zeros = (unsigned)__builtin_clzll(value | 1) / 4;

    hex16(digits, value);
    memset(digits + 16, 0, 16);
    memcpy(p, digits + zeros, 16);
    return p + 16 - zeros;
}

/* Append a short word, without terminator. Returns the end. */
static inline char *put_word(char *p, const char *word)
{
    while (*word)
        *p++ = *word++;
    return p;
}

#endif
