/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_packet.c - packets, PSB search, last-IP and clock over any bytes.
 *
 * The first byte chooses errata, frequencies and ratios; the rest is a trace. What is checked
 * besides memory: a packet is written back as it was read, but for reserved bits; PSBs are where
 * a search from any side says; every step gets further.
 */
#include <pt/clock.h>
#include <pt/cpu.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what))                                                                               \
            abort();                                                                               \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writing a decoded packet gives bytes that decode to the same packet. */
static void write_back(const struct ptl_packet *packet, uint32_t flags)
{
    uint8_t bytes[PTL_PACKET_MAX_SIZE + 8] = {0};
    struct ptl_packet again;
    int size = ptl_packet_encode(bytes, sizeof(bytes), packet);

    if (packet->type == PTL_PKT_INVALID) {
        CHECK(size == PTL_BAD_OPC);
        return;
    }
    if (packet->type == PTL_PKT_OVF) /* SKD007 made it of three bytes */
        flags &= ~PTL_DECODE_SKD007;
    CHECK(size > 0 &&
          (packet->type == PTL_PKT_OVF || packet->type == PTL_PKT_CYC || size == packet->size));
    memset(&again, 0, sizeof(again));
    CHECK(ptl_packet_decode(&again, bytes, sizeof(bytes), flags) == size);
    again.size = packet->size;
    CHECK(!memcmp(&again, packet, sizeof(again)));
}

static void last_ip(struct ptl_last_ip *last, const struct ptl_packet *packet)
{
    struct ptl_last_ip before = *last, again = *last;
    uint64_t payload;
    uint8_t ipc;

    CHECK(!ptl_last_ip_update(last, packet->payload.ip.ipc, packet->payload.ip.ip));
    if (last->suppressed)
        return;
    ipc = (uint8_t)ptl_last_ip_compress(&before, last->ip, &payload);
    CHECK(!ptl_last_ip_update(&again, ipc, payload));
    CHECK(again.ip == last->ip);
}

static void trace(const uint8_t *buf, size_t len, uint32_t flags, struct ptl_clock *clock)
{
    struct ptl_last_ip last = {0};
    int in_psb = 0;

    for (size_t at = 0; at < len;) {
        struct ptl_packet packet;
        int size;

        memset(&packet, 0, sizeof(packet));
        size = ptl_packet_decode(&packet, buf + at, len - at, flags);
        if (size < 0) {
            CHECK(size == PTL_EOS || size == PTL_BAD_OPC || size == PTL_BAD_PACKET);
            at++;
            continue;
        }
        CHECK(size > 0 && size == packet.size && (size_t)size <= len - at);
        write_back(&packet, flags);
        if (packet.type >= PTL_PKT_TIP && packet.type <= PTL_PKT_FUP)
            last_ip(&last, &packet);
        if (packet.type == PTL_PKT_PSB)
            in_psb = 1;
        if (packet.type == PTL_PKT_PSBEND)
            in_psb = 0;
        (void)ptl_clock_calibrate(clock, &packet, in_psb);
        (void)ptl_clock_update(clock, &packet);
        flags = ptl_packet_next_flags(&packet, flags);
        at += (size_t)size;
    }
}

static void search(const uint8_t *buf, size_t len)
{
    size_t at = ptl_psb_find(buf, len, 0), last = SIZE_MAX;

    while (at < len) {
        struct ptl_packet packet;
        CHECK(ptl_packet_decode(&packet, buf + at, len - at, 0) == 16);
        CHECK(packet.type == PTL_PKT_PSB);
        CHECK(ptl_psb_find_last(buf, len, at) == last);
        CHECK(ptl_psb_find_last(buf, len, at + 1) == at);
        last = at;
        at = ptl_psb_find(buf, len, at + 1);
        CHECK(at > last);
    }
    CHECK(ptl_psb_find_last(buf, len, len) == last);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ptl_clock_config config;
    struct ptl_clock clock;
    struct ptl_time_conv conv;
    uint64_t tsc = 0;

    if (size < 1)
        return 0;
    memset(&config, 0, sizeof(config));
    config.mtc_freq = data[0] & 31;
    config.nom_freq = data[0];
    config.keep_tcal_on_ovf = data[0] >> 4 & 1;
    config.no_tcal = data[0] == 0xff;
    config.errata = data[0] & 0x20 ? PTL_ERR_SKL168 : 0;
    config.cpuid_15_eax = data[0] >> 6;
    config.cpuid_15_ebx = data[0] & 1 ? UINT32_MAX - data[0] : 3u * data[0];
    ptl_clock_init(&clock, &config);
    trace(data + 1, size - 1, data[0] & 15, &clock);
    search(data + 1, size - 1);
    (void)!ptl_clock_query(&clock, &tsc, NULL, NULL);
    memset(&conv, 0, sizeof(conv));
    conv.mult = config.cpuid_15_ebx;
    conv.shift = data[0] & 63;
    tsc = ptl_ns_to_tsc(&conv, ptl_tsc_to_ns(&conv, tsc));
    (void)tsc;
    return 0;
}
