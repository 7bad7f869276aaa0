/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_encode.c - packets from any fields: what can be written reads back as the same packet, and
 * is written the same way again. (From any bytes: fuzz_packet.c.)
 *
 * Input: one packet after the other; a byte for the type, then as many bytes of payload as the
 * struct has.
 */
#include <pt/packet.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void one(const struct ptl_packet *packet)
{
    uint8_t bytes[PTL_PACKET_MAX_SIZE], again[PTL_PACKET_MAX_SIZE];
    struct ptl_packet back;
    int n = ptl_packet_encode(bytes, sizeof(bytes), packet), flags = 0;

    if (n == PTL_BAD_PACKET || n == PTL_BAD_OPC)
        return;
    if (n < 1 || n > (int)sizeof(bytes))
        abort();
    /* Too small a buffer is said, and not written to. */
    memset(again, 0x5a, sizeof(again));
    if (ptl_packet_encode(again, (size_t)n - 1, packet) != PTL_EOS || again[n - 1] != 0x5a)
        abort();
    if (packet->type == PTL_PKT_BIP) /* its size is that of the block it stands in */
        flags = n == 5 ? PTL_DECODE_BLOCK4 : PTL_DECODE_BLOCK8;
    if (ptl_packet_decode(&back, bytes, (size_t)n, (uint32_t)flags) != n ||
        back.type != packet->type || back.size != n)
        abort();
    if (ptl_packet_encode(again, sizeof(again), &back) != n || memcmp(bytes, again, (size_t)n) != 0)
        abort();
    for (int len = 0; len < n; len++)
        if (ptl_packet_decode(&back, bytes, (size_t)len, (uint32_t)flags) > 0 && len > 1)
            abort(); /* no packet is the beginning of another */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ptl_packet packet;

    while (size > 0) {
        size_t n;

        memset(&packet, 0, sizeof(packet));
        packet.type = (uint8_t)(data[0] % (PTL_PKT_MAX_VALUE + 2));
        data++;
        size--;
        n = size < sizeof(packet.payload) ? size : sizeof(packet.payload);
        memcpy(&packet.payload, data, n);
        data += n;
        size -= n;
        one(&packet);
    }
    return 0;
}
