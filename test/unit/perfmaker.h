/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perfmaker.h - small recordings for tests, made with the writer. Include it once per test
 * program.
 */
#ifndef TEST_UNIT_PERFMAKER_H
#define TEST_UNIT_PERFMAKER_H

#include "unzip.h"

#include <errno.h>
#include <fcntl.h>
#include <pt/perfdata.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define PT_TYPE   8
#define PT_CONFIG 0x300e601 /* tsc, mtc with period 3, psb_period 3, pt, branch */
#define PERCPU    0x10087   /* IP, TID, TIME, CPU, IDENTIFIER */
#define PT_ID     100
#define DUMMY_ID  200

static const struct ptl_perf_config config = {sizeof(config), &zstd_unzip, NULL};

/* --- making files ------------------------------------------------------------- */

struct maker {
    int fd;
    struct ptl_perf_writer *w;
    struct ptl_layout layout;
    struct ptl_zip zip;
    uint64_t time;
};

struct file {
    uint8_t *bytes;
    size_t len;
};

static inline struct file contents(int fd)
{
    struct file f;
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    f.len = (size_t)st.st_size;
    f.bytes = malloc(f.len + 1);
    assert_non_null(f.bytes);
    assert_int_equal(pread(fd, f.bytes, f.len, 0), f.len);
    return f;
}

static inline void begin(struct maker *m, int zip, int pipe_format)
{
    struct ptl_attr pt = {.type = PT_TYPE,
                          .config = PT_CONFIG,
                          .sample_period = 1,
                          .sample_type = PERCPU,
                          .read_format = 4,
                          .flags = PTL_ATTR_SAMPLE_ID_ALL | PTL_ATTR_DISABLED};
    struct ptl_attr dummy = {.type = 1,
                             .config = 9,
                             .sample_period = 1,
                             .sample_type = PERCPU,
                             .read_format = 4,
                             .flags = PTL_ATTR_SAMPLE_ID_ALL | PTL_ATTR_MMAP2};
    static const uint64_t pt_ids[] = {PT_ID, PT_ID + 1}, dummy_ids[] = {DUMMY_ID, DUMMY_ID + 1};
    static const char *const argv[] = {"ptcapture", "--", "two words", NULL};
    struct ptl_perf_writer_config wc = {.size = sizeof(wc), .pipe = (uint8_t)pipe_format};

    memset(m, 0, sizeof(*m));
    m->time = 1000;
    m->layout = ptl_layout_of(&pt);
    m->fd = memfd_create("perf.data", 0);
    assert_true(m->fd >= 0);
    m->zip = zstd_zip(1);
    wc.zip = zip ? &m->zip : NULL;
    assert_int_equal(ptl_perf_writer_new(&m->w, m->fd, &wc), 0);
    assert_int_equal(ptl_perf_writer_begin(m->w), PTL_INVALID); /* no event yet */
    assert_int_equal(ptl_perf_writer_event(m->w, &pt, pt_ids, 2, "intel_pt//u"), 0);
    assert_int_equal(ptl_perf_writer_event(m->w, &dummy, dummy_ids, 2, "dummy:u"), 0);
    assert_int_equal(ptl_perf_writer_string(m->w, PTL_FEAT_HOSTNAME, "host"), 0);
    assert_int_equal(ptl_perf_writer_string(m->w, PTL_FEAT_OSRELEASE, "6.1.0"), 0);
    assert_int_equal(ptl_perf_writer_string(m->w, PTL_FEAT_ARCH, "x86_64"), 0);
    assert_int_equal(ptl_perf_writer_string(m->w, PTL_FEAT_CPUID, "GenuineIntel,6,85,4"), 0);
    assert_int_equal(ptl_perf_writer_nrcpus(m->w, 4, 2), 0);
    assert_int_equal(ptl_perf_writer_cmdline(m->w, 3, argv), 0);
    assert_int_equal(ptl_perf_writer_clock(m->w, 4, 5, 6), 0);
    assert_int_equal(ptl_perf_writer_begin(m->w), 0);
}

static inline void info(struct maker *m, int snapshot)
{
    const struct ptl_pt_info pt = {.pmu_type = PT_TYPE,
                                   .time_shift = 31,
                                   .time_mult = 0x22a1cd05,
                                   .cap_user_time_zero = 1,
                                   .tsc_bit = 0x400,
                                   .noretcomp_bit = 0x800,
                                   .switches = 2,
                                   .snapshot = (uint64_t)snapshot,
                                   .per_cpu = 1,
                                   .mtc_bit = 0x200,
                                   .mtc_freq_bits = 0x3c000,
                                   .ctc_num = 308,
                                   .ctc_den = 2,
                                   .cyc_bit = 2,
                                   .max_nonturbo = 37};
    const struct ptl_id_index_entry ids[] = {{PT_ID, 7, 0, UINT64_MAX},
                                             {PT_ID + 1, 8, 1, UINT64_MAX}};

    assert_int_equal(ptl_perf_write_pt_info(m->w, &pt), 0);
    assert_int_equal(ptl_perf_write_id_index(m->w, ids, 2), 0);
}

/* A record of the kernel, as from a ring; cut between two parts at `split`. */
static inline void ring(struct maker *m, const struct ptl_record *record, uint32_t cpu, uint64_t id,
                        size_t split)
{
    struct ptl_record r = *record;
    uint8_t bytes[65536];
    int size;

    r.known = 1;
    r.id = (struct ptl_sample_id){0, 11, 12, cpu, m->time += 10, id, 0, id};
    size = ptl_record_encode(bytes, sizeof(bytes), &r, &m->layout);
    assert_true(size > 0);
    split = split < (size_t)size ? split : (size_t)size;
    struct iovec parts[] = {{bytes, split}, {bytes + split, (size_t)size - split}};
    assert_int_equal(ptl_perf_write_ring(m->w, parts, 2), 0);
}

static inline void aux(struct maker *m, uint32_t cpu, uint64_t offset, uint64_t size,
                       uint64_t flags)
{
    struct ptl_record r = {.type = PTL_REC_AUX, .u.aux = {offset, size, flags}};
    ring(m, &r, cpu, PT_ID + cpu, 13);
}

static inline void comm(struct maker *m, const char *name)
{
    struct ptl_record r = {.type = PTL_REC_COMM, .u.comm = {11, 12, name}};
    ring(m, &r, 0, DUMMY_ID, 20);
}

static inline void trace(struct maker *m, uint32_t cpu, uint64_t offset, const void *bytes,
                         size_t len)
{
    struct ptl_rec_auxtrace a = {
        .offset = offset, .reference = 77, .idx = 7 + cpu, .tid = UINT32_MAX, .cpu = cpu};
    struct iovec parts[] = {{(void *)(uintptr_t)bytes, len / 2},
                            {(uint8_t *)(uintptr_t)bytes + len / 2, len - len / 2}};
    assert_int_equal(ptl_perf_write_auxtrace(m->w, &a, parts, 2), 0);
}

static inline struct ptl_perf *reopen(struct maker *m, struct file *f)
{
    struct ptl_perf_problem problem = {0, 0, 0, ""};
    struct ptl_perf *perf;

    *f = contents(m->fd);
    assert_int_equal(ptl_perf_open_memory(&perf, f->bytes, f->len, &config, &problem), 0);
    return perf;
}

static inline void end(struct maker *m)
{
    ptl_perf_writer_free(m->w);
    close(m->fd);
}

static inline void done(struct ptl_perf *perf, struct file *f)
{
    ptl_perf_close(perf);
    free(f->bytes);
}

static const uint8_t some[64] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

#endif
