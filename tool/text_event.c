/* SPDX-License-Identifier: BSD-3-Clause */
/* text_event.c - see text_event.h. One row per event type. */
#include "text_event.h"

#include "out.h"

#include <stdarg.h>
#include <stdio.h>

/* A line under construction; TEXT_EVENT_MAX is enough for all, and cuts. */
struct line {
    char *buf;
    size_t len;
};

static void __attribute__((format(printf, 2, 3))) add(struct line *line, const char *format, ...)
{
    size_t room = TEXT_EVENT_MAX - line->len;
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsnprintf(line->buf + line->len, room, format, ap);
    va_end(ap);
    if (n > 0)
        line->len += (size_t)n < room ? (size_t)n : room - 1;
}

static void add_text(struct line *line, const char *text)
{
    size_t n = strlen(text);

    memcpy(line->buf + line->len, text, n);
    line->len += n;
}

/* ", ip: 0123456789abcdef" */
static void add_address(struct line *line, const char *what, uint64_t value)
{
    add_text(line, ", ");
    add_text(line, what);
    add_text(line, ": ");
    text_hex16(line->buf + line->len, value);
    line->len += 16;
}

/* --- what the types say -------------------------------------------------------- */

static void say_enabled(struct line *line, const struct ptl_event *e, unsigned flags)
{
    (void)flags;
    add_text(line, e->u.enabled.resumed ? "resumed" : "enabled");
}

static void say_async_disabled(struct line *line, const struct ptl_event *e, unsigned flags)
{
    add_text(line, "disabled");
    if (flags & TEXT_EVENT_IP)
        add_address(line, "at", e->u.async_disabled.at);
}

static void say_async_branch(struct line *line, const struct ptl_event *e, unsigned flags)
{
    add_text(line, "interrupt");
    if (flags & TEXT_EVENT_IP) {
        add_address(line, "from", e->u.async_branch.from);
        add_address(line, "to", e->ip);
    }
}

static void say_paging(struct line *line, const struct ptl_event *e, unsigned flags)
{
    (void)flags;
    add_text(line, "paging");
    add_address(line, "cr3", e->u.paging.cr3);
    if (e->u.paging.nr)
        add_text(line, ", nr");
}

static void say_vmcs(struct line *line, const struct ptl_event *e, unsigned flags)
{
    (void)flags;
    add_text(line, "vmcs");
    add_address(line, "base", e->u.vmcs.base);
}

static void say_exec_mode(struct line *line, const struct ptl_event *e, unsigned flags)
{
    static const char *const names[] = {
        [PTL_MODE_UNKNOWN] = "<unknown>",
        [PTL_MODE_16] = "16-bit",
        [PTL_MODE_32] = "32-bit",
        [PTL_MODE_64] = "64-bit",
    };

    (void)flags;
    add(line, "exec mode: %s", names[e->u.exec_mode.mode & 3]);
}

static void say_tsx(struct line *line, const struct ptl_event *e, unsigned flags)
{
    (void)flags;
    add_text(line, e->u.tsx.aborted       ? "aborted"
                   : e->u.tsx.speculative ? "begin transaction"
                                          : "committed");
}

static void say_mwait(struct line *line, const struct ptl_event *e, unsigned flags)
{
    (void)flags;
    add(line, "mwait %x %x", e->u.mwait.hints, e->u.mwait.ext);
}

/* C-states are in MWAIT encoding: 0 is C1, 0xf is C0 (SDM "MWAIT", hints register). */
static unsigned cstate(unsigned field)
{
    return (field + 1) & 0xf;
}

static void say_pwre(struct line *line, const struct ptl_event *e, unsigned flags)
{
    (void)flags;
    add(line, "pwre c%u.%u%s", cstate(e->u.pwre.state), cstate(e->u.pwre.sub_state),
        e->u.pwre.hw ? " hw" : "");
}

static void say_pwrx(struct line *line, const struct ptl_event *e, unsigned flags)
{
    (void)flags;
    add(line, "pwrx %s%s%sc%u (c%u)", e->u.pwrx.interrupt ? "int: " : "",
        e->u.pwrx.store ? "st: " : "", e->u.pwrx.autonomous ? "hw: " : "", cstate(e->u.pwrx.last),
        cstate(e->u.pwrx.deepest));
}

static void say_ptwrite(struct line *line, const struct ptl_event *e, unsigned flags)
{
    (void)flags;
    add(line, "ptwrite: %llx", (unsigned long long)e->u.ptwrite.payload);
}

static void say_cbr(struct line *line, const struct ptl_event *e, unsigned flags)
{
    (void)flags;
    add(line, "cbr: %x", e->u.cbr.ratio);
}

static void say_mnt(struct line *line, const struct ptl_event *e, unsigned flags)
{
    (void)flags;
    add(line, "mnt: %llx", (unsigned long long)e->u.mnt.payload);
}

static void say_intr(struct line *line, const struct ptl_event *e, unsigned flags)
{
    (void)flags;
    add(line, "interrupt %u", e->u.cfe.vector);
    if (e->u.cfe.have_cr2)
        add_address(line, "cr2", e->u.cfe.cr2);
}

static void say_sipi(struct line *line, const struct ptl_event *e, unsigned flags)
{
    (void)flags;
    add(line, "sipi: %x", e->u.cfe.vector);
}

static void say_vmexit(struct line *line, const struct ptl_event *e, unsigned flags)
{
    (void)flags;
    add_text(line, "vmexit");
    if (e->u.cfe.have_vector)
        add(line, ", intr: %u", e->u.cfe.vector);
    if (e->u.cfe.have_vmxr)
        add_address(line, "vmxr", e->u.cfe.vmxr);
    if (e->u.cfe.have_vmxq)
        add_address(line, "vmxq", e->u.cfe.vmxq);
}

static void say_uintr(struct line *line, const struct ptl_event *e, unsigned flags)
{
    (void)flags;
    add(line, "uintr %u", e->u.cfe.vector);
}

static void say_swintr(struct line *line, const struct ptl_event *e, unsigned flags)
{
    (void)flags;
    add(line, "swintr %u", e->u.cfe.vector);
}

static void say_iflag(struct line *line, const struct ptl_event *e, unsigned flags)
{
    (void)flags;
    add_text(line, e->u.iflag.iflag ? "interrupts enabled" : "interrupts disabled");
}

static void say_trig(struct line *line, const struct ptl_event *e, unsigned flags)
{
    (void)flags;
    add(line, "trig %02x%s", e->u.trig.vector, e->u.trig.mult ? ", mult" : "");
}

static void say_context(struct line *line, const struct ptl_event *e, unsigned flags)
{
    (void)flags;
    add(line, "context: pid-%x", e->u.context.pid);
}

/* What follows the address. */
static void end_trig(struct line *line, const struct ptl_event *e)
{
    if (e->u.trig.icnt)
        add(line, ", icnt: %u", e->u.trig.icnt);
}

/* --- the table --------------------------------------------------------------- */

#define NO_IP   0x1u /* never with an address: it happens anywhere, or the text has it */
#define STATUS  0x2u /* shown even if it comes from PSB+ */
#define OPTION  0x4u /* only with TEXT_EVENT_CONTEXT */
#define NO_LINE 0x8u

static const struct row {
    const char *text; /* or: */
    void (*say)(struct line *line, const struct ptl_event *event, unsigned flags);
    void (*end)(struct line *line, const struct ptl_event *event);
    unsigned flags;
} rows[PTL_EV_MAX_VALUE + 1] = {
    [PTL_EV_ENABLED] = {.say = say_enabled},
    [PTL_EV_DISABLED] = {.text = "disabled"},
    [PTL_EV_ASYNC_DISABLED] = {.say = say_async_disabled},
    [PTL_EV_ASYNC_BRANCH] = {.say = say_async_branch, .flags = NO_IP},
    [PTL_EV_PAGING] = {.say = say_paging, .flags = NO_IP},
    [PTL_EV_ASYNC_PAGING] = {.say = say_paging},
    [PTL_EV_VMCS] = {.say = say_vmcs, .flags = NO_IP},
    [PTL_EV_ASYNC_VMCS] = {.say = say_vmcs},
    [PTL_EV_OVERFLOW] = {.text = "overflow"},
    [PTL_EV_EXEC_MODE] = {.say = say_exec_mode},
    [PTL_EV_TSX] = {.say = say_tsx},
    [PTL_EV_STOP] = {.text = "stopped", .flags = NO_IP},
    [PTL_EV_EXSTOP] = {.text = "exstop"},
    [PTL_EV_MWAIT] = {.say = say_mwait},
    [PTL_EV_PWRE] = {.say = say_pwre, .flags = NO_IP},
    [PTL_EV_PWRX] = {.say = say_pwrx, .flags = NO_IP},
    [PTL_EV_PTWRITE] = {.say = say_ptwrite},
    [PTL_EV_TICK] = {.text = "tick"},
    [PTL_EV_CBR] = {.say = say_cbr, .flags = NO_IP},
    [PTL_EV_MNT] = {.say = say_mnt, .flags = NO_IP | STATUS},
    [PTL_EV_INTR] = {.say = say_intr},
    [PTL_EV_IRET] = {.text = "iret"},
    [PTL_EV_SMI] = {.text = "smi"},
    [PTL_EV_RSM] = {.text = "rsm", .flags = NO_IP},
    [PTL_EV_SIPI] = {.say = say_sipi, .flags = NO_IP},
    [PTL_EV_INIT] = {.text = "init"},
    [PTL_EV_VMENTRY] = {.text = "vmentry"},
    [PTL_EV_VMEXIT] = {.say = say_vmexit},
    [PTL_EV_SHUTDOWN] = {.text = "shutdown"},
    [PTL_EV_UINTR] = {.say = say_uintr},
    [PTL_EV_UIRET] = {.text = "uiret"},
    [PTL_EV_SWINTR] = {.say = say_swintr},
    [PTL_EV_SYSCALL] = {.text = "syscall"},
    [PTL_EV_IFLAG] = {.say = say_iflag},
    [PTL_EV_TRIG] = {.say = say_trig, .end = end_trig},
    [PTL_EV_PEBS] = {.text = "pebs"},
    [PTL_EV_CONTEXT] = {.say = say_context, .flags = NO_IP | OPTION},
    [PTL_EV_SYNC] = {.text = "psb+"},
    [PTL_EV_PSB] = {.flags = NO_LINE},
    [PTL_EV_TIP] = {.text = "tip"},
};

static const struct row *row_of(const struct ptl_event *event, unsigned flags)
{
    const struct row *row;

    if (event->type > PTL_EV_MAX_VALUE)
        return NULL;
    row = &rows[event->type];
    if (event->type == PTL_EV_SYNC)
        return flags & TEXT_EVENT_SYNC ? row : NULL;
    if ((row->flags & NO_LINE) || (event->status && !(row->flags & STATUS)) ||
        ((row->flags & OPTION) && !(flags & TEXT_EVENT_CONTEXT)))
        return NULL;
    return row;
}

int text_event_shown(const struct ptl_event *event, unsigned flags)
{
    return row_of(event, flags) != NULL;
}

size_t text_event(char *buf, const struct ptl_event *event, unsigned flags)
{
    const struct row *row = row_of(event, flags);
    struct line line = {.buf = buf};

    if (!row)
        return 0;
    add_text(&line, "[");
    if (flags & TEXT_EVENT_OFFSET) {
        text_hex16(buf + line.len, event->offset);
        line.len += 16;
        add_text(&line, "  ");
    }
    if ((flags & TEXT_EVENT_TIME) && event->have_tsc) {
        text_hex16(buf + line.len, event->tsc);
        line.len += 16;
        add_text(&line, "  ");
    }
    if (row->say)
        row->say(&line, event, flags);
    else
        add_text(&line, row->text);
    if ((flags & TEXT_EVENT_IP) && event->have_ip && !(row->flags & NO_IP))
        add_address(&line, "ip", event->ip);
    if (row->end)
        row->end(&line, event);
    add_text(&line, "]");
    return line.len;
}

size_t text_error(char *buf, const struct ptl_error *error)
{
    static const char *const phases[] = {
        [PTL_PHASE_FLOW] = "",
        [PTL_PHASE_SYNC] = "sync ",
        [PTL_PHASE_RESYNC] = "resync ",
    };
    struct line line = {.buf = buf};

    add(&line, "[%llx, %llx: %serror: %s]", (unsigned long long)error->offset,
        (unsigned long long)error->ip, error->phase <= PTL_PHASE_RESYNC ? phases[error->phase] : "",
        ptl_strstatus(error->status));
    return line.len;
}
