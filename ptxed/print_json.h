/* SPDX-License-Identifier: BSD-3-Clause */
/* print_json.h - --json: what print.h prints, as a JSON object a line. */
#ifndef PTXED_PRINT_JSON_H
#define PTXED_PRINT_JSON_H

#include "print.h"

void print_json_event(struct printer *printer, const struct ptl_event *event);
void print_json_error(struct printer *printer, const struct ptl_error *error);
void print_json_check(struct printer *printer, uint64_t ip, const char *what);
/* The block as one line (--json=blocks), or its instructions. */
void print_json_block(struct printer *printer, const struct ptl_item *item);
void print_json_insns(struct printer *printer, const struct ptl_item *item,
                      const struct lines *lines);
/* A line without more than a type. */
void print_json_mark(struct printer *printer, const char *type);
void print_json_statistics(struct printer *printer);

#endif
