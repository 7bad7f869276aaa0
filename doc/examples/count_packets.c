/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * count_packets.c - how often each packet occurs in a trace: pt/packet.h and nothing else.
 *
 *     count_packets TRACE
 */
#include <inttypes.h>
#include <pt/packet.h>
#include <stdio.h>
#include <stdlib.h>

struct counts {
    uint64_t packets[PTL_PKT_MAX_VALUE + 1];
    uint64_t errors, skipped; /* bytes */
};

static void count(struct counts *counts, const uint8_t *trace, size_t len)
{
    size_t at = ptl_psb_find(trace, len, 0);
    uint32_t flags = 0; /* PEBS blocks have packets of their own */

    counts->skipped = at;
    while (at < len) {
        struct ptl_packet packet;
        int size = ptl_packet_decode(&packet, trace + at, len - at, flags);

        if (size == PTL_EOS) /* the last packet is cut */
            break;
        if (size < 0) {
            /* Not a packet: go on at the next place that can be recognised. */
            size_t next = ptl_psb_find(trace, len, at + 1);
            counts->errors++;
            counts->skipped += next - at;
            fprintf(stderr, "offset %zu: %s\n", at, ptl_strstatus(size));
            at = next;
            flags = 0;
            continue;
        }
        counts->packets[packet.type]++;
        flags = ptl_packet_next_flags(&packet, flags);
        at += (size_t)size;
    }
}

/* The whole file in memory, or NULL. */
static uint8_t *read_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    size_t cap = 0, got;

    *len = 0;
    if (!file)
        return NULL;
    do {
        uint8_t *more;
        cap = cap ? cap * 2 : 65536;
        more = realloc(bytes, cap);
        if (!more)
            break;
        bytes = more;
        got = fread(bytes + *len, 1, cap - *len, file);
        *len += got;
    } while (*len == cap);
    if (ferror(file) || *len == cap) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    struct counts counts = {.errors = 0};
    uint8_t *trace;
    size_t len;

    if (argc != 2) {
        fprintf(stderr, "usage: count_packets TRACE\n");
        return 2;
    }
    trace = read_file(argv[1], &len);
    if (!trace) {
        perror(argv[1]);
        return 2;
    }
    count(&counts, trace, len);
    free(trace);
    for (unsigned type = 0; type <= PTL_PKT_MAX_VALUE; type++)
        if (counts.packets[type])
            printf("%-10s %" PRIu64 "\n", ptl_packet_name((enum ptl_packet_type)type),
                   counts.packets[type]);
    if (counts.skipped)
        printf("%-10s %" PRIu64 " bytes\n", "skipped", counts.skipped);
    return counts.errors != 0;
}
