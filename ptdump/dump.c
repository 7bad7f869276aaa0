/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dump.c - the loop over packets: synchronise, decode, follow time, print.
 *
 * Two loops take turns: fast() copies lines made ahead (rows.h) as long as the first byte
 * tells the packet; one_packet() does anything. Both know how much room a line needs, so a
 * line is written straight into the output buffer.
 */
#include "dump.h"

#include "dump_json.h"
#include "hex.h"
#include "line.h"

#include <pt/io.h>
#include <stddef.h>
#include <stdio.h>

/* The fast loop stays away from the end by more than the longest packet, and from the end of
 * the output buffer by what it writes per line. */
#define FAST_MARGIN 16
#define FAST_LINE   (18 + ROW_TEXT + 16)
/* The offset's upper 12 digits are constant so long. */
#define WINDOW 0x10000u
/* What the fast loop leaves for the packet behind it, and room for all that is printed between two
 * looks at it, but for records of a sideband: text must not go out in between (go_on). */
#define SLOW_ROOM (4 * LINE_MAX + 4 * 4096) /* out_printf() wants 4096 for an error */
#define ROOM      (16 * FAST_LINE + SLOW_ROOM)
/* Bytes between two looks whether the file is still as long as it was. */
#define SETTLE_STEP (1u << 18)
/* Bytes between two calls of hooks.passed. */
#define PASSED_STEP (1u << 22)

static inline int silent(const struct dump *dump)
{
    return dump->hidden | dump->outside;
}

/* --- errors ------------------------------------------------------------------------ */

static void error_line(struct dump *dump, const char *what, int status)
{
    uint64_t offset = dump->base + (uint64_t)(dump->pos - dump->begin);

    if (silent(dump))
        return;
    if (dump->options->json)
        dump_json_error(dump->out, offset, what, status);
    else if (status)
        out_printf(dump->out, "[%llx: %s: %s]\n", (unsigned long long)offset, what,
                   ptl_strstatus(status));
    else
        out_printf(dump->out, "[%llx: %s]\n", (unsigned long long)offset, what);
}

/* --- tracking columns -------------------------------------------------------------- */

#define VALUE_MAX 40

static void set_value(char *value, const char *text)
{
    *put_word(value, text) = '\0';
}

/* "+n" or "-n" in hex. */
static void delta_text(char *value, uint64_t now, uint64_t before)
{
    uint64_t distance = now >= before ? now - before : before - now;

    value[0] = now >= before ? '+' : '-';
    *hex_short(value + 1, distance) = '\0';
}

static void hex16_text(char *value, uint64_t v)
{
    hex16(value, v);
    value[16] = '\0';
}

static const char *track_tsc(struct dump *dump, char *value)
{
    uint64_t tsc;
    int status = ptl_clock_query(&dump->clock, &tsc, NULL, NULL);

    if (status && !dump->options->no_wall_clock) {
        error_line(dump, "error printing time", status);
        set_value(value, "<unavailable>");
        return "tsc";
    }
    if (dump->options->time_delta)
        delta_text(value, tsc, dump->last_tsc);
    else
        hex16_text(value, tsc);
    dump->last_tsc = tsc;
    return "tsc";
}

static const char *track_fcr(struct dump *dump, char *value)
{
    const double unit = 1 << PTL_FCR_SHIFT;
    uint64_t fcr = dump->clock.tcal.fcr;

    if (!dump->clock.tcal.have_fcr) {
        error_line(dump, "error printing time", PTL_NO_TIME);
        set_value(value, "<unavailable>");
    } else if (dump->options->time_delta) {
        snprintf(value, VALUE_MAX, "%+.3f", ((double)fcr - (double)dump->last_fcr) / unit);
        dump->last_fcr = fcr;
    } else {
        snprintf(value, VALUE_MAX, "%.3f", (double)fcr / unit);
    }
    return "fcr";
}

static const char *track_last_ip(struct dump *dump, char *value)
{
    if (!dump->last_ip.have_ip)
        set_value(value, "<unavailable>");
    else if (dump->last_ip.suppressed)
        set_value(value, "<suppressed>");
    else
        hex16_text(value, dump->last_ip.ip);
    return "ip";
}

/* The tracking column of `packet`: its id, or NULL if it has none; the value in `value`. */
static const char *track(struct dump *dump, const struct ptl_packet *packet, char *value)
{
    const struct dump_options *options = dump->options;

    switch (packet->type) {
    case PTL_PKT_TIP:
    case PTL_PKT_TIP_PGE:
    case PTL_PKT_TIP_PGD:
    case PTL_PKT_FUP:
        return options->lastip ? track_last_ip(dump, value) : NULL;
    case PTL_PKT_MODE_EXEC:
        set_value(value, text_packet_mode(packet));
        return options->exec_mode ? "em" : NULL;
    case PTL_PKT_PIP:
        hex16_text(value, packet->payload.pip.cr3);
        return "cr3";
    case PTL_PKT_VMCS:
        hex16_text(value, packet->payload.vmcs.base);
        return "vmcs";
    case PTL_PKT_CFE:
    case PTL_PKT_EVD:
    case PTL_PKT_BBP:
        set_value(value, text_packet_kind(packet));
        return "type";
    case PTL_PKT_TSC:
    case PTL_PKT_MTC:
        return options->time   ? track_tsc(dump, value)
               : options->tcal ? track_fcr(dump, value)
                               : NULL;
    case PTL_PKT_TMA:
    case PTL_PKT_CYC:
        return options->time ? track_tsc(dump, value) : NULL;
    case PTL_PKT_CBR:
        return options->tcal ? track_fcr(dump, value) : NULL;
    default:
        return NULL;
    }
}

/* --- time -------------------------------------------------------------------------- */

static int is_timing(const struct ptl_packet *packet)
{
    switch (packet->type) {
    case PTL_PKT_TSC:
    case PTL_PKT_TMA:
    case PTL_PKT_MTC:
    case PTL_PKT_CYC:
    case PTL_PKT_CBR:
        return 1;
    default:
        return 0;
    }
}

/* Does the stretch of time that is asked for begin, or end? */
static void watch_window(struct dump *dump)
{
    uint64_t tsc;

    if (!ptl_clock_query(&dump->clock, &tsc, NULL, NULL))
        dump->outside = tsc < dump->from || tsc > dump->to;
}

static void tell_upto(struct dump *dump)
{
    uint64_t tsc;

    if (ptl_clock_query(&dump->clock, &tsc, NULL, NULL) && !dump->options->no_wall_clock)
        tsc = 0; /* before the first TSC: what has no time */
    dump->hooks.upto(dump->hooks.context, tsc);
}

static void time_error(struct dump *dump, const char *what, int status)
{
    if (dump->tell_time)
        error_line(dump, what, status);
}

static void follow_time(struct dump *dump, const struct ptl_packet *packet)
{
    int status;

    if (packet->type == PTL_PKT_CYC && dump->options->no_cyc)
        return;
    status = ptl_clock_calibrate(&dump->clock, packet, dump->in_psb);
    if (status)
        time_error(dump, "error calibrating time", status);
    if (packet->type == PTL_PKT_CYC && !dump->clock.tcal.have_fcr)
        time_error(dump, "calibration error", PTL_NO_TIME);
    status = ptl_clock_update(&dump->clock, packet);
    if (status == PTL_NO_TIME)
        time_error(dump, "error updating time: no calibration", 0);
    else if (status)
        time_error(dump, "error updating time", status);
    if (!is_timing(packet))
        return;
    if (dump->windowed)
        watch_window(dump);
    if (dump->hooks.upto)
        tell_upto(dump);
}

/* --- one packet, anything ----------------------------------------------------------- */

static int shown(const struct dump_options *options, const struct ptl_packet *packet)
{
    if (options->quiet)
        return 0;
    if (packet->type == PTL_PKT_PAD)
        return !options->no_pad;
    if (packet->type == PTL_PKT_CYC && options->no_cyc)
        return 0;
    return !options->no_timing || !is_timing(packet);
}

static void print_packet(struct dump *dump, const struct ptl_packet *packet)
{
    const struct dump_options *options = dump->options;
    char value[VALUE_MAX], *begin, *p;
    const char *id;
    size_t len;

    if (options->json) {
        dump_json_packet(dump, packet, is_timing(packet));
        return;
    }
    id = track(dump, packet, value); /* may print an error line before ours */

    begin = p = out_reserve(dump->out, LINE_MAX);
    if (!options->no_offset)
        p = line_offset(p, dump->base + (uint64_t)(dump->pos - dump->begin));
    if (options->raw) /* an OVF that cut a CYC (SKD007) shows its first two bytes */
        p = line_raw(p, dump->pos, packet->type == PTL_PKT_OVF ? 2 : packet->size);
    len = line_packet(p, packet);
    if (id)
        len = line_track(p, len, id, value);
    p[len] = '\n';
    out_commit(dump->out, (size_t)(p - begin) + len + 1);
}

static void follow_state(struct dump *dump, const struct ptl_packet *packet)
{
    dump->flags = ptl_packet_next_flags(packet, dump->flags);
    switch (packet->type) {
    case PTL_PKT_TIP:
    case PTL_PKT_TIP_PGE:
    case PTL_PKT_TIP_PGD:
    case PTL_PKT_FUP: /* reserved forms do not come here */
        (void)ptl_last_ip_update(&dump->last_ip, packet->payload.ip.ipc, packet->payload.ip.ip);
        break;
    case PTL_PKT_PSB:
        dump->in_psb = 1;
        break;
    case PTL_PKT_OVF:
        dump->result.overflows += !silent(dump);
        dump->in_psb = 0;
        break;
    case PTL_PKT_PSBEND:
        dump->in_psb = 0;
        break;
    default:
        break;
    }
}

/* A packet comes that would be shown: is it hidden? */
static int still_hidden(struct dump *dump)
{
    if (dump->outside)
        return 1;
    if (!dump->hidden)
        return 0;
    if (dump->hide) {
        dump->hide--;
        return 1;
    }
    dump->hidden = 0;
    if (dump->hooks.begun)
        dump->hooks.begun(dump->hooks.context);
    return 0;
}

void dump_hide(struct dump *dump, uint64_t n)
{
    dump->hidden = n != 0;
    dump->hide = n;
}

/* Returns 0 or the reason why there is no packet at dump->pos. */
static int one_packet(struct dump *dump)
{
    struct ptl_packet packet;
    int size = ptl_packet_decode(&packet, dump->pos, (size_t)(dump->end - dump->pos), dump->flags);

    if (size < 0)
        return size;
    if (dump->track)
        follow_time(dump, &packet);
    follow_state(dump, &packet);
    if (shown(dump->options, &packet) && !still_hidden(dump))
        print_packet(dump, &packet);
    dump->pos += size;
    return 0;
}

/* --- the fast loop ------------------------------------------------------------------ */

static inline uint64_t load64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

/* The 16 digits of an address over those in the copied text. */
static inline void put_address(char *p, const struct row *row, const uint8_t *payload)
{
    uint64_t ip = (uint64_t)((int64_t)(load64(payload) << row->shift) >> row->shift), high, low;

    high = (hex8((uint32_t)(ip >> 32)) & row->known[0]) | row->unknown[0];
    low = (hex8((uint32_t)ip) & row->known[1]) | row->unknown[1];
    memcpy(p, &high, 8);
    memcpy(p + 8, &low, 8);
}

/* Packets up to the end of a window, or the first one that is not a row's. */
static void fast(struct dump *dump)
{
    const struct row *rows = dump->rows;
    const uint16_t *hex2 = dump->hex2;
    const uint8_t *pos = dump->pos, *end = dump->end;
    uint64_t offset = dump->base + (uint64_t)(pos - dump->begin);
    uint64_t left = WINDOW - (offset & (WINDOW - 1));
    size_t prefix = dump->options->no_offset ? 0 : 18;
    char *begin = out_reserve(dump->out, 16 * FAST_LINE), *p = begin,
         *full = dump->out->buf + dump->out->cap - FAST_LINE - SLOW_ROOM;
    char high[16];

    if (end - pos <= FAST_MARGIN)
        return;
    end = (uint64_t)(end - pos) - FAST_MARGIN < left ? end - FAST_MARGIN : pos + left;
    hex16(high, offset);
    offset -= (uint64_t)(uintptr_t)pos;
    while (pos < end && p <= full) {
        const struct row *row = &rows[*pos];
        unsigned low = (unsigned)((uint64_t)(uintptr_t)pos + offset);
        uint64_t digits =
            hex2[low >> 8 & 0xff] | (uint32_t)hex2[low & 0xff] << 16 | (uint64_t)0x2020 << 32;

        memcpy(p, high, 16);
        memcpy(p + 12, &digits, 8);
        memcpy(p + prefix, row->text, ROW_TEXT);
        if (row->kind != ROW_FIXED) {
            if (row->kind == ROW_OTHER)
                break;
            put_address(p + prefix + ROW_IP, row, pos + 1);
        }
        p += row->len ? prefix + row->len : 0;
        pos += row->size;
    }
    dump->pos = pos;
    out_commit(dump->out, (size_t)(p - begin));
}

/* --- a stretch ---------------------------------------------------------------------- */

static void start(struct dump *dump, const uint8_t *pos)
{
    dump->pos = pos;
    dump->flags = dump->errata_flags;
    dump->in_psb = 0;
    memset(&dump->last_ip, 0, sizeof(dump->last_ip));
    ptl_clock_init(&dump->clock, &dump->clock_config);
}

/* Go to the first PSB at or after `from`; what is not decoded begins at `lost`. Returns 0 if there
 * is none. */
static int sync_at(struct dump *dump, size_t from, size_t lost)
{
    size_t len = (size_t)(dump->end - dump->begin), at = ptl_psb_find(dump->begin, len, from);

    dump->result.skipped += at > lost && !silent(dump) ? at - lost : 0;
    start(dump, dump->begin + at);
    return at < len;
}

/* After an error: a PSB may have been swallowed in part by a packet before it that was none,
 * so the search begins where one could that ends behind the error. */
static int resync(struct dump *dump)
{
    size_t at = (size_t)(dump->pos - dump->begin), back = PTL_PACKET_MAX_SIZE - 1;

    return sync_at(dump, at > back ? at - back : 0, at);
}

/* --- files that become shorter ------------------------------------------------------ */

/* Where to go back to if what has been dumped since turns out to be no bytes of the file. */
struct settled {
    struct dump dump; /* only what changes */
    struct sb_print sideband;
    uint64_t written; /* by `out` */
    size_t len;       /* of text in it */
    const uint8_t *next;
};

#define CHANGES offsetof(struct dump, result)

static void copy_changes(struct dump *to, const struct dump *from)
{
    memcpy((char *)to + CHANGES, (const char *)from + CHANGES, sizeof(*to) - CHANGES);
}

/* The bytes from `from` on that the file still has. */
static const uint8_t *left_from(const struct dump *dump, const uint8_t *from)
{
    return from + ptl_map_left(from, (size_t)(dump->end - from));
}

/* The stretch ends where the file ends by now. */
static void end_with_file(struct dump *dump)
{
    dump->end = left_from(dump, dump->pos);
}

static void settle(struct dump *dump, struct settled *s)
{
    end_with_file(dump);
    copy_changes(&s->dump, dump);
    if (dump->hooks.sideband)
        s->sideband = *dump->hooks.sideband;
    s->written = dump->out->written;
    s->len = dump->out->len;
    s->next = (size_t)(dump->end - dump->pos) > SETTLE_STEP ? dump->pos + SETTLE_STEP : dump->end;
}

/* Did the file lose bytes that have been dumped since? Then that did not happen. */
static int take_back(struct dump *dump, const struct settled *s)
{
    const uint8_t *end = left_from(dump, s->dump.pos);

    if (end >= dump->pos)
        return 0;
    copy_changes(dump, &s->dump);
    if (dump->hooks.sideband)
        *dump->hooks.sideband = s->sideband;
    if (s->written == dump->out->written)
        dump->out->len = s->len;
    dump->end = end;
    return 1;
}

/* Text goes out only if it is of bytes of the file. A reader may let us wait meanwhile. */
static void go_on(struct dump *dump, struct settled *s)
{
    int full = dump->out->cap - dump->out->len < ROOM;

    if (!full && dump->pos < s->next)
        return;
    if (!take_back(dump, s) && full)
        out_flush(dump->out);
    settle(dump, s);
}

/* --- a stretch, on ------------------------------------------------------------------ */

/* Packets up to the end, or to that of the file. */
static void dump_packets(struct dump *dump, struct settled *settled)
{
    const uint32_t block = PTL_DECODE_BLOCK4 | PTL_DECODE_BLOCK8;
    const uint8_t *passed = dump->pos;
    int status;

    while (dump->pos < dump->end) {
        go_on(dump, settled);
        if (dump->hooks.passed && (size_t)(dump->pos - passed) >= PASSED_STEP) {
            passed = dump->pos;
            dump->hooks.passed(dump->hooks.context, passed);
        }
        if (!(dump->flags & block) && !silent(dump))
            fast(dump);
        status = one_packet(dump);
        if (status == PTL_EOS) {
            if (dump->pos < dump->end && !silent(dump)) {
                dump->result.cuts++;
                dump->result.cut_offset = dump->base + (uint64_t)(dump->pos - dump->begin);
            }
            return;
        }
        if (status) {
            dump->result.errors += !silent(dump);
            error_line(dump, "error decoding packet", status);
            dump->lost = !resync(dump);
            if (dump->lost)
                return;
        }
    }
}

/* All packets from dump->pos on. */
static void dump_rest(struct dump *dump)
{
    struct settled settled;

    settle(dump, &settled);
    do
        dump_packets(dump, &settled);
    while (take_back(dump, &settled));
}

void dump_range(struct dump *dump, const uint8_t *buf, size_t len, uint64_t base)
{
    dump->begin = buf;
    dump->end = buf + len;
    dump->base = base;
    dump->lost = 0;
    dump->outside = 0; /* what comes before the first PSB has no time, and is lost in any case */
    start(dump, buf);
    end_with_file(dump);
    if (!dump->options->no_sync && !sync_at(dump, 0, 0)) {
        dump->lost = 1;
        dump->result.unsynced += !silent(dump);
        return;
    }
    dump->outside = dump->windowed && dump->from;
    dump_rest(dump);
}

void dump_on(struct dump *dump, const uint8_t *buf, size_t len, uint64_t base)
{
    int cut = dump->pos < dump->end;

    if (dump->lost || (cut && buf != dump->end)) {
        dump_range(dump, buf, len, base);
        return;
    }
    if (cut && !silent(dump)) /* the packet's other half is here */
        dump->result.cuts--;
    dump->begin = cut ? dump->pos : buf;
    dump->base = base - (cut ? (uint64_t)(buf - dump->pos) : 0);
    dump->pos = dump->begin;
    dump->end = buf + len;
    dump_rest(dump);
}

void dump_losses(const struct dump *dump, struct ptl_losses *losses)
{
    const struct dump_result *result = &dump->result;

    losses->count[PTL_LOSS_OVERFLOW] += result->overflows;
    losses->count[PTL_LOSS_CUT] += result->cuts;
    losses->count[PTL_LOSS_UNSYNCED] += result->unsynced;
    losses->count[PTL_LOSS_SKIPPED] += result->skipped;
    losses->count[PTL_LOSS_ERRORS] += result->errors;
}

/* --- set up ------------------------------------------------------------------------- */

#define BIT(type)  ((uint64_t)1 << PTL_PKT_##type)
#define IP_PACKETS (BIT(TIP) | BIT(TIP_PGE) | BIT(TIP_PGD) | BIT(FUP))

static void init_rows(struct dump *dump)
{
    const struct dump_options *options = dump->options;
    uint64_t slow = 0, hidden = 0;

    if (options->raw || options->json)
        slow = UINT64_MAX;
    if (options->lastip)
        slow |= IP_PACKETS;
    if (dump->track)
        slow |= BIT(CYC);
    if (options->no_pad)
        hidden |= BIT(PAD);
    if (options->no_cyc || options->no_timing)
        hidden |= BIT(CYC);
    if (options->quiet)
        hidden = UINT64_MAX;
    rows_init(dump->rows, slow, hidden);
    for (unsigned i = 0; i < 256; i++) {
        char digits[16];
        hex16(digits, i);
        memcpy(&dump->hex2[i], digits + 14, 2);
    }
}

void dump_init(struct dump *dump, const struct dump_options *options,
               const struct ptl_clock_config *clock, struct out *out,
               const struct dump_hooks *hooks)
{
    memset(dump, 0, sizeof(*dump));
    dump->options = options;
    dump->out = out;
    if (hooks)
        dump->hooks = *hooks;
    dump->clock_config = *clock;
    if (clock->errata & PTL_ERR_SKD007)
        dump->errata_flags |= PTL_DECODE_SKD007;
    if (clock->errata & PTL_ERR_SKZ84)
        dump->errata_flags |= PTL_DECODE_SKZ84;
    dump->tell_time = options->time || options->tcal || dump->hooks.upto;
    dump->track = dump->tell_time;
    init_rows(dump);
}

void dump_window(struct dump *dump, uint64_t from, uint64_t to)
{
    dump->windowed = 1;
    dump->from = from;
    dump->to = to;
    dump->track = 1;
    init_rows(dump); /* those of timing packets */
}

void dump_unknown_cpu(const struct dump_options *options, struct out *out)
{
    static const char text[] = "failed to determine errata: unknown cpu";

    if (options->json)
        dump_json_error(out, 0, text, 0);
    else
        out_printf(out, "[0: %s]\n", text);
}
