/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helper_wrap TRACE CODE BASE [NAME=VALUE]...: a recording of a raw trace, on standard output.
 *
 *   repeat=1     the trace so many times in a row
 *   piece=65536  an AUX record every so many bytes
 *   buffer=65536 an AUXTRACE every so many bytes
 *   across=0     1: pieces may go on from one buffer into the next
 *   cpus=1       the same on so many processors
 *   tasks=1      so many processes, which all map the code
 *   switch=0     the next of them runs after so many ticks; 0: the first one always
 *   packets=0    1: pieces may begin at any packet, not only at PSBs and behind TIP.PGDs
 *   lost=0       every so many pieces the buffer was full
 *   timeless=0   1: the trace has no time
 *   ratio=1      0: that of TSC and CTC is not told
 *
 * A tick is a nanosecond. Records have the times of the TSC packets beside them.
 */
#include <fcntl.h>
#include <pt/packet.h>
#include <pt/perfdata.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PID   4711u
#define PT_ID 100u
#define SB_ID 1000u
#define NAMES 11

static struct {
    const char *name;
    uint64_t value;
} options[NAMES] = {{"repeat", 1}, {"piece", 65536}, {"buffer", 65536}, {"cpus", 1},
                    {"tasks", 1},  {"switch", 0},    {"lost", 0},       {"timeless", 0},
                    {"across", 0}, {"ratio", 1},     {"packets", 0}};

static struct ptl_perf_writer *w;
static struct ptl_layout layout;
static const uint8_t *trace;
static uint64_t trace_len, first_tsc;
static uint8_t *starts; /* by position: a piece may begin there */

static void must(int status)
{
    if (status < 0) {
        fprintf(stderr, "helper_wrap: %s\n", ptl_strstatus(status));
        exit(1);
    }
}

static uint64_t option(const char *name)
{
    for (int i = 0; i < NAMES; i++)
        if (!strcmp(options[i].name, name))
            return options[i].value;
    abort();
}

static int set_option(const char *arg)
{
    size_t len = strcspn(arg, "=");

    for (int i = 0; i < NAMES; i++) {
        if (strlen(options[i].name) != len || memcmp(options[i].name, arg, len) || !arg[len])
            continue;
        options[i].value = strtoull(arg + len + 1, NULL, 0);
        return 0;
    }
    return -1;
}

/* --- records --------------------------------------------------------------------------- */

static void ring(struct ptl_record *r, uint64_t time, uint32_t task, uint32_t cpu, uint64_t id)
{
    uint8_t bytes[4096];
    struct iovec part = {bytes, 0};
    int size;

    r->known = 1;
    r->id = (struct ptl_sample_id){0, PID + task, PID + task, cpu, time, id, 0, id};
    size = ptl_record_encode(bytes, sizeof(bytes), r, &layout);
    must(size);
    part.iov_len = (size_t)size;
    must(ptl_perf_write_ring(w, &part, 1));
}

static void start(void)
{
    const struct ptl_perf_writer_config config = {.size = sizeof(config)};
    struct ptl_pt_info info = {.pmu_type = 8,
                               .time_shift = 10,
                               .time_mult = 1024,
                               .cap_user_time_zero = 1,
                               .tsc_bit = 0x400,
                               .noretcomp_bit = 0x800,
                               .switches = 2,
                               .per_cpu = 1,
                               .mtc_bit = 0x200,
                               .mtc_freq_bits = 0x3c000,
                               .ctc_num = option("ratio") ? 84 : 0,
                               .ctc_den = option("ratio") ? 2 : 0,
                               .cyc_bit = 2,
                               .max_nonturbo = 21};
    struct ptl_attr pt = {.type = 8,
                          .config = option("timeless") ? 0x2001 : 0x2401,
                          .sample_period = 1,
                          .sample_type = 0x10087,
                          .read_format = 4,
                          .flags = PTL_ATTR_SAMPLE_ID_ALL | PTL_ATTR_DISABLED};
    struct ptl_attr dummy = {.type = 1,
                             .config = 9,
                             .sample_period = 1,
                             .sample_type = 0x10087,
                             .read_format = 4,
                             .flags = PTL_ATTR_SAMPLE_ID_ALL | PTL_ATTR_MMAP2 | PTL_ATTR_COMM |
                                      PTL_ATTR_TASK | PTL_ATTR_CONTEXT_SWITCH};
    size_t cpus = (size_t)option("cpus");
    uint64_t ids[2][64];
    struct ptl_id_index_entry index[64];

    for (size_t i = 0; i < cpus && i < 64; i++) {
        ids[0][i] = PT_ID + i;
        ids[1][i] = SB_ID + i;
        index[i] = (struct ptl_id_index_entry){PT_ID + i, i, i, UINT32_MAX};
    }
    layout = ptl_layout_of(&pt);
    must(ptl_perf_writer_new(&w, STDOUT_FILENO, &config));
    must(ptl_perf_writer_event(w, &pt, ids[0], cpus, "intel_pt//"));
    must(ptl_perf_writer_event(w, &dummy, ids[1], cpus, "dummy:u"));
    must(ptl_perf_writer_string(w, PTL_FEAT_CPUID, "GenuineIntel,6,85,4"));
    must(ptl_perf_writer_nrcpus(w, (uint32_t)cpus, (uint32_t)cpus));
    must(ptl_perf_writer_begin(w));
    must(ptl_perf_write_id_index(w, index, cpus));
    must(ptl_perf_write_pt_info(w, &info));
}

static void begin_tasks(const char *code, uint64_t base, uint64_t size)
{
    for (uint32_t i = 0; i < option("tasks"); i++) {
        char name[16];
        struct ptl_record comm = {
            .type = PTL_REC_COMM, .misc = PTL_MISC_COMM_EXEC, .u.comm = {PID + i, PID + i, name}};
        struct ptl_record map = {.type = PTL_REC_MMAP2,
                                 .misc = PTL_MISC_USER,
                                 .u.mmap = {.pid = PID + i,
                                            .tid = PID + i,
                                            .addr = base,
                                            .len = size,
                                            .prot = 5,
                                            .flags = 2,
                                            .filename = code}};

        snprintf(name, sizeof(name), "task %u", i);
        ring(&comm, 1 + 2 * i, i, 0, SB_ID);
        ring(&map, 2 + 2 * i, i, 0, SB_ID);
    }
}

static void switch_to(uint32_t task, uint64_t time, uint32_t cpu)
{
    struct ptl_record in = {.type = PTL_REC_SWITCH_CPU_WIDE,
                            .u.switch_cpu_wide = {PID + task, PID + task}};

    ring(&in, time, task, cpu, SB_ID + cpu);
}

/* Hardware is read while it has stopped: all that it had to say before is there, the target of
 * the last branch, too. */
static void find_starts(void)
{
    struct ptl_packet packet;

    starts = calloc(trace_len + 1, 1);
    if (!starts)
        abort();
    for (uint64_t at = 0; at < trace_len;) {
        int n = ptl_packet_decode(&packet, trace + at, trace_len - at, 0);

        if (n > 0 && packet.type == PTL_PKT_PSB)
            starts[at] = 1;
        at += n > 0 ? (uint64_t)n : 1;
        if (n > 0 && (packet.type == PTL_PKT_TIP_PGD || option("packets")))
            starts[at] = 1;
    }
}

/* The time of the trace at `to`, which was `tsc` at `from`. */
static uint64_t time_at(size_t from, size_t to, uint64_t tsc)
{
    struct ptl_packet packet;

    for (size_t at = from; at < to;) {
        int n = ptl_packet_decode(&packet, trace + at, trace_len - at, 0);

        if (n <= 0)
            n = 1;
        else if (packet.type == PTL_PKT_TSC)
            tsc = packet.payload.tsc.tsc;
        at += (size_t)n;
    }
    return tsc;
}

/* --- trace ------------------------------------------------------------------------------- */

struct lane {
    uint32_t cpu, task;
    uint64_t at, buffered, told, tsc, switched, pieces;
};

static void put_switches(struct lane *l)
{
    uint64_t every = option("switch"), tasks = option("tasks");

    for (; every && l->tsc >= l->switched + every; l->switched += every) {
        l->task = (uint32_t)((l->task + 1) % tasks);
        switch_to(l->task, l->switched + every, l->cpu);
    }
}

static void put_aux(struct lane *l)
{
    uint64_t lost = option("lost");
    struct ptl_record aux = {.type = PTL_REC_AUX, .u.aux = {l->told, l->at - l->told, 0}};

    l->pieces++;
    if (lost && l->pieces % lost == 0)
        aux.u.aux.flags = PTL_AUX_TRUNCATED;
    ring(&aux, l->tsc, l->task, l->cpu, PT_ID + l->cpu);
    l->told = l->at;
}

static void put_buffer(struct lane *l)
{
    struct ptl_rec_auxtrace a = {.offset = l->buffered,
                                 .idx = l->cpu,
                                 .cpu = l->cpu,
                                 .tid = UINT32_MAX,
                                 .reference = l->tsc ? l->tsc : 1};
    struct iovec parts[2];
    size_t n = 0;

    while (l->buffered < l->at && n < 2) {
        uint64_t begin = l->buffered % trace_len, size = l->at - l->buffered;

        if (size > trace_len - begin)
            size = trace_len - begin;
        parts[n++] = (struct iovec){(void *)(uintptr_t)(trace + begin), size};
        l->buffered += size;
    }
    if (n)
        must(ptl_perf_write_auxtrace(w, &a, parts, n));
}

/* The next step of the lane: to the end of a piece, or of a buffer. */
static int step(struct lane *l)
{
    uint64_t end = trace_len * option("repeat"), piece = l->told + option("piece"),
             buffer = l->buffered + option("buffer"), to = piece < buffer ? piece : buffer;
    uint64_t begin = l->at % trace_len;

    if (l->at == end)
        return 0;
    if (to > end)
        to = end;
    if (to > l->at + (trace_len - begin))
        to = l->at + (trace_len - begin);
    while (to % trace_len && !starts[to % trace_len])
        to++;
    if (!option("timeless"))
        l->tsc = time_at(begin, begin + (to - l->at), l->tsc);
    l->at = to;
    put_switches(l);
    if (to >= piece || (to >= buffer && !option("across")) || to == end)
        put_aux(l);
    if (to >= buffer || to == end)
        put_buffer(l);
    return 1;
}

static void put_trace(void)
{
    struct lane lanes[64] = {{0}};
    uint32_t cpus = (uint32_t)option("cpus");
    int more = 1;

    first_tsc = option("timeless") ? 1000 : time_at(0, trace_len < 256 ? trace_len : 256, 1000);
    for (uint32_t i = 0; i < cpus; i++) {
        lanes[i] = (struct lane){.cpu = i, .tsc = first_tsc, .switched = first_tsc};
        switch_to(0, first_tsc - 1, i);
    }
    while (more) {
        more = 0;
        for (uint32_t i = 0; i < cpus; i++)
            more |= step(&lanes[i]);
    }
}

static const uint8_t *map_file(const char *name, uint64_t *size)
{
    int fd = open(name, O_RDONLY);
    struct stat st;
    void *p = MAP_FAILED;

    if (fd >= 0 && !fstat(fd, &st) && st.st_size) {
        *size = (uint64_t)st.st_size;
        p = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (p == MAP_FAILED) {
        perror(name);
        exit(2);
    }
    close(fd);
    return p;
}

int main(int argc, char **argv)
{
    uint64_t code_size;

    for (int i = 4; i < argc; i++)
        if (set_option(argv[i])) {
            fprintf(stderr, "helper_wrap: bad argument: %s\n", argv[i]);
            return 2;
        }
    if (argc < 4 || !option("cpus") || option("cpus") > 64 || !option("tasks"))
        return 2;
    trace = map_file(argv[1], &trace_len);
    (void)map_file(argv[2], &code_size);
    find_starts();
    start();
    begin_tasks(argv[2], strtoull(argv[3], NULL, 0), code_size);
    put_trace();
    must(ptl_perf_writer_finish(w));
    ptl_perf_writer_free(w);
    return 0;
}
