/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_psb.c - the search for PSBs against one that compares at every offset.
 *
 * Mutators seldom make the 16 bytes of a PSB, so each byte of the input stands for a piece: a
 * whole PSB, a half of the pattern, or itself.
 */
#include <pt/packet.h>
#include <stdlib.h>
#include <string.h>

#define PSB 16
#define CAP 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t expand(uint8_t *out, const uint8_t *data, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < size && n + PSB <= CAP; i++) {
        unsigned pairs = data[i] >> 5 == 7 ? data[i] & 15 : 0;

        if (!pairs)
            out[n++] = data[i];
        for (unsigned k = 0; k < pairs && n + 2 <= CAP; k++) {
            out[n++] = 0x02;
            out[n++] = 0x82;
        }
    }
    return n;
}

static int is_psb(const uint8_t *p, size_t len, size_t at)
{
    if (at > len || len - at < PSB)
        return 0;
    for (unsigned i = 0; i < PSB; i++)
        if (p[at + i] != (i & 1 ? 0x82 : 0x02))
            return 0;
    return 1;
}

/* Of a longer run only the last 16 bytes are the PSB. */
static int counts(const uint8_t *p, size_t len, size_t at)
{
    return is_psb(p, len, at) && !is_psb(p, len, at + 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t text[CAP], *block;
    size_t n = expand(text, data, size), next = 0, last = SIZE_MAX;

    block = malloc(n ? n : 1);
    if (!block)
        return 0;
    memcpy(block, text, n);
    for (size_t from = 0; from <= n; from++) {
        if (from && counts(block, n, from - 1))
            last = from - 1;
        if (next < from)
            next = from;
        while (next < n && !counts(block, n, next))
            next++;
        if (ptl_psb_find(block, n, from) != next || ptl_psb_find_last(block, n, from) != last)
            abort();
    }
    free(block);
    return 0;
}
