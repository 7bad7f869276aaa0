/* SPDX-License-Identifier: BSD-3-Clause */
/* test_below.c - names from recordings stay below a directory. */
#include "unit.h"

#include "image/below.h"

#include <errno.h>
#include <pt/status.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[64];

static void make_link(const char *target, const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", top, name);
    assert_int_equal(symlink(target, path), 0);
}

static void make_dir(const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", top, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(top, sizeof(top), "/tmp/pt-below-XXXXXX");
    if (!mkdtemp(top))
        return -1;
    make_dir("out");
    make_dir("root");
    make_dir("root/a");
    make_dir("root/a/b");
    make_link("../../../../out", "root/a/climbs");
    make_link("/a/b", "root/absolute");
    make_link("absolute/../climbs", "root/chain");
    make_link("/etc", "root/etc");
    make_link("self", "root/self");
    make_link("two", "root/one");
    make_link("one", "root/two");
    make_link("b/", "root/a/slash");
    make_link(".", "root/dot");
    return 0;
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", top);
    return system(command);
}

static void names(void **state)
{
    static const struct {
        const char *name, *path; /* below root; NULL: refused */
        int error;
    } rows[] = {
        {"/a/b", "/a/b", 0},
        {"a//./b/", "/a/b", 0},
        {"", "", 0},
        {"/", "", 0},
        {"..", "", 0},
        {"/../../a", "/a", 0},
        {"/a/../../../a/b", "/a/b", 0},
        {"/absolute", "/a/b", 0},
        {"/absolute/..", "/a", 0},
        {"/a/slash", "/a/b", 0},
        {"/dot/dot/dot/a", "/a", 0},
        {"/a/climbs", NULL, ENOENT}, /* root/out, not the one outside */
        {"/../out", NULL, ENOENT},
        {"/etc/passwd", NULL, ENOENT}, /* root/etc is itself */
        {"/self", NULL, ELOOP},
        {"/one/x", NULL, ELOOP},
        {"/a/none", NULL, ENOENT},
        {"/a/none/../b", NULL, ENOENT},
    };
    char root[128], path[4096], want[256];

    (void)state;
    for (int slash = 0; slash <= 1; slash++) {
        snprintf(root, sizeof(root), "%s/root%s", top, slash ? "/" : "");
        for (size_t i = 0; i < COUNT(rows); i++) {
            int status = ptl__below(path, sizeof(path), root, rows[i].name);

            if (rows[i].path) {
                snprintf(want, sizeof(want), "%s/root%s", top, rows[i].path);
                assert_int_equal(status, 0);
                assert_string_equal(path, want);
            } else {
                assert_int_equal(status, PTL_BAD_FILE);
                if (rows[i].error == ELOOP)
                    assert_true(errno == ELOOP);
                else
                    assert_true(errno == rows[i].error || errno == ELOOP);
            }
        }
    }
}

static void no_root(void **state)
{
    char path[8];

    (void)state;
    assert_int_equal(ptl__below(path, sizeof(path), NULL, "/../x"), 0);
    assert_string_equal(path, "/../x");
    assert_int_equal(ptl__below(path, sizeof(path), "", "1234567"), 0);
    assert_int_equal(ptl__below(path, sizeof(path), NULL, "12345678"), PTL_BAD_FILE);
    assert_int_equal(errno, ENAMETOOLONG);
    assert_int_equal(ptl__below(path, sizeof(path), "/", "tmp"), 0);
    assert_string_equal(path, "/tmp");
    assert_int_equal(ptl__below(path, sizeof(path), "/tmp", "12345678"), PTL_BAD_FILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(no_root),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
