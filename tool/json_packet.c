/* SPDX-License-Identifier: BSD-3-Clause */
/* json_packet.c - see json_packet.h. One row a packet: what is in it. */
#include "json_packet.h"

#include "text_packet.h"

#define FIELDS 5

enum form { END, HEX, COUNT, BOOL, CSTATE };

struct field {
    const char *key;
    uint16_t offset; /* in struct ptl_packet */
    uint8_t size;
    uint8_t form;
};

#define F(form, key, member)                                                                       \
    {                                                                                              \
        key, offsetof(struct ptl_packet, payload.member),                                          \
            sizeof(((struct ptl_packet *)0)->payload.member), form                                 \
    }

static const struct field rows[PTL_PKT_MAX_VALUE + 1][FIELDS] = {
    [PTL_PKT_MODE_EXEC] = {F(BOOL, "cs_l", mode_exec.csl), F(BOOL, "cs_d", mode_exec.csd),
                           F(BOOL, "if", mode_exec.iflag)},
    [PTL_PKT_MODE_TSX] = {F(BOOL, "intx", mode_tsx.intx), F(BOOL, "abrt", mode_tsx.abrt)},
    [PTL_PKT_PIP] = {F(HEX, "cr3", pip.cr3), F(BOOL, "nr", pip.nr)},
    [PTL_PKT_VMCS] = {F(HEX, "base", vmcs.base)},
    [PTL_PKT_TSC] = {F(HEX, "payload", tsc.tsc)},
    [PTL_PKT_TMA] = {F(COUNT, "ctc", tma.ctc), F(COUNT, "fc", tma.fc)},
    [PTL_PKT_MTC] = {F(COUNT, "ctc", mtc.ctc)},
    [PTL_PKT_CYC] = {F(COUNT, "cycles", cyc.value)},
    [PTL_PKT_CBR] = {F(COUNT, "ratio", cbr.ratio)},
    [PTL_PKT_MNT] = {F(HEX, "payload", mnt.payload)},
    [PTL_PKT_EXSTOP] = {F(BOOL, "fup", exstop.ip)},
    [PTL_PKT_MWAIT] = {F(HEX, "hints", mwait.hints), F(HEX, "ext", mwait.ext)},
    [PTL_PKT_PWRE] = {F(CSTATE, "state", pwre.state), F(CSTATE, "sub_state", pwre.sub_state),
                      F(BOOL, "hw", pwre.hw)},
    [PTL_PKT_PWRX] = {F(CSTATE, "last", pwrx.last), F(CSTATE, "deepest", pwrx.deepest),
                      F(BOOL, "interrupt", pwrx.interrupt), F(BOOL, "store", pwrx.store),
                      F(BOOL, "autonomous", pwrx.autonomous)},
    [PTL_PKT_PTW] = {F(HEX, "payload", ptw.payload), F(BOOL, "fup", ptw.ip)},
    [PTL_PKT_CFE] = {F(COUNT, "cfe", cfe.type), F(COUNT, "vector", cfe.vector),
                     F(BOOL, "fup", cfe.ip)},
    [PTL_PKT_EVD] = {F(COUNT, "evd", evd.type), F(HEX, "payload", evd.payload)},
    [PTL_PKT_BBP] = {F(COUNT, "bbp", bbp.type), F(BOOL, "sz4", bbp.sz4)},
    [PTL_PKT_BIP] = {F(COUNT, "id", bip.id), F(HEX, "payload", bip.value)},
    [PTL_PKT_BEP] = {F(BOOL, "fup", bep.ip)},
    [PTL_PKT_TRIG] = {F(HEX, "vector", trig.vector), F(BOOL, "fup", trig.ip),
                      F(BOOL, "mult", trig.mult), F(BOOL, "icntv", trig.icntv),
                      F(COUNT, "icnt", trig.icnt)},
};

static uint64_t load(const struct ptl_packet *packet, const struct field *field)
{
    uint64_t value = 0;

    memcpy(&value, (const char *)packet + field->offset, field->size);
    return value;
}

static void put_field(struct json *json, const struct ptl_packet *packet, const struct field *field)
{
    uint64_t value = load(packet, field);

    switch (field->form) {
    case HEX:
        json_hex(json, field->key, value);
        break;
    case COUNT:
        json_count(json, field->key, value);
        break;
    case BOOL:
        json_bool(json, field->key, value != 0);
        break;
    default: /* CSTATE: written as MWAIT hints, 0 is C1 and 15 is C0 */
        json_count(json, field->key, (value + 1) & 15);
        break;
    }
}

/* "10": taken, not taken; the oldest first. */
static void put_tnt(struct json *json, const struct ptl_packet *packet)
{
    char bits[64];
    unsigned n = packet->payload.tnt.count;

    for (unsigned i = 0; i < n; i++)
        bits[i] = packet->payload.tnt.bits >> (n - 1 - i) & 1 ? '1' : '0';
    json_text(json, "tnt", bits, n);
}

static void put_ip(struct json *json, const struct ptl_packet *packet)
{
    uint64_t ip = packet->payload.ip.ip;
    uint8_t ipc = packet->payload.ip.ipc;

    json_count(json, "ipc", ipc);
    if (ipc == PTL_IPC_SEXT_48)
        ip = (uint64_t)((int64_t)(ip << 16) >> 16);
    if (ipc != PTL_IPC_SUPPRESSED)
        json_hex(json, "payload", ip);
}

void json_packet(struct json *json, const struct ptl_packet *packet)
{
    const char *kind = text_packet_kind(packet);

    switch (packet->type) {
    case PTL_PKT_TNT8:
    case PTL_PKT_TNT64:
        put_tnt(json, packet);
        break;
    case PTL_PKT_TIP:
    case PTL_PKT_TIP_PGE:
    case PTL_PKT_TIP_PGD:
    case PTL_PKT_FUP:
        put_ip(json, packet);
        break;
    case PTL_PKT_MODE_EXEC:
        kind = text_packet_mode(packet);
        json_text(json, "mode", kind, strlen(kind));
        kind = NULL;
        break;
    default:
        break;
    }
    if (kind)
        json_text(json, "kind", kind, strlen(kind));
    if (packet->type > PTL_PKT_MAX_VALUE)
        return;
    for (const struct field *f = rows[packet->type]; f < rows[packet->type] + FIELDS && f->key; f++)
        put_field(json, packet, f);
}
