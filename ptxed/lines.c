/* SPDX-License-Identifier: BSD-3-Clause */
/* lines.c - see lines.h. */
#include "lines.h"

#include "json.h"
#include "plain.h"

#include <pt/io.h>
#include <stdio.h>
#include <stdlib.h>

#define SYMBOL_MAX 512 /* longer names are cut */
#define LINE_MAX_  (16 + SYMBOL_MAX + 32 + TEXT_RAW_MAX + TEXT_INSN_MAX + 64)

static void add(struct out *text, const char *s)
{
    size_t n = strlen(s);

    memcpy(text->buf + text->len, s, n);
    text->len += n;
}

static const char *symbol_of(const struct line_style *style, const struct ptl_section *section,
                             const uint8_t *bytes, uint64_t ip, uint64_t *offset)
{
    if (style->symbols)
        return ptl_symbols_find_in(style->symbols, style->space, ip, offset);
    if (style->by_section)
        return section_symbols_find(style->by_section, section, bytes, ip, offset);
    return NULL;
}

static void add_symbol(struct out *text, const struct line_style *style,
                       const struct ptl_section *section, const uint8_t *bytes, uint64_t ip)
{
    uint64_t offset;
    const char *name = style->names ? symbol_of(style, section, bytes, ip, &offset) : NULL;
    int n;

    if (!name)
        return;
    n = snprintf(text->buf + text->len, SYMBOL_MAX + 32, " <%.*s+0x%llx>", SYMBOL_MAX, name,
                 (unsigned long long)offset);
    plain_mask(text->buf + text->len);
    text->len += (size_t)n;
}

/* One line; there is room for LINE_MAX_ bytes. */
static void add_line(struct out *text, const struct line_style *style,
                     const struct ptl_section *section, const struct ptl_insn *insn,
                     const uint8_t *bytes, uint64_t ip)
{
    size_t n;

    text_hex16(text->buf + text->len, ip);
    text->len += 16;
    add_symbol(text, style, section, bytes, ip);
    if (style->raw)
        text->len += text_insn_raw(text->buf + text->len, bytes, insn->size, 1);
    if (style->text) {
        n = text_insn(style->text, text->buf + text->len + 2, insn, bytes, ip);
        if (n) {
            memcpy(text->buf + text->len, "  ", 2);
            text->len += n + 2;
        } else {
            if (!style->raw)
                text->len += text_insn_raw(text->buf + text->len, bytes, insn->size, 0);
            add(text, " [decode error: unknown to the disassembler]");
        }
    }
    text->buf[text->len++] = '\n';
}

/* The same as JSON. */
static void json_line(struct out *out, const struct line_style *style,
                      const struct ptl_section *section, const struct ptl_insn *insn,
                      const uint8_t *bytes, uint64_t ip)
{
    uint64_t offset;
    const char *name = style->names ? symbol_of(style, section, bytes, ip, &offset) : NULL;
    char buf[TEXT_INSN_MAX];
    struct json json;
    size_t n;

    json_begin(&json, out, "insn");
    json_hex(&json, "ip", ip);
    json_bytes(&json, "bytes", bytes, insn->size);
    if (name) {
        json_string(&json, "symbol", name);
        json_count(&json, "symbol_offset", offset);
    }
    n = style->text ? text_insn(style->text, buf, insn, bytes, ip) : 0;
    if (n)
        json_text(&json, "text", buf, n);
    json_end(&json);
}

/* The disassembler's opinion of length and class. */
static void check_insn(const struct line_check *check, const struct ptl_insn *insn,
                       const uint8_t *bytes, uint64_t ip)
{
    struct text_insn_view view;
    char what[128];

    text_insn_look(check->text, &view, insn, bytes, ip);
    if (!view.known)
        return;
    if (view.size != insn->size) {
        snprintf(what, sizeof(what), "size error: size: %u, disassembler size: %u", insn->size,
                 view.size);
        check->report(check->context, ip, what);
    } else if (view.iclass != insn->iclass) {
        snprintf(what, sizeof(what), "iclass error: iclass: %s, disassembler iclass: %s",
                 text_insn_class(insn->iclass), text_insn_class(view.iclass));
        check->report(check->context, ip, what);
    }
}

/* The function of instruction `i`. Returns 0 or -1 without memory. */
static int add_part(struct out *parts, const struct line_style *style,
                    const struct ptl_block *block, uint32_t i, uint32_t code)
{
    uint64_t offset = 1;
    const char *name =
        symbol_of(style, block->section, block->bytes + code, block->ip + code, &offset);
    struct function_part part = {
        .first = i,
        .function = functions_number(style->functions, block->section, name),
        .entry = name && offset == 0,
    };
    struct function_part *last = (struct function_part *)(void *)(parts->buf + parts->len);

    if (part.function == UINT32_MAX)
        return -1;
    if (!parts->len || last[-1].function != part.function || part.entry)
        out_write(parts, (const char *)&part, sizeof(part));
    return parts->error ? -1 : 0;
}

/* The lines and marks of the first `size` bytes of the block. Returns how many instructions that
 * are, or -1 without memory. */
static int make(struct out *text, uint32_t *marks, struct out *parts, const struct ptl_block *block,
                size_t size, const struct line_style *style, const struct line_check *check)
{
    uint32_t code = 0;
    unsigned i;

    text->len = parts->len = 0;
    for (i = 0; i < block->ninsn; i++) {
        const uint8_t *bytes = block->bytes + code;
        uint64_t ip = block->ip + code;
        struct ptl_insn insn;

        marks[i] = (uint32_t)text->len;
        if (ptl_insn_decode(&insn, bytes, size - code, (enum ptl_exec_mode)block->mode) <= 0)
            break; /* the flow has walked here, but then the file was truncated */
        (void)out_reserve(text, LINE_MAX_);
        if (style->json)
            json_line(text, style, block->section, &insn, bytes, ip);
        else
            add_line(text, style, block->section, &insn, bytes, ip);
        if (style->functions && add_part(parts, style, block, i, code))
            return -1;
        if (check)
            check_insn(check, &insn, bytes, ip);
        code += insn.size;
    }
    marks[i] = (uint32_t)text->len;
    if (text->error || (style->by_section && section_symbols_failed(style->by_section)))
        return -1; /* nor lines without the names that they should have */
    if (check && (i < block->ninsn || code != size)) {
        char what[64];
        snprintf(what, sizeof(what), "error: did not reach end: %llx",
                 (unsigned long long)(block->ip + block->size));
        check->report(check->context, block->ip + code, what);
    }
    return (int)i;
}

/* The same of what the file of the code still has, since the flow was there. */
static int make_left(struct out *text, uint32_t *marks, struct out *parts,
                     const struct ptl_block *block, const struct line_style *style,
                     const struct line_check *check)
{
    int made = make(text, marks, parts, block, block->size, style, check);
    size_t left = ptl_map_left(block->bytes, block->size);

    if (made < 0 || left == block->size)
        return made;
    return make(text, marks, parts, block, left, style, NULL);
}

/* Memory for the lines: what comes behind the head in *body. */
static struct lines *lines_new(struct lines_memory *memory, size_t size, char **body)
{
    struct lines *lines;

    if (!memory) {
        lines = malloc(sizeof(*lines) + size);
        *body = (char *)(lines + 1);
        return lines;
    }
    lines = slab_alloc(&memory->heads, sizeof(*lines));
    *body = slab_alloc(&memory->bodies, size);
    return *body ? lines : NULL;
}

/* Parts first: they are the strictest about where they begin. */
static struct lines *pack(uint16_t ninsn, const struct out *text, const uint32_t *marks,
                          const struct out *parts, struct lines_memory *memory)
{
    size_t mark_bytes = ((size_t)ninsn + 1) * sizeof(uint32_t);
    char *body;
    struct lines *lines = lines_new(memory, parts->len + mark_bytes + text->len, &body);

    if (!lines)
        return NULL;
    *lines = (struct lines){.str = body + parts->len + mark_bytes,
                            .len = (uint32_t)text->len,
                            .ninsn = ninsn,
                            .kept = memory != NULL,
                            .npart = (uint32_t)(parts->len / sizeof(struct function_part)),
                            .parts = (const struct function_part *)(void *)body,
                            .marks = (const uint32_t *)(void *)(body + parts->len)};
    memcpy(body, parts->buf, parts->len);
    memcpy(body + parts->len, marks, mark_bytes);
    memcpy(body + parts->len + mark_bytes, text->buf, text->len);
    return lines;
}

static struct lines *build(const struct ptl_block *block, const struct line_style *style,
                           const struct line_check *check)
{
    uint32_t *marks = calloc((size_t)block->ninsn + 1, sizeof(*marks));
    struct out text = {0}, parts = {0};
    struct lines *lines = NULL;
    int made = -1;

    if (marks && !out_open_memory(&text) && !out_open_memory(&parts))
        made = make_left(&text, marks, &parts, block, style, check);
    if (made >= 0)
        lines = pack((uint16_t)made, &text, marks, &parts, style->memory);
    free(marks);
    free(text.buf);
    free(parts.buf);
    return lines;
}

const struct lines *lines_of(const struct ptl_block *block, const struct line_style *style,
                             const struct line_check *check)
{
    if (!block->user) {
        /* `user` is the consumer's field of an object that is otherwise the flow's. */
        struct ptl_block *owned = (struct ptl_block *)(uintptr_t)block;
        owned->user = build(block, style, check);
    }
    return block->user;
}

void lines_free(void *lines)
{
    if (lines && !((const struct lines *)lines)->kept)
        free(lines);
}

void lines_forget(struct lines_memory *memory)
{
    slab_reset(&memory->heads);
    slab_reset(&memory->bodies);
}

void lines_close(struct lines_memory *memory)
{
    slab_free(&memory->heads);
    slab_free(&memory->bodies);
}
