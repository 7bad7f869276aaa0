/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_flow.c - decode with the flow, without text:
 *
 *     bench_flow [-t|-w] MODE TRACE CODE BASE [CLOCK]
 *
 * MODE: items, slow (item by item), count (only how much ran, and events), coverage (how often
 * each block ran). -t: the trace is read once before, and the seconds of decoding are told.
 * -w: nothing is, and the seconds of the whole are told, from mapping the trace to giving all back.
 */
#include "bench_code.h"
#include "infile.h"

#include <pt/coverage.h>
#include <stdlib.h>

#define BATCH 256

struct numbers {
    uint64_t blocks, insns, events, errors;
};

static int map_code(struct ptl_space **space, const char *path, const char *base)
{
    struct ptl_section *section;
    int status = ptl_space_new(space);

    if (!status && !strcmp(base, "elf"))
        return ptl_space_load_elf(*space, path, 0, NULL, NULL);
    if (!status)
        status = ptl_section_file(&section, path, 0, UINT64_MAX);
    if (status)
        return status;
    status = ptl_space_map(*space, strtoull(base, NULL, 0), section, 0, ptl_section_size(section));
    ptl_section_unref(section);
    return status;
}

static uint32_t flags_of(const char *mode)
{
    return !strcmp(mode, "slow")       ? PTL_FLOW_SLOW
           : !strcmp(mode, "count")    ? PTL_FLOW_COUNT
           : !strcmp(mode, "coverage") ? PTL_FLOW_COVERAGE | PTL_FLOW_FEW_EVENTS
                                       : 0;
}

static void take(struct numbers *numbers, const struct ptl_item *item)
{
    switch (item->kind) {
    case PTL_ITEM_BLOCK:
        numbers->blocks += !(item->flags & PTL_ITEM_CONTINUED);
        numbers->insns += item->ninsn;
        break;
    case PTL_ITEM_COUNT:
        numbers->blocks += item->u.ran->blocks;
        numbers->insns += item->u.ran->insns;
        break;
    case PTL_ITEM_EVENT:
        numbers->events++;
        break;
    case PTL_ITEM_ERROR:
        numbers->errors++;
        break;
    default:
        break;
    }
}

static int decode(const struct ptl_flow_config *config, struct numbers *numbers)
{
    struct ptl_coverage *coverage = NULL;
    struct ptl_item items[BATCH];
    struct ptl_flow *flow;
    size_t count = 0;
    int n;

    if (ptl_flow_new(&flow, config))
        return -1;
    while ((n = ptl_flow_next(flow, items, BATCH)) > 0)
        for (int i = 0; i < n; i++)
            take(numbers, &items[i]);
    if ((config->flags & PTL_FLOW_COVERAGE) &&
        (ptl_coverage_new(&coverage) || ptl_coverage_add(coverage, flow)))
        return -1;
    if (coverage)
        ptl_coverage_blocks(coverage, &count);
    ptl_coverage_free(coverage);
    ptl_flow_free(flow);
    return n;
}

int main(int argc, char **argv)
{
    struct ptl_flow_config config = {.size = sizeof(config)};
    int touch = argc > 1 && !strcmp(argv[1], "-t");
    int whole = argc > 1 && !strcmp(argv[1], "-w");
    struct numbers numbers = {0};
    struct bench_clock clock;
    struct ptl_space *space;
    struct infile trace;
    double begin, start = bench_seconds();

    argv += touch | whole;
    argc -= touch | whole;
    if (argc < 5 || infile_open(&trace, argv[0], argv[2]) || map_code(&space, argv[3], argv[4]))
        return 2;
    clock = bench_clock(argc > 5 ? argv[5] : NULL);
    config.clock = (struct ptl_clock_config){.mtc_freq = (uint8_t)clock.mtc_freq,
                                             .nom_freq = (uint8_t)clock.nom_freq,
                                             .cpuid_15_eax = clock.eax,
                                             .cpuid_15_ebx = clock.ebx};
    config.begin = trace.bytes;
    config.len = trace.len;
    config.space = space;
    config.flags = flags_of(argv[1]);
    if (touch)
        bench_touch(trace.bytes, trace.len);
    begin = bench_seconds();
    if (decode(&config, &numbers) < 0)
        return 2;
    printf("%llu blocks %llu insns %llu events %llu errors", (unsigned long long)numbers.blocks,
           (unsigned long long)numbers.insns, (unsigned long long)numbers.events,
           (unsigned long long)numbers.errors);
    if (touch)
        printf(" %.6f seconds", bench_seconds() - begin);
    ptl_space_free(space);
    infile_close(&trace);
    if (whole)
        printf(" %.6f seconds", bench_seconds() - start);
    putchar('\n');
    return 0;
}
