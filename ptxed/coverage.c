/* SPDX-License-Identifier: BSD-3-Clause */
/* coverage.c - see coverage.h. */
#include "coverage.h"

#include "json.h"
#include "plain.h"

#include <errno.h>
#include <pt/coverage.h>
#include <stdio.h>

void coverage_take(struct printer *p, struct ptl_decoder *decoder)
{
    if (p->coverage && decoder && ptl_coverage_add(p->coverage, ptl_decoder_flow(decoder)))
        p->out.error = ENOMEM;
}

static void put_symbol(struct out *out, const char *name, uint64_t offset)
{
    char text[513];

    snprintf(text, sizeof(text), "%s", name);
    plain_mask(text);
    out_printf(out, "  %s+0x%llx", text, (unsigned long long)offset);
}

int coverage_item(struct printer *p, const struct ptl_item *item)
{
    struct ptl_coverage_path *path = p->path ? p->path : &p->own_path;

    return p->by_item ? ptl_coverage_item(p->coverage, path, item) : 0;
}

/* "main", and how far behind its beginning. NULL: not known, or not asked for. */
static const char *find_name(const struct printer *p, uint64_t ip,
                             const struct ptl_section *section, const uint8_t *bytes,
                             uint64_t *offset)
{
    const struct line_style *style = &p->style;

    if (style->names && style->symbols)
        return ptl_symbols_find_in(style->symbols, style->space, ip, offset);
    if (style->names && style->by_section && bytes)
        return section_symbols_find(style->by_section, section, bytes, ip, offset);
    return NULL;
}

static void put_name(struct json *json, const char *name, uint64_t offset)
{
    if (!name)
        return;
    json_string(json, "symbol", name);
    json_count(json, "symbol_offset", offset);
}

static void print_block(struct printer *p, const struct ptl_coverage_block *b)
{
    uint64_t offset = 0;
    const char *name = find_name(p, b->ip, b->section, b->bytes, &offset);
    struct json json;

    if (p->flags & PRINT_JSON) {
        json_begin(&json, &p->out, "coverage");
        json_hex(&json, "ip", b->ip);
        json_count(&json, "count", b->count);
        json_count(&json, "ninsn", b->ninsn);
        json_count(&json, "size", b->size);
        put_name(&json, name, offset);
        json_end(&json);
        return;
    }
    out_printf(&p->out, "%016llx %12llu %5u %5u", (unsigned long long)b->ip,
               (unsigned long long)b->count, b->ninsn, b->size);
    if (name)
        put_symbol(&p->out, name, offset);
    out_str(&p->out, "\n");
}

static void print_edge(struct printer *p, const struct ptl_coverage_edge *e)
{
    uint64_t offset = 0;
    const char *name = find_name(p, e->from, e->from_section, e->from_bytes, &offset);
    struct json json;

    if (p->flags & PRINT_JSON) {
        json_begin(&json, &p->out, "edge");
        json_hex(&json, "from", e->from);
        json_hex(&json, "to", e->to);
        json_count(&json, "count", e->count);
        put_name(&json, name, offset);
        json_end(&json);
        return;
    }
    out_printf(&p->out, "%016llx %016llx %12llu", (unsigned long long)e->from,
               (unsigned long long)e->to, (unsigned long long)e->count);
    if (name)
        put_symbol(&p->out, name, offset);
    name = find_name(p, e->to, e->to_section, e->to_bytes, &offset);
    if (name)
        put_symbol(&p->out, name, offset);
    out_str(&p->out, "\n");
}

void coverage_print(struct printer *p)
{
    const struct ptl_coverage_block *blocks;
    const struct ptl_coverage_edge *edges;
    size_t count;

    if (!p->coverage)
        return;
    if (p->edges) {
        edges = ptl_coverage_edges(p->coverage, &count);
        for (size_t i = 0; i < count; i++)
            print_edge(p, &edges[i]);
        return;
    }
    blocks = ptl_coverage_blocks(p->coverage, &count);
    for (size_t i = 0; i < count; i++)
        print_block(p, &blocks[i]);
}
