/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * print_blocks.c - the blocks that a program ran, with symbols.
 *
 *     print_blocks TRACE ELF [BASE]
 *
 * BASE (hexadecimal) is where the lowest segment of a position independent file was loaded.
 */
#include <inttypes.h>
#include <pt/flow.h>
#include <stdio.h>
#include <stdlib.h>

struct totals {
    uint64_t blocks, instructions, errors;
};

static void print_place(const struct ptl_symbols *symbols, uint64_t ip)
{
    uint64_t offset;
    const char *name = ptl_symbols_find(symbols, ip, &offset);

    printf("%016" PRIx64, ip);
    if (name && offset)
        printf(" <%s+%#" PRIx64 ">", name, offset);
    else if (name)
        printf(" <%s>", name);
}

static void print_item(const struct ptl_item *item, const struct ptl_symbols *symbols,
                       struct totals *totals)
{
    if (item->kind == PTL_ITEM_BLOCK) {
        print_place(symbols, item->u.block->ip);
        printf(" %u\n", item->ninsn);
        totals->blocks++;
        totals->instructions += item->ninsn;
    } else if (item->kind == PTL_ITEM_ERROR) {
        printf("error at offset %#" PRIx64 ": %s\n", item->u.error->offset,
               ptl_strstatus(item->u.error->status));
        totals->errors++;
    }
}

static int print_flow(const struct ptl_section *trace, const struct ptl_space *space,
                      const struct ptl_symbols *symbols, struct totals *totals)
{
    struct ptl_flow_config config = {.size = sizeof(config)};
    struct ptl_item items[256];
    struct ptl_flow *flow;
    int n;

    config.begin = ptl_section_bytes(trace);
    config.len = (size_t)ptl_section_size(trace);
    config.space = space;
    n = ptl_flow_new(&flow, &config);
    if (n < 0)
        return n;
    while ((n = ptl_flow_next(flow, items, 256)) > 0)
        for (int i = 0; i < n; i++)
            print_item(&items[i], symbols, totals);
    ptl_flow_free(flow);
    return n;
}

static int complain(const char *what, int status)
{
    fprintf(stderr, "print_blocks: %s: %s\n", what, ptl_strstatus(status));
    return 2;
}

int main(int argc, char **argv)
{
    struct totals totals = {.blocks = 0};
    struct ptl_section *trace = NULL;
    struct ptl_symbols *symbols = NULL;
    struct ptl_space *space = NULL;
    int status;

    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: print_blocks TRACE ELF [BASE]\n");
        return 2;
    }
    status = ptl_section_file(&trace, argv[1], 0, UINT64_MAX);
    if (status < 0)
        return complain(argv[1], status);
    status = ptl_space_new(&space);
    if (status == 0)
        status = ptl_space_load_elf(space, argv[2], argc > 3 ? strtoull(argv[3], NULL, 16) : 0,
                                    NULL, NULL);
    if (status == 0)
        status = ptl_symbols_new(&symbols, space);
    if (status == 0)
        status = print_flow(trace, space, symbols, &totals);
    ptl_symbols_free(symbols);
    ptl_space_free(space);
    ptl_section_unref(trace);
    if (status < 0)
        return complain(argv[2], status);
    printf("%" PRIu64 " blocks, %" PRIu64 " instructions, %" PRIu64 " errors\n", totals.blocks,
           totals.instructions, totals.errors);
    return totals.errors != 0;
}
