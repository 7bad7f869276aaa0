/* SPDX-License-Identifier: BSD-3-Clause */
/* decode.c - the public names of decode.h. */
#include "packet/decode.h"

int ptl_packet_decode(struct ptl_packet *packet, const uint8_t *buf, size_t len, uint32_t flags)
{
    return ptl__decode(packet, buf, len, flags);
}

uint32_t ptl_packet_next_flags(const struct ptl_packet *packet, uint32_t flags)
{
    return ptl__next_flags(packet, flags);
}
