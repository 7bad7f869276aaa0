/* SPDX-License-Identifier: BSD-3-Clause */
/* perf.data when memory runs out or files fail: a clean error, nothing leaked, no half truth. */
#include "fault.h"
#include "perfmaker.h"

static int make(int zip, int fd)
{
    struct ptl_zip zipper = zstd_zip(1);
    const struct ptl_perf_writer_config wc = {.size = sizeof(wc), .zip = zip ? &zipper : NULL};
    const struct ptl_attr attr = {.type = PT_TYPE,
                                  .config = PT_CONFIG,
                                  .sample_type = PERCPU,
                                  .flags = PTL_ATTR_SAMPLE_ID_ALL};
    const struct ptl_pt_info pt = {.pmu_type = PT_TYPE, .tsc_bit = 0x400, .per_cpu = 1};
    const struct ptl_layout layout = ptl_layout_of(&attr);
    static const char *const argv[] = {"a", "b"};
    const uint64_t id = PT_ID;
    struct ptl_record r = {.type = PTL_REC_AUX, .known = 1, .u.aux = {0, 20, 0}};
    struct ptl_rec_auxtrace a = {.tid = UINT32_MAX};
    struct ptl_perf_writer *w;
    uint8_t bytes[256];
    int status = ptl_perf_writer_new(&w, fd, &wc), size;

    if (status)
        return status;
    r.id.identifier = PT_ID;
    r.id.time = 5;
    size = ptl_record_encode(bytes, sizeof(bytes), &r, &layout);
    struct iovec ring_part = {bytes, (size_t)size};
    struct iovec parts[] = {{(void *)(uintptr_t)some, 13}, {(void *)(uintptr_t)(some + 13), 7}};
    status = ptl_perf_writer_event(w, &attr, &id, 1, "intel_pt//");
    if (!status)
        status = ptl_perf_writer_string(w, PTL_FEAT_HOSTNAME, "host");
    if (!status)
        status = ptl_perf_writer_cmdline(w, 2, argv);
    if (!status)
        status = ptl_perf_writer_begin(w);
    if (!status)
        status = ptl_perf_write_pt_info(w, &pt);
    if (!status)
        status = ptl_perf_write_ring(w, &ring_part, 1);
    for (int i = 0; i < 2 && !status; i++) { /* the AUX record straddles two buffers */
        status = ptl_perf_write_auxtrace(w, &a, &parts[i], 1);
        a.offset += parts[i].iov_len;
    }
    if (!status)
        status = ptl_perf_writer_finish(w);
    ptl_perf_writer_free(w);
    return status;
}

static void writing(void **state)
{
    int more = 1, whole = 0;
    (void)state;

    for (int zip = 0; zip < 2; zip++)
        for (unsigned n = 1; (more = more || n == 1); n++) {
            int fd = memfd_create("perf.data", 0), status;
            struct ptl_perf *perf = NULL;
            struct file f;
            fault_arm(FAULT_ALL, n);
            status = make(zip, fd);
            more = fault_disarm();
            /* Whatever has reached the file is whole: that is also what a recorder that is killed
             * between two writes leaves. */
            f = contents(fd);
            if (f.len > 104 && f.bytes[0]) {
                size_t problems, events;
                assert_int_equal(ptl_perf_open_memory(&perf, f.bytes, f.len, &config, NULL), 0);
                ptl_perf_problems(perf, &problems);
                assert_true(problems <= (size_t)(status != 0)); /* that it is not finished */
                assert_string_equal(ptl_perf_info(perf)->hostname, "host");
                assert_string_equal(ptl_perf_events(perf, &events)->name, "intel_pt//");
                whole++;
                ptl_perf_close(perf);
            }
            if (more)
                assert_true(status == PTL_NOMEM || status == PTL_IO || !status);
            else
                assert_int_equal(status, 0);
            free(f.bytes);
            close(fd);
        }
    assert_true(whole > 20);
}

static void reading(void **state)
{
    char path[] = "/tmp/perffaultXXXXXX";
    int fd = mkstemp(path), more = 1;
    (void)state;

    assert_true(fd >= 0);
    for (int zip = 0; zip < 2; zip++) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(make(zip, fd), 0);
        for (unsigned n = 1; (more = more || n == 1); n++) {
            struct ptl_perf_problem problem = {0, 0, 0, ""};
            struct ptl_perf *perf;
            int status;
            fault_arm(FAULT_ALL, n);
            status = ptl_perf_open(&perf, path, &config, &problem);
            more = fault_disarm();
            if (status) {
                assert_true(more);
                assert_null(perf);
                assert_true(problem.text[0] != 0);
            }
            if (!more) {
                size_t count;
                const struct ptl_perf_queue *q = ptl_perf_queues(perf, &count);
                assert_int_equal(status, 0);
                assert_int_equal(count, 1);
                assert_memory_equal(q->pieces[0].bytes, some, 20);
            }
            ptl_perf_close(perf);
        }
    }
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(writing), cmocka_unit_test(reading)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
