/* SPDX-License-Identifier: BSD-3-Clause */
/* test_packet.c - packet/: decode, encode, PEBS blocks, errata; right values from the SDM's
 * layouts. */
#include "unit.h"

#include <pt/packet.h>
#include <stdio.h>

/* --- every opcode byte ---------------------------------------------------------- */

/* What the SDM's opcode table says about the first byte, written as its rules, in order.
 * Returns the type; a negative status for what is none. */
static int first_byte(unsigned b)
{
    static const struct {
        unsigned low;
        int type;
    } ip[] = {
        {0x1d, PTL_PKT_FUP}, {0x0d, PTL_PKT_TIP}, {0x11, PTL_PKT_TIP_PGE}, {0x01, PTL_PKT_TIP_PGD}};

    if (b == 0x00)
        return PTL_PKT_PAD;
    if (b == 0x99)
        return PTL_PKT_MODE_EXEC; /* leaf 0: the byte after it is 0 here */
    if (b == 0x19)
        return PTL_PKT_TSC;
    if (b == 0x59)
        return PTL_PKT_MTC;
    if (b == 0xd9)
        return PTL_PKT_TRIG;
    if ((b & 3) == 3)
        return PTL_PKT_CYC;
    if ((b & 1) == 0)
        return PTL_PKT_TNT8;
    for (unsigned i = 0; i < 4; i++)
        if ((b & 0x1f) == ip[i].low)
            return b >> 5 == 5 || b >> 5 == 7 ? PTL_BAD_PACKET : ip[i].type;
    return PTL_BAD_OPC;
}

static void test_first_bytes(void **state)
{
    static const int ip_sizes[] = {1, 3, 5, 7, 7, 0, 9, 0};
    (void)state;
    for (unsigned b = 0; b < 256; b++) {
        uint8_t bytes[16] = {(uint8_t)b};
        struct ptl_packet packet;
        int want = first_byte(b), got = ptl_packet_decode(&packet, bytes, sizeof(bytes), 0);

        if (b == 0x02) /* the second byte decides; 02 00 is none */
            want = PTL_BAD_OPC;
        if (want < 0) {
            assert_int_equal(got, want);
            continue;
        }
        assert_int_equal(packet.type, want);
        assert_int_equal(packet.size, got);
        if (want >= PTL_PKT_TIP && want <= PTL_PKT_FUP)
            assert_int_equal(got, ip_sizes[b >> 5]);
    }
}

static const struct {
    uint8_t byte;
    int type, size;
} second_bytes[] = {
    {0x82, PTL_PKT_PSB, 16},   {0x23, PTL_PKT_PSBEND, 2}, {0xa3, PTL_PKT_TNT64, 8},
    {0x43, PTL_PKT_PIP, 8},    {0xc8, PTL_PKT_VMCS, 7},   {0x73, PTL_PKT_TMA, 7},
    {0x03, PTL_PKT_CBR, 4},    {0xf3, PTL_PKT_OVF, 2},    {0x83, PTL_PKT_STOP, 2},
    {0xc3, PTL_PKT_MNT, 11},   {0x62, PTL_PKT_EXSTOP, 2}, {0xe2, PTL_PKT_EXSTOP, 2},
    {0xc2, PTL_PKT_MWAIT, 10}, {0x22, PTL_PKT_PWRE, 4},   {0xa2, PTL_PKT_PWRX, 7},
    {0x12, PTL_PKT_PTW, 6},    {0x32, PTL_PKT_PTW, 10},   {0x92, PTL_PKT_PTW, 6},
    {0xb2, PTL_PKT_PTW, 10},   {0x13, PTL_PKT_CFE, 4},    {0x53, PTL_PKT_EVD, 11},
    {0x63, PTL_PKT_BBP, 3},    {0x33, PTL_PKT_BEP, 2},    {0xb3, PTL_PKT_BEP, 2},
    {0x52, PTL_BAD_PACKET, 0}, {0x72, PTL_BAD_PACKET, 0}, {0xd2, PTL_BAD_PACKET, 0},
    {0xf2, PTL_BAD_PACKET, 0}, /* PTW with reserved PayloadBytes */
};

static void test_second_bytes(void **state)
{
    (void)state;
    for (unsigned b = 0; b < 256; b++) {
        uint8_t bytes[16] = {0x02, (uint8_t)b};
        struct ptl_packet packet;
        int want = PTL_BAD_OPC, size = 0, got;

        for (size_t i = 0; i < COUNT(second_bytes); i++) {
            if (second_bytes[i].byte == b) {
                want = second_bytes[i].type;
                size = second_bytes[i].size;
            }
        }
        if (b == 0x82) /* the other seven pairs of a PSB */
            for (unsigned i = 2; i < 16; i += 2)
                bytes[i] = 0x02, bytes[i + 1] = 0x82;
        if (b == 0xa3) /* any result */
            bytes[2] = 0x06;
        if (b == 0xc3)
            bytes[2] = 0x88;
        got = ptl_packet_decode(&packet, bytes, sizeof(bytes), 0);
        if (want < 0) {
            assert_int_equal(got, want);
            continue;
        }
        assert_int_equal(packet.type, want);
        assert_int_equal(packet.size, size);
        assert_int_equal(got, size);
        assert_int_equal(ptl_packet_decode(&packet, bytes, 1, 0), PTL_EOS);
    }
}

static void test_third_bytes(void **state)
{
    (void)state;
    for (unsigned b = 0; b < 256; b++) {
        uint8_t bytes[16] = {0x02, 0xc3, (uint8_t)b};
        struct ptl_packet packet;
        assert_int_equal(ptl_packet_decode(&packet, bytes, sizeof(bytes), 0),
                         b == 0x88 ? 11 : PTL_BAD_OPC);
    }
}

/* --- payloads -------------------------------------------------------------------- */

/* One packet on the wire, and its fields as a text made by show(). */
struct vector {
    const char *bytes;
    const char *fields;
};

static const struct vector vectors[] = {
    {"00", "pad"},
    {"02820282028202820282028202820282", "psb"},
    {"0223", "psbend"},
    {"04", "tnt.8 1:0"},
    {"06", "tnt.8 1:1"},
    {"fe", "tnt.8 6:3f"},
    {"a8", "tnt.8 6:14"},
    {"02a3020000000000", "tnt.64 1:0"},
    {"02a3ffffffffffff", "tnt.64 47:7fffffffffff"},
    {"02a3010000000080", "tnt.64 47:1"},
    {"0d", "tip 0:0"},
    {"2d3412", "tip 1:1234"},
    {"4d78563412", "tip 2:12345678"},
    {"6d5634129078f6", "tip 3:f67890123456"},
    {"8d5634129078f6", "tip 4:f67890123456"},
    {"cd8877665544332211", "tip 6:1122334455667788"},
    {"313412", "tip.pge 1:1234"},
    {"01", "tip.pgd 0:0"},
    {"dd3c1038c0ffffffff", "fup 6:ffffffffc038103c"},
    {"9901", "mode.exec l1 d0 if0"},
    {"9902", "mode.exec l0 d1 if0"},
    {"9907", "mode.exec l1 d1 if1"},
    {"9919", "mode.exec l1 d0 if0"}, /* reserved bits do not matter */
    {"9920", "mode.tsx 0 0"},
    {"9921", "mode.tsx 1 0"},
    {"9922", "mode.tsx 0 1"},
    {"024301983e030000", "pip 33e98000 nr1"},
    {"0243feffffffffff", "pip fffffffffffe0 nr0"},
    {"02c80100000080", "vmcs 8000000001000"},
    {"1901020304050607", "tsc 7060504030201"},
    {"02733412001001", "tma 1234 110"},
    {"59a5", "mtc a5"},
    {"03", "cyc 0"},
    {"fb", "cyc 1f"},
    {"ff02", "cyc 3f"},
    {"07fe", "cyc fe0"},
    {"fffffffffffffffffe", "cyc 1fffffffffffffff"},
    {"02031400", "cbr 14"},
    {"020314ff", "cbr 14"},
    {"02f3", "ovf"},
    {"0283", "stop"},
    {"02c3880102030405060708", "mnt 807060504030201"},
    {"0262", "exstop ip0"},
    {"02e2", "exstop ip1"},
    {"02c20f00000001000000", "mwait f 1"},
    {"02228012", "pwre 1.2 hw1"},
    {"02220812", "pwre 1.2 hw1"}, /* where another tool looks for HW */
    {"02220012", "pwre 1.2 hw0"},
    {"02a23201000000", "pwrx 3 2 int1 st0 hw0"},
    {"02a2320c000000", "pwrx 3 2 int0 st1 hw1"},
    {"021278563412", "ptw 0:12345678 ip0"},
    {"02b28877665544332211", "ptw 1:1122334455667788 ip1"},
    {"0213010e", "cfe 1 e ip0"},
    {"02138200", "cfe 2 0 ip1"},
    {"0253021100000000000080", "evd 2:8000000000000011"},
    {"02533f1100000000000000", "evd 3f:11"},
    {"026384", "bbp 4 sz1"},
    {"026301", "bbp 1 sz0"},
    {"0233", "bep ip0"},
    {"02b3", "bep ip1"},
    {"d920a1", "trig a1 ip0 mult1 icnt-"},
    {"d980a1", "trig a1 ip1 mult0 icnt-"},
    {"d9c0a13412", "trig a1 ip1 mult0 icnt1234"},
};

static void show(char *s, size_t n, const struct ptl_packet *p)
{
    int at = snprintf(s, n, "%s", ptl_packet_name((enum ptl_packet_type)p->type));
#define SHOW(...) snprintf(s + at, n - (size_t)at, __VA_ARGS__)
#define LL        unsigned long long
    switch (p->type) {
    case PTL_PKT_TNT8:
    case PTL_PKT_TNT64:
        SHOW(" %u:%llx", p->payload.tnt.count, (LL)p->payload.tnt.bits);
        break;
    case PTL_PKT_TIP:
    case PTL_PKT_TIP_PGE:
    case PTL_PKT_TIP_PGD:
    case PTL_PKT_FUP:
        SHOW(" %u:%llx", p->payload.ip.ipc, (LL)p->payload.ip.ip);
        break;
    case PTL_PKT_MODE_EXEC:
        SHOW(" l%u d%u if%u", p->payload.mode_exec.csl, p->payload.mode_exec.csd,
             p->payload.mode_exec.iflag);
        break;
    case PTL_PKT_MODE_TSX:
        SHOW(" %u %u", p->payload.mode_tsx.intx, p->payload.mode_tsx.abrt);
        break;
    case PTL_PKT_PIP:
        SHOW(" %llx nr%u", (LL)p->payload.pip.cr3, p->payload.pip.nr);
        break;
    case PTL_PKT_VMCS:
        SHOW(" %llx", (LL)p->payload.vmcs.base);
        break;
    case PTL_PKT_TSC:
        SHOW(" %llx", (LL)p->payload.tsc.tsc);
        break;
    case PTL_PKT_TMA:
        SHOW(" %x %x", p->payload.tma.ctc, p->payload.tma.fc);
        break;
    case PTL_PKT_MTC:
        SHOW(" %x", p->payload.mtc.ctc);
        break;
    case PTL_PKT_CYC:
        SHOW(" %llx", (LL)p->payload.cyc.value);
        break;
    case PTL_PKT_CBR:
        SHOW(" %x", p->payload.cbr.ratio);
        break;
    case PTL_PKT_MNT:
        SHOW(" %llx", (LL)p->payload.mnt.payload);
        break;
    case PTL_PKT_EXSTOP:
        SHOW(" ip%u", p->payload.exstop.ip);
        break;
    case PTL_PKT_MWAIT:
        SHOW(" %x %x", p->payload.mwait.hints, p->payload.mwait.ext);
        break;
    case PTL_PKT_PWRE:
        SHOW(" %u.%u hw%u", p->payload.pwre.state, p->payload.pwre.sub_state, p->payload.pwre.hw);
        break;
    case PTL_PKT_PWRX:
        SHOW(" %u %u int%u st%u hw%u", p->payload.pwrx.last, p->payload.pwrx.deepest,
             p->payload.pwrx.interrupt, p->payload.pwrx.store, p->payload.pwrx.autonomous);
        break;
    case PTL_PKT_PTW:
        SHOW(" %u:%llx ip%u", p->payload.ptw.plc, (LL)p->payload.ptw.payload, p->payload.ptw.ip);
        break;
    case PTL_PKT_CFE:
        SHOW(" %x %x ip%u", p->payload.cfe.type, p->payload.cfe.vector, p->payload.cfe.ip);
        break;
    case PTL_PKT_EVD:
        SHOW(" %x:%llx", p->payload.evd.type, (LL)p->payload.evd.payload);
        break;
    case PTL_PKT_BBP:
        SHOW(" %x sz%u", p->payload.bbp.type, p->payload.bbp.sz4);
        break;
    case PTL_PKT_BIP:
        SHOW(" %u:%llx", p->payload.bip.id, (LL)p->payload.bip.value);
        break;
    case PTL_PKT_BEP:
        SHOW(" ip%u", p->payload.bep.ip);
        break;
    case PTL_PKT_TRIG:
        at += SHOW(" %x ip%u mult%u icnt", p->payload.trig.vector, p->payload.trig.ip,
                   p->payload.trig.mult);
        if (p->payload.trig.icntv)
            SHOW("%x", p->payload.trig.icnt);
        else
            SHOW("-");
        break;
    default:
        break;
    }
#undef SHOW
#undef LL
}

static void test_payloads(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(vectors); i++) {
        uint8_t bytes[64], junk[64];
        size_t n = unhex(bytes, vectors[i].bytes);
        struct ptl_packet packet;
        char text[128];

        memset(junk, 0xff, sizeof(junk)); /* what follows must not matter */
        memcpy(junk, bytes, n);
        assert_int_equal(ptl_packet_decode(&packet, junk, sizeof(junk), 0), n);
        show(text, sizeof(text), &packet);
        assert_string_equal(text, vectors[i].fields);

        assert_int_equal(ptl_packet_decode(&packet, bytes, n, 0), n); /* at the very end */
        show(text, sizeof(text), &packet);
        assert_string_equal(text, vectors[i].fields);
        for (size_t cut = 0; cut < n; cut++)
            assert_int_equal(ptl_packet_decode(&packet, bytes, cut, 0), PTL_EOS);
    }
}

static void test_reserved(void **state)
{
    static const struct {
        const char *bytes;
        int want;
    } rows[] = {
        {"ad000000000000000000", PTL_BAD_PACKET},             /* IPBytes 5 */
        {"fd000000000000000000", PTL_BAD_PACKET},             /* IPBytes 7 */
        {"02a3000000000000", PTL_BAD_PACKET},                 /* no stop bit */
        {"02a3010000000000", PTL_BAD_PACKET},                 /* no result */
        {"9940", PTL_BAD_PACKET},                             /* MODE leaf 2 */
        {"99e0", PTL_BAD_PACKET},                             /* MODE leaf 7 */
        {"02733412010000", PTL_BAD_PACKET},                   /* TMA: reserved byte */
        {"02733412000002", PTL_BAD_PACKET},                   /* TMA: FC above 0x1ff */
        {"ffffffffffffffffffff", PTL_BAD_PACKET},             /* CYC of ten bytes */
        {"02820282028202820282028202820283", PTL_BAD_PACKET}, /* PSB that is none */
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint8_t bytes[64];
        size_t n = unhex(bytes, rows[i].bytes);
        struct ptl_packet packet;
        assert_int_equal(ptl_packet_decode(&packet, bytes, n, 0), rows[i].want);
    }
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(ptl_packet_name(PTL_PKT_INVALID), "<invalid>");
    assert_string_equal(ptl_packet_name((enum ptl_packet_type)(PTL_PKT_MAX_VALUE + 1)),
                        "<invalid>");
    for (unsigned t = 1; t <= PTL_PKT_MAX_VALUE; t++)
        assert_non_null(ptl_packet_name((enum ptl_packet_type)t));
}

/* --- context: PEBS blocks and errata ---------------------------------------------- */

static void test_pebs_block(void **state)
{
    /* BBP (8-byte items), BIP 1, CYC, BBP (4-byte), BIP 31, BEP.IP, and now a TNT. */
    uint8_t bytes[64];
    size_t n = unhex(bytes, "026304"
                            "0c8877665544332211"
                            "03"
                            "026384"
                            "fc78563412"
                            "02b3"
                            "0c"),
           at = 0;
    static const char *want[] = {"bbp 4 sz0", "bip 1:1122334455667788", "cyc 0",
                                 "bbp 4 sz1", "bip 31:12345678",        "bep ip1",
                                 "tnt.8 2:2"};
    uint32_t flags = PTL_DECODE_SKD007;
    (void)state;
    for (size_t i = 0; i < COUNT(want); i++) {
        struct ptl_packet packet;
        char text[128];
        int size = ptl_packet_decode(&packet, bytes + at, n - at, flags);
        assert_true(size > 0);
        show(text, sizeof(text), &packet);
        assert_string_equal(text, want[i]);
        flags = ptl_packet_next_flags(&packet, flags);
        at += (size_t)size;
    }
    assert_int_equal(at, n);
    assert_int_equal(flags, PTL_DECODE_SKD007);
}

/* Which packets leave an open block open. */
static void test_block_survives(void **state)
{
    static const uint8_t stays[] = {PTL_PKT_PAD,  PTL_PKT_TSC,  PTL_PKT_TMA, PTL_PKT_MTC,
                                    PTL_PKT_CYC,  PTL_PKT_CBR,  PTL_PKT_MNT, PTL_PKT_EXSTOP,
                                    PTL_PKT_PWRE, PTL_PKT_PWRX, PTL_PKT_FUP, PTL_PKT_BIP};
    (void)state;
    for (unsigned t = 1; t <= PTL_PKT_MAX_VALUE; t++) {
        struct ptl_packet packet = {.type = (uint8_t)t};
        uint32_t want = memchr(stays, (int)t, sizeof(stays)) ? PTL_DECODE_BLOCK4 : 0;
        if (t == PTL_PKT_BBP)
            want = PTL_DECODE_BLOCK8;
        assert_int_equal(ptl_packet_next_flags(&packet, PTL_DECODE_BLOCK4), want);
    }
}

static void test_errata(void **state)
{
    uint8_t bytes[16];
    struct ptl_packet packet;
    (void)state;

    unhex(bytes, "0f02f3");
    assert_int_equal(ptl_packet_decode(&packet, bytes, 3, 0), 2); /* as it stands: a CYC */
    assert_int_equal(packet.payload.cyc.value, 0x21);
    assert_int_equal(ptl_packet_decode(&packet, bytes, 3, PTL_DECODE_SKD007), 3);
    assert_int_equal(packet.type, PTL_PKT_OVF);
    assert_int_equal(ptl_packet_decode(&packet, bytes, 2, PTL_DECODE_SKD007), 2);
    assert_int_equal(packet.type, PTL_PKT_CYC);
    unhex(bytes, "0f04f3");
    assert_int_equal(ptl_packet_decode(&packet, bytes, 3, PTL_DECODE_SKD007), 2);
    assert_int_equal(packet.type, PTL_PKT_CYC);

    unhex(bytes, "0273341201000055");
    assert_int_equal(ptl_packet_decode(&packet, bytes, 8, PTL_DECODE_SKZ84), 8);
    assert_int_equal(packet.type, PTL_PKT_INVALID);
    assert_int_equal(ptl_packet_decode(&packet, bytes, 7, PTL_DECODE_SKZ84), PTL_EOS);
    unhex(bytes, "0273341200100055");
    assert_int_equal(ptl_packet_decode(&packet, bytes, 8, PTL_DECODE_SKZ84), 7);
    assert_int_equal(packet.type, PTL_PKT_TMA);
}

/* --- round trip ------------------------------------------------------------------- */

/* `n` (0..64) bits of `v`, large and small ones alike. */
static uint64_t low(uint64_t v, unsigned n)
{
    return n ? v & UINT64_MAX >> (64 - n) : 0;
}

static void random_packet(struct ptl_packet *p, unsigned type, uint64_t *seed)
{
    static const uint8_t ipcs[] = {0, 1, 2, 3, 4, 6}, ip_bits[] = {0, 16, 32, 48, 48, 64};
    uint64_t r = rnd(seed), v = rnd(seed) >> (rnd(seed) & 63);
    unsigned i = (unsigned)(r % COUNT(ipcs));
#define BITS(n) low(v, n)
#define BIT(n)  ((uint8_t)(r >> (n)&1))
    memset(p, 0, sizeof(*p));
    p->type = (uint8_t)type;
    switch (type) {
    case PTL_PKT_TNT8:
    case PTL_PKT_TNT64:
        p->payload.tnt.count = (uint8_t)(1 + r % (type == PTL_PKT_TNT8 ? 6 : 47));
        p->payload.tnt.bits = BITS(p->payload.tnt.count);
        break;
    case PTL_PKT_TIP:
    case PTL_PKT_TIP_PGE:
    case PTL_PKT_TIP_PGD:
    case PTL_PKT_FUP:
        p->payload.ip.ipc = ipcs[i];
        p->payload.ip.ip = BITS(ip_bits[i]);
        break;
    case PTL_PKT_MODE_EXEC:
        p->payload.mode_exec.csl = BIT(0), p->payload.mode_exec.csd = BIT(1);
        p->payload.mode_exec.iflag = BIT(2);
        break;
    case PTL_PKT_MODE_TSX:
        p->payload.mode_tsx.intx = BIT(0), p->payload.mode_tsx.abrt = BIT(1);
        break;
    case PTL_PKT_PIP:
        p->payload.pip.cr3 = BITS(47) << 5, p->payload.pip.nr = BIT(0);
        break;
    case PTL_PKT_VMCS:
        p->payload.vmcs.base = BITS(40) << 12;
        break;
    case PTL_PKT_TSC:
        p->payload.tsc.tsc = BITS(56);
        break;
    case PTL_PKT_TMA:
        p->payload.tma.ctc = (uint16_t)r, p->payload.tma.fc = (uint16_t)BITS(9);
        break;
    case PTL_PKT_MTC:
        p->payload.mtc.ctc = (uint8_t)r;
        break;
    case PTL_PKT_CYC:
        p->payload.cyc.value = BITS(61);
        break;
    case PTL_PKT_CBR:
        p->payload.cbr.ratio = (uint8_t)r;
        break;
    case PTL_PKT_MNT:
        p->payload.mnt.payload = v;
        break;
    case PTL_PKT_EXSTOP:
        p->payload.exstop.ip = BIT(0);
        break;
    case PTL_PKT_MWAIT:
        p->payload.mwait.hints = (uint32_t)r, p->payload.mwait.ext = (uint32_t)v;
        break;
    case PTL_PKT_PWRE:
        p->payload.pwre.state = r & 15, p->payload.pwre.sub_state = r >> 4 & 15;
        p->payload.pwre.hw = BIT(8);
        break;
    case PTL_PKT_PWRX:
        p->payload.pwrx.last = r & 15, p->payload.pwrx.deepest = r >> 4 & 15;
        p->payload.pwrx.interrupt = BIT(8), p->payload.pwrx.store = BIT(9);
        p->payload.pwrx.autonomous = BIT(10);
        break;
    case PTL_PKT_PTW:
        p->payload.ptw.plc = BIT(0), p->payload.ptw.ip = BIT(1);
        p->payload.ptw.payload = BITS(p->payload.ptw.plc ? 64 : 32);
        break;
    case PTL_PKT_CFE:
        p->payload.cfe.type = r & 31, p->payload.cfe.ip = BIT(8);
        p->payload.cfe.vector = (uint8_t)v;
        break;
    case PTL_PKT_EVD:
        p->payload.evd.type = r & 63, p->payload.evd.payload = v;
        break;
    case PTL_PKT_BBP:
        p->payload.bbp.type = r & 31, p->payload.bbp.sz4 = BIT(8);
        break;
    case PTL_PKT_BIP:
        p->payload.bip.id = r & 31, p->payload.bip.sz4 = BIT(8);
        p->payload.bip.value = BITS(p->payload.bip.sz4 ? 32 : 64);
        break;
    case PTL_PKT_BEP:
        p->payload.bep.ip = BIT(0);
        break;
    case PTL_PKT_TRIG:
        p->payload.trig.vector = (uint8_t)v, p->payload.trig.ip = BIT(0);
        p->payload.trig.mult = BIT(1), p->payload.trig.icntv = BIT(2);
        p->payload.trig.icnt = BIT(2) ? (uint16_t)(r >> 8) : 0;
        break;
    default:
        break;
    }
}

static void test_round_trip(void **state)
{
    uint64_t seed = 1;
    (void)state;
    for (unsigned n = 0; n < 200000; n++) {
        struct ptl_packet in, out;
        uint8_t bytes[32];
        unsigned type = 1 + n % PTL_PKT_MAX_VALUE;
        uint32_t flags = 0;
        int size;

        random_packet(&in, type, &seed);
        if (type == PTL_PKT_BIP)
            flags = in.payload.bip.sz4 ? PTL_DECODE_BLOCK4 : PTL_DECODE_BLOCK8;
        memset(bytes, 0xff, sizeof(bytes));
        size = ptl_packet_encode(bytes, sizeof(bytes), &in);
        assert_in_range(size, 1, PTL_PACKET_MAX_SIZE);
        for (size_t i = (size_t)size; i < sizeof(bytes); i++)
            assert_int_equal(bytes[i], 0xff); /* nothing beyond */
        memset(&out, 0, sizeof(out));
        assert_int_equal(ptl_packet_decode(&out, bytes, sizeof(bytes), flags), size);
        in.size = (uint8_t)size;
        assert_memory_equal(&in, &out, sizeof(in));
        for (size_t room = 0; room < (size_t)size; room++)
            assert_int_equal(ptl_packet_encode(bytes, room, &in), PTL_EOS);
    }
}

/* Wire to packet to wire, for the rows without reserved bits set. */
static void test_encode_vectors(void **state)
{
    static const char *const loose[] = {"9919", "020314ff", "02220812"};
    (void)state;
    for (size_t i = 0; i < COUNT(vectors); i++) {
        uint8_t bytes[32], again[32];
        size_t n = unhex(bytes, vectors[i].bytes);
        struct ptl_packet packet;
        int skip = 0;

        for (size_t j = 0; j < COUNT(loose); j++)
            skip |= !strcmp(loose[j], vectors[i].bytes);
        if (skip)
            continue;
        assert_int_equal(ptl_packet_decode(&packet, bytes, n, 0), n);
        assert_int_equal(ptl_packet_encode(again, sizeof(again), &packet), n);
        assert_memory_equal(bytes, again, n);
    }
}

static void test_encode_rejects(void **state)
{
    const struct ptl_packet rows[] = {
        {.type = PTL_PKT_TNT8},
        {.type = PTL_PKT_TNT8, .payload.tnt = {0, 7}},
        {.type = PTL_PKT_TNT8, .payload.tnt = {2, 1}},
        {.type = PTL_PKT_TNT64, .payload.tnt = {0, 48}},
        {.type = PTL_PKT_TIP, .payload.ip = {0, 5}},
        {.type = PTL_PKT_TIP, .payload.ip = {0, 7}},
        {.type = PTL_PKT_TIP, .payload.ip = {0, 8}},
        {.type = PTL_PKT_FUP, .payload.ip = {1, 0}},
        {.type = PTL_PKT_FUP, .payload.ip = {0x10000, 1}},
        {.type = PTL_PKT_FUP, .payload.ip = {(uint64_t)1 << 48, 3}},
        {.type = PTL_PKT_MODE_EXEC, .payload.mode_exec = {2, 0, 0}},
        {.type = PTL_PKT_MODE_TSX, .payload.mode_tsx = {0, 2}},
        {.type = PTL_PKT_PIP, .payload.pip = {1, 0}},
        {.type = PTL_PKT_PIP, .payload.pip = {(uint64_t)1 << 52, 0}},
        {.type = PTL_PKT_VMCS, .payload.vmcs = {0x800}},
        {.type = PTL_PKT_TSC, .payload.tsc = {(uint64_t)1 << 56}},
        {.type = PTL_PKT_TMA, .payload.tma = {0, 0x200}},
        {.type = PTL_PKT_CYC, .payload.cyc = {(uint64_t)1 << 61}},
        {.type = PTL_PKT_EXSTOP, .payload.exstop = {2}},
        {.type = PTL_PKT_PWRE, .payload.pwre = {16, 0, 0}},
        {.type = PTL_PKT_PWRX, .payload.pwrx = {0, 16, 0, 0, 0}},
        {.type = PTL_PKT_PTW, .payload.ptw = {(uint64_t)1 << 32, 0, 0}},
        {.type = PTL_PKT_PTW, .payload.ptw = {0, 2, 0}},
        {.type = PTL_PKT_CFE, .payload.cfe = {32, 0, 0}},
        {.type = PTL_PKT_EVD, .payload.evd = {0, 64}},
        {.type = PTL_PKT_BBP, .payload.bbp = {32, 0}},
        {.type = PTL_PKT_BIP, .payload.bip = {(uint64_t)1 << 32, 0, 1}},
        {.type = PTL_PKT_BIP, .payload.bip = {0, 32, 0}},
        {.type = PTL_PKT_BEP, .payload.bep = {2}},
        {.type = PTL_PKT_TRIG, .payload.trig = {0, 0, 0, 0, 1}},
    };
    uint8_t bytes[16];
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(ptl_packet_encode(bytes, sizeof(bytes), &rows[i]), PTL_BAD_PACKET);
    assert_int_equal(ptl_packet_encode(bytes, 16, &(struct ptl_packet){.type = 0}), PTL_BAD_OPC);
    assert_int_equal(
        ptl_packet_encode(bytes, 16, &(struct ptl_packet){.type = PTL_PKT_MAX_VALUE + 1}),
        PTL_BAD_OPC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_bytes),    cmocka_unit_test(test_second_bytes),
        cmocka_unit_test(test_third_bytes),    cmocka_unit_test(test_payloads),
        cmocka_unit_test(test_reserved),       cmocka_unit_test(test_names),
        cmocka_unit_test(test_pebs_block),     cmocka_unit_test(test_block_survives),
        cmocka_unit_test(test_errata),         cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_encode_vectors), cmocka_unit_test(test_encode_rejects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
