/* SPDX-License-Identifier: BSD-3-Clause */
/* test_terms.c - ptcapture: event terms against a PMU; the bits are those of IA32_RTIT_CTL. */
#include "unit.h"

#undef COUNT                       /* the same in there */
#include "../../ptcapture/terms.c" /* NOLINT(bugprone-suspicious-include): part of a program */
/* The questions about PMUs that it asks. */
#include "../../ptcapture/pmu.c" /* NOLINT(bugprone-suspicious-include) */

#include <sys/stat.h>
#include <unistd.h>

/* A PMU without cyc that allows few periods. */
static void small_pmu(struct pmu *pmu)
{
    pmu_software(pmu, "/nonexistent");
    pmu->mtc_period = 3;
    for (size_t i = 0; i < pmu->caps; i++) {
        if (!strcmp(pmu->cap[i].name, "mtc_periods"))
            pmu->cap[i].value = 0x5; /* 0 and 2 */
        if (!strcmp(pmu->cap[i].name, "psb_periods"))
            pmu->cap[i].value = 0x2b; /* 0, 1, 3, 5 */
        if (!strcmp(pmu->cap[i].name, "ptwrite"))
            pmu->cap[i].value = 0;
    }
}

static void events(void **state)
{
    static const struct {
        const char *text;
        uint64_t config;
        int user, kernel;
    } rows[] = {
        {NULL, 0x3002601 | 2 << 14, 1, 1},
        {"intel_pt//u", 0x3002601 | 2 << 14, 1, 0},
        {"intel_pt//k", 0x3002601 | 2 << 14, 0, 1},
        {"intel_pt//uk", 0x3002601 | 2 << 14, 1, 1},
        {"intel_pt/cyc,noretcomp/u", 0x3002e03 | 2 << 14, 1, 0},
        {"intel_pt/mtc=0,mtc_period=0,psb_period=5/u", 0x5002401, 1, 0},
        {"intel_pt/config=0x2001/", 0x2001, 1, 1},
    };
    struct pmu pmu;

    (void)state;
    small_pmu(&pmu);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pt_event event;
        char error[512] = "";

        assert_int_equal(terms_parse(&event, &pmu, rows[i].text, error, sizeof(error)), 0);
        assert_int_equal(event.config[0], rows[i].config);
        assert_int_equal(event.user, rows[i].user);
        assert_int_equal(event.kernel, rows[i].kernel);
    }
}

static void errors_name_what_is_valid(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"intel_pt/psb_period=4/", "Invalid psb_period for intel_pt. Valid values are: 0-1,3,5"},
        {"intel_pt/mtc_period=3/", "Valid values are: 0,2"},
        {"intel_pt/psb_period=99/", "Valid values are: 0-1,3,5"},
        {"intel_pt/tsc=2/", "value too big for term 'tsc', maximum is 1"},
        {"intel_pt/nonsense/", "unknown term 'nonsense'"},
        {"intel_pt/nonsense/", "mtc_period=0,2"},
        {"intel_pt/cyc=x/", "bad value for term 'cyc': 'x'"},
        {"intel_pt/ptw/", "no ptwrite"},
        {"intel_pt/cyc", "do not end in '/'"},
        {"intel_pt//q", "unknown modifier 'q'"},
        {"cycles", "not an event of intel_pt"},
    };
    struct pmu pmu;

    (void)state;
    small_pmu(&pmu);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pt_event event;
        char error[1024] = "";

        assert_int_equal(terms_parse(&event, &pmu, rows[i].text, error, sizeof(error)), -1);
        if (!strstr(error, rows[i].says))
            fail_msg("%s: %s", rows[i].text, error);
    }
}

/* A PMU of which a file cannot be read has not fewer terms: it has none. */
static void a_file_that_cannot_be_read(void **state)
{
    static const char *const files[] = {"caps/mtc", "format/cyc", "nr_addr_filters",
                                        "max_nonturbo_ratio", "tsc_art_ratio"};
    static const char *const dirs[] = {"", "/pt", "/pt/caps", "/pt/format"};
    char root[] = "/tmp/test_terms-XXXXXX", path[128];
    struct pmu pmu;

    (void)state;
    assert_non_null(mkdtemp(root));
    for (size_t i = 1; i < COUNT(dirs); i++) {
        snprintf(path, sizeof(path), "%s%s", root, dirs[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    snprintf(path, sizeof(path), "%s/pt/type", root);
    {
        FILE *file = fopen(path, "w");

        assert_non_null(file);
        fputs("8\n", file);
        fclose(file);
    }
    assert_int_equal(pmu_load(&pmu, root, "pt"), 0);
    for (size_t i = 0; i < COUNT(files); i++) {
        char bad[160];

        snprintf(bad, sizeof(bad), "%s/pt/%s", root, files[i]);
        assert_int_equal(mkdir(bad, 0700), 0); /* EISDIR */
        if (!pmu_load(&pmu, root, "pt"))
            fail_msg("%s is not missed", files[i]);
        assert_int_equal(rmdir(bad), 0);
    }
    assert_int_equal(unlink(path), 0);
    for (size_t i = COUNT(dirs); i-- > 0;) {
        snprintf(path, sizeof(path), "%s%s", root, dirs[i]);
        assert_int_equal(rmdir(path), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events),
        cmocka_unit_test(errors_name_what_is_valid),
        cmocka_unit_test(a_file_that_cannot_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
