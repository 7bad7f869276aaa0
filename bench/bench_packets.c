/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_packets.c - walk all packets of a trace: bench_packets TRACE. Prints their number. */
#include "infile.h"

#include <pt/packet.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct infile trace;
    uint64_t packets = 0;
    size_t at = 0;
    uint32_t flags = 0;

    if (argc != 2 || infile_open(&trace, argv[0], argv[1]))
        return 2;
    while (at < trace.len) {
        struct ptl_packet packet;
        int n = ptl_packet_decode(&packet, trace.bytes + at, trace.len - at, flags);
        if (n <= 0)
            break;
        flags = ptl_packet_next_flags(&packet, flags);
        at += (size_t)n;
        packets++;
    }
    printf("%llu packets\n", (unsigned long long)packets);
    infile_close(&trace);
    return 0;
}
