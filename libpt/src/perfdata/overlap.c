/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overlap.c - what a snapshot has in common with the one before.
 *
 * Two copies of a ring overlap if less than a ring's worth of trace was written in
 * between: then the end of the older one is the start of the newer one, perhaps in the
 * middle of a packet. The common part is found by content: the newer one's first PSB+
 * block (its TSC makes it unique) is searched in the older one, and what follows there
 * to the end must be equal; what precedes it in the newer one must be equal, too.
 */
#include "perfdata/internal.h"

#define PSB_SIZE  16
#define KEY_MAX   64 /* PSB, TSC, TMA, CBR, ...: enough of a PSB+ to hold its TSC */
#define KEY_MIN   (PSB_SIZE + 8)
#define MAX_TRIES 4096

static const uint8_t psb[PSB_SIZE] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
                                      2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};

static const uint8_t *find(const uint8_t *hay, uint64_t hay_len, const uint8_t *needle, size_t len)
{
    return hay_len >= len ? memmem(hay, hay_len, needle, len) : NULL;
}

/* Buffers are padded to 8 with zero bytes. */
static uint64_t without_padding(const uint8_t *p, uint64_t len)
{
    for (unsigned i = 0; i < 7 && len && !p[len - 1]; i++)
        len--;
    return len;
}

uint64_t ptl__overlap(const uint8_t *a, uint64_t a_len, const uint8_t *b, uint64_t b_len,
                      int *adjoins)
{
    const uint8_t *first = find(b, b_len, psb, PSB_SIZE), *at = a;
    uint64_t lead, key_len, whole = b_len;

    *adjoins = 0;
    a_len = without_padding(a, a_len);
    b_len = without_padding(b, b_len);
    if (!first || b_len < (uint64_t)(first - b))
        return 0;
    lead = (uint64_t)(first - b);
    key_len = b_len - lead < KEY_MAX ? b_len - lead : KEY_MAX;
    for (unsigned tries = 0; tries < MAX_TRIES && key_len >= KEY_MIN; tries++) {
        uint64_t left, before;
        at = find(at, a_len - (uint64_t)(at - a), first, key_len);
        if (!at) {
            /* The PSB+ may stand at the very end of the older one: try what is left of it. */
            if (key_len == KEY_MIN)
                return 0;
            key_len = KEY_MIN;
            at = a;
            continue;
        }
        left = a_len - (uint64_t)(at - a);
        before = (uint64_t)(at - a);
        if (before >= lead && !memcmp(at - lead, b, lead)) {
            /* All of the newer one may be in the older one. */
            uint64_t common = left < b_len - lead ? left : b_len - lead;
            if (!memcmp(at, first, common)) {
                *adjoins = common == left;
                return lead + common == b_len ? whole : lead + common;
            }
        }
        at++;
    }
    return 0;
}
