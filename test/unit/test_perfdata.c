/* SPDX-License-Identifier: BSD-3-Clause */
/* perf.data: what the writer writes the reader reads; killed, cut and damaged files. */
#include "perfmaker.h"

#include "perfdata/internal.h"
#include "perfdata/skim.h"

/* Types of the records, "3 11 71". */
/* The types of all records, but for those that hide our writer's tables. */
static void types(const struct ptl_perf *perf, char *out, size_t cap)
{
    struct ptl_perf_iter iter = {0, 0};
    struct ptl_perf_record r;
    size_t n = 0;

    out[0] = 0;
    while (ptl_perf_next(perf, &iter, &r) > 0 && n + 8 < cap) {
        assert_int_equal(r.status, 0);
        if (r.record.type == PTL_REC_HEADER_EVENT_TYPE)
            continue;
        n += (size_t)snprintf(out + n, cap - n, "%s%u", n ? " " : "", r.record.type);
    }
}

static void small_file(struct maker *m, int zip, int pipe_format)
{
    begin(m, zip, pipe_format);
    info(m, 0);
    comm(m, "one");
    aux(m, 0, 0, 20, 0);
    aux(m, 1, 0, 8, PTL_AUX_TRUNCATED);
    trace(m, 0, 0, some, 20);
    trace(m, 1, 0, some, 8);
    assert_int_equal(ptl_perf_write_round(m->w), 0);
    comm(m, "two");
    assert_int_equal(ptl_perf_writer_finish(m->w), 0);
}
#define SMALL_TYPES "70 69 3 11 11 71 71 68 3"

/* --- tests ------------------------------------------------------------------------ */

static void check_small(const struct ptl_perf *perf, int pipe_format)
{
    const struct ptl_perf_info *i = ptl_perf_info(perf);
    const struct ptl_perf_event *e;
    const struct ptl_perf_pt *pt = ptl_perf_pt(perf);
    const struct ptl_perf_queue *q;
    char list[256];
    size_t n;

    ptl_perf_problems(perf, &n);
    assert_int_equal(n, 0);
    e = ptl_perf_events(perf, &n);
    assert_int_equal(n, 2);
    assert_string_equal(e[0].name, "intel_pt//u");
    assert_string_equal(e[1].name, "dummy:u");
    assert_int_equal(e[0].attr.config, PT_CONFIG);
    assert_int_equal(e[1].id_count, 2);
    assert_int_equal(e[1].ids[1], DUMMY_ID + 1);
    assert_ptr_equal(ptl_perf_event_of(perf, DUMMY_ID), &e[1]);
    assert_ptr_equal(ptl_perf_event_of(perf, 0), &e[0]);
    assert_ptr_equal(ptl_perf_event_of(perf, 4711), &e[0]);
    assert_string_equal(i->hostname, "host");
    assert_string_equal(i->osrelease, "6.1.0");
    assert_string_equal(i->arch, "x86_64");
    assert_null(i->version);
    assert_string_equal(i->cmdline[2], "two words");
    assert_null(i->cmdline[3]);
    assert_int_equal(i->nrcpus_available, 4);
    assert_int_equal(i->nrcpus_online, 2);
    assert_int_equal(i->intel, 1);
    assert_int_equal(i->cpu_family, 6);
    assert_int_equal(i->cpu_model, 85);
    assert_int_equal(i->cpu_stepping, 4);
    assert_int_equal(i->clockid, 4);
    if (!pipe_format) {
        assert_int_equal(i->first_time, 1010);
        assert_int_equal(i->last_time, 1040);
    }
    assert_non_null(pt);
    assert_ptr_equal(pt->event, &e[0]);
    assert_int_equal(pt->tsc, 1);
    assert_int_equal(pt->mtc, 1);
    assert_int_equal(pt->mtc_freq, 3);
    assert_int_equal(pt->cyc, 0);
    assert_int_equal(pt->have_time, 1);
    q = ptl_perf_queues(perf, &n);
    assert_int_equal(n, 2);
    assert_int_equal(q[0].idx, 7);
    assert_int_equal(q[0].size, 20);
    assert_int_equal(q[0].piece_count, 1);
    assert_memory_equal(q[0].pieces[0].bytes, some, 20);
    assert_int_equal(q[0].pieces[0].time, 1020);
    assert_int_equal(q[0].pieces[0].pid, 11);
    assert_int_equal(q[0].pieces[0].tid, 12);
    assert_int_equal(q[1].cpu, 1);
    assert_int_equal(q[1].pieces[0].flags, PTL_AUX_TRUNCATED);
    types(perf, list, sizeof(list));
    assert_string_equal(strstr(list, "70 69"), SMALL_TYPES);
}

static void round_trip(void **state)
{
    (void)state;
    for (int zip = 0; zip < 2; zip++)
        for (int pipe_format = 0; pipe_format < 2; pipe_format++) {
            struct maker m;
            struct file f;
            struct ptl_perf *perf;
            small_file(&m, zip, pipe_format);
            perf = reopen(&m, &f);
            check_small(perf, pipe_format);
            assert_int_equal(ptl_perf_info(perf)->pipe, pipe_format);
            assert_int_equal(ptl_perf_info(perf)->compressed, zip);
            done(perf, &f);
            assert_int_equal(ptl_perf_write_round(m.w), PTL_INVALID); /* finished */
            end(&m);
        }
}

/* Through a real pipe and a path. */
static void paths(void **state)
{
    struct ptl_perf_problem problem = {0, 0, 0, ""};
    char dir[] = "/tmp/perfdataXXXXXX", path[64], data[64];
    struct maker m;
    struct file f;
    struct ptl_perf *perf;
    int fd;
    (void)state;

    assert_non_null(mkdtemp(dir));
    small_file(&m, 0, 0);
    f = contents(m.fd);
    snprintf(data, sizeof(data), "%s/data", dir);
    fd = open(data, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, f.bytes, f.len), f.len);
    close(fd);
    assert_int_equal(ptl_perf_open(&perf, data, &config, &problem), 0);
    check_small(perf, 0);
    assert_null(ptl_perf_directory(perf));
    ptl_perf_close(perf);
    /* A directory, with records in data.0 */
    uint8_t comm_bytes[128];
    struct ptl_record r = {.type = PTL_REC_COMM, .known = 1, .u.comm = {1, 2, "part"}};
    int size = ptl_record_encode(comm_bytes, sizeof(comm_bytes), &r, &m.layout);
    snprintf(path, sizeof(path), "%s/data.0", dir);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, comm_bytes, (size_t)size), size);
    close(fd);
    assert_int_equal(ptl_perf_open(&perf, dir, &config, &problem), 0);
    assert_string_equal(ptl_perf_directory(perf), dir);
    char list[256];
    types(perf, list, sizeof(list));
    assert_string_equal(list, SMALL_TYPES " 3");
    ptl_perf_close(perf);
    unlink(path);
    unlink(data);
    /* A FIFO */
    assert_int_equal(mkfifo(data, 0600), 0);
    if (!fork()) {
        fd = open(data, O_WRONLY);
        _exit(write(fd, f.bytes, f.len) != (ssize_t)f.len);
    }
    assert_int_equal(ptl_perf_open(&perf, data, &config, &problem), 0);
    check_small(perf, 0);
    ptl_perf_close(perf);
    unlink(data);
    assert_int_equal(ptl_perf_open(&perf, data, &config, &problem), PTL_BAD_FILE);
    assert_int_equal(problem.err, ENOENT);
    assert_null(perf);
    assert_int_equal(ptl_perf_open(&perf, dir, &config, NULL), PTL_BAD_FILE);
    rmdir(dir);
    free(f.bytes);
    end(&m);
}

static int is_prefix(const char *part, const char *whole)
{
    return !strncmp(part, whole, strlen(part));
}

/* Of those whose places are kept, the same are found as by looking at all. */
static void same_places(const struct ptl_perf *perf, uint64_t types)
{
    static struct ptl__skim few, all;
    struct ptl_perf_record want, got;
    unsigned count = 0;

    ptl__skim_begin(&few, perf, types);
    ptl__skim_begin(&all, perf, 0);
    while (ptl__skim_next(&all, &want) > 0) {
        if (want.record.type >= PTL_REC_USER || !(types >> want.record.type & 1))
            continue;
        count++;
        assert_int_equal(ptl__skim_next(&few, &got), 1);
        assert_int_equal(got.offset, want.offset);
        assert_ptr_equal(got.bytes, want.bytes);
        assert_int_equal(got.record.type, want.record.type);
        assert_int_equal(got.record.size, want.record.size);
        assert_ptr_equal(got.event, want.event);
        assert_memory_equal(few.copy, want.bytes, want.record.size);
    }
    assert_int_equal(ptl__skim_next(&few, &got), 0);
    assert_true(count >= 9);
}

/* Records are skimmed through a window over the file, which moves in the middle of records of all
 * kinds, those with trace behind them too: each is what the iterator over the mapping says. */
static void skim(unsigned before)
{
    static struct ptl__skim skim;
    struct ptl_perf_record want, got;
    struct ptl_perf_iter iter = {0};
    struct ptl_perf *perf;
    char path[64];
    struct maker m;
    size_t count = 0;

    begin(&m, 0, 0);
    info(&m, 0);
    for (unsigned i = 0; i < before + 800; i++) {
        const struct ptl_record in = {.type = PTL_REC_SWITCH, .misc = i & 1 ? 0x2000 : 0};
        struct ptl_rec_auxtrace auxtrace = {
            .offset = 16 * i, .reference = 1, .idx = i % 7, .tid = 11};
        uint8_t bytes[16] = {14, [4] = (uint8_t)i}; /* trace that looks like a record */
        struct iovec part = {bytes, 8 + 8 * (i % 2)};

        ring(&m, &in, i & 1, DUMMY_ID + (i & 1), SIZE_MAX);
        if (i % 80 == 3)
            aux(&m, i & 1, 0, 0, PTL_AUX_PARTIAL);
        if (i >= before)
            assert_int_equal(ptl_perf_write_auxtrace(m.w, &auxtrace, &part, 1), 0);
    }
    assert_int_equal(ptl_perf_writer_finish(m.w), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", m.fd);
    assert_int_equal(ptl_perf_open(&perf, path, &config, NULL), 0);
    ptl__skim_begin(&skim, perf, 0);
    while (ptl_perf_next(perf, &iter, &want) > 0) {
        assert_int_equal(ptl__skim_next(&skim, &got), 1);
        count++;
        assert_int_equal(got.offset, want.offset);
        assert_int_equal(got.record.type, want.record.type);
        assert_int_equal(got.record.misc, want.record.misc);
        assert_int_equal(got.record.size, want.record.size);
        assert_ptr_equal(got.event, want.event);
        assert_memory_equal(skim.copy, want.bytes, want.record.size);
    }
    assert_int_equal(ptl__skim_next(&skim, &got), 0);
    assert_true(count > 1600);
    assert_int_equal(perf->unindexed, 0);
    same_places(perf, UINT64_C(1) << PTL_REC_AUX);
    same_places(perf, PTL__SKIM_INDEXED);
    ptl_perf_close(perf);
    ptl_perf_writer_free(m.w);
    close(m.fd);
}

static void skimmed(void **state)
{
    (void)state;
    for (unsigned before = 0; before < 40; before++)
        skim(before);
}

/* Cut after every byte: what opens gives the first records, and a cut file says so. */
static void every_cut(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct maker m;
        struct file f;
        struct ptl_perf *perf;
        char whole[256], list[256];
        int opened = 0;

        small_file(&m, kind & 1, kind >> 1);
        perf = reopen(&m, &f);
        types(perf, whole, sizeof(whole));
        ptl_perf_close(perf);
        for (size_t n = 0; n < f.len; n++) {
            struct ptl_perf_problem problem = {0, 0, 0, ""};
            uint8_t *cut = malloc(n ? n : 1); /* so that a sanitizer sees reads beyond */
            size_t problems;
            int status;
            memcpy(cut, f.bytes, n);
            status = ptl_perf_open_memory(&perf, cut, n, &config, &problem);
            if (!status) {
                opened++;
                types(perf, list, sizeof(list));
                if (!(kind & 1)) /* a cut in COMPRESSED moves later ones forward */
                    assert_true(is_prefix(list, whole));
                ptl_perf_problems(perf, &problems);
                assert_true(problems > 0 || kind >> 1);
                ptl_perf_close(perf);
            } else {
                assert_true(status < 0);
                assert_true(problem.text[0] != 0);
                assert_int_equal(problem.status, status);
            }
            free(cut);
        }
        assert_true(opened > 100);
        free(f.bytes);
        end(&m);
    }
}

/* A recorder killed between any two calls leaves whole records; after _sync everything. */
static void killed(void **state)
{
    struct maker m;
    struct file f;
    struct ptl_perf *perf;
    size_t n, written = 0;
    char list[1024];
    (void)state;

    begin(&m, 0, 0);
    info(&m, 0);
    for (unsigned i = 0; i < 40; i++) {
        if (i % 3 == 0)
            comm(&m, "x");
        else if (i % 3 == 1)
            trace(&m, 0, 24 * (i / 3), some, 24);
        else
            assert_int_equal(ptl_perf_writer_sync(m.w), 0);
        perf = reopen(&m, &f);
        ptl_perf_problems(perf, &n);
        assert_int_equal(n, i % 3 == 1 || !i); /* that it is not finished */
        types(perf, list, sizeof(list));
        assert_true(strlen(list) >= written);
        if (i % 3 != 0) /* AUXTRACE and sync flush */
            assert_true(strlen(list) > 0);
        written = strlen(list);
        if (i % 3 == 2)
            assert_string_equal(ptl_perf_info(perf)->hostname, "host");
        done(perf, &f);
    }
    end(&m);
}

static void no_space(void **state)
{
    int fd = open("/dev/full", O_WRONLY);
    struct ptl_perf_writer *w;
    struct ptl_attr attr = {.type = 1};
    uint64_t id = 1;
    (void)state;

    assert_true(fd >= 0);
    assert_int_equal(ptl_perf_writer_new(&w, fd, NULL), 0);
    assert_int_equal(ptl_perf_writer_event(w, &attr, &id, 1, NULL), 0);
    errno = 0;
    assert_int_equal(ptl_perf_writer_begin(w), PTL_IO);
    assert_int_equal(errno, ENOSPC);
    errno = 0;
    assert_int_equal(ptl_perf_write_round(w), PTL_IO);
    assert_int_equal(ptl_perf_writer_finish(w), PTL_IO);
    assert_int_equal(errno, ENOSPC);
    ptl_perf_writer_free(w);
    close(fd);
}

static void refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        int status;
    } rows[] = {
        {"", 0, PTL_NOT_SUPPORTED},
        {"PERFILE2", 8, PTL_TRUNCATED},
        {"2ELIFREP\0\0\0\0\0\0\0\x68", 16, PTL_NOT_SUPPORTED},
        {"PERFFILE\x68\0\0\0\0\0\0\0", 16, PTL_NOT_SUPPORTED},
        {"PERFILE2\x69\0\0\0\0\0\0\0", 16, PTL_NOT_SUPPORTED},
        {"PERFILE2\x68\0\0\0\0\0\0\0", 16, PTL_TRUNCATED},
        {"\x7f"
         "ELF................",
         20, PTL_NOT_SUPPORTED},
    };
    (void)state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ptl_perf_problem problem = {0, 0, 0, ""};
        struct ptl_perf *perf;
        assert_int_equal(ptl_perf_open_memory(&perf, rows[i].bytes, rows[i].len, NULL, &problem),
                         rows[i].status);
        assert_null(perf);
        assert_true(strlen(problem.text) > 10);
    }
}

/* Without a decompressor the other records are there and the problem is told. */
static void no_unzip(void **state)
{
    struct maker m;
    struct file f;
    struct ptl_perf *perf;
    char list[256];
    size_t n;
    (void)state;

    small_file(&m, 1, 0);
    f = contents(m.fd);
    assert_int_equal(ptl_perf_open_memory(&perf, f.bytes, f.len, NULL, NULL), 0);
    assert_int_equal(ptl_perf_problems(perf, &n)->status, PTL_NOT_SUPPORTED);
    assert_int_equal(n, 1);
    types(perf, list, sizeof(list));
    assert_string_equal(list, "70 69 71 71 68");
    done(perf, &f);
    end(&m);
}

/* Many records through few and many COMPRESSED records, larger than the reader's block. */
static void big_zip(void **state)
{
    struct maker m;
    struct file f;
    struct ptl_perf *perf;
    struct ptl_perf_iter iter = {0, 0};
    struct ptl_perf_record r;
    uint8_t *bytes = malloc(1 << 20);
    size_t len = 0, count = 0, seen = 0;
    (void)state;

    begin(&m, 1, 0);
    while (len < (1 << 20) - 256) {
        char name[64];
        struct ptl_record rec = {.type = PTL_REC_COMM, .known = 1};
        snprintf(name, sizeof(name), "%zu %d", count * 2654435761u, rand());
        rec.u.comm.comm = name;
        rec.id.identifier = DUMMY_ID;
        rec.id.time = ++count;
        len += (size_t)ptl_record_encode(bytes + len, 256, &rec, &m.layout);
    }
    struct iovec parts[] = {{bytes, 100001}, {bytes + 100001, len - 100001}};
    assert_int_equal(ptl_perf_write_ring(m.w, parts, 2), 0);
    parts[0].iov_len = len - 3; /* no whole records */
    assert_int_equal(ptl_perf_write_ring(m.w, parts, 1), PTL_INVALID);
    assert_int_equal(ptl_perf_writer_finish(m.w), 0);
    perf = reopen(&m, &f);
    assert_true(f.len < len);
    while (ptl_perf_next(perf, &iter, &r) > 0) {
        if (r.record.type == PTL_REC_COMM)
            assert_int_equal(r.record.id.time, ++seen);
    }
    assert_int_equal(seen, count);
    done(perf, &f);
    end(&m);
    free(bytes);
}

static void build_ids(void **state)
{
    struct maker m;
    struct file f;
    struct ptl_perf *perf;
    const struct ptl_perf_build_id *b;
    struct ptl_perf_build_id id = {.size = 20, .misc = 2, .pid = -1, .filename = "/bin/a b"};
    size_t n;
    (void)state;

    memcpy(id.id, some, 20);
    begin(&m, 0, 0);
    assert_int_equal(ptl_perf_writer_build_id(m.w, &id), 0);
    id.size = 8;
    id.filename = "[kernel.kallsyms]";
    assert_int_equal(ptl_perf_writer_build_id(m.w, &id), 0);
    assert_int_equal(ptl_perf_writer_finish(m.w), 0);
    perf = reopen(&m, &f);
    b = ptl_perf_build_ids(perf, &n);
    assert_int_equal(n, 2);
    assert_string_equal(b[0].filename, "/bin/a b");
    assert_int_equal(b[0].size, 20);
    assert_int_equal(b[0].pid, -1);
    assert_memory_equal(b[0].id, some, 20);
    assert_int_equal(b[1].size, 8);
    done(perf, &f);
    end(&m);
}

/* Any byte may be any other: open, walk, look at everything. */
static void damaged(void **state)
{
    unsigned seed = 1;
    (void)state;

    for (int kind = 0; kind < 4; kind++) {
        struct maker m;
        struct file f;
        small_file(&m, kind & 1, kind >> 1);
        f = contents(m.fd);
        for (unsigned i = 0; i < 4000; i++) {
            struct ptl_perf_iter iter = {0, 0};
            struct ptl_perf_record r;
            struct ptl_perf *perf;
            const struct ptl_perf_queue *q;
            uint8_t *bytes = malloc(f.len);
            volatile uint8_t sum = 0;
            size_t n, records = 0;

            memcpy(bytes, f.bytes, f.len);
            for (int k = 0; k <= rand_r(&seed) % 3; k++)
                bytes[(unsigned)rand_r(&seed) % f.len] = (uint8_t)rand_r(&seed);
            if (!ptl_perf_open_memory(&perf, bytes, f.len, &config, NULL)) {
                while (ptl_perf_next(perf, &iter, &r) > 0)
                    records++;
                assert_true(records <= f.len); /* zstd never makes that many of this */
                q = ptl_perf_queues(perf, &n);
                for (size_t k = 0; k < n; k++)
                    for (size_t p = 0; p < q[k].piece_count; p++)
                        for (uint64_t b = 0; b < q[k].pieces[p].size; b++)
                            sum = (uint8_t)(sum + q[k].pieces[p].bytes[b]);
                ptl_perf_close(perf);
            }
            free(bytes);
        }
        free(f.bytes);
        end(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip), cmocka_unit_test(paths),    cmocka_unit_test(every_cut),
        cmocka_unit_test(killed),     cmocka_unit_test(no_space), cmocka_unit_test(refused),
        cmocka_unit_test(no_unzip),   cmocka_unit_test(skimmed),  cmocka_unit_test(big_zip),
        cmocka_unit_test(build_ids),

        cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
