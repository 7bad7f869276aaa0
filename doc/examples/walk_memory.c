/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk_memory.c - follow a trace over code that a callback reads, as a debugger reads the
 * memory of its target: no files are mapped, no ELF, no sideband.
 *
 *     walk_memory TRACE CODE ADDRESS
 *
 * CODE stands for the target: its first byte is at ADDRESS (hexadecimal).
 */
#include <inttypes.h>
#include <limits.h>
#include <pt/flow.h>
#include <stdio.h>
#include <stdlib.h>

/* What the callback gets. One FILE has one position: a target that several decoders share
 * would use pread(). */
static int read_target(void *context, uint8_t *buf, size_t len, uint64_t offset)
{
    FILE *target = context;
    size_t n;

    if (offset > LONG_MAX || fseek(target, (long)offset, SEEK_SET) < 0)
        return 0;
    n = fread(buf, 1, len, target);
    return (int)n;
}

static uint64_t instructions;
static int errors;

static void show(const struct ptl_item *item)
{
    switch (item->kind) {
    case PTL_ITEM_BLOCK:
        printf("%" PRIx64 ": %u instructions, %u bytes\n", item->u.block->ip, item->ninsn,
               item->size);
        instructions += item->ninsn;
        break;
    case PTL_ITEM_EVENT:
        if (item->u.event->type == PTL_EV_ENABLED)
            printf("tracing on at %" PRIx64 "\n", item->u.event->ip);
        else if (item->u.event->type == PTL_EV_DISABLED)
            printf("tracing off\n");
        break;
    case PTL_ITEM_ERROR:
        printf("offset %" PRIx64 ", at %" PRIx64 ": %s\n", item->u.error->offset, item->u.error->ip,
               ptl_strstatus(item->u.error->status));
        errors++;
        break;
    default:
        break;
    }
}

static int walk(const struct ptl_section *trace, const struct ptl_space *space)
{
    struct ptl_flow_config config = {.size = sizeof(config)};
    struct ptl_item items[64];
    struct ptl_flow *flow;
    int n;

    config.begin = ptl_section_bytes(trace);
    config.len = (size_t)ptl_section_size(trace);
    config.space = space;
    n = ptl_flow_new(&flow, &config);
    if (n < 0)
        return n;
    while ((n = ptl_flow_next(flow, items, 64)) > 0)
        for (int i = 0; i < n; i++)
            show(&items[i]);
    ptl_flow_free(flow);
    return n;
}

int main(int argc, char **argv)
{
    struct ptl_section *trace, *code;
    struct ptl_space *space;
    uint64_t address, size;
    FILE *target;
    int status;

    if (argc != 4) {
        fprintf(stderr, "usage: walk_memory TRACE CODE ADDRESS\n");
        return 2;
    }
    target = fopen(argv[2], "rb");
    if (!target || fseek(target, 0, SEEK_END) < 0) {
        perror(argv[2]);
        return 2;
    }
    size = (uint64_t)ftell(target);
    address = strtoull(argv[3], NULL, 16);
    status = ptl_section_file(&trace, argv[1], 0, UINT64_MAX);
    if (status < 0) {
        fprintf(stderr, "%s: %s\n", argv[1], ptl_strstatus(status));
        fclose(target);
        return 2;
    }

    /* The target as a section of `size` bytes, mapped where the target has it. */
    status = ptl_space_new(&space);
    if (status == 0) {
        status = ptl_section_reader(&code, read_target, target, size, "target");
        if (status == 0) {
            status = ptl_space_map(space, address, code, 0, size);
            ptl_section_unref(code); /* the space has its own reference */
        }
        if (status == 0)
            status = walk(trace, space);
        ptl_space_free(space);
    }
    ptl_section_unref(trace);
    fclose(target);
    if (status < 0) {
        fprintf(stderr, "walk_memory: %s\n", ptl_strstatus(status));
        return 2;
    }
    printf("%" PRIu64 " instructions\n", instructions);
    return errors != 0;
}
