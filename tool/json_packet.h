/* SPDX-License-Identifier: BSD-3-Clause */
/* json_packet.h - the payloads of packets as fields of a JSON object. */
#ifndef TOOL_JSON_PACKET_H
#define TOOL_JSON_PACKET_H

#include "json.h"

#include <pt/packet.h>

void json_packet(struct json *json, const struct ptl_packet *packet);

#endif
