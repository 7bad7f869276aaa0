/* SPDX-License-Identifier: BSD-3-Clause */
/* test_json.c - the JSON Lines writer: escapes, bytes that are no UTF-8, numbers. Expected
 * text: RFC 8259; well-formed UTF-8: Unicode standard, table 3-7. */
#include "json.h"
#include "unit.h"

#include <stdlib.h>

static char text[1 << 20];

/* What `write` puts between the braces, behind the type. */
static const char *line_of(void (*fill)(struct json *json, const void *arg), const void *arg)
{
    static const char head[] = "{\"type\":\"t\"";
    struct out out;
    struct json json;

    assert_int_equal(out_open_memory(&out), 0);
    json_begin(&json, &out, "t");
    fill(&json, arg);
    json_end(&json);
    assert_int_equal(out.error, 0);
    assert_memory_equal(out.buf, head, strlen(head));
    assert_memory_equal(out.buf + out.len - 2, "}\n", 2);
    out.len -= 2 + strlen(head);
    assert_true(out.len < sizeof(text));
    memcpy(text, out.buf + strlen(head), out.len);
    text[out.len] = '\0';
    free(out.buf);
    return text;
}

static void fill_string(struct json *json, const void *arg)
{
    json_string(json, "s", arg);
}

static void strings(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"", ",\"s\":\"\""},
        {"plain", ",\"s\":\"plain\""},
        {"a\"b\\c/", ",\"s\":\"a\\\"b\\\\c/\""},
        {"\n\t\x01\x1f\x7f", ",\"s\":\"\\n\\u0009\\u0001\\u001f\\u007f\""},
        {"\xc2\x80 \xc2\x9b[2J\xc2\x9f\xc2\xa0", ",\"s\":\"\\u0080 \\u009b[2J\\u009f\xc2\xa0\""},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
         ",\"s\":\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
        /* a lone continuation, overlong forms, a surrogate, beyond U+10FFFF, cut at the end */
        {"x\x80", ",\"s\":\"x\\ufffd\",\"s_bytes\":\"7880\""},
        {"\xc0\xaf", ",\"s\":\"\\ufffd\\ufffd\",\"s_bytes\":\"c0af\""},
        {"\xe0\x80\xaf", ",\"s\":\"\\ufffd\\ufffd\\ufffd\",\"s_bytes\":\"e080af\""},
        {"\xed\xa0\x80", ",\"s\":\"\\ufffd\\ufffd\\ufffd\",\"s_bytes\":\"eda080\""},
        {"\xf4\x90\x80\x80", ",\"s\":\"\\ufffd\\ufffd\\ufffd\\ufffd\",\"s_bytes\":\"f4908080\""},
        {"\xf5z", ",\"s\":\"\\ufffdz\",\"s_bytes\":\"f57a\""},
        {"\xe2\x82", ",\"s\":\"\\ufffd\\ufffd\",\"s_bytes\":\"e282\""},
        {"\xff\"", ",\"s\":\"\\ufffd\\\"\",\"s_bytes\":\"ff22\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_string_equal(line_of(fill_string, rows[i].in), rows[i].out);
}

static void fill_numbers(struct json *json, const void *arg)
{
    const uint8_t bytes[] = {0, 0x0f, 0xf0};

    (void)arg;
    json_count(json, "a", 0);
    json_count(json, "b", 9007199254740993u);
    json_hex(json, "c", 0);
    json_hex(json, "d", UINT64_MAX);
    json_bool(json, "e", 2);
    json_real(json, "f", 1.5);
    json_bytes(json, "g", bytes, sizeof(bytes));
    json_open(json, "h", '[');
    json_string(json, NULL, "x");
    json_string(json, NULL, "y");
    json_close(json, ']');
    json_open(json, "i", '{');
    json_close(json, '}');
    json_bool(json, "j", 0);
}

static void numbers(void **state)
{
    (void)state;
    assert_string_equal(
        line_of(fill_numbers, NULL),
        ",\"a\":0,\"b\":9007199254740993,\"c\":\"0x0\",\"d\":\"0xffffffffffffffff\","
        "\"e\":true,\"f\":1.500,\"g\":\"000ff0\",\"h\":[\"x\",\"y\"],\"i\":{},"
        "\"j\":false");
}

/* Longer than any buffer to begin with. */
static void long_string(void **state)
{
    size_t n = 300000;
    char *string = malloc(n + 1);
    const char *line;

    (void)state;
    assert_non_null(string);
    memset(string, 'a', n);
    string[n] = '\0';
    line = line_of(fill_string, string);
    assert_int_equal(strlen(line), n + 7);
    assert_memory_equal(line + 6, string, n);
    free(string);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings),
        cmocka_unit_test(numbers),
        cmocka_unit_test(long_string),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
