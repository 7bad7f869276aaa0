/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c - see json.h. */
#include "json.h"

static void put_key(struct json *json, const char *key)
{
    if (json->comma)
        out_char(json->out, ',');
    json->comma = 1;
    if (!key)
        return;
    out_char(json->out, '"');
    out_str(json->out, key);
    out_write(json->out, "\":", 2);
}

void json_begin(struct json *json, struct out *out, const char *type)
{
    *json = (struct json){.out = out};
    out_char(out, '{');
    json_text(json, "type", type, strlen(type));
}

void json_end(struct json *json)
{
    out_write(json->out, "}\n", 2);
}

void json_open(struct json *json, const char *key, char bracket)
{
    put_key(json, key);
    out_char(json->out, bracket);
    json->comma = 0;
}

void json_close(struct json *json, char bracket)
{
    out_char(json->out, bracket);
    json->comma = 1;
}

void json_count(struct json *json, const char *key, uint64_t value)
{
    put_key(json, key);
    out_dec(json->out, value);
}

void json_hex(struct json *json, const char *key, uint64_t value)
{
    put_key(json, key);
    out_write(json->out, "\"0x", 3);
    out_hex(json->out, value);
    out_char(json->out, '"');
}

void json_real(struct json *json, const char *key, double value)
{
    put_key(json, key);
    out_printf(json->out, "%.3f", value);
}

void json_bool(struct json *json, const char *key, int value)
{
    put_key(json, key);
    out_str(json->out, value ? "true" : "false");
}

void json_bytes(struct json *json, const char *key, const uint8_t *bytes, size_t len)
{
    put_key(json, key);
    out_char(json->out, '"');
    for (size_t i = 0; i < len; i++)
        out_hex_pad(json->out, bytes[i], 2);
    out_char(json->out, '"');
}

/* --- strings ------------------------------------------------------------------------- */

/* The well-formed sequences of more than one byte (Unicode standard, table 3-7): by first byte, how
 * many follow, and the range of the second. */
static const struct {
    uint8_t first, last, follow, low, high;
} sequences[] = {
    {0xc2, 0xdf, 1, 0x80, 0xbf}, {0xe0, 0xe0, 2, 0xa0, 0xbf}, {0xe1, 0xec, 2, 0x80, 0xbf},
    {0xed, 0xed, 2, 0x80, 0x9f}, {0xee, 0xef, 2, 0x80, 0xbf}, {0xf0, 0xf0, 3, 0x90, 0xbf},
    {0xf1, 0xf3, 3, 0x80, 0xbf}, {0xf4, 0xf4, 3, 0x80, 0x8f},
};

/* Bytes of the character at `s`, 0 if it is not UTF-8. */
static size_t utf8_size(const uint8_t *s, size_t len)
{
    size_t row = 0, rows = sizeof(sequences) / sizeof(*sequences);

    if (*s < 0x80)
        return 1;
    while (row < rows && (*s < sequences[row].first || *s > sequences[row].last))
        row++;
    if (row == rows || len <= sequences[row].follow || s[1] < sequences[row].low ||
        s[1] > sequences[row].high)
        return 0;
    for (size_t i = 2; i <= sequences[row].follow; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return 1 + (size_t)sequences[row].follow;
}

static void put_escape(struct out *out, uint8_t c)
{
    char pair[2] = {'\\', (char)c};

    if (c == '"' || c == '\\') {
        out_write(out, pair, 2);
    } else if (c == '\n') {
        out_write(out, "\\n", 2);
    } else {
        out_write(out, "\\u00", 4);
        out_hex_pad(out, c, 2);
    }
}

/* Returns 1 if all of it was UTF-8. */
static int put_string(struct out *out, const char *text, size_t len)
{
    const uint8_t *s = (const uint8_t *)text;
    size_t from = 0, i = 0; /* what needs no escape is copied in one go */
    int good = 1;

    out_char(out, '"');
    while (i < len) {
        size_t n = utf8_size(s + i, len - i);
        int c1 = n == 2 && s[i] == 0xc2 && s[i + 1] < 0xa0; /* U+0080 ... U+009F */

        if (n && s[i] >= 0x20 && s[i] != '"' && s[i] != '\\' && s[i] != 0x7f && !c1) {
            i += n;
            continue;
        }
        out_write(out, text + from, i - from);
        if (n)
            put_escape(out, s[i + (size_t)c1]);
        else
            out_write(out, "\\ufffd", 6);
        good &= n != 0;
        from = i += 1 + (size_t)c1;
    }
    out_write(out, text + from, len - from);
    out_char(out, '"');
    return good;
}

void json_text(struct json *json, const char *key, const char *text, size_t len)
{
    put_key(json, key);
    (void)put_string(json->out, text, len);
}

void json_string(struct json *json, const char *key, const char *string)
{
    size_t len = strlen(string);

    put_key(json, key);
    if (put_string(json->out, string, len))
        return;
    out_write(json->out, ",\"", 2);
    out_str(json->out, key);
    out_write(json->out, "_bytes\":", 8);
    json->comma = 0;
    json_bytes(json, NULL, (const uint8_t *)string, len);
}
