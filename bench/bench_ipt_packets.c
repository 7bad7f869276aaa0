/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_ipt_packets.c - the same with libipt: bench_ipt_packets TRACE. */
#include "infile.h"

#include <intel-pt.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct pt_packet_decoder *decoder;
    struct pt_config config;
    struct infile trace;
    uint64_t packets = 0;

    if (argc != 2 || infile_open(&trace, argv[0], argv[1]))
        return 2;
    pt_config_init(&config);
    config.begin = (uint8_t *)(uintptr_t)trace.bytes;
    config.end = config.begin + trace.len;
    decoder = pt_pkt_alloc_decoder(&config);
    if (!decoder || pt_pkt_sync_forward(decoder) < 0)
        return 2;
    for (;;) {
        struct pt_packet packet;
        if (pt_pkt_next(decoder, &packet, sizeof(packet)) < 0)
            break;
        packets++;
    }
    printf("%llu packets\n", (unsigned long long)packets);
    pt_pkt_free_decoder(decoder);
    infile_close(&trace);
    return 0;
}
