/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ipt_clock.c - the TSC estimate beside Debian's libipt (a black box).
 *
 *     ipt_clock ROUNDS
 *
 * Makes streams of random timing packets with a TNT after each, feeds them to libipt's query
 * decoder and to our clock, and compares the time at each TNT. Ratios, frequencies and errata
 * are random, too. Exit status 1 at a difference.
 *
 * Known difference: without CPUID.15H an MTC is of no use; we count it as lost, libipt does not.
 */
#include <intel-pt.h>
#include <pt/clock.h>
#include <pt/cpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 200

static uint64_t seed = 1;

static uint64_t rnd(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static unsigned below(unsigned n)
{
    return (unsigned)(rnd() % n);
}

/* A stream, and our time after each TNT. */
struct stream {
    uint8_t bytes[STEPS * 128];
    size_t len;
    struct ptl_clock clock;
    int in_psb;
    unsigned count;
    struct {
        uint64_t tsc;
        uint32_t lost_mtc, lost_cyc;
        int status;
        size_t offset;
    } at[STEPS];
};

static void add(struct stream *s, struct ptl_packet packet)
{
    int size = ptl_packet_encode(s->bytes + s->len, sizeof(s->bytes) - s->len, &packet);

    if (size < 0)
        abort();
    s->len += (size_t)size;
    if (packet.type == PTL_PKT_PSBEND)
        s->in_psb = 0;
    (void)ptl_clock_calibrate(&s->clock, &packet, s->in_psb);
    (void)ptl_clock_update(&s->clock, &packet);
    if (packet.type == PTL_PKT_PSB)
        s->in_psb = 1;
}

#define ADD(s, t, ...) add(s, (struct ptl_packet){.type = PTL_PKT_##t, __VA_ARGS__})

static void add_tsc(struct stream *s, uint64_t *tsc)
{
    *tsc += rnd() >> (36 + below(20));
    ADD(s, TSC, .payload.tsc = {*tsc & (UINT64_MAX >> 8)});
    if (below(4))
        ADD(s, TMA, .payload.tma = {(uint16_t)rnd(), (uint16_t)(below(3) ? below(512) : 0)});
}

static void add_psb(struct stream *s, uint64_t *tsc, uint64_t ip)
{
    ADD(s, PSB, .size = 0);
    ADD(s, MODE_EXEC, .payload.mode_exec = {1, 0, 0});
    ADD(s, FUP, .payload.ip = {ip, PTL_IPC_SEXT_48});
    if (below(4))
        add_tsc(s, tsc);
    if (below(2))
        ADD(s, CBR, .payload.cbr = {(uint8_t)(1 + below(60))});
    ADD(s, PSBEND, .size = 0);
}

static void step(struct stream *s, uint64_t *tsc, uint8_t *ctc, uint64_t ip)
{
    unsigned kind = below(42);

    if (kind < 18)
        ADD(s, CYC, .payload.cyc = {rnd() >> (44 + below(20))});
    else if (kind < 34)
        ADD(s, MTC, .payload.mtc = { *ctc = (uint8_t)(*ctc + (below(4) ? 1 : below(6)))});
    else if (kind < 36)
        add_tsc(s, tsc);
    else if (kind < 38)
        ADD(s, CBR, .payload.cbr = {(uint8_t)(1 + below(60))});
    else if (kind < 40)
        add_psb(s, tsc, ip);
    else {
        ADD(s, OVF, .size = 0);
        ADD(s, FUP, .payload.ip = {ip, PTL_IPC_SEXT_48});
    }
}

static void make(struct stream *s, const struct ptl_clock_config *config)
{
    uint64_t tsc = rnd() >> 20;
    uint8_t ctc = (uint8_t)rnd();

    memset(s, 0, sizeof(*s));
    ptl_clock_init(&s->clock, config);
    add_psb(s, &tsc, 0x1000);
    for (unsigned i = 0; i < STEPS; i++) {
        for (unsigned n = 1 + below(3); n; n--)
            step(s, &tsc, &ctc, 0x1000);
        s->at[i].offset = s->len;
        ADD(s, TNT8, .payload.tnt = {1, 1});
        s->at[i].status =
            ptl_clock_query(&s->clock, &s->at[i].tsc, &s->at[i].lost_mtc, &s->at[i].lost_cyc);
        s->count++;
    }
}

static void packets(const struct stream *s, size_t to)
{
    size_t at = 0;
    while (at < to) {
        struct ptl_packet p;
        int size = ptl_packet_decode(&p, s->bytes + at, s->len - at, 0);
        if (size <= 0)
            return;
        printf("  %zx %s", at, ptl_packet_name((enum ptl_packet_type)p.type));
        if (p.type == PTL_PKT_TSC || p.type == PTL_PKT_CYC)
            printf(" %llx", (unsigned long long)p.payload.tsc.tsc);
        if (p.type == PTL_PKT_MTC || p.type == PTL_PKT_CBR)
            printf(" %x", p.payload.mtc.ctc);
        if (p.type == PTL_PKT_TMA)
            printf(" %x %x", p.payload.tma.ctc, p.payload.tma.fc);
        printf("\n");
        at += (size_t)size;
    }
}

/* Events that libipt wants to be asked for (PSB+ status). */
static int drain(struct pt_query_decoder *decoder, int status)
{
    struct pt_event event;

    while (status >= 0 && status & pts_event_pending)
        status = pt_qry_event(decoder, &event, sizeof(event));
    return status;
}

static int compare(const struct stream *s, const struct pt_config *config)
{
    struct pt_query_decoder *decoder = pt_qry_alloc_decoder(config);
    uint64_t ip, tsc = 0;
    uint32_t lost_mtc = 0, lost_cyc = 0;
    int status, taken, bad = 0;

    status = drain(decoder, pt_qry_sync_forward(decoder, &ip));
    for (unsigned i = 0; i < s->count && !bad; i++) {
        int known;
        status = pt_qry_cond_branch(decoder, &taken);
        if (status < 0) {
            printf("libipt stops at branch %u: %d\n", i, status);
            bad = 1;
            break;
        }
        known = pt_qry_time(decoder, &tsc, &lost_mtc, &lost_cyc);
        if (known != s->at[i].status || tsc != s->at[i].tsc ||
            (lost_mtc != s->at[i].lost_mtc && config->cpuid_0x15_eax) ||
            lost_cyc != s->at[i].lost_cyc) {
            printf("mtc %u eax %u ebx %u nom %u errata %x\n", s->clock.config.mtc_freq,
                   s->clock.config.cpuid_15_eax, s->clock.config.cpuid_15_ebx,
                   s->clock.config.nom_freq, s->clock.config.errata);
            packets(s, s->at[i].offset);
            printf("branch %u: we %d %llx lost %u %u, libipt %d %llx lost %u %u\n", i,
                   s->at[i].status, (unsigned long long)s->at[i].tsc, s->at[i].lost_mtc,
                   s->at[i].lost_cyc, known, (unsigned long long)tsc, lost_mtc, lost_cyc);
            bad = 1;
        }
        status = drain(decoder, status);
    }
    pt_qry_free_decoder(decoder);
    return bad;
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 0;
    static struct stream stream;
    int bad = 0;

    if (argc > 2)
        seed = strtoull(argv[2], NULL, 0);
    for (unsigned n = 0; n < rounds && !bad; n++) {
        struct ptl_clock_config ours = {.mtc_freq = (uint8_t)below(13),
                                        .nom_freq = (uint8_t)below(50),
                                        .cpuid_15_eax = 1 + below(4),
                                        .cpuid_15_ebx = 1 + below(400)};
        struct pt_config theirs;

        pt_config_init(&theirs);
        if (below(3) == 0) {
            ours.errata = PTL_ERR_SKL168;
            theirs.errata.skl168 = 1;
        }
        if (below(50) == 0)
            ours.cpuid_15_eax = 0;
        make(&stream, &ours);
        theirs.begin = stream.bytes;
        theirs.end = stream.bytes + stream.len;
        theirs.mtc_freq = ours.mtc_freq;
        theirs.nom_freq = ours.nom_freq;
        theirs.cpuid_0x15_eax = ours.cpuid_15_eax;
        theirs.cpuid_0x15_ebx = ours.cpuid_15_ebx;
        bad = compare(&stream, &theirs);
    }
    printf("%u streams of %u times: %s\n", rounds, STEPS, bad ? "they differ" : "all agree");
    return bad;
}
