/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_packet.c - packets from any bytes: sizes, what the end cuts off, and the encoder as
 * the inverse.
 *
 * The first byte chooses the decode flags. Every packet lies at the end of a heap block.
 */
#include <pt/packet.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was encoded from a decoded packet decodes to something that encodes the same. */
static void check_round_trip(const struct ptl_packet *packet, uint32_t flags)
{
    uint8_t first[64], second[64];
    struct ptl_packet again;
    int n = ptl_packet_encode(first, sizeof(first), packet);
    if (n < 0)
        return;
    if (ptl_packet_decode(&again, first, (size_t)n, flags) != n || again.type != packet->type ||
        ptl_packet_encode(second, sizeof(second), &again) != n ||
        memcmp(first, second, (size_t)n) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t flags, errata;
    uint8_t *block;
    size_t at = 0;

    if (size < 1)
        return 0;
    errata = data[0] & (PTL_DECODE_SKZ84 | PTL_DECODE_SKD007);
    flags = errata;
    size--;
    block = malloc(size ? size : 1);
    if (!block)
        return 0;
    memcpy(block, data + 1, size);
    while (at < size) {
        struct ptl_packet packet, cut;
        int n = ptl_packet_decode(&packet, block + at, size - at, flags);
        if (n < 0) {
            if (n != PTL_EOS && n != PTL_BAD_OPC && n != PTL_BAD_PACKET)
                abort();
            at++;
            flags = errata;
            continue;
        }
        if (n == 0 || (size_t)n > size - at || !ptl_packet_name(packet.type))
            abort();
        if (ptl_packet_decode(&cut, block + at, (size_t)n, flags) != n)
            abort();
        check_round_trip(&packet, flags);
        flags = ptl_packet_next_flags(&packet, flags);
        at += (size_t)n;
    }
    at = ptl_psb_find(block, size, 0);
    if (at != SIZE_MAX && (at + 16 > size || ptl_psb_find_last(block, size, size) < at))
        abort();
    free(block);
    return 0;
}
