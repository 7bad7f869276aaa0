/* SPDX-License-Identifier: BSD-3-Clause */
/* json_event.c - see json_event.h. One row an event. */
#include "json_event.h"

#define FIELDS 7

enum form { END, HEX, COUNT, BOOL, CSTATE, MODE };

struct field {
    const char *key;
    uint16_t offset; /* in struct ptl_event */
    uint8_t size;
    uint8_t form;
    uint16_t valid; /* offset of the byte that tells whether there is one; 0: there is */
};

struct row {
    const char *name;
    struct field fields[FIELDS];
};

#define AT(member) offsetof(struct ptl_event, u.member)
#define IF(form, key, member, valid)                                                               \
    {                                                                                              \
        key, AT(member), sizeof(((struct ptl_event *)0)->u.member), form, valid                    \
    }
#define F(form, key, member) IF(form, key, member, 0)

#define PAGING                                                                                     \
    {                                                                                              \
        F(HEX, "cr3", paging.cr3), F(BOOL, "nr", paging.nr)                                        \
    }
#define VMCS                                                                                       \
    {                                                                                              \
        F(HEX, "base", vmcs.base)                                                                  \
    }
#define CFE                                                                                        \
    {                                                                                              \
        IF(COUNT, "vector", cfe.vector, AT(cfe.have_vector)),                                      \
            IF(HEX, "cr2", cfe.cr2, AT(cfe.have_cr2)),                                             \
            IF(HEX, "vmxr", cfe.vmxr, AT(cfe.have_vmxr)),                                          \
            IF(HEX, "vmxq", cfe.vmxq, AT(cfe.have_vmxq))                                           \
    }

static const struct row rows[PTL_EV_MAX_VALUE + 1] = {
    [PTL_EV_ENABLED] = {"enabled", {F(BOOL, "resumed", enabled.resumed)}},
    [PTL_EV_DISABLED] = {"disabled", {{0}}},
    [PTL_EV_ASYNC_DISABLED] = {"async_disabled", {F(HEX, "at", async_disabled.at)}},
    [PTL_EV_ASYNC_BRANCH] = {"async_branch", {F(HEX, "from", async_branch.from)}},
    [PTL_EV_PAGING] = {"paging", PAGING},
    [PTL_EV_ASYNC_PAGING] = {"async_paging", PAGING},
    [PTL_EV_VMCS] = {"vmcs", VMCS},
    [PTL_EV_ASYNC_VMCS] = {"async_vmcs", VMCS},
    [PTL_EV_OVERFLOW] = {"overflow", {{0}}},
    [PTL_EV_EXEC_MODE] = {"exec_mode", {F(MODE, "mode", exec_mode.mode)}},
    [PTL_EV_TSX] = {"tsx",
                    {F(BOOL, "speculative", tsx.speculative), F(BOOL, "aborted", tsx.aborted)}},
    [PTL_EV_STOP] = {"stop", {{0}}},
    [PTL_EV_EXSTOP] = {"exstop", {{0}}},
    [PTL_EV_MWAIT] = {"mwait", {F(HEX, "hints", mwait.hints), F(HEX, "ext", mwait.ext)}},
    [PTL_EV_PWRE] = {"pwre",
                     {F(CSTATE, "state", pwre.state), F(CSTATE, "sub_state", pwre.sub_state),
                      F(BOOL, "hw", pwre.hw)}},
    [PTL_EV_PWRX] = {"pwrx",
                     {F(CSTATE, "last", pwrx.last), F(CSTATE, "deepest", pwrx.deepest),
                      F(BOOL, "interrupt", pwrx.interrupt), F(BOOL, "store", pwrx.store),
                      F(BOOL, "autonomous", pwrx.autonomous)}},
    [PTL_EV_PTWRITE] = {"ptwrite",
                        {F(HEX, "payload", ptwrite.payload), F(COUNT, "size", ptwrite.size)}},
    [PTL_EV_TICK] = {"tick", {{0}}},
    [PTL_EV_CBR] = {"cbr", {F(COUNT, "ratio", cbr.ratio)}},
    [PTL_EV_MNT] = {"mnt", {F(HEX, "payload", mnt.payload)}},
    [PTL_EV_INTR] = {"intr", CFE},
    [PTL_EV_IRET] = {"iret", {{0}}},
    [PTL_EV_SMI] = {"smi", {{0}}},
    [PTL_EV_RSM] = {"rsm", {{0}}},
    [PTL_EV_SIPI] = {"sipi", CFE},
    [PTL_EV_INIT] = {"init", {{0}}},
    [PTL_EV_VMENTRY] = {"vmentry", {{0}}},
    [PTL_EV_VMEXIT] = {"vmexit", CFE},
    [PTL_EV_SHUTDOWN] = {"shutdown", {{0}}},
    [PTL_EV_UINTR] = {"uintr", CFE},
    [PTL_EV_UIRET] = {"uiret", {{0}}},
    [PTL_EV_SWINTR] = {"swintr", CFE},
    [PTL_EV_SYSCALL] = {"syscall", {{0}}},
    [PTL_EV_IFLAG] = {"iflag", {F(BOOL, "if", iflag.iflag)}},
    [PTL_EV_TRIG] = {"trig",
                     {F(HEX, "vector", trig.vector), F(BOOL, "mult", trig.mult),
                      F(COUNT, "icnt", trig.icnt)}},
    [PTL_EV_PEBS] = {"pebs", {{0}}},
    [PTL_EV_CONTEXT] = {"context", {F(COUNT, "pid", context.pid), F(COUNT, "tid", context.tid)}},
    [PTL_EV_SYNC] = {"sync", {{0}}},
    [PTL_EV_PSB] = {"psb", {{0}}},
    [PTL_EV_TIP] = {"tip", {{0}}},
};

static void put_field(struct json *json, const struct ptl_event *event, const struct field *field)
{
    static const uint64_t modes[] = {
        [PTL_MODE_UNKNOWN] = 0, [PTL_MODE_16] = 16, [PTL_MODE_32] = 32, [PTL_MODE_64] = 64};
    uint64_t value = 0;

    if (field->valid && !((const uint8_t *)event)[field->valid])
        return;
    memcpy(&value, (const char *)event + field->offset, field->size);
    if (field->form == HEX)
        json_hex(json, field->key, value);
    else if (field->form == BOOL)
        json_bool(json, field->key, value != 0);
    else if (field->form == MODE)
        json_count(json, field->key, modes[value & 3]);
    else if (field->form == CSTATE) /* written as MWAIT hints, 0 is C1 and 15 is C0 */
        json_count(json, field->key, (value + 1) & 15);
    else
        json_count(json, field->key, value);
}

void json_event(struct json *json, const struct ptl_event *event, int time)
{
    const struct row *row = event->type <= PTL_EV_MAX_VALUE ? &rows[event->type] : NULL;

    json_string(json, "event", row ? row->name : "unknown");
    json_count(json, "offset", event->offset);
    if (event->have_ip)
        json_hex(json, "ip", event->ip);
    if (time && event->have_tsc)
        json_hex(json, "tsc", event->tsc);
    for (size_t i = 0; row && i < FIELDS && row->fields[i].key; i++)
        put_field(json, event, &row->fields[i]);
}

void json_error(struct json *json, const struct ptl_error *error)
{
    static const char *const phases[] = {
        [PTL_PHASE_FLOW] = "flow",
        [PTL_PHASE_SYNC] = "sync",
        [PTL_PHASE_RESYNC] = "resync",
    };

    json_count(json, "offset", error->offset);
    json_hex(json, "ip", error->ip);
    if (error->phase <= PTL_PHASE_RESYNC)
        json_string(json, "phase", phases[error->phase]);
    json_string(json, "status", ptl_strstatus(error->status));
}
