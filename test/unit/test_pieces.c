/* SPDX-License-Identifier: BSD-3-Clause */
/* AUX data cut into what hardware wrote: full trace, snapshots, samples. */
#include "perfmaker.h"

/* --- pieces ------------------------------------------------------------------------- */

/* "offset+size flags joined missing kind", one a piece of queue 0 */
static const char *pieces(const struct ptl_perf *perf, char *out, size_t cap)
{
    const struct ptl_perf_queue *q;
    size_t n = 0, queues;

    q = ptl_perf_queues(perf, &queues);
    out[0] = 0;
    for (size_t i = 0; queues && i < q[0].piece_count; i++) {
        const struct ptl_perf_piece *p = &q[0].pieces[i];
        n += (size_t)snprintf(out + n, cap - n, "%s%d+%d%s%s", n ? " " : "", (int)p->offset,
                              (int)p->size, p->flags & PTL_AUX_TRUNCATED ? "T" : "",
                              p->joined ? "j" : "");
        if (p->missing)
            n += (size_t)snprintf(out + n, cap - n, "-%d", (int)p->missing);
        if (p->kind == PTL_PIECE_UNTOLD)
            n += (size_t)snprintf(out + n, cap - n, "u");
        if (p->trimmed)
            n += (size_t)snprintf(out + n, cap - n, "c%d", (int)p->trimmed);
        for (uint64_t k = 0; p->kind <= PTL_PIECE_FULL && k < p->size; k++)
            assert_int_equal(p->bytes[k], some[(p->offset + k) % 60]);
    }
    return out;
}

struct op {
    char kind; /* a: AUX, t: trace */
    uint64_t offset, size, flags;
};

static void cutting(void **state)
{
    static const struct {
        struct op ops[6];
        const char *want;
    } rows[] = {
        /* AUX records tile a buffer; a third is in the next one */
        {{{'a', 0, 10, 0}, {'a', 10, 6, 0}, {'t', 0, 16, 0}, {'a', 16, 8, 0}, {'t', 16, 8, 0}},
         "0+10 10+6j 16+8j"},
        /* straddles two buffers, the first of which is padded */
        {{{'a', 0, 20, 0}, {'t', 0, 13, 0}, {'t', 13, 7, 0}}, "0+20"},
        /* three buffers in one piece, cut in the middle of them */
        {{{'a', 0, 3, 0}, {'a', 3, 15, 0}, {'t', 0, 5, 0}, {'t', 5, 5, 0}, {'t', 10, 8, 0}},
         "0+3 3+15j"},
        /* data lost: not joined */
        {{{'a', 0, 8, 1}, {'a', 8, 8, 0}, {'t', 0, 16, 0}}, "0+8T 8+8"},
        /* the last AUX record is not there */
        {{{'a', 0, 8, 0}, {'t', 0, 32, 0}}, "0+8 8+24ju"},
        /* one in the middle is not there */
        {{{'a', 0, 8, 0}, {'a', 16, 8, 0}, {'t', 0, 24, 0}}, "0+8 8+8ju 16+8j"},
        /* no AUX record at all: buffers are one stream */
        {{{'t', 0, 16, 0}, {'t', 16, 13, 0}}, "0+32u"},
        /* padding at the end is no piece */
        {{{'a', 0, 13, 0}, {'t', 0, 13, 0}}, "0+13"},
        /* the buffer in the middle is not there */
        {{{'a', 0, 8, 0}, {'a', 8, 8, 0}, {'a', 16, 8, 0}, {'t', 0, 8, 0}, {'t', 16, 8, 0}},
         "0+8 16+0-8 16+8"},
        /* half of what a record tells of is there */
        {{{'a', 0, 16, 0}, {'t', 0, 8, 0}}, "0+8 16+0-8"},
        {{{'a', 0, 16, 0}, {'t', 8, 8, 0}}, "8+8-8"},
        /* flags without data are kept, nothing else is */
        {{{'a', 0, 8, 0}, {'a', 8, 0, 1}, {'a', 8, 0, 0}, {'t', 0, 8, 0}}, "0+8 8+0T"},
        /* a recording that began earlier */
        {{{'a', 4096, 8, 0}, {'a', 4104, 8, 0}, {'t', 4096, 16, 0}}, "4096+8 4104+8j"},
        /* told twice */
        {{{'a', 0, 8, 0}, {'a', 0, 8, 0}, {'t', 0, 8, 0}}, "0+8"},
        /* offsets that make no sense */
        {{{'a', 0, 8, 0}, {'t', 100, 8, 0}, {'t', 0, 8, 0}}, "100+8u 0+8u"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct maker m;
        struct file f;
        struct ptl_perf *perf;
        char got[256];

        begin(&m, 0, 0);
        info(&m, 0);
        for (const struct op *op = rows[i].ops; op->kind; op++) {
            uint8_t bytes[64];
            for (size_t k = 0; k < op->size; k++)
                bytes[k] = some[(op->offset + k) % 60];
            if (op->kind == 'a')
                aux(&m, 0, op->offset, op->size, op->flags);
            else
                trace(&m, 0, op->offset, bytes, op->size);
        }
        assert_int_equal(ptl_perf_writer_finish(m.w), 0);
        perf = reopen(&m, &f);
        /* the pad of the 13 bytes at the end of "no AUX record" is 3 zero bytes */
        if (!strcmp(rows[i].want, "0+32u")) {
            size_t n;
            assert_int_equal(ptl_perf_queues(perf, &n)->pieces[0].size, 32);
            assert_int_equal(ptl_perf_queues(perf, &n)->piece_count, 1);
        } else {
            assert_string_equal(pieces(perf, got, sizeof(got)), rows[i].want);
        }
        done(perf, &f);
        end(&m);
    }
}

/* A stream of "PSB+" blocks with TSC and some other bytes. */
static size_t stream(uint8_t *out, size_t blocks)
{
    size_t n = 0;

    for (size_t i = 0; i < blocks; i++) {
        for (size_t k = 0; k < 8; k++) {
            out[n++] = 0x02;
            out[n++] = 0x82;
        }
        out[n++] = 0x19;
        for (size_t k = 0; k < 7; k++)
            out[n++] = (uint8_t)((i + 1) >> (8 * (6 - k)) | (k == 0 ? 0x55 : 0));
        out[n++] = 0x02;
        out[n++] = 0x23;
        for (size_t k = 0; k < 30 + i % 7; k++)
            out[n++] = (uint8_t)(4 + 2 * ((i * 7 + k * 3) % 60));
    }
    return n;
}

/* Windows of one stream as snapshots or samples: each byte comes once, joined is right. */
static void overlaps(void **state)
{
    uint8_t bytes[4096];
    size_t len = stream(bytes, 40);
    static const struct {
        size_t from, to;
        size_t want; /* bytes trimmed */
        int joined;
    } rows[] = {
        {0, 400, 0, 0},     {200, 600, 200, 1},  {200, 600, 400, 1}, /* the same again */
        {333, 900, 267, 1}, {900, 1500, 0, 0},                       /* adjoins: cannot be seen */
        {1450, 1480, 0, 0},                                          /* no PSB in it */
        {1000, 1400, 0, 0}, {1200, 1296, 96, 0},                     /* inside the one before */
        {1288, 1500, 0, 0},
    };
    (void)state;

    assert_true(len > 1600);
    struct maker m;
    struct file f;
    struct ptl_perf *perf;
    const struct ptl_perf_queue *q;
    size_t n;

    begin(&m, 0, 0);
    info(&m, 1);
    for (size_t i = 0; i < 4; i++) {
        aux(&m, 0, rows[i].to % 512, 512, PTL_AUX_OVERWRITE);
        trace(&m, 0, 0, bytes + rows[i].from, rows[i].to - rows[i].from);
    }
    for (size_t i = 4; i < sizeof(rows) / sizeof(rows[0]); i++)
        trace(&m, 0, 0, bytes + rows[i].from, rows[i].to - rows[i].from);
    assert_int_equal(ptl_perf_writer_finish(m.w), 0);
    perf = reopen(&m, &f);
    q = ptl_perf_queues(perf, &n);
    assert_int_equal(n, 1);
    assert_int_equal(q->piece_count, sizeof(rows) / sizeof(rows[0]));
    for (size_t i = 0; i < 8; i++) {
        const struct ptl_perf_piece *p = &q->pieces[i];
        assert_int_equal(p->kind, PTL_PIECE_SNAPSHOT);
        assert_int_equal(p->trimmed, rows[i].want);
        assert_int_equal(p->joined, rows[i].joined);
        assert_memory_equal(p->bytes, bytes + rows[i].from + p->trimmed,
                            rows[i].to - rows[i].from - p->trimmed);
    }
    assert_int_equal(q->pieces[1].time, 1020);
    assert_int_equal(q->pieces[1].flags, PTL_AUX_OVERWRITE);
    assert_int_equal(q->pieces[4].time, 0);
    done(perf, &f);
    end(&m);
}

/* Trace in samples: one queue a CPU, overlaps removed, empty ones left out. */
static void sampling(void **state)
{
    uint8_t bytes[4096];
    struct ptl_attr pt = {.type = PT_TYPE,
                          .config = PT_CONFIG,
                          .sample_type = PERCPU,
                          .flags = PTL_ATTR_SAMPLE_ID_ALL};
    struct ptl_attr cycles = {.type = 0,
                              .sample_type = PERCPU | PTL_SAMPLE_AUX,
                              .aux_sample_size = 512,
                              .flags = PTL_ATTR_SAMPLE_ID_ALL};
    static const uint64_t pt_ids[] = {1, 2}, cycle_ids[] = {3, 4};
    static const size_t windows[][3] = {
        {0, 400, 0}, {0, 400, 1}, {200, 600, 0}, {0, 0, 0}, {496, 800, 0}};
    struct ptl_layout layout = ptl_layout_of(&cycles);
    const struct ptl_perf_queue *q;
    struct maker m = {.fd = memfd_create("perf.data", 0)};
    struct file f;
    struct ptl_perf *perf;
    size_t n;
    (void)state;

    stream(bytes, 40);
    assert_int_equal(ptl_perf_writer_new(&m.w, m.fd, NULL), 0);
    assert_int_equal(ptl_perf_writer_event(m.w, &pt, pt_ids, 2, "intel_pt//"), 0);
    assert_int_equal(ptl_perf_writer_event(m.w, &cycles, cycle_ids, 2, "cycles"), 0);
    assert_int_equal(ptl_perf_writer_begin(m.w), 0);
    for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
        struct ptl_record r = {.type = PTL_REC_SAMPLE, .known = 1};
        uint8_t out[1024];
        int size;
        r.id = (struct ptl_sample_id){0, 1, 2, (uint32_t)windows[i][2], 100 + i, 3, 0, 3};
        r.u.sample.aux = (struct ptl_span){bytes + windows[i][0], windows[i][1] - windows[i][0]};
        size = ptl_record_encode(out, sizeof(out), &r, &layout);
        struct iovec part = {out, (size_t)size};
        assert_int_equal(ptl_perf_write_ring(m.w, &part, 1), 0);
    }
    assert_int_equal(ptl_perf_writer_finish(m.w), 0);
    perf = reopen(&m, &f);
    q = ptl_perf_queues(perf, &n);
    assert_int_equal(n, 2);
    assert_int_equal(q[0].piece_count, 3);
    assert_int_equal(q[0].cpu, 0);
    assert_int_equal(q[1].cpu, 1);
    assert_int_equal(q[1].pieces[0].size, 400);
    assert_int_equal(q[0].pieces[1].trimmed, 200);
    assert_int_equal(q[0].pieces[1].joined, 1);
    assert_int_equal(q[0].pieces[1].time, 102);
    assert_int_equal(q[0].pieces[2].trimmed, 104);
    assert_int_equal(q[0].size, 800);
    assert_memory_equal(q[0].pieces[2].bytes, bytes + 600, 200);
    done(perf, &f);
    end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cutting),
        cmocka_unit_test(overlaps),
        cmocka_unit_test(sampling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
