/* SPDX-License-Identifier: BSD-3-Clause */
/* dump_json.c - see dump_json.h. */
#include "dump_json.h"

#include "json_packet.h"

static int is_ip(const struct ptl_packet *packet)
{
    return packet->type >= PTL_PKT_TIP && packet->type <= PTL_PKT_FUP;
}

/* What the columns --lastip, --time and --tcal tell. */
static void track(struct dump *dump, struct json *json, const struct ptl_packet *packet, int timing)
{
    const struct dump_options *options = dump->options;
    uint64_t tsc;

    if (is_ip(packet) && dump->last_ip.have_ip && !dump->last_ip.suppressed)
        json_hex(json, "ip", dump->last_ip.ip);
    if (timing && options->time &&
        (!ptl_clock_query(&dump->clock, &tsc, NULL, NULL) || options->no_wall_clock))
        json_hex(json, "tsc", tsc);
    if (timing && options->tcal && dump->clock.tcal.have_fcr)
        json_real(json, "fcr", (double)dump->clock.tcal.fcr / (1 << PTL_FCR_SHIFT));
}

void dump_json_packet(struct dump *dump, const struct ptl_packet *packet, int timing)
{
    const char *name = ptl_packet_name((enum ptl_packet_type)packet->type);
    struct json json;

    json_begin(&json, dump->out, "packet");
    if (!dump->options->no_offset)
        json_count(&json, "offset", dump->base + (uint64_t)(dump->pos - dump->begin));
    json_text(&json, "packet", name, strlen(name));
    json_count(&json, "size", packet->size);
    if (dump->options->raw)
        json_bytes(&json, "bytes", dump->pos, packet->size);
    json_packet(&json, packet);
    track(dump, &json, packet, timing);
    json_end(&json);
}

void dump_json_error(struct out *out, uint64_t offset, const char *what, int status)
{
    struct json json;

    json_begin(&json, out, "error");
    json_count(&json, "offset", offset);
    json_string(&json, "what", what);
    if (status)
        json_string(&json, "status", ptl_strstatus(status));
    json_end(&json);
}

void dump_json_summary(struct out *out, const struct dump_result *result)
{
    struct json json;

    json_begin(&json, out, "summary");
    json_count(&json, "errors", result->errors);
    json_count(&json, "cuts", result->cuts);
    if (result->cuts)
        json_count(&json, "cut_offset", result->cut_offset);
    json_count(&json, "unsynced", result->unsynced);
    json_end(&json);
}
