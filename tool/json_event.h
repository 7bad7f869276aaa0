/* SPDX-License-Identifier: BSD-3-Clause */
/* json_event.h - the events and errors of a flow as fields of a JSON object. */
#ifndef TOOL_JSON_EVENT_H
#define TOOL_JSON_EVENT_H

#include "json.h"

#include <pt/flow.h>

/* Name, offset, addresses, time (if `time`) and what the type has beside. */
void json_event(struct json *json, const struct ptl_event *event, int time);
/* Offset, address, phase and reason. */
void json_error(struct json *json, const struct ptl_error *error);

#endif
