/* SPDX-License-Identifier: BSD-3-Clause */
/* coverage.c - see coverage.h. */
#include "coverage.h"

#include <errno.h>
#include <pt/coverage.h>

void coverage_take(struct printer *p, struct ptl_decoder *decoder)
{
    if (p->coverage && decoder && ptl_coverage_add(p->coverage, ptl_decoder_flow(decoder)))
        p->out.error = ENOMEM;
}

static void print_block(struct printer *p, const struct ptl_coverage_block *b)
{
    const struct line_style *style = &p->style;
    const char *name = NULL;
    uint64_t offset = 0;

    out_printf(&p->out, "%016llx %12llu %5u %5u", (unsigned long long)b->ip,
               (unsigned long long)b->count, b->ninsn, b->size);
    if (style->names && style->symbols)
        name = ptl_symbols_find_in(style->symbols, style->space, b->ip, &offset);
    else if (style->names && style->by_section && b->bytes)
        name = section_symbols_find(style->by_section, b->section, b->bytes, b->ip, &offset);
    if (name)
        out_printf(&p->out, "  %.512s+0x%llx", name, (unsigned long long)offset);
    out_str(&p->out, "\n");
}

void coverage_print(struct printer *p)
{
    const struct ptl_coverage_block *blocks;
    size_t count;

    if (!p->coverage)
        return;
    blocks = ptl_coverage_blocks(p->coverage, &count);
    for (size_t i = 0; i < count; i++)
        print_block(p, &blocks[i]);
}
