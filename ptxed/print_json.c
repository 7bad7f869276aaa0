/* SPDX-License-Identifier: BSD-3-Clause */
/* print_json.c - see print_json.h. */
#include "print_json.h"

#include "json_event.h"

/* Fields that the lines of an item share. */
static void put_lead(struct json *json, const struct printer *p)
{
    if (p->lead_len)
        out_write(json->out, p->lead, p->lead_len);
}

void print_json_event(struct printer *p, const struct ptl_event *event)
{
    struct json json;

    json_begin(&json, &p->out, "event");
    json_event(&json, event, 1);
    put_lead(&json, p);
    json_end(&json);
}

void print_json_error(struct printer *p, const struct ptl_error *error)
{
    struct json json;

    json_begin(&json, &p->out, "error");
    json_error(&json, error);
    put_lead(&json, p);
    json_end(&json);
}

void print_json_check(struct printer *p, uint64_t ip, const char *what)
{
    struct json json;

    json_begin(&json, &p->out, "error");
    json_count(&json, "offset", p->offset);
    json_hex(&json, "ip", ip);
    json_string(&json, "what", what);
    json_end(&json);
}

void print_json_mark(struct printer *p, const char *type)
{
    struct json json;

    json_begin(&json, &p->out, type);
    put_lead(&json, p);
    json_end(&json);
}

void print_json_statistics(struct printer *p)
{
    struct json json;

    if (!(p->flags & (PRINT_STAT_INSN | PRINT_STAT_BLOCK)))
        return;
    json_begin(&json, &p->out, "stat");
    if (p->flags & PRINT_STAT_INSN)
        json_count(&json, "insns", p->stats.insns);
    if (p->flags & PRINT_STAT_BLOCK)
        json_count(&json, "blocks", p->stats.blocks);
    json_end(&json);
}

/* --- instructions ------------------------------------------------------------------ */

/* Behind those of the block or instruction. */
static void put_item(struct json *json, const struct printer *p, const struct ptl_item *item)
{
    json->comma = 1;
    if (p->flags & PRINT_OFFSET)
        json_count(json, "offset", item->offset);
    if (p->flags & PRINT_TIME)
        json_hex(json, "tsc", item->tsc);
    if (item->flags & PTL_ITEM_SPECULATIVE)
        json_bool(json, "speculative", 1);
    put_lead(json, p);
}

void print_json_block(struct printer *p, const struct ptl_item *item)
{
    static const uint8_t bits[] = {
        [PTL_MODE_UNKNOWN] = 0, [PTL_MODE_16] = 16, [PTL_MODE_32] = 32, [PTL_MODE_64] = 64};
    const struct ptl_block *block = item->u.block;
    int whole = item->ninsn == block->ninsn;
    struct json json;

    json_begin(&json, &p->out, "block");
    json_hex(&json, "ip", block->ip);
    json_count(&json, "size", item->size);
    json_count(&json, "ninsn", item->ninsn);
    json_count(&json, "mode", bits[block->mode & 3]);
    json_string(&json, "last", whole ? text_insn_class(block->iclass) : "other");
    if (whole && block->target)
        json_hex(&json, "target", block->target);
    if (item->flags & PTL_ITEM_CONTINUED)
        json_bool(&json, "continued", 1);
    put_item(&json, p, item);
    json_end(&json);
}

void print_json_insns(struct printer *p, const struct ptl_item *item, const struct lines *lines)
{
    uint32_t count = item->ninsn < lines->ninsn ? item->ninsn : lines->ninsn;
    struct json json = {.out = &p->out};
    int more = p->lead_len || (p->flags & (PRINT_OFFSET | PRINT_TIME)) ||
               item->flags & PTL_ITEM_SPECULATIVE;

    if (!more) {
        if (p->first < count)
            out_hold(&p->out, lines->str + lines->marks[p->first],
                     lines->marks[count] - lines->marks[p->first]);
        return;
    }
    for (uint32_t i = p->first; i < count; i++) {
        uint32_t begin = lines->marks[i];

        out_write(&p->out, lines->str + begin, lines->marks[i + 1] - begin - strlen("}\n"));
        put_item(&json, p, item);
        json_end(&json);
    }
}
