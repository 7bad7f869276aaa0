/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_flow.c - decode with the flow, without text: bench_flow TRACE CODE BASE
 * [slow|count|few].
 * Prints the numbers of blocks, instructions and errors.
 */
#include "infile.h"

#include <pt/flow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 256

static int map_code(struct ptl_space **space, const char *path, const char *base)
{
    struct ptl_section *section;
    int status = ptl_space_new(space);

    if (!status)
        status = ptl_section_file(&section, path, 0, UINT64_MAX);
    if (status)
        return status;
    status = ptl_space_map(*space, strtoull(base, NULL, 0), section, 0, ptl_section_size(section));
    ptl_section_unref(section);
    return status;
}

static uint32_t flags_of(const char *word)
{
    return !strcmp(word, "slow")    ? PTL_FLOW_SLOW
           : !strcmp(word, "count") ? PTL_FLOW_COUNT
           : !strcmp(word, "few")   ? PTL_FLOW_COUNT | PTL_FLOW_FEW_EVENTS
                                    : 0;
}

int main(int argc, char **argv)
{
    struct ptl_flow_config config = {.size = sizeof(config)};
    uint64_t blocks = 0, insns = 0, events = 0, errors = 0;
    struct ptl_item items[BATCH];
    struct ptl_space *space;
    struct ptl_flow *flow;
    struct infile trace;
    int n;

    if (argc < 4 || infile_open(&trace, argv[0], argv[1]) || map_code(&space, argv[2], argv[3]))
        return 2;
    config.begin = trace.bytes;
    config.len = trace.len;
    config.space = space;
    config.flags = flags_of(argc > 4 ? argv[4] : "");
    if (ptl_flow_new(&flow, &config))
        return 2;
    while ((n = ptl_flow_next(flow, items, BATCH)) > 0)
        for (int i = 0; i < n; i++) {
            if (items[i].kind == PTL_ITEM_BLOCK) {
                blocks += !(items[i].flags & PTL_ITEM_CONTINUED);
                insns += items[i].ninsn;
            } else if (items[i].kind == PTL_ITEM_COUNT) {
                blocks += items[i].u.ran->blocks;
                insns += items[i].u.ran->insns;
            } else {
                events += items[i].kind == PTL_ITEM_EVENT;
                errors += items[i].kind == PTL_ITEM_ERROR;
            }
        }
    printf("%llu blocks %llu insns %llu events %llu errors\n", (unsigned long long)blocks,
           (unsigned long long)insns, (unsigned long long)events, (unsigned long long)errors);
    ptl_flow_free(flow);
    ptl_space_free(space);
    infile_close(&trace);
    return 0;
}
