/* SPDX-License-Identifier: BSD-3-Clause */
/* generator.c - see generator.h. */
#include "generator.h"

#include <assert.h>
#include <string.h>

/* TNT-8 holds 6 results, TNT-64 47. */
#define TNT8_MAX  6
#define TNT64_MAX 47

/* An MTC names its period modulo 256; before that becomes ambiguous a TSC is written, as a
 * core does when it wakes up. */
#define MTC_GAP 0xf0

static void put(struct generator *gen, const struct ptl_packet *packet)
{
    int n = ptl_packet_encode(gen->buf + gen->len, gen->cap - gen->len, packet);

    assert(n > 0); /* the caller left room, and no payload here can be too large */
    gen->len += (size_t)n;
    gen->bytes += (size_t)n;
}

static struct ptl_packet packet_of(enum ptl_packet_type type)
{
    struct ptl_packet packet;

    memset(&packet, 0, sizeof(packet));
    packet.type = (uint8_t)type;
    return packet;
}

static void put_plain(struct generator *gen, enum ptl_packet_type type)
{
    struct ptl_packet packet = packet_of(type);

    put(gen, &packet);
}

static void put_ip(struct generator *gen, enum ptl_packet_type type, uint64_t ip)
{
    struct ptl_packet packet = packet_of(type);

    packet.payload.ip.ipc = (uint8_t)ptl_last_ip_compress(&gen->last, ip, &packet.payload.ip.ip);
    (void)ptl_last_ip_update(&gen->last, packet.payload.ip.ipc, packet.payload.ip.ip);
    put(gen, &packet);
}

/* --- time ---------------------------------------------------------------------------- */

static uint64_t crystal(const struct gen_config *config, uint64_t tsc)
{
    return tsc / config->tsc_ratio * config->art_ratio +
           tsc % config->tsc_ratio * config->art_ratio / config->tsc_ratio;
}

/* TSC at which the crystal shows `ctc` (rounded up, so that crystal() of it is `ctc`). */
static uint64_t tsc_of(const struct gen_config *config, uint64_t ctc)
{
    return ctc / config->art_ratio * config->tsc_ratio +
           (ctc % config->art_ratio * config->tsc_ratio + config->art_ratio - 1) /
               config->art_ratio;
}

static void put_cyc(struct generator *gen, uint64_t tsc)
{
    const struct gen_config *config = &gen->config;
    struct ptl_packet packet = packet_of(PTL_PKT_CYC);

    if (!config->cyc || !gen->started || tsc <= gen->cyc_tsc)
        return;
    packet.payload.cyc.value = tsc - gen->cyc_tsc;
    if (config->cyc_thresh && packet.payload.cyc.value < 1ull << (config->cyc_thresh - 1))
        return;
    gen->cyc_tsc = tsc;
    put(gen, &packet);
}

static void put_tsc(struct generator *gen, uint64_t tsc)
{
    const struct gen_config *config = &gen->config;
    struct ptl_packet packet = packet_of(PTL_PKT_TSC);
    uint64_t ctc;

    if (!config->tsc)
        return;
    packet.payload.tsc.tsc = tsc & (UINT64_MAX >> 8);
    put(gen, &packet);
    gen->cyc_tsc = tsc;
    if (!config->mtc)
        return;
    ctc = crystal(config, tsc);
    packet = packet_of(PTL_PKT_TMA);
    packet.payload.tma.ctc = (uint16_t)ctc;
    packet.payload.tma.fc = (uint16_t)((tsc - tsc_of(config, ctc)) & 0x1ff);
    gen->mtc = ctc >> config->mtc_period;
    put(gen, &packet);
}

/* --- TNT ------------------------------------------------------------------------------ */

static void put_tnt(struct generator *gen, enum ptl_packet_type type, unsigned count)
{
    struct ptl_packet packet = packet_of(type);

    gen->tnt_count = (uint8_t)(gen->tnt_count - count);
    packet.payload.tnt.bits = gen->tnt_bits >> gen->tnt_count;
    packet.payload.tnt.count = (uint8_t)count;
    gen->tnt_bits &= (1ull << gen->tnt_count) - 1;
    put(gen, &packet);
}

/* What was kept back precedes every packet that is not a TNT. */
static void flush_tnt(struct generator *gen, uint64_t tsc)
{
    if (!gen->tnt_count)
        return;
    put_cyc(gen, tsc);
    if (gen->tnt_count == TNT64_MAX)
        put_tnt(gen, PTL_PKT_TNT64, TNT64_MAX);
    while (gen->tnt_count)
        put_tnt(gen, PTL_PKT_TNT8, gen->tnt_count < TNT8_MAX ? gen->tnt_count : TNT8_MAX);
}

static void add_tnt(struct generator *gen, int taken, uint64_t tsc)
{
    unsigned limit = gen->config.cyc ? TNT8_MAX : TNT64_MAX;

    gen->tnt_bits = gen->tnt_bits << 1 | (taken ? 1 : 0);
    if (++gen->tnt_count == limit)
        flush_tnt(gen, tsc);
}

/* Write the MTC that has become due. Periods during which the thread did not run are left
 * out, as when tracing is off. The bits kept back are older. */
static void pass_time(struct generator *gen, uint64_t tsc)
{
    const struct gen_config *config = &gen->config;
    struct ptl_packet packet = packet_of(PTL_PKT_MTC);
    uint64_t periods;

    if (!config->mtc || !gen->started)
        return;
    periods = crystal(config, tsc) >> config->mtc_period;
    if (periods <= gen->mtc)
        return;
    flush_tnt(gen, tsc_of(config, periods << config->mtc_period));
    if (periods - gen->mtc >= MTC_GAP && config->tsc) {
        put_cyc(gen, tsc);
        put_tsc(gen, tsc);
        return;
    }
    put_cyc(gen, tsc_of(config, periods << config->mtc_period));
    packet.payload.mtc.ctc = (uint8_t)periods;
    gen->mtc = periods;
    put(gen, &packet);
}

void gen_time(struct generator *gen, uint64_t tsc)
{
    if (!gen->started)
        return;
    flush_tnt(gen, tsc);
    put_cyc(gen, tsc);
    put_tsc(gen, tsc);
}

/* --- PSB+ -------------------------------------------------------------------------------- */

static void put_mode(struct generator *gen, enum ptl_exec_mode mode)
{
    struct ptl_packet packet = packet_of(PTL_PKT_MODE_EXEC);

    packet.payload.mode_exec.csl = mode == PTL_MODE_64;
    packet.payload.mode_exec.csd = mode == PTL_MODE_32;
    gen->told_mode = (uint8_t)mode;
    put(gen, &packet);
}

/* PSB+ (SDM: "PSB, TSC, TMA, CBR, MODE.Exec, MODE.TSX, FUP"): status first, then where we
 * are if tracing is on. Forgets calls: a decoder may start here. */
static void put_psb(struct generator *gen, uint64_t tsc)
{
    struct ptl_packet packet = packet_of(PTL_PKT_CBR);

    flush_tnt(gen, tsc);
    put_cyc(gen, tsc);
    put_plain(gen, PTL_PKT_PSB);
    memset(&gen->last, 0, sizeof(gen->last));
    gen->depth = 0;
    gen->started = 1;
    gen->told_mode = PTL_MODE_UNKNOWN;
    put_tsc(gen, tsc);
    packet.payload.cbr.ratio = gen->config.cbr;
    put(gen, &packet);
    if (gen->enabled) {
        put_mode(gen, gen->mode);
        put_plain(gen, PTL_PKT_MODE_TSX);
        put_ip(gen, PTL_PKT_FUP, gen->ip);
    }
    put_plain(gen, PTL_PKT_PSBEND);
    gen->psb_at = gen->bytes + (1ull << (gen->config.psb_period + 11));
}

static void psb_if_due(struct generator *gen, uint64_t tsc)
{
    if (!gen->started || gen->bytes >= gen->psb_at)
        put_psb(gen, tsc);
}

/* --- on and off ---------------------------------------------------------------------------- */

void gen_init(struct generator *gen, const struct gen_config *config, uint8_t *buf, size_t cap)
{
    memset(gen, 0, sizeof(*gen));
    gen->config = *config;
    gen->buf = buf;
    gen->cap = cap;
}

void gen_enable(struct generator *gen, uint64_t ip, enum ptl_exec_mode mode, uint64_t tsc)
{
    psb_if_due(gen, tsc);
    if (!gen->config.branch)
        return;
    pass_time(gen, tsc);
    put_cyc(gen, tsc);
    if (gen->told_mode != mode)
        put_mode(gen, mode);
    put_ip(gen, PTL_PKT_TIP_PGE, ip);
    gen->enabled = 1;
    gen->ip = ip;
    gen->mode = (uint8_t)mode;
}

static void disable(struct generator *gen)
{
    struct ptl_packet packet = packet_of(PTL_PKT_TIP_PGD);

    packet.payload.ip.ipc = PTL_IPC_SUPPRESSED;
    put(gen, &packet);
    gen->enabled = 0;
}

void gen_restart(struct generator *gen)
{
    gen->psb_at = gen->bytes;
}

void gen_far_leave(struct generator *gen, uint64_t tsc)
{
    if (!gen->enabled)
        return;
    pass_time(gen, tsc);
    flush_tnt(gen, tsc);
    put_cyc(gen, tsc);
    disable(gen);
}

void gen_interrupt(struct generator *gen, uint64_t from, uint64_t tsc)
{
    if (!gen->enabled)
        return;
    pass_time(gen, tsc);
    flush_tnt(gen, tsc);
    put_cyc(gen, tsc);
    put_ip(gen, PTL_PKT_FUP, from);
    disable(gen);
}

/* --- instructions --------------------------------------------------------------------------- */

static void push(struct generator *gen, uint64_t address)
{
    gen->stack[gen->top] = address;
    gen->top = (uint8_t)((gen->top + 1) % GEN_STACK);
    if (gen->depth < GEN_STACK)
        gen->depth++;
}

static void put_target(struct generator *gen, uint64_t target, uint64_t tsc)
{
    flush_tnt(gen, tsc);
    put_cyc(gen, tsc);
    put_ip(gen, PTL_PKT_TIP, target);
}

/* A RET is one taken bit when it goes where the newest call came from. After one that does
 * not (longjmp, a signal handler, a switched stack) all remembered calls are dropped: decoders
 * disagree about whether such a RET takes an entry off, and this is right for both. */
static void put_ret(struct generator *gen, uint64_t target, uint64_t tsc)
{
    unsigned newest = (gen->top + GEN_STACK - 1u) % GEN_STACK;

    if (!gen->config.noretcomp && gen->depth && gen->stack[newest] == target) {
        gen->top = (uint8_t)newest;
        gen->depth--;
        add_tnt(gen, 1, tsc);
        return;
    }
    gen->depth = 0;
    put_target(gen, target, tsc);
}

void gen_insn(struct generator *gen, const struct ptl_insn *insn, uint64_t ip, uint64_t next,
              enum ptl_exec_mode next_mode, uint64_t tsc)
{
    uint64_t after = ip + insn->size;

    if (!gen->enabled)
        return;
    pass_time(gen, tsc);
    switch (insn->iclass) {
    case PTL_INSN_CALL:
        if (insn->disp)
            push(gen, after);
        break;
    case PTL_INSN_JCC:
        add_tnt(gen, next != after, tsc);
        break;
    case PTL_INSN_RET:
        put_ret(gen, next, tsc);
        break;
    case PTL_INSN_CALL_IND:
        push(gen, after);
        put_target(gen, next, tsc);
        break;
    case PTL_INSN_JMP_IND:
        put_target(gen, next, tsc);
        break;
    case PTL_INSN_FAR_CALL:
    case PTL_INSN_FAR_RET:
    case PTL_INSN_FAR_JMP:
        flush_tnt(gen, tsc);
        put_cyc(gen, tsc);
        if (next_mode != gen->told_mode)
            put_mode(gen, next_mode);
        put_ip(gen, PTL_PKT_TIP, next);
        break;
    default:
        break;
    }
    gen->ip = next;
    gen->mode = (uint8_t)next_mode;
    psb_if_due(gen, tsc);
}

/* SDM, "IP Filtering", and the table of packets when PacketEn goes off: a conditional branch that
 * is taken leaves with a TIP.PGD alone (no TNT, no IP), everything else with the IP. Calls made so
 * far are forgotten: what happens outside is not seen. */
void gen_insn_out(struct generator *gen, const struct ptl_insn *insn, uint64_t ip, uint64_t next,
                  enum ptl_exec_mode next_mode, int stop, uint64_t tsc)
{
    int jcc = insn->iclass == PTL_INSN_JCC, taken = jcc && next != ip + insn->size;

    if (!gen->enabled)
        return;
    pass_time(gen, tsc);
    if (jcc && !taken)
        add_tnt(gen, 0, tsc);
    flush_tnt(gen, tsc);
    put_cyc(gen, tsc);
    if (taken) {
        disable(gen);
    } else {
        put_ip(gen, PTL_PKT_TIP_PGD, next);
        gen->enabled = 0;
    }
    if (stop)
        put_plain(gen, PTL_PKT_STOP);
    gen->depth = 0;
    gen->ip = next;
    gen->mode = (uint8_t)next_mode;
    psb_if_due(gen, tsc);
}

void gen_ptwrite(struct generator *gen, uint64_t value, int eight_bytes, uint64_t tsc)
{
    struct ptl_packet packet = packet_of(PTL_PKT_PTW);

    if (!gen->config.ptw || (gen->config.branch && !gen->enabled))
        return;
    psb_if_due(gen, tsc);
    pass_time(gen, tsc);
    flush_tnt(gen, tsc);
    put_cyc(gen, tsc);
    packet.payload.ptw.payload = eight_bytes ? value : (uint32_t)value;
    packet.payload.ptw.plc = eight_bytes ? 1 : 0;
    put(gen, &packet);
}

void gen_forget_calls(struct generator *gen)
{
    gen->depth = 0;
}

void gen_flush(struct generator *gen, uint64_t tsc)
{
    flush_tnt(gen, tsc);
    while (gen->bytes % 8)
        put_plain(gen, PTL_PKT_PAD);
}
