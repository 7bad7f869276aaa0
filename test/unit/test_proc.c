/* SPDX-License-Identifier: BSD-3-Clause */
/* test_proc.c - ptcapture: what cannot be read of a process that runs is missed; a process that has
 * gone is not. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned countdown;

static int fails(void)
{
    if (!countdown || --countdown)
        return 0;
    errno = EIO;
    return 1;
}

static FILE *failing_fopen(const char *path, const char *mode)
{
    return fails() ? NULL : fopen(path, mode);
}

static char *failing_fgets(char *line, int size, FILE *file)
{
    return fails() ? NULL : fgets(line, size, file);
}

static ssize_t failing_getline(char **line, size_t *size, FILE *file)
{
    return fails() ? -1 : getline(line, size, file);
}

static DIR *failing_opendir(const char *path)
{
    return fails() ? NULL : opendir(path);
}

static struct dirent *failing_readdir(DIR *dir)
{
    return fails() ? NULL : readdir(dir);
}

#define fopen   failing_fopen
#define fgets   failing_fgets
#define getline failing_getline
#define opendir failing_opendir
#define readdir failing_readdir
#include "../../ptcapture/proc.c" /* NOLINT(bugprone-suspicious-include): part of a program */

static struct ptl_perf_writer *open_writer(struct ptl_attr *attr)
{
    struct ptl_perf_writer *writer;
    int fd = memfd_create("recording", 0);

    memset(attr, 0, sizeof(*attr));
    attr->flags = PTL_ATTR_SAMPLE_ID_ALL;
    assert_true(fd >= 0);
    assert_int_equal(ptl_perf_writer_new(&writer, fd, NULL), 0);
    assert_int_equal(ptl_perf_writer_event(writer, attr, NULL, 0, "dummy"), 0);
    assert_int_equal(ptl_perf_writer_begin(writer), 0);
    return writer;
}

static void each_failure_is_told(void **state)
{
    struct ptl_attr attr;
    struct ptl_perf_writer *writer = open_writer(&attr);
    struct ptl_layout layout = ptl_layout_of(&attr);
    unsigned n = 0;
    int status;

    (void)state;
    do {
        countdown = ++n;
        status = proc_synthesize(writer, &layout, getpid());
        if (!countdown && status != PROC_UNREAD)
            fail_msg("call %u: %d", n, status);
    } while (!countdown);
    assert_int_equal(status, 0);
    assert_true(n > 10);
    countdown = 0;
    assert_int_equal(proc_synthesize(writer, &layout, INT32_MAX), 0); /* there is none */
    ptl_perf_writer_free(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_failure_is_told)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
