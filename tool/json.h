/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.h - lines of JSON (one object a line, jsonlines.org) on the buffered writer.
 *
 *     json_begin(&json, out, "error");
 *     json_count(&json, "offset", offset);
 *     json_hex(&json, "ip", ip);
 *     json_end(&json);                       {"type":"error","offset":12,"ip":"0x401000"}
 *
 * Which numbers are numbers: many readers keep a JSON number as a double, which is exact up to
 * 2^53 only. Addresses, times, payloads and masks use all 64 bits, so they are strings "0x..."
 * always - not only when they are large, which would make the type depend on the value.
 * Counts, sizes and offsets of files never get there; they are numbers.
 */
#ifndef TOOL_JSON_H
#define TOOL_JSON_H

#include "out.h"

struct json {
    struct out *out;
    int comma; /* something stands before in this object or array */
};

void json_begin(struct json *json, struct out *out, const char *type);
void json_end(struct json *json); /* with a newline */

/* Objects and arrays inside; what is in an array has the key NULL. */
void json_open(struct json *json, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);                 /* '}' or ']' */

void json_count(struct json *json, const char *key, uint64_t value);
void json_hex(struct json *json, const char *key, uint64_t value);
void json_real(struct json *json, const char *key, double value); /* three decimals */
void json_bool(struct json *json, const char *key, int value);
void json_bytes(struct json *json, const char *key, const uint8_t *bytes, size_t len);
/* A string that is UTF-8. */
void json_text(struct json *json, const char *key, const char *text, size_t len);
/* Foreign bytes that should be. Where they are not, "\ufffd" stands for each bad byte, and a
 * second field "<key>_bytes" has all of them in hexadecimal. */
void json_string(struct json *json, const char *key, const char *string);

#endif
