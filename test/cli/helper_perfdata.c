/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helper_perfdata CODE [HOW]: write a small recording to standard output and the code it ran to the
 * file CODE. HOW is one of those below.
 *
 *   401000  je 401004        taken, then not taken
 *   401002  nop; nop
 *   401004  jmp *%rax        to 401000, then tracing ends
 *
 *   pipe  the pipe format
 *   kill  end without finishing the file
 *   two   a second buffer with the same trace; its records first in time, later in the file
 *   lost  AUX.TRUNCATED, LOST
 *   losses  each kind of loss that a recording can have, see lossy(); losses-pipe: the pipe format
 *   rounds  five times je, taken, and jmp; before each a TSC: 100000, 101000, ... 104000
 *   timeless   the trace has no time
 *   untimed    the records have none
 *   samples    the trace three times, in AUX samples: the first two, the last two, nothing
 *   snapshots  the same in snapshots
 *   long       the trace 64,000 times, in 160 buffers of one stream
 */
#include <fcntl.h>
#include <pt/packet.h>
#include <pt/perfdata.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CODE  0x401000u
#define PID   4711u
#define SHIFT 10
#define MULT  1024u /* a tick is a nanosecond */

static struct ptl_perf_writer *w;
static struct ptl_layout layout, sample_layout;

static void must(int status)
{
    if (status < 0) {
        fprintf(stderr, "helper_perfdata: %s\n", ptl_strstatus(status));
        exit(1);
    }
}

static void ring(struct ptl_record *r, uint64_t time, uint64_t id)
{
    uint8_t bytes[512];
    struct iovec part = {bytes, 0};
    int size;

    r->known = 1;
    r->id = (struct ptl_sample_id){0, PID, PID, 0, time, id, 0, id};
    size = ptl_record_encode(bytes, sizeof(bytes), r, &layout);
    must(size);
    part.iov_len = (size_t)size;
    must(ptl_perf_write_ring(w, &part, 1));
}

static void put(uint8_t *buf, size_t *len, struct ptl_packet packet)
{
    int n = ptl_packet_encode(buf + *len, 256 - *len, &packet);
    must(n);
    *len += (size_t)n;
}

static size_t trace(uint8_t *buf, uint64_t tsc)
{
    size_t len = 0;

    put(buf, &len, (struct ptl_packet){.type = PTL_PKT_PSB});
    put(buf, &len, (struct ptl_packet){.type = PTL_PKT_TSC, .payload.tsc.tsc = tsc});
    put(buf, &len, (struct ptl_packet){.type = PTL_PKT_PSBEND});
    put(buf, &len, (struct ptl_packet){.type = PTL_PKT_MODE_EXEC, .payload.mode_exec.csl = 1});
    put(buf, &len,
        (struct ptl_packet){.type = PTL_PKT_TIP_PGE, .payload.ip = {CODE, PTL_IPC_SEXT_48}});
    put(buf, &len, (struct ptl_packet){.type = PTL_PKT_TNT8, .payload.tnt = {1, 1}});
    put(buf, &len,
        (struct ptl_packet){.type = PTL_PKT_TIP, .payload.ip = {CODE & 0xffff, PTL_IPC_UPDATE_16}});
    put(buf, &len, (struct ptl_packet){.type = PTL_PKT_TNT8, .payload.tnt = {0, 1}});
    put(buf, &len, (struct ptl_packet){.type = PTL_PKT_TIP_PGD});
    return len;
}

static size_t rounds(uint8_t *buf)
{
    size_t len = 0;

    put(buf, &len, (struct ptl_packet){.type = PTL_PKT_PSB});
    put(buf, &len, (struct ptl_packet){.type = PTL_PKT_TSC, .payload.tsc.tsc = 100000});
    put(buf, &len, (struct ptl_packet){.type = PTL_PKT_PSBEND});
    put(buf, &len, (struct ptl_packet){.type = PTL_PKT_MODE_EXEC, .payload.mode_exec.csl = 1});
    put(buf, &len,
        (struct ptl_packet){.type = PTL_PKT_TIP_PGE, .payload.ip = {CODE, PTL_IPC_SEXT_48}});
    for (unsigned i = 0; i < 5; i++) {
        put(buf, &len,
            (struct ptl_packet){.type = PTL_PKT_TSC, .payload.tsc.tsc = 100000 + 1000 * i});
        put(buf, &len, (struct ptl_packet){.type = PTL_PKT_TNT8, .payload.tnt = {1, 1}});
        put(buf, &len,
            (struct ptl_packet){.type = PTL_PKT_TIP,
                                .payload.ip = {CODE & 0xffff, PTL_IPC_UPDATE_16}});
    }
    return len;
}

static void features(void)
{
    static const char *const argv[] = {"helper", "with blank"};
    static const uint32_t types[] = {1, 8};
    static const char *const names[] = {"software", "intel_pt"}, *const list[] = {"0"};
    static const uint32_t zero[] = {0};
    const struct ptl_perf_topology topology = {1, 1, 1, 1, list, list, list, zero, zero, zero};

    must(ptl_perf_writer_string(w, PTL_FEAT_HOSTNAME, "host"));
    must(ptl_perf_writer_string(w, PTL_FEAT_OSRELEASE, "6.1.0"));
    must(ptl_perf_writer_string(w, PTL_FEAT_VERSION, "1"));
    must(ptl_perf_writer_string(w, PTL_FEAT_ARCH, "x86_64"));
    must(ptl_perf_writer_string(w, PTL_FEAT_CPUDESC, "Intel(R) Test"));
    must(ptl_perf_writer_string(w, PTL_FEAT_CPUID, "GenuineIntel,6,85,4"));
    must(ptl_perf_writer_nrcpus(w, 1, 1));
    must(ptl_perf_writer_cmdline(w, 2, argv));
    must(ptl_perf_writer_pmus(w, 2, types, names));
    must(ptl_perf_writer_topology(w, &topology));
    must(ptl_perf_writer_clock(w, 1, 1, 1));
}

static int is_samples(const char *how)
{
    return strcmp(how, "samples") == 0;
}

static void start(int fd, const char *how)
{
    const struct ptl_perf_writer_config config = {.size = sizeof(config),
                                                  .pipe = strstr(how, "pipe") != NULL};
    const struct ptl_pt_info info = {.pmu_type = 8,
                                     .time_shift = SHIFT,
                                     .time_mult = MULT,
                                     .cap_user_time_zero = 1,
                                     .tsc_bit = 0x400,
                                     .noretcomp_bit = 0x800,
                                     .switches = 2,
                                     .per_cpu = 1,
                                     .snapshot = strcmp(how, "snapshots") == 0,
                                     .mtc_bit = 0x200,
                                     .mtc_freq_bits = 0x3c000,
                                     .ctc_num = 84,
                                     .ctc_den = 2,
                                     .cyc_bit = 2,
                                     .max_nonturbo = 21};
    const struct ptl_rec_time_conv conv = {SHIFT, MULT, 0, 0, 0, 1, 0};
    const struct ptl_id_index_entry index[] = {{100, 0, 0, PID}, {200, 0, 0, PID}};
    struct ptl_attr pt = {.type = 8,
                          .config = 0x2401,
                          .sample_period = 1,
                          .sample_type = 0x10087,
                          .read_format = 4,
                          .flags =
                              PTL_ATTR_SAMPLE_ID_ALL | PTL_ATTR_DISABLED | PTL_ATTR_EXCLUDE_KERNEL};
    struct ptl_attr dummy = {.type = 1,
                             .config = 9,
                             .sample_period = 1,
                             .sample_type = 0x10087,
                             .read_format = 4,
                             .flags = PTL_ATTR_SAMPLE_ID_ALL | PTL_ATTR_MMAP | PTL_ATTR_MMAP2 |
                                      PTL_ATTR_COMM | PTL_ATTR_TASK | PTL_ATTR_CONTEXT_SWITCH |
                                      PTL_ATTR_EXCLUDE_KERNEL};
    struct ptl_attr clock = dummy;
    const uint64_t pt_id = 100, dummy_id = 200, clock_id = 300;

    if (!strcmp(how, "timeless"))
        pt.config &= ~0x400ull;
    if (!strcmp(how, "untimed")) {
        pt.sample_type &= ~(uint64_t)PTL_SAMPLE_TIME;
        dummy.sample_type = pt.sample_type;
    }
    layout = ptl_layout_of(&pt);
    must(ptl_perf_writer_new(&w, fd, &config));
    must(ptl_perf_writer_event(w, &pt, &pt_id, 1, "intel_pt//u"));
    must(ptl_perf_writer_event(w, &dummy, &dummy_id, 1, "dummy:u"));
    clock.config = 0; /* cpu-clock */
    clock.sample_type |= PTL_SAMPLE_AUX;
    clock.aux_sample_size = 4096;
    sample_layout = ptl_layout_of(&clock);
    if (is_samples(how))
        must(ptl_perf_writer_event(w, &clock, &clock_id, 1, "cpu-clock"));
    features();
    must(ptl_perf_writer_begin(w));
    must(ptl_perf_write_time_conv(w, &conv));
    must(ptl_perf_write_id_index(w, index, 2));
    must(ptl_perf_write_pt_info(w, &info));
}

static void put_sample(const uint8_t *bytes, size_t len, uint64_t time)
{
    struct ptl_record r = {.type = PTL_REC_SAMPLE, .known = 1};

    r.id = (struct ptl_sample_id){0, PID, PID, 0, time, 300, 0, 300};
    r.u.sample.ip = CODE;
    r.u.sample.aux = (struct ptl_span){bytes, len};
    must(ptl_perf_write_record(w, &r, &sample_layout));
}

static void put_snapshot(uint8_t *bytes, size_t len, uint64_t time)
{
    struct ptl_record aux = {.type = PTL_REC_AUX, .u.aux = {len, 4096, PTL_AUX_OVERWRITE}};
    const struct ptl_rec_auxtrace a = {.tid = UINT32_MAX, .reference = time};
    struct iovec part = {bytes, len};

    ring(&aux, time, 100);
    must(ptl_perf_write_auxtrace(w, &a, &part, 1));
}

/* Three times the trace. Snapshots: the first two, the last two - so the second time is in both.
 * Samples: the first two and all but the end of the third; the same again, as no trace has come
 * since; the last two; and nothing. */
static void overlapping(const char *how)
{
    uint8_t bytes[3 * 256];
    size_t end[4] = {0};

    for (size_t i = 0; i < 3; i++)
        end[i + 1] = end[i] + trace(bytes + end[i], 100000 * (i + 1));
    if (is_samples(how)) {
        put_sample(bytes, end[3] - 2, 250000);
        put_sample(bytes, end[3] - 2, 300000);
        put_sample(bytes + end[1], end[3] - end[1], 350000);
        put_sample(bytes, 0, 360000);
    } else {
        put_snapshot(bytes, end[2], 250000);
        put_snapshot(bytes + end[1], end[3] - end[1], 350000);
    }
}

static void long_trace(void)
{
    struct ptl_record aux = {.type = PTL_REC_AUX};
    struct ptl_rec_auxtrace a = {.tid = UINT32_MAX, .reference = 100000};
    static uint8_t bytes[400 * 256];
    uint64_t time = 100000;

    for (int i = 0; i < 160; i++) {
        struct iovec part = {bytes, 0};

        for (int k = 0; k < 400; k++, time += 100)
            part.iov_len += trace(bytes + part.iov_len, time);
        aux.u.aux.offset = a.offset;
        aux.u.aux.size = part.iov_len;
        ring(&aux, time, 100);
        must(ptl_perf_write_auxtrace(w, &a, &part, 1));
        a.offset += part.iov_len;
    }
}

/* A piece of trace, or only the AUX record of one that is not in the file (`bytes` NULL). */
static void piece(uint8_t *bytes, size_t len, uint64_t flags, uint64_t time)
{
    static uint64_t offset;
    struct ptl_record aux = {.type = PTL_REC_AUX, .u.aux = {offset, len, flags}};
    struct ptl_rec_auxtrace a = {.offset = offset, .tid = UINT32_MAX, .reference = 100000};
    struct iovec part = {bytes, len};

    ring(&aux, time, 100);
    if (bytes)
        must(ptl_perf_write_auxtrace(w, &a, &part, 1));
    offset += len;
}

static void put_raw(uint8_t *buf, size_t *len, const char *bytes, size_t n)
{
    memcpy(buf + *len, bytes, n);
    *len += n;
}

/* Pieces of so many bytes modulo 8: buffers of multiples of 8 need no padding. */
static void fill_up(uint8_t *buf, size_t *len, size_t rest)
{
    while (*len % 8 != rest)
        put(buf, len, (struct ptl_packet){.type = PTL_PKT_PAD});
}

/*
 * 1  3 bytes before the PSB; behind the trace an OVF, jmp *%rax and the end. TRUNCATED
 * 2  PARTIAL
 * 3  64 bytes, not in the file. COLLISION
 * 4  behind the trace 02 ff, which is no packet, and 8 bytes; then the trace again. TRUNCATED
 * 5  16 bytes without a PSB. TRUNCATED
 * 6  behind the trace 3 of the 7 bytes of a packet
 *
 * 5 records and 7 samples are lost. The code is the trace's, 5 times: 30 instructions, and one.
 */
static void lossy(void)
{
    struct ptl_record records = {.type = PTL_REC_LOST, .u.lost = {200, 5}},
                      samples = {.type = PTL_REC_LOST_SAMPLES, .u.lost_samples = {7}};
    uint8_t bytes[256];
    size_t len = 0;

    put_raw(bytes, &len, "\0\0\0", 3);
    len += trace(bytes + len, 100000);
    put(bytes, &len, (struct ptl_packet){.type = PTL_PKT_OVF});
    put(bytes, &len,
        (struct ptl_packet){.type = PTL_PKT_TIP_PGE, .payload.ip = {CODE + 4, PTL_IPC_SEXT_48}});
    put(bytes, &len, (struct ptl_packet){.type = PTL_PKT_TIP_PGD});
    fill_up(bytes, &len, 0);
    piece(bytes, len, PTL_AUX_TRUNCATED, 120000);
    ring(&records, 121000, 200);
    ring(&samples, 122000, 100);

    len = trace(bytes, 150000);
    fill_up(bytes, &len, 0);
    piece(bytes, len, PTL_AUX_PARTIAL, 160000);
    piece(NULL, 64, PTL_AUX_COLLISION, 190000);

    len = trace(bytes, 200000);
    put_raw(bytes, &len, "\x02\xff\0\0\0\0\0\0\0\0", 10);
    len += trace(bytes + len, 250000);
    fill_up(bytes, &len, 0);
    piece(bytes, len, PTL_AUX_TRUNCATED, 260000);

    memset(bytes, 0, 16);
    piece(bytes, 16, PTL_AUX_TRUNCATED, 290000);

    len = trace(bytes, 300000);
    fill_up(bytes, &len, 5);
    put_raw(bytes, &len, "\x7d\x00\x10", 3);
    piece(bytes, len, 0, 310000);
}

static void body(const char *code, const char *how)
{
    struct ptl_record comm = {
        .type = PTL_REC_COMM, .misc = PTL_MISC_COMM_EXEC, .u.comm = {PID, PID, "demo prog"}};
    struct ptl_record map = {.type = PTL_REC_MMAP2,
                             .misc = PTL_MISC_USER,
                             .u.mmap = {.pid = PID,
                                        .tid = PID,
                                        .addr = CODE,
                                        .len = 0x1000,
                                        .prot = 5,
                                        .flags = 2,
                                        .filename = code}};
    struct ptl_record vdso = {.type = PTL_REC_MMAP2,
                              .misc = PTL_MISC_USER,
                              .u.mmap = {.pid = PID,
                                         .tid = PID,
                                         .addr = 0x7ffff7fc1000,
                                         .len = 0x1000,
                                         .prot = 5,
                                         .flags = 2,
                                         .filename = "[vdso]"}};
    struct ptl_record in = {.type = PTL_REC_SWITCH},
                      lost = {.type = PTL_REC_LOST, .u.lost = {200, 5}};
    struct ptl_record itrace = {.type = PTL_REC_ITRACE_START, .u.itrace_start = {PID, PID}};
    struct ptl_record aux = {.type = PTL_REC_AUX};
    struct ptl_rec_auxtrace a = {.tid = UINT32_MAX, .reference = 100000};
    uint8_t bytes[256];
    size_t len = strcmp(how, "rounds") ? trace(bytes, 100000) : rounds(bytes);
    struct iovec part = {bytes, len};

    must(ptl_perf_write_init_done(w));
    ring(&comm, 90000, 200);
    ring(&in, 95000, 200);
    ring(&itrace, 96000, 100);
    ring(&map, 91000, 200); /* later in the file than what it is needed for */
    ring(&vdso, 91500, 200);
    if (is_samples(how) || strcmp(how, "snapshots") == 0) {
        overlapping(how);
        return;
    }
    if (strcmp(how, "long") == 0) {
        long_trace();
        return;
    }
    if (strncmp(how, "losses", 6) == 0) {
        lossy();
        return;
    }
    aux.u.aux.size = len;
    if (!strcmp(how, "lost")) {
        aux.u.aux.flags = PTL_AUX_TRUNCATED;
        ring(&lost, 110000, 200);
    }
    ring(&aux, 120000, 100);
    must(ptl_perf_write_auxtrace(w, &a, &part, 1));
    must(ptl_perf_write_round(w));
    if (!strcmp(how, "two")) {
        a.offset = aux.u.aux.offset = len;
        part.iov_len = aux.u.aux.size = trace(bytes, 200000);
        ring(&aux, 220000, 100);
        must(ptl_perf_write_auxtrace(w, &a, &part, 1));
    }
}

int main(int argc, char **argv)
{
    static const uint8_t code[4096] = {0x74, 0x02, 0x90, 0x90, 0xff, 0xe0};
    const char *how = argc > 2 ? argv[2] : "";
    struct ptl_perf_build_id id = {.size = 20, .misc = PTL_MISC_USER, .pid = -1};
    int fd = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;

    if (fd < 0 || write(fd, code, sizeof(code)) != sizeof(code) || close(fd)) {
        perror("helper_perfdata: code file");
        return 2;
    }
    start(STDOUT_FILENO, how);
    body(argv[1], how);
    if (!strcmp(how, "kill"))
        return 0; /* what is in the buffer is lost, too */
    id.filename = argv[1];
    memcpy(id.id, "0123456789abcdefghij", 20);
    must(ptl_perf_writer_build_id(w, &id));
    must(ptl_perf_writer_finish(w));
    ptl_perf_writer_free(w);
    return 0;
}
