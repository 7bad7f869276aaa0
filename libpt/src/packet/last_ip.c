/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * last_ip.c - the address that compressed IP payloads update.
 *
 * Source: Intel SDM vol. 3, "Intel Processor Trace", section "IP Compression".
 */
#include <pt/packet.h>

static uint64_t sext48(uint64_t ip)
{
    const uint64_t sign = (uint64_t)1 << 47;

    ip &= (sign << 1) - 1;
    return (ip ^ sign) - sign;
}

/* `ip` with its low `bits` (< 64) bits from `payload`. */
static uint64_t replace(uint64_t ip, uint64_t payload, unsigned bits)
{
    uint64_t mask = ((uint64_t)1 << bits) - 1;

    return (ip & ~mask) | (payload & mask);
}

int ptl_last_ip_update(struct ptl_last_ip *last, uint8_t ipc, uint64_t payload)
{
    switch (ipc) {
    case PTL_IPC_SUPPRESSED:
        last->suppressed = 1;
        return 0;
    case PTL_IPC_UPDATE_16:
        last->ip = replace(last->ip, payload, 16);
        break;
    case PTL_IPC_UPDATE_32:
        last->ip = replace(last->ip, payload, 32);
        break;
    case PTL_IPC_UPDATE_48:
        last->ip = replace(last->ip, payload, 48);
        break;
    case PTL_IPC_SEXT_48:
        last->ip = sext48(payload);
        break;
    case PTL_IPC_FULL:
        last->ip = payload;
        break;
    default:
        return PTL_BAD_PACKET;
    }
    last->have_ip = 1;
    last->suppressed = 0;
    return 0;
}

enum ptl_ip_compression ptl_last_ip_compress(const struct ptl_last_ip *last, uint64_t ip,
                                             uint64_t *payload)
{
    /* Behind PSB there is nothing to update: hardware then writes all of a low address, too, and
     * readers that keep the address from before the PSB get the right one. */
    uint64_t differ = last->have_ip ? last->ip ^ ip : UINT64_MAX;

    if (differ >> 16 == 0) {
        *payload = ip & 0xffff;
        return PTL_IPC_UPDATE_16;
    }
    if (differ >> 32 == 0) {
        *payload = ip & 0xffffffff;
        return PTL_IPC_UPDATE_32;
    }
    *payload = ip & 0xffffffffffff;
    if (sext48(ip) == ip)
        return PTL_IPC_SEXT_48;
    if (differ >> 48 == 0)
        return PTL_IPC_UPDATE_48;
    *payload = ip;
    return PTL_IPC_FULL;
}
