/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_ipt_flow.c - decode with libipt's block decoder: bench_ipt_flow TRACE CODE BASE.
 * Prints the numbers of blocks, instructions and errors.
 */
#include "infile.h"

#include <intel-pt.h>
#include <stdio.h>
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

int main(int argc, char **argv)
{
    struct pt_block_decoder *decoder;
    struct counts counts = {0};
    struct pt_config config;
    struct infile trace;
    int status;

    if (argc != 4 || infile_open(&trace, argv[0], argv[1]))
        return 2;
    pt_config_init(&config);
    config.begin = (uint8_t *)(uintptr_t)trace.bytes;
    config.end = config.begin + trace.len;
    decoder = pt_blk_alloc_decoder(&config);
    if (!decoder || pt_image_add_file(pt_blk_get_image(decoder), argv[2], 0, UINT64_MAX, NULL,
                                      strtoull(argv[3], NULL, 0)) < 0)
        return 2;
    while ((status = pt_blk_sync_forward(decoder)) >= 0)
        if (walk(decoder, status, &counts) != -pte_eos)
            counts.errors++;
    printf("%llu blocks %llu insns %llu events %llu errors\n", (unsigned long long)counts.blocks,
           (unsigned long long)counts.insns, (unsigned long long)counts.events,
           (unsigned long long)counts.errors);
    pt_blk_free_decoder(decoder);
    infile_close(&trace);
    return 0;
}
