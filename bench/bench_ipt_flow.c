/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_ipt_flow.c - decode with libipt's block decoder:
 *
 *     bench_ipt_flow [-t|-w] TRACE CODE BASE [CLOCK]
 *
 * -t: the trace is read once before, and the seconds of decoding are told. -w: nothing is, and the
 * seconds of the whole are told, from mapping the trace to giving all back.
 */
#include "bench_code.h"
#include "infile.h"

#include <intel-pt.h>
#include <stdlib.h>

struct counts {
    uint64_t blocks, insns, events, errors;
};

/* From one synchronisation to the next error or the end. Returns a negative status. */
static int walk(struct pt_block_decoder *decoder, int status, struct counts *counts)
{
    for (;;) {
        struct pt_block block;
        struct pt_event event;

        while (status & pts_event_pending) {
            status = pt_blk_event(decoder, &event, sizeof(event));
            if (status < 0)
                return status;
            counts->events++;
        }
        if (status & pts_eos)
            return -pte_eos;
        block.ninsn = 0;
        status = pt_blk_next(decoder, &block, sizeof(block));
        counts->blocks++;
        counts->insns += block.ninsn;
        if (status < 0)
            return status;
    }
}

static int map_code(struct pt_image *image, const char *path, const char *base)
{
    struct bench_segment segments[16];
    size_t n;

    if (strcmp(base, "elf") != 0)
        return pt_image_add_file(image, path, 0, UINT64_MAX, NULL, strtoull(base, NULL, 0));
    n = bench_segments(path, segments, 16);
    for (size_t i = 0; i < n; i++)
        if (pt_image_add_file(image, path, segments[i].offset, segments[i].size, NULL,
                              segments[i].vaddr) < 0)
            return -1;
    return n ? 0 : -1;
}

static void decode(struct pt_block_decoder *decoder, struct counts *counts)
{
    int status;

    while ((status = pt_blk_sync_forward(decoder)) >= 0)
        if (walk(decoder, status, counts) != -pte_eos)
            counts->errors++;
}

int main(int argc, char **argv)
{
    int touch = argc > 1 && !strcmp(argv[1], "-t");
    int whole = argc > 1 && !strcmp(argv[1], "-w");
    struct pt_block_decoder *decoder;
    struct counts counts = {0};
    struct bench_clock clock;
    struct pt_config config;
    struct infile trace;
    double begin, start = bench_seconds();

    argv += touch | whole;
    argc -= touch | whole;
    if (argc < 4 || infile_open(&trace, argv[0], argv[1]))
        return 2;
    clock = bench_clock(argc > 4 ? argv[4] : NULL);
    pt_config_init(&config);
    config.begin = (uint8_t *)(uintptr_t)trace.bytes;
    config.end = config.begin + trace.len;
    config.mtc_freq = (uint8_t)clock.mtc_freq;
    config.nom_freq = (uint8_t)clock.nom_freq;
    config.cpuid_0x15_eax = clock.eax;
    config.cpuid_0x15_ebx = clock.ebx;
    if (touch)
        bench_touch(trace.bytes, trace.len);
    begin = bench_seconds();
    decoder = pt_blk_alloc_decoder(&config);
    if (!decoder || map_code(pt_blk_get_image(decoder), argv[2], argv[3]) < 0)
        return 2;
    decode(decoder, &counts);
    pt_blk_free_decoder(decoder);
    printf("%llu blocks %llu insns %llu events %llu errors", (unsigned long long)counts.blocks,
           (unsigned long long)counts.insns, (unsigned long long)counts.events,
           (unsigned long long)counts.errors);
    if (touch)
        printf(" %.6f seconds", bench_seconds() - begin);
    infile_close(&trace);
    if (whole)
        printf(" %.6f seconds", bench_seconds() - start);
    putchar('\n');
    return 0;
}
