/* SPDX-License-Identifier: BSD-3-Clause */
/* Records: layouts against linux/perf_event.h, real bytes, round trips, every truncation. */
#include "record/trailer.h"

#include <linux/perf_event.h>
#include <pt/record.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ALL_TRAILER PTL_SAMPLE_TRAILER

/* Bytes of a recording (names replaced): see doc/internals/record.md. */
static const uint8_t mmap2_bytes[] = {
    0x0a, 0x00, 0x00, 0x00, 0x02, 0x00, 0x68, 0x00, 0xc1, 0x60, 0x00, 0x00, 0xc1, 0x60, 0x00,
    0x00, 0x00, 0x50, 0xbd, 0xc5, 0xc4, 0x55, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xfe, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0xa5, 0xe7, 0xa7, 0x00, 0x00, 0x00, 0x00, 0x00, 0x57, 0xc3, 0x2e, 0x62,
    0x00, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x2f, 0x75, 0x73,
    0x72, 0x2f, 0x62, 0x69, 0x6e, 0x2f, 0x77, 0x78, 0x79, 0x7a, 0x00, 0x00, 0x00, 0xc1, 0x60,
    0x00, 0x00, 0xc1, 0x60, 0x00, 0x00, 0xac, 0xc6, 0x4f, 0xed, 0xcf, 0x00, 0x00, 0x00};

static const uint8_t aux_bytes[] = {
    0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xe0, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xf7, 0x6a, 0x03, 0x00, 0xf7, 0x6a, 0x03, 0x00, 0x78, 0x98, 0x19, 0xf9, 0x21, 0xec, 0x04, 0x00,
    0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x65, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};

static void real_bytes(void **state)
{
    struct ptl_layout layout = {.sample_type = 0x107};
    struct ptl_record r;
    (void)state;

    assert_int_equal(ptl_record_decode(&r, mmap2_bytes, sizeof(mmap2_bytes), &layout), 0x68);
    assert_int_equal(r.type, PTL_REC_MMAP2);
    assert_int_equal(r.known, 1);
    assert_int_equal(r.u.mmap.pid, 0x60c1);
    assert_int_equal(r.u.mmap.addr, 0x55c4c5bd5000);
    assert_int_equal(r.u.mmap.len, 0x1000);
    assert_int_equal(r.u.mmap.pgoff, 0x1000);
    assert_int_equal(r.u.mmap.maj, 0xfe);
    assert_int_equal(r.u.mmap.ino, 0xa7e7a5);
    assert_int_equal(r.u.mmap.ino_generation, 0x622ec357);
    assert_int_equal(r.u.mmap.prot, 5);
    assert_int_equal(r.u.mmap.flags, 2);
    assert_string_equal(r.u.mmap.filename, "/usr/bin/wxyz");
    assert_int_equal(r.id.have, PTL_SAMPLE_TID | PTL_SAMPLE_TIME);
    assert_int_equal(r.id.tid, 0x60c1);
    assert_int_equal(r.id.time, 0xcfed4fc6ac);

    layout.sample_type = 0x10086;
    assert_int_equal(ptl_record_decode(&r, aux_bytes, sizeof(aux_bytes), &layout), 0x40);
    assert_int_equal(r.u.aux.size, 0x8e0);
    assert_int_equal(r.id.cpu, 9);
    assert_int_equal(r.id.identifier, 0x365);
    assert_int_equal(r.id.time, 0x4ec21f9199878);
}

/* The numbers of types, flags and bits are the kernel's. */
static void numbers(void **state)
{
    (void)state;
    assert_int_equal(PTL_REC_AUX_OUTPUT_HW_ID, PERF_RECORD_AUX_OUTPUT_HW_ID);
    assert_int_equal(PTL_REC_TEXT_POKE, PERF_RECORD_TEXT_POKE);
    assert_int_equal(PTL_REC_SWITCH_CPU_WIDE, PERF_RECORD_SWITCH_CPU_WIDE);
    assert_int_equal(PTL_REC_MMAP2, PERF_RECORD_MMAP2);
    assert_int_equal(PTL_REC_KSYMBOL, PERF_RECORD_KSYMBOL);
    assert_int_equal(PTL_MISC_SWITCH_OUT, PERF_RECORD_MISC_SWITCH_OUT);
    assert_int_equal(PTL_MISC_SWITCH_OUT_PREEMPT, PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
    assert_int_equal(PTL_MISC_MMAP_BUILD_ID, PERF_RECORD_MISC_MMAP_BUILD_ID);
    assert_int_equal(PTL_MISC_COMM_EXEC, PERF_RECORD_MISC_COMM_EXEC);
    assert_int_equal(PTL_MISC_CPUMODE, PERF_RECORD_MISC_CPUMODE_MASK);
    assert_int_equal(PTL_AUX_TRUNCATED, PERF_AUX_FLAG_TRUNCATED);
    assert_int_equal(PTL_AUX_OVERWRITE, PERF_AUX_FLAG_OVERWRITE);
    assert_int_equal(PTL_AUX_PARTIAL, PERF_AUX_FLAG_PARTIAL);
    assert_int_equal(PTL_AUX_COLLISION, PERF_AUX_FLAG_COLLISION);
    assert_int_equal(PTL_SAMPLE_IDENTIFIER, PERF_SAMPLE_IDENTIFIER);
    assert_int_equal(PTL_SAMPLE_AUX, PERF_SAMPLE_AUX);
    assert_int_equal(PTL_SAMPLE_CODE_PAGE_SIZE, PERF_SAMPLE_CODE_PAGE_SIZE);
    assert_int_equal(PTL_SAMPLE_WEIGHT_STRUCT, PERF_SAMPLE_WEIGHT_STRUCT);
    assert_int_equal(PTL_READ_LOST, PERF_FORMAT_LOST);
    assert_int_equal(PTL_ATTR_SIZE, sizeof(struct perf_event_attr));
}

static void attrs(void **state)
{
    struct perf_event_attr k;
    struct ptl_attr a;
    uint8_t bytes[136];
    (void)state;

    memset(&k, 0, sizeof(k));
    k.type = 8;
    k.size = sizeof(k);
    k.config = 0x300e601;
    k.sample_period = 1;
    k.sample_type = 0x10087;
    k.read_format = 4;
    k.disabled = 1;
    k.mmap = 1;
    k.sample_id_all = 1;
    k.context_switch = 1;
    k.text_poke = 1;
    k.sigtrap = 1;
    k.wakeup_watermark = 7;
    k.bp_type = 3;
    k.config1 = 11;
    k.config2 = 12;
    k.branch_sample_type = 13;
    k.sample_regs_user = 14;
    k.sample_stack_user = 15;
    k.clockid = -1;
    k.sample_regs_intr = 16;
    k.aux_watermark = 17;
    k.sample_max_stack = 18;
    k.aux_sample_size = 19;
    k.sig_data = 20;
    assert_int_equal(ptl_attr_decode(&a, (const uint8_t *)&k, sizeof(k)), sizeof(k));
    assert_int_equal(a.config, 0x300e601);
    assert_int_equal(a.flags, PTL_ATTR_DISABLED | PTL_ATTR_MMAP | PTL_ATTR_SAMPLE_ID_ALL |
                                  PTL_ATTR_CONTEXT_SWITCH | PTL_ATTR_TEXT_POKE | PTL_ATTR_SIGTRAP);
    assert_int_equal(a.wakeup, 7);
    assert_int_equal(a.config1, 11);
    assert_int_equal(a.config2, 12);
    assert_int_equal(a.clockid, -1);
    assert_int_equal(a.sample_max_stack, 18);
    assert_int_equal(a.aux_sample_size, 19);
    assert_int_equal(a.sig_data, 20);
    assert_int_equal(ptl_attr_encode(bytes, sizeof(bytes), &a), sizeof(k));
    assert_memory_equal(bytes, &k, sizeof(k));

    /* A short one: what it lacks is 0; a longer one than ours is used as far as known. */
    k.size = 64;
    assert_int_equal(ptl_attr_decode(&a, (const uint8_t *)&k, sizeof(k)), 64);
    assert_int_equal(a.config2, 0);
    assert_int_equal(a.config1, 11);
    assert_int_equal(ptl_attr_decode(&a, (const uint8_t *)&k, 63), PTL_INVALID);
    k.size = 200;
    assert_int_equal(ptl_attr_decode(&a, (const uint8_t *)&k, sizeof(k)), sizeof(k));
    a.size = 60;
    assert_int_equal(ptl_attr_encode(bytes, sizeof(bytes), &a), PTL_INVALID);
    a.size = 128;
    assert_int_equal(ptl_attr_encode(bytes, 127, &a), PTL_EOS);
}

static const uint8_t some[] = {1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
                               3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0};
#define SPAN(n)                                                                                    \
    {                                                                                              \
        some, n                                                                                    \
    }

/* One of each, with the size of its body. */
static const struct {
    struct ptl_record r;
    unsigned body;
} samples[] = {
    {{.type = 1, .u.mmap = {.pid = 1, .tid = 2, .addr = 3, .len = 4, .pgoff = 5, .filename = "a"}},
     40},
    {{.type = 2, .u.lost = {1, 2}}, 16},
    {{.type = 3, .misc = 0x2000, .u.comm = {1, 2, "seven77"}}, 16},
    {{.type = 3, .u.comm = {1, 2, "eight888"}}, 24},
    {{.type = 4, .u.task = {1, 2, 3, 4, 5}}, 24},
    {{.type = 5, .u.throttle = {1, 2, 3}}, 24},
    {{.type = 6, .u.throttle = {1, 2, 3}}, 24},
    {{.type = 7, .u.task = {1, 2, 3, 4, 5}}, 24},
    {{.type = 8, .u.read = {1, 2, SPAN(16)}}, 24},
    {{.type = 10,
      .u.mmap = {.pid = 1,
                 .maj = 2,
                 .min = 3,
                 .ino = 4,
                 .ino_generation = 5,
                 .prot = 6,
                 .flags = 7,
                 .filename = "[vdso]"}},
     72},
    {{.type = 10,
      .misc = PTL_MISC_MMAP_BUILD_ID,
      .u.mmap = {.pid = 1, .build_id_size = 20, .build_id = "abcdefghijklmnopqrs", .filename = ""}},
     72},
    {{.type = 11, .u.aux = {1, 2, 3}}, 24},
    {{.type = 12, .u.itrace_start = {1, 2}}, 8},
    {{.type = 13, .u.lost_samples = {1}}, 8},
    {{.type = 14, .misc = 0x6000}, 0},
    {{.type = 15, .u.switch_cpu_wide = {1, 2}}, 8},
    {{.type = 16, .u.namespaces = {1, 2, SPAN(32)}}, 48},
    {{.type = 17, .u.ksymbol = {1, 2, 3, 4, "bpf_prog_1"}}, 32},
    {{.type = 18, .u.bpf = {1, 2, 3, "tagtag7"}}, 16},
    {{.type = 19, .u.cgroup = {1, "/"}}, 16},
    {{.type = 20, .u.text_poke = {1, SPAN(5), SPAN(5)}}, 24},
    {{.type = 21, .u.hw_id = {1}}, 8},
    {{.type = 64, .u.header_attr = {{.type = 8, .size = 112}, SPAN(16)}}, 128},
    {{.type = 66, .u.tracing_data = {77}}, 8},
    {{.type = 67, .u.build_id = {-1, 20, "0123456789abcdefghi", "/bin/true"}}, 44},
    {{.type = 68}, 0},
    {{.type = 69, .u.id_index = {SPAN(32), 1}}, 40},
    {{.type = 70, .u.auxtrace_info = {1, SPAN(32)}}, 40},
    {{.type = 71, .u.auxtrace = {1, 2, 3, 4, 5, 6}}, 40},
    {{.type = 72, .u.auxtrace_error = {1, 2, 3, 4, 5, 1, 6, 7, "why"}}, 48},
    {{.type = 78, .u.event_update = {2, 3, SPAN(8)}}, 24},
    {{.type = 79, .u.time_conv = {1, 2, 3, 4, 5, 1, 0}}, 48},
    {{.type = 80, .u.feature = {3, SPAN(12)}}, 20},
    {{.type = 81, .u.compressed = SPAN(13)}, 13},
    {{.type = 82}, 0},
    {{.type = 83, .u.compressed = SPAN(13)}, 24},
    {{.type = 9,
      .u.sample = {.ip = 1,
                   .addr = 2,
                   .period = 3,
                   .read = SPAN(8),
                   .callchain = SPAN(16),
                   .raw = SPAN(12),
                   .weight = 4,
                   .aux = SPAN(24)}},
     0},
};

static const struct ptl_layout layouts[] = {
    {.no_trailer = 1},
    {.sample_type = PTL_SAMPLE_IDENTIFIER},
    {.sample_type = PTL_SAMPLE_TIME},
    {.sample_type = ALL_TRAILER},
    {.sample_type = 0x10087},
    {.sample_type = (1ull << 25) - 1, .regs_user = 3},
};

/* encode(decode(encode(x))) = encode(x), the sizes are right, and every cut is noticed. */
static void round_trip(void **state)
{
    uint8_t one[512], two[512];
    (void)state;

    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        for (size_t l = 0; l < sizeof(layouts) / sizeof(layouts[0]); l++) {
            struct ptl_record r = samples[i].r, back;
            int size, trailer = 8 * __builtin_popcountll(layouts[l].sample_type & ALL_TRAILER);

            r.known = 1;
            r.id = (struct ptl_sample_id){0, 101, 102, 103, 104, 105, 106, 107};
            size = ptl_record_encode(one, sizeof(one), &r, &layouts[l]);
            if (r.type == PTL_REC_SAMPLE && !layouts[l].sample_type) {
                assert_int_equal(size, PTL_INVALID);
                continue;
            }
            assert_true(size >= 8);
            if (r.type != PTL_REC_SAMPLE)
                assert_int_equal(size, 8 + (int)samples[i].body + (r.type < 64 ? trailer : 0));
            for (int n = 0; n < size; n++)
                assert_int_equal(ptl_record_decode(&back, one, (size_t)n, &layouts[l]), PTL_EOS);
            assert_int_equal(ptl_record_decode(&back, one, (size_t)size, &layouts[l]), size);
            assert_int_equal(back.known, 1);
            assert_int_equal(back.size, size);
            if (r.type < 64 && layouts[l].sample_type & PTL_SAMPLE_TIME)
                assert_int_equal(back.id.time, 104);
            if (r.type < 64 && layouts[l].sample_type & PTL_SAMPLE_CPU)
                assert_int_equal(back.id.cpu, 103);
            assert_int_equal(ptl_record_encode(two, sizeof(two), &back, &layouts[l]), size);
            assert_memory_equal(one, two, (size_t)size);
            for (int n = 0; n < size; n++)
                assert_int_equal(ptl_record_encode(two, (size_t)n, &back, &layouts[l]), PTL_EOS);
            if (r.type < 64 && layouts[l].sample_type & PTL_SAMPLE_IDENTIFIER) {
                uint64_t id;
                assert_int_equal(ptl_record_identifier(one, (size_t)size, &layouts[l], &id), 0);
                assert_int_equal(id, 107);
            }
        }
}

/* ID is found by itself, in a trailer and in a SAMPLE. */
static void identifier(void **state)
{
    struct ptl_layout layout = {.sample_type = 0x107 | PTL_SAMPLE_ID | PTL_SAMPLE_CPU |
                                               PTL_SAMPLE_STREAM_ID | PTL_SAMPLE_ADDR};
    uint8_t bytes[256];
    uint64_t id;
    (void)state;

    for (unsigned i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        struct ptl_record r = samples[i].r;
        int size;
        if (r.type != PTL_REC_COMM && r.type != PTL_REC_SAMPLE)
            continue;
        r.known = 1;
        r.id = (struct ptl_sample_id){0, 101, 102, 103, 104, 105, 106, 107};
        size = ptl_record_encode(bytes, sizeof(bytes), &r, &layout);
        assert_true(size > 0);
        assert_int_equal(ptl_record_identifier(bytes, (size_t)size, &layout, &id), 0);
        assert_int_equal(id, 105);
    }
    layout.no_trailer = 1;
    assert_int_equal(ptl_record_identifier(aux_bytes, sizeof(aux_bytes), &layout, &id), PTL_EOS);
}

/* Every size that a header may claim, with every layout: a size or a reason, no more. */
static void every_size(void **state)
{
    uint8_t bytes[264];
    (void)state;

    for (unsigned type = 0; type < 90; type++)
        for (unsigned size = 0; size <= 264; size++)
            for (size_t l = 0; l < sizeof(layouts) / sizeof(layouts[0]); l++) {
                struct ptl_record r;
                int got;
                memset(bytes, (int)(size * 7 & 0xff), sizeof(bytes));
                memcpy(bytes, &(uint64_t){type | (uint64_t)size << 48}, 8);
                got = ptl_record_decode(&r, bytes, sizeof(bytes), &layouts[l]);
                if (size < 8)
                    assert_int_equal(got, PTL_BAD_PACKET);
                else
                    assert_true(got == (int)size || got == PTL_NOSYNC);
            }
    /* A trailer that does not fit, a body that is too long. */
    memset(bytes, 0, sizeof(bytes));
    memcpy(bytes, &(uint64_t){PTL_REC_AUX | 48ull << 48}, 8);
    struct ptl_record r;
    assert_int_equal(ptl_record_decode(&r, bytes, 64, &layouts[0]), PTL_NOSYNC);
    assert_int_equal(ptl_record_decode(&r, bytes, 64, &layouts[1]), PTL_NOSYNC);
    memcpy(bytes, &(uint64_t){PTL_REC_AUX | 40ull << 48}, 8);
    assert_int_equal(ptl_record_decode(&r, bytes, 64, &layouts[1]), 40);
}

static void pt_info(void **state)
{
    struct ptl_pt_info in = {.pmu_type = 8,
                             .time_shift = 31,
                             .time_mult = 7,
                             .time_zero = 9,
                             .cap_user_time_zero = 1,
                             .tsc_bit = 0x400,
                             .noretcomp_bit = 0x800,
                             .switches = 3,
                             .snapshot = 1,
                             .per_cpu = 1,
                             .mtc_bit = 0x200,
                             .mtc_freq_bits = 0x3c000,
                             .ctc_num = 308,
                             .ctc_den = 2,
                             .cyc_bit = 2,
                             .max_nonturbo = 37,
                             .filter = "filter 0x10/0x20",
                             .event_trace = 1},
                       out;
    struct ptl_record r = {.type = PTL_REC_AUXTRACE_INFO};
    uint8_t bytes[256];
    int n = ptl_pt_info_encode(bytes, sizeof(bytes), &in);
    (void)state;

    /* 16 words, the length, 24 bytes of filter, the last word and one more */
    assert_int_equal(n, 8 * 16 + 8 + 24 + 16);
    r.u.auxtrace_info.type = PTL_AUXTRACE_PT;
    r.u.auxtrace_info.priv = (struct ptl_span){bytes, (size_t)n};
    assert_int_equal(ptl_pt_info_decode(&out, &r), 0);
    assert_string_equal(out.filter, in.filter);
    out.filter = in.filter;
    assert_memory_equal(&in, &out, sizeof(in));
    for (int len = 0; len < n; len++) {
        r.u.auxtrace_info.priv.len = (size_t)len;
        assert_int_equal(ptl_pt_info_decode(&out, &r), len < 80 ? PTL_NOSYNC : 0);
        assert_int_equal(ptl_pt_info_encode(bytes, (size_t)len, &in), PTL_EOS);
    }
    r.u.auxtrace_info.type = 2;
    assert_int_equal(ptl_pt_info_decode(&out, &r), PTL_NOT_SUPPORTED);
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(ptl_record_name(1), "PERF_RECORD_MMAP");
    assert_string_equal(ptl_record_name(83), "PERF_RECORD_COMPRESSED2");
    assert_null(ptl_record_name(0));
    assert_null(ptl_record_name(22));
    assert_null(ptl_record_name(84));
    assert_null(ptl_record_name(UINT32_MAX));
}

/* The trailer alone is that of the whole record, for each set of fields. */
static void trailer_alone(void **state)
{
    const uint64_t bits[] = {PTL_SAMPLE_TID,       PTL_SAMPLE_TIME, PTL_SAMPLE_ID,
                             PTL_SAMPLE_STREAM_ID, PTL_SAMPLE_CPU,  PTL_SAMPLE_IDENTIFIER};
    struct ptl_record from = {.type = PTL_REC_SWITCH_CPU_WIDE,
                              .known = 1,
                              .id = {0, 11, 22, 33, 44, 55, 66, 77},
                              .u.switch_cpu_wide = {88, 99}};

    (void)state;
    for (unsigned set = 0; set < 128; set++) {
        struct ptl_layout layout = {.no_trailer = set == 127};
        struct ptl_record to;
        struct ptl_sample_id id;
        uint8_t bytes[128];
        size_t trailer;
        int size;

        for (unsigned i = 0; i < 6; i++)
            layout.sample_type |= set >> i & 1 ? bits[i] : 0;
        if (set >= 64 && set < 127)
            layout.sample_type |= PTL_SAMPLE_IP | PTL_SAMPLE_PERIOD; /* not in trailers */
        size = ptl_record_encode(bytes, sizeof(bytes), &from, &layout);
        assert_true(size > 0);
        assert_int_equal(ptl_record_decode(&to, bytes, (size_t)size, &layout), size);
        trailer = ptl__trailer_read(&id, bytes, (size_t)size, &layout);
        assert_int_equal(trailer, (size_t)size - PTL_RECORD_HEADER - to.body.len);
        if (trailer)
            assert_memory_equal(&id, &to.id, sizeof(id));
        assert_int_equal(ptl__trailer_read(&id, bytes, trailer ? trailer + 7 : 0, &layout), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_bytes), cmocka_unit_test(numbers),    cmocka_unit_test(attrs),
        cmocka_unit_test(round_trip), cmocka_unit_test(identifier), cmocka_unit_test(every_size),
        cmocka_unit_test(pt_info),    cmocka_unit_test(names),      cmocka_unit_test(trailer_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
