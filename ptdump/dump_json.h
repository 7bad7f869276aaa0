/* SPDX-License-Identifier: BSD-3-Clause */
/* dump_json.h - the lines of the dump loop as JSON (--json). */
#ifndef PTDUMP_DUMP_JSON_H
#define PTDUMP_DUMP_JSON_H

#include "dump.h"

/* `timing`: the packet moves time. */
void dump_json_packet(struct dump *dump, const struct ptl_packet *packet, int timing);
/* `status` 0: `what` says it all. */
void dump_json_error(struct out *out, uint64_t offset, const char *what, int status);

/* What could not be decoded, in numbers: the last line. */
void dump_json_summary(struct out *out, const struct dump_result *result);

#endif
