/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text_record.h - perf_event records as text: one line each, or one line a field.
 *
 *     PERF_RECORD_COMM.EXEC  36af7/36af7, hello  { 36af7/36af7 4ec21f916eb96 cpu-9 371 }
 */
#ifndef TOOL_TEXT_RECORD_H
#define TOOL_TEXT_RECORD_H

#include "json.h"
#include "out.h"

#include <pt/record.h>

/* Both end with a newline. Control characters in names come out as \xNN. `all`: also kinds that
 * the reference's tools do not know; else those are UNKNOWN. */
void text_record(struct out *out, const struct ptl_record *record, int all);
void text_record_verbose(struct out *out, const struct ptl_record *record, int all);

/* Name, type, misc and fields of the record in an open JSON object. Fields of 64 bits are
 * hexadecimal strings, those of 32 bits numbers. */
void json_record(struct json *json, const struct ptl_record *record);

#endif
