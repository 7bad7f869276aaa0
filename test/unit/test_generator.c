/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_generator.c - ptcapture's packet generator: what is executed against the packets that
 * the SDM's "Packet Generation Scenarios" name for it.
 */
#include "unit.h"

#include "../../ptcapture/generator.c" /* NOLINT(bugprone-suspicious-include): part of a program */

#include <pt/clock.h>
#include <stdio.h>

static uint8_t buffer[1u << 16];

/* The packets written so far as text, one blank between them: names, and what matters of the
 * payload. */
static const char *text_of(const struct generator *gen)
{
    static char text[1u << 16];
    struct ptl_last_ip last;
    struct ptl_packet p;
    size_t n = 0;

    memset(&last, 0, sizeof(last));
    text[0] = '\0';
    for (size_t at = 0; at < gen->len; at += p.size) {
        assert_true(ptl_packet_decode(&p, gen->buf + at, gen->len - at, 0) > 0);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "",
                              ptl_packet_name((enum ptl_packet_type)p.type));
        switch (p.type) {
        case PTL_PKT_PSB:
            memset(&last, 0, sizeof(last));
            break;
        case PTL_PKT_TIP:
        case PTL_PKT_TIP_PGE:
        case PTL_PKT_TIP_PGD:
        case PTL_PKT_FUP:
            assert_int_equal(ptl_last_ip_update(&last, p.payload.ip.ipc, p.payload.ip.ip), 0);
            if (p.payload.ip.ipc)
                n += (size_t)snprintf(text + n, sizeof(text) - n, ":%llx/%u",
                                      (unsigned long long)last.ip, p.payload.ip.ipc);
            break;
        case PTL_PKT_TNT8:
        case PTL_PKT_TNT64:
            text[n++] = ':';
            for (unsigned i = p.payload.tnt.count; i-- > 0;)
                text[n++] = p.payload.tnt.bits >> i & 1 ? '!' : '.';
            text[n] = '\0';
            break;
        case PTL_PKT_MODE_EXEC:
            n += (size_t)snprintf(text + n, sizeof(text) - n, ":%u%u", p.payload.mode_exec.csl,
                                  p.payload.mode_exec.csd);
            break;
        case PTL_PKT_TSC:
            n += (size_t)snprintf(text + n, sizeof(text) - n, ":%llu",
                                  (unsigned long long)p.payload.tsc.tsc);
            break;
        case PTL_PKT_TMA:
            n += (size_t)snprintf(text + n, sizeof(text) - n, ":%u,%u", p.payload.tma.ctc,
                                  p.payload.tma.fc);
            break;
        case PTL_PKT_MTC:
            n += (size_t)snprintf(text + n, sizeof(text) - n, ":%u", p.payload.mtc.ctc);
            break;
        case PTL_PKT_CYC:
            n += (size_t)snprintf(text + n, sizeof(text) - n, ":%llu",
                                  (unsigned long long)p.payload.cyc.value);
            break;
        case PTL_PKT_PTW:
            n += (size_t)snprintf(text + n, sizeof(text) - n, ":%llx/%u",
                                  (unsigned long long)p.payload.ptw.payload, p.payload.ptw.plc);
            break;
        default:
            break;
        }
    }
    return text;
}

static struct gen_config plain(void)
{
    struct gen_config config;

    memset(&config, 0, sizeof(config));
    config.branch = 1;
    config.tsc_ratio = 40;
    config.art_ratio = 1;
    config.cbr = 10;
    config.psb_period = 5;
    return config;
}

/* Drop what has been written, so that the next text is of what follows. */
static void take(struct generator *gen)
{
    gen->len = 0;
}

static void start(struct generator *gen, const struct gen_config *config, uint64_t ip)
{
    gen_init(gen, config, buffer, sizeof(buffer));
    gen_enable(gen, ip, PTL_MODE_64, 1000);
}

static struct ptl_insn insn_of(enum ptl_insn_class iclass, uint8_t size, int64_t disp)
{
    struct ptl_insn insn;

    memset(&insn, 0, sizeof(insn));
    insn.iclass = (uint8_t)iclass;
    insn.size = size;
    insn.disp = disp;
    insn.mode = PTL_MODE_64;
    return insn;
}

static void run(struct generator *gen, enum ptl_insn_class iclass, uint8_t size, uint64_t ip,
                uint64_t next)
{
    struct ptl_insn insn = insn_of(iclass, size, (int64_t)(next - ip) - size);

    gen_insn(gen, &insn, ip, next, PTL_MODE_64, 1000);
}

/* --- beginnings ---------------------------------------------------------------------- */

static void begins_disabled_then_pge(void **state)
{
    struct gen_config config = plain();
    struct generator gen;

    (void)state;
    start(&gen, &config, 0x401000);
    assert_string_equal(text_of(&gen), "psb cbr psbend mode.exec:10 tip.pge:401000/3");
    config.tsc = config.mtc = 1;
    start(&gen, &config, 0x7f0000001234);
    assert_string_equal(text_of(&gen), "psb tsc:1000 tma:25,0 cbr psbend mode.exec:10 "
                                       "tip.pge:7f0000001234/3");
}

static void nothing_while_off(void **state)
{
    struct gen_config config = plain();
    struct generator gen;

    (void)state;
    gen_init(&gen, &config, buffer, sizeof(buffer));
    run(&gen, PTL_INSN_JCC, 2, 0x1000, 0x2000);
    gen_far_leave(&gen, 5);
    gen_interrupt(&gen, 0x1000, 5);
    gen_time(&gen, 5);
    gen_flush(&gen, 5);
    assert_int_equal(gen.len, 0);
}

/* --- branches --------------------------------------------------------------------------- */

static void branches(void **state)
{
    static const struct {
        enum ptl_insn_class iclass;
        uint8_t size;
        uint64_t next;
        const char *packets;
    } rows[] = {
        {PTL_INSN_OTHER, 3, 0x1003, ""},
        {PTL_INSN_JMP, 2, 0x2000, ""},
        {PTL_INSN_CALL, 5, 0x2000, ""},
        {PTL_INSN_JCC, 2, 0x2000, "tnt.8:!"},
        {PTL_INSN_JCC, 2, 0x1002, "tnt.8:."},
        {PTL_INSN_JMP_IND, 2, 0x2000, "tip:2000/1"},
        {PTL_INSN_CALL_IND, 2, 0x7fff00002000, "tip:7fff00002000/3"},
        {PTL_INSN_RET, 1, 0x40002000, "tip:40002000/2"},
        {PTL_INSN_FAR_JMP, 3, 0x2000, "tip:2000/1"},
        {PTL_INSN_PTWRITE, 5, 0x1005, ""},
    };
    struct gen_config config = plain();
    struct generator gen;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        start(&gen, &config, 0x1000);
        take(&gen);
        run(&gen, rows[i].iclass, rows[i].size, 0x1000, rows[i].next);
        flush_tnt(&gen, 1000);
        assert_string_equal(text_of(&gen), rows[i].packets);
    }
}

/* Bits are kept back: six to a byte, 47 to a TNT-64, and none behind a TIP. */
static void bits_are_packed(void **state)
{
    struct gen_config config = plain();
    struct generator gen;

    (void)state;
    start(&gen, &config, 0x1000);
    take(&gen);
    for (int i = 0; i < 8; i++)
        run(&gen, PTL_INSN_JCC, 2, 0x1000, i == 7 ? 0x1000u : 0x1002u);
    assert_int_equal(gen.len, 0);
    run(&gen, PTL_INSN_JMP_IND, 2, 0x1000, 0x2000);
    assert_string_equal(text_of(&gen), "tnt.8:...... tnt.8:.! tip:2000/1");
    take(&gen);
    for (int i = 0; i < 48; i++)
        run(&gen, PTL_INSN_JCC, 2, 0x2000, i == 0 ? 0x2000u : 0x2002u);
    assert_string_equal(text_of(&gen), "tnt.64:!..............................................");
    take(&gen);
    gen_far_leave(&gen, 1000);
    assert_string_equal(text_of(&gen), "tnt.8:. tip.pgd");
}

/* --- returns -------------------------------------------------------------------------------- */

static void returns_are_compressed(void **state)
{
    struct gen_config config = plain();
    struct generator gen;

    (void)state;
    start(&gen, &config, 0x1000);
    take(&gen);
    run(&gen, PTL_INSN_CALL, 5, 0x1000, 0x2000);
    run(&gen, PTL_INSN_CALL_IND, 2, 0x2000, 0x2002); /* to the next instruction: remembered */
    run(&gen, PTL_INSN_CALL, 5, 0x2002, 0x2007);     /* call-next: not remembered */
    run(&gen, PTL_INSN_RET, 1, 0x2007, 0x2002);
    run(&gen, PTL_INSN_RET, 1, 0x2002, 0x1005);
    run(&gen, PTL_INSN_RET, 1, 0x1005, 0x5000); /* nothing left */
    assert_string_equal(text_of(&gen), "tip:2002/1 tnt.8:!! tip:5000/1");
}

static void a_return_elsewhere_forgets_all(void **state)
{
    struct gen_config config = plain();
    struct generator gen;

    (void)state;
    start(&gen, &config, 0x1000);
    take(&gen);
    run(&gen, PTL_INSN_CALL, 5, 0x1000, 0x2000);
    run(&gen, PTL_INSN_CALL, 5, 0x2000, 0x3000);
    run(&gen, PTL_INSN_RET, 1, 0x3000, 0x9000); /* e.g. out of a signal handler */
    run(&gen, PTL_INSN_RET, 1, 0x9000, 0x1005);
    assert_string_equal(text_of(&gen), "tip:9000/1 tip:1005/1");
}

/* The core remembers 64 calls: of 70 nested ones the outer six return by TIP. */
static void only_64_calls_are_remembered(void **state)
{
    struct gen_config config = plain();
    struct generator gen;
    unsigned tips = 0;

    (void)state;
    start(&gen, &config, 0x1000);
    take(&gen);
    for (uint64_t i = 0; i < 70; i++)
        run(&gen, PTL_INSN_CALL, 5, 0x1000 + 16 * i, 0x1010 + 16 * i);
    for (uint64_t i = 70; i-- > 0;)
        run(&gen, PTL_INSN_RET, 1, 0x8000, 0x1005 + 16 * i);
    flush_tnt(&gen, 1000);
    for (const char *at = text_of(&gen); (at = strstr(at, "tip:")); at++)
        tips++;
    assert_int_equal(tips, 6);
}

static void noretcomp(void **state)
{
    struct gen_config config = plain();
    struct generator gen;

    (void)state;
    config.noretcomp = 1;
    start(&gen, &config, 0x1000);
    take(&gen);
    run(&gen, PTL_INSN_CALL, 5, 0x1000, 0x2000);
    run(&gen, PTL_INSN_RET, 1, 0x2000, 0x1005);
    assert_string_equal(text_of(&gen), "tip:1005/1");
}

/* --- leaving ------------------------------------------------------------------------------------
 */

static void system_calls_and_interrupts(void **state)
{
    struct gen_config config = plain();
    struct generator gen;

    (void)state;
    start(&gen, &config, 0x1000);
    take(&gen);
    run(&gen, PTL_INSN_JCC, 2, 0x1000, 0x1002);
    gen_far_leave(&gen, 1000);
    gen_enable(&gen, 0x1004, PTL_MODE_64, 1000);
    run(&gen, PTL_INSN_JCC, 2, 0x1004, 0x1000);
    gen_interrupt(&gen, 0x1000, 1000);
    gen_enable(&gen, 0x7f0012345678, PTL_MODE_64, 1000);
    assert_string_equal(text_of(&gen), "tnt.8:. tip.pgd tip.pge:1004/1 tnt.8:! fup:1000/1 tip.pgd "
                                       "tip.pge:7f0012345678/3");
}

/* Calls are remembered across a system call, as a core does. */
static void calls_outlive_a_system_call(void **state)
{
    struct gen_config config = plain();
    struct generator gen;

    (void)state;
    start(&gen, &config, 0x1000);
    take(&gen);
    run(&gen, PTL_INSN_CALL, 5, 0x1000, 0x2000);
    gen_far_leave(&gen, 1000);
    gen_enable(&gen, 0x2002, PTL_MODE_64, 1000);
    run(&gen, PTL_INSN_RET, 1, 0x2002, 0x1005);
    gen_flush(&gen, 1000);
    assert_string_equal(text_of(&gen), "tip.pgd tip.pge:2002/1 tnt.8:! pad pad pad pad");
    assert_int_equal(gen.bytes % 8, 0);
    take(&gen);
    gen_far_leave(&gen, 1000);
    gen_flush(&gen, 1000);
    assert_string_equal(text_of(&gen), "tip.pgd pad pad pad pad pad pad pad");
}

static void modes(void **state)
{
    struct gen_config config = plain();
    struct generator gen;
    struct ptl_insn far = insn_of(PTL_INSN_FAR_JMP, 7, 0);

    (void)state;
    gen_init(&gen, &config, buffer, sizeof(buffer));
    gen_enable(&gen, 0x1000, PTL_MODE_32, 1000);
    assert_string_equal(text_of(&gen), "psb cbr psbend mode.exec:01 tip.pge:1000/3");
    take(&gen);
    gen_insn(&gen, &far, 0x1000, 0x2000, PTL_MODE_64, 1000);
    gen_insn(&gen, &far, 0x2000, 0x3000, PTL_MODE_64, 1000);
    gen_far_leave(&gen, 1000);
    gen_enable(&gen, 0x3000, PTL_MODE_64, 1000);
    gen_far_leave(&gen, 1000);
    gen_enable(&gen, 0x3000, PTL_MODE_32, 1000);
    assert_string_equal(text_of(&gen), "mode.exec:10 tip:2000/1 tip:3000/1 tip.pgd tip.pge:3000/1 "
                                       "tip.pgd mode.exec:01 tip.pge:3000/1");
}

/* --- PSB+
 * -------------------------------------------------------------------------------------------- */

static void psb_by_bytes(void **state)
{
    struct gen_config config = plain();
    struct generator gen;
    const char *text;

    (void)state;
    config.psb_period = 0; /* every 2048 bytes */
    start(&gen, &config, 0x1000);
    run(&gen, PTL_INSN_CALL, 5, 0x1000, 0x2000);
    take(&gen);
    while (gen.bytes < gen.psb_at - 3)
        run(&gen, PTL_INSN_JMP_IND, 2, 0x2000, 0x2000);
    take(&gen);
    run(&gen, PTL_INSN_JCC, 2, 0x2000, 0x2002);
    run(&gen, PTL_INSN_JMP_IND, 2, 0x2002, 0x2000);
    run(&gen, PTL_INSN_RET, 1, 0x2000, 0x1005); /* its call lies before the PSB */
    text = text_of(&gen);
    assert_string_equal(text, "tnt.8:. tip:2000/1 psb cbr mode.exec:10 mode.tsx fup:2000/3 psbend "
                              "tip:1005/1");
    assert_in_range(gen.psb_at - gen.bytes, 2048 - 8, 2048);
}

static void psb_while_off(void **state)
{
    struct gen_config config = plain();
    struct generator gen;

    (void)state;
    config.psb_period = 0;
    start(&gen, &config, 0x1000);
    gen_far_leave(&gen, 1000);
    gen.bytes = gen.psb_at;
    take(&gen);
    gen_enable(&gen, 0x1002, PTL_MODE_64, 1000);
    assert_string_equal(text_of(&gen), "psb cbr psbend mode.exec:10 tip.pge:1002/3");
}

/* --- time
 * -----------------------------------------------------------------------------------------------
 */

static void mtc_by_crystal(void **state)
{
    struct gen_config config = plain();
    struct generator gen;
    struct ptl_insn jump = insn_of(PTL_INSN_JMP_IND, 2, 0);

    (void)state;
    config.tsc = config.mtc = 1;
    config.mtc_period = 3; /* 8 crystal ticks of 40 TSC ticks: 320 */
    start(&gen, &config, 0x1000);
    take(&gen);
    gen_insn(&gen, &jump, 0x1000, 0x2000, PTL_MODE_64, 1279); /* still period 3 */
    gen_insn(&gen, &jump, 0x2000, 0x1000, PTL_MODE_64, 1280);
    gen_insn(&gen, &jump, 0x1000, 0x2000, PTL_MODE_64, 1700);            /* 5 */
    gen_insn(&gen, &jump, 0x2000, 0x1000, PTL_MODE_64, 320 * 0xf4 + 10); /* 239 on */
    assert_string_equal(text_of(&gen),
                        "tip:2000/1 mtc:4 tip:1000/1 mtc:5 tip:2000/1 mtc:244 tip:1000/1");
    take(&gen);
    gen_insn(&gen, &jump, 0x1000, 0x2000, PTL_MODE_64, 320 * (0xf4 + 0xf0) + 45);
    assert_string_equal(text_of(&gen), "tsc:154925 tma:3873,5 tip:2000/1");
}

/* CYCs count up to an MTC's own time, then on: the periods between MTCs are exact. */
static void cyc_before_packets(void **state)
{
    struct gen_config config = plain();
    struct generator gen;
    struct ptl_insn jump = insn_of(PTL_INSN_JMP_IND, 2, 0);

    (void)state;
    config.tsc = config.mtc = config.cyc = 1;
    config.mtc_period = 3;
    start(&gen, &config, 0x1000);
    take(&gen);
    gen_insn(&gen, &jump, 0x1000, 0x2000, PTL_MODE_64, 1100);
    gen_insn(&gen, &jump, 0x2000, 0x1000, PTL_MODE_64, 1300);
    assert_string_equal(text_of(&gen), "cyc:100 tip:2000/1 cyc:180 mtc:4 cyc:20 tip:1000/1");
    take(&gen);
    gen_time(&gen, 1310);
    assert_string_equal(text_of(&gen), "cyc:10 tsc:1310 tma:32,30");
}

/* What our own clock makes of the packets is the time they were given. */
static void time_is_decoded(void **state)
{
    struct gen_config config = plain();
    struct ptl_clock_config clock_config;
    struct ptl_clock clock;
    struct generator gen;
    struct ptl_insn jump = insn_of(PTL_INSN_JMP_IND, 2, 0);
    struct ptl_packet p;
    uint64_t tsc = 0, given = 1000;

    (void)state;
    config.tsc = config.mtc = config.cyc = 1;
    config.mtc_period = 9;
    memset(&clock_config, 0, sizeof(clock_config));
    clock_config.cpuid_15_eax = 1;
    clock_config.cpuid_15_ebx = 40;
    clock_config.mtc_freq = 9;
    clock_config.nom_freq = 10;
    ptl_clock_init(&clock, &clock_config);
    start(&gen, &config, 0x1000);
    for (int i = 0; i < 200; i++) {
        given += (uint64_t)(i % 17) * 997;
        gen_insn(&gen, &jump, 0x1000, 0x1000, PTL_MODE_64, given);
        for (size_t at = 0; at < gen.len; at += p.size) {
            assert_true(ptl_packet_decode(&p, gen.buf + at, gen.len - at, 0) > 0);
            (void)ptl_clock_calibrate(&clock, &p, given == 1000);
            (void)ptl_clock_update(&clock, &p);
        }
        take(&gen);
        assert_int_equal(ptl_clock_query(&clock, &tsc, NULL, NULL), 0);
        assert_in_range(tsc, given - 2, given + 2);
    }
}

/* --- PTWRITE
 * --------------------------------------------------------------------------------------------- */

static void ptwrite(void **state)
{
    struct gen_config config = plain();
    struct generator gen;

    (void)state;
    start(&gen, &config, 0x1000);
    take(&gen);
    gen_ptwrite(&gen, 1, 1, 1000); /* off */
    gen.config.ptw = 1;
    gen_ptwrite(&gen, 0x123456789abc, 1, 1000);
    gen_ptwrite(&gen, 0xffffffff12345678, 0, 1000);
    assert_string_equal(text_of(&gen), "ptw:123456789abc/1 ptw:12345678/0");
}

/* SDM, packets when PacketEn goes off: a jump, call or return tells where to; a conditional branch
 * that is taken does not, nor is there a bit for it; one that is not taken has its bit. */
static void out_of_the_filter(void **state)
{
    const struct gen_config config = plain();
    const struct ptl_insn jcc = insn_of(PTL_INSN_JCC, 2, 0x100),
                          call = insn_of(PTL_INSN_CALL, 5, 8), ret = insn_of(PTL_INSN_RET, 1, 0),
                          other = insn_of(PTL_INSN_OTHER, 3, 0);
    static const struct {
        int which;
        uint64_t next;
        int stop;
        const char *text;
    } rows[] = {
        {0, 0x401102, 0, "tnt.8:! tip.pgd"},        {0, 0x401002, 0, "tnt.8:!. tip.pgd:1002/1"},
        {1, 0x402000, 0, "tnt.8:! tip.pgd:2000/1"}, {2, 0x403000, 0, "tnt.8:! tip.pgd:3000/1"},
        {3, 0x401003, 0, "tnt.8:! tip.pgd:1003/1"}, {1, 0x402000, 1, "tnt.8:! tip.pgd:2000/1 stop"},
    };
    const struct ptl_insn *const insns[] = {&jcc, &call, &ret, &other};
    struct generator gen;
    (void)state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        start(&gen, &config, 0x400ffe);
        gen_insn(&gen, &jcc, 0x400ffe, 0x401000, PTL_MODE_64, 1000);
        take(&gen);
        gen.tnt_bits = 1; /* of an earlier branch */
        gen_insn_out(&gen, insns[rows[i].which], 0x401000, rows[i].next, PTL_MODE_64, rows[i].stop,
                     1000);
        assert_int_equal(gen.enabled, 0);
        assert_string_equal(text_of(&gen), rows[i].text);
    }
    /* A call that was seen before does not compress a return afterwards. */
    start(&gen, &config, 0x401000);
    gen_insn(&gen, &call, 0x401000, 0x40100d, PTL_MODE_64, 1000);
    gen_insn_out(&gen, &call, 0x40100d, 0x401020, PTL_MODE_64, 0, 1000);
    gen_enable(&gen, 0x401012, PTL_MODE_64, 1000);
    take(&gen);
    gen_insn(&gen, &ret, 0x401012, 0x401005, PTL_MODE_64, 1000);
    assert_non_null(strstr(text_of(&gen), "tip:"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begins_disabled_then_pge),
        cmocka_unit_test(nothing_while_off),
        cmocka_unit_test(branches),
        cmocka_unit_test(bits_are_packed),
        cmocka_unit_test(returns_are_compressed),
        cmocka_unit_test(a_return_elsewhere_forgets_all),
        cmocka_unit_test(only_64_calls_are_remembered),
        cmocka_unit_test(noretcomp),
        cmocka_unit_test(system_calls_and_interrupts),
        cmocka_unit_test(calls_outlive_a_system_call),
        cmocka_unit_test(modes),
        cmocka_unit_test(psb_by_bytes),
        cmocka_unit_test(psb_while_off),
        cmocka_unit_test(mtc_by_crystal),
        cmocka_unit_test(cyc_before_packets),
        cmocka_unit_test(time_is_decoded),
        cmocka_unit_test(ptwrite),
        cmocka_unit_test(out_of_the_filter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
