/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_flow_bind.c - bind alone: a script of packets, and the steps that come of it. No code
 * is involved.
 *
 * Steps are written as: kind or event, place, address; see say(). Sources: SDM, sections
 * "Packet sequences" and "Event tracing".
 */
#include "unit.h"

#include "flow/bind.h"

#include <stdio.h>

#define MAX_BYTES 1024

struct script {
    const char *name;
    const char *packets; /* hex, blanks between packets */
    const char *steps;   /* without those of the first PSB+ */
    uint32_t errata, flags;
};

/* PSB+ of 64-bit code: off, and on at 1000. */
#define PSB    "02820282028202820282028202820282 "
#define PSBEND "0223 "
#define OFF    PSB PSBEND
#define ON     PSB "9901 " FUP(0010) PSBEND
#define FUP(x) "3d" #x " " /* 16-bit updates, little endian */
#define TIP(x) "2d" #x " "
#define PGE(x) "31" #x " "
#define PGD(x) "21" #x " "
#define PGD0   "01 "
#define PIP    "02430000400000000000 " /* cr3 400000 */
#define VMCS   "02c80100000000 "

static const struct script scripts[] = {
    {"tnt", ON "0c 06", "tnt 2:2; tnt 1:1", 0, 0},
    {"tip", ON TIP(2010), "tip 1020", 0, 0},
    {"tnt while off", OFF "0c", "error -6", 0, 0},
    {"tip while off", OFF TIP(2010), "error -6", 0, 0},
    {"enable, disable", OFF PGE(0010) PGD(2010) PGE(3010) PGD0,
     "enabled here 1000; disabled target 1020; enabled here 1030; disabled class", 0, 0},
    {"enable twice", ON PGE(0010), "error -6", 0, 0},
    {"disable twice", OFF PGD0, "error -6", 0, 0},
    {"enable without ip", OFF "11", "error -11", 0, 0},
    {"interrupt", ON FUP(1010) TIP(2010), "branch at 1010", 0, 0},
    {"interrupt with states", ON FUP(1010) PIP VMCS TIP(2010),
     "branch at 1010; avmcs here 1020; apaging here 1020", 0, 0},
    {"interrupt into 32-bit", ON FUP(1010) "9902 " TIP(2010), "branch at 1010; mode here 1020", 0,
     0},
    {"same mode is not told", ON FUP(1010) "9901 " TIP(2010), "branch at 1010", 0, 0},
    {"mode before a branch", ON "9902 " TIP(2010), "tip 1020; mode here 1020", 0, 0},
    {"interrupt flag", ON "9905 " FUP(1010), "iflag at 1010", 0, PTL_FLOW_IFLAGS},
    {"interrupt flag not wanted", ON "9905 " FUP(1010) FUP(1110) PGD0, "adisabled at 1011", 0, 0},
    {"fup without tip", ON FUP(1010) "06", "error -6", 0, 0},
    {"two fups", ON FUP(1010) FUP(1110), "error -6", 0, 0},
    {"suppressed fup", ON "1d", "error -12", 0, 0},
    {"paging", ON PIP TIP(2010), "paging class; tip 1020", 0, 0},
    {"paging while off", OFF PIP, "paging here", 0, 0},
    {"transaction", ON "9921 " FUP(1010) "9920 " FUP(1110), "tsx at 1010; tsx at 1011", 0, 0},
    {"abort", ON "9922 " FUP(1010) TIP(2010), "tsx at 1010; branch at 1010", 0, 0},
    {"ptwrite", ON "02120100 0000", "ptwrite class", 0, 0},
    {"ptwrite with ip", ON "029201000000 " FUP(1010), "ptwrite after 1010", 0, 0},
    {"ptwrite while off", OFF "02120100 0000", "ptwrite here", 0, 0},
    {"mwait waits for exstop", ON "02c20100000000000000 02e2 " FUP(1010),
     "mwait at 1010; exstop at 1010", 0, 0},
    {"exstop alone", ON "02c20100000000000000 0262", "mwait here; exstop here", 0, 0},
    {"pwre waits for pwrx", ON "02220000 06 02a21111010000", "tnt 1:1; pwre here; pwrx here", 0, 0},
    {"pwre waits across psb", ON "02220000 " ON "02a21111010000",
     "psb at 1000; mode at 1000; pwre here; pwrx here", 0, 0},
    {"pwre at the end", ON "02220000", "pwre here", 0, 0},
    {"overflow, on",
     ON "02f3 020314 00 "
        "7d00100000 0000",
     "cbr here; overflow here 1000", 0, 0},
    {"overflow, off",
     ON "02f3 "
        "71001000000000",
     "overflow here; enabled here 1000", 0, 0},
    {"overflow at the end", ON "02f3", "overflow here", 0, 0},
    {"overflow, tnt", ON "02f3 06", "error -6", 0, 0},
    {"overflow, psb with fup", ON "02f3 " ON, "overflow here 1000; psb at 1000; mode at 1000", 0,
     0},
    {"overflow drops what is open", ON "029201000000 02f3", "overflow here", 0, 0},
    {"stop", OFF "0283", "stop here", 0, 0},
    {"stop while on", ON "06 0283", "tnt 1:1; error -6", 0, 0},
    {"intr with ip", ON "0213810e " FUP(1010), "intr at 1010", 0, 0},
    {"intr of a branch", ON "0213010e " FUP(1010) TIP(2010), "intr at 1010; branch at 1010", 0, 0},
    {"iret", ON "02130200 " TIP(2010), "iret class; tip 1020", 0, 0},
    {"iret while off", OFF "02130200", "iret here", 0, 0},
    {"rsm with ip", ON "02138400", "error -5", 0, 0},
    {"evd of another cfe", ON "0253000000000000000000 02130200", "error -6", 0, 0},
    {"psb that disagrees", ON "0c " OFF, "tnt 2:2; error -22", 0, 0},
    {"psb in another mode", ON PSB "9902 " FUP(0010) PSBEND, "error -22", 0, 0},
    {"psb with something open", ON "9921 " ON, "error -6", 0, 0},
    {"trig", ON "d900 01", "trig here", 0, 0},
    {"trig with count", ON "d940010500", "trig count 5", 0, 0},
    {"trig with ip", ON "d9c0010000 " FUP(1010), "trig at 1010", 0, 0},
    {"trig with ip and count", ON "d9c0010100", "error -5", 0, 0},
    {"pebs", ON "026301 0c0102030405060708 0233", "pebs here", 0, 0},
    {"bdm70", OFF ON PGE(0010), "psb here; mode here; enabled here 1000", PTL_ERR_BDM70, 0},
    {"not bdm70", OFF ON PGE(0010), "error -22", 0, 0},
    {"apl11", ON "02f3 " PGD0, "overflow here", PTL_ERR_APL11, 0},
    {"apl12", ON "02f3 7d001000000000 " PGE(2010), "overflow here; enabled here 1020",
     PTL_ERR_APL12, 0},
    {"skd010, tip", ON "02f3 6d00200000 0000", "overflow here 2000", PTL_ERR_SKD010, 0},
    {"skd010, pgd", ON "02f3 " PGD0, "overflow here", PTL_ERR_SKD010, 0},
};

static const char *const events[PTL_EV_MAX_VALUE + 1] = {
    [PTL_EV_ENABLED] = "enabled",
    [PTL_EV_DISABLED] = "disabled",
    [PTL_EV_ASYNC_DISABLED] = "adisabled",
    [PTL_EV_ASYNC_BRANCH] = "branch",
    [PTL_EV_PAGING] = "paging",
    [PTL_EV_ASYNC_PAGING] = "apaging",
    [PTL_EV_ASYNC_VMCS] = "avmcs",
    [PTL_EV_OVERFLOW] = "overflow",
    [PTL_EV_EXEC_MODE] = "mode",
    [PTL_EV_TSX] = "tsx",
    [PTL_EV_STOP] = "stop",
    [PTL_EV_EXSTOP] = "exstop",
    [PTL_EV_MWAIT] = "mwait",
    [PTL_EV_PWRE] = "pwre",
    [PTL_EV_PWRX] = "pwrx",
    [PTL_EV_PTWRITE] = "ptwrite",
    [PTL_EV_CBR] = "cbr",
    [PTL_EV_INTR] = "intr",
    [PTL_EV_IRET] = "iret",
    [PTL_EV_IFLAG] = "iflag",
    [PTL_EV_TRIG] = "trig",
    [PTL_EV_PEBS] = "pebs",
    [PTL_EV_PSB] = "psb",
};

static const char *const places[] = {"here", "at", "after", "class", "target", "count"};

static int say_step(char *buf, size_t size, const struct ptl__step *step)
{
    if (step->kind == STEP_TNT)
        return snprintf(buf, size, "tnt %u:%llx", step->count, (unsigned long long)step->bits);
    if (step->kind == STEP_TIP)
        return snprintf(buf, size, "tip %llx", (unsigned long long)step->ip);
    if (step->place == PLACE_COUNT)
        return snprintf(buf, size, "%s count %u", events[step->ev.type], step->count);
    if (step->place == PLACE_CLASS || (step->place == PLACE_HERE && !step->ev.have_ip))
        return snprintf(buf, size, "%s %s", events[step->ev.type], places[step->place]);
    return snprintf(buf, size, "%s %s %llx", events[step->ev.type], places[step->place],
                    (unsigned long long)step->ip);
}

static size_t bytes_of(uint8_t *bytes, const char *text)
{
    char hex[2 * MAX_BYTES + 1];
    size_t n = 0;

    for (; *text; text++)
        if (*text != ' ')
            hex[n++] = *text;
    hex[n] = 0;
    return unhex(bytes, hex);
}

static void run(const struct script *s)
{
    uint8_t bytes[MAX_BYTES];
    struct ptl_flow_config config = {
        .size = sizeof(config), .begin = bytes, .errata = s->errata, .flags = s->flags};
    struct ptl__bind b;
    struct ptl__step step;
    char said[2048] = "";
    size_t n = 0;
    int status;

    config.len = bytes_of(bytes, s->packets);
    ptl__bind_init(&b, &config);
    assert_int_equal(ptl__bind_sync(&b, 0), 0);
    while (b.count) /* the first PSB+ */
        assert_int_equal(ptl__bind_next(&b, &step), 0);
    while ((status = ptl__bind_next(&b, &step)) == 0) {
        n += (size_t)snprintf(said + n, sizeof(said) - n, n ? "; " : "");
        n += (size_t)say_step(said + n, sizeof(said) - n, &step);
    }
    if (status != PTL_EOS)
        snprintf(said + n, sizeof(said) - n, n ? "; error %d" : "error %d", status);
    if (strcmp(said, s->steps) != 0)
        print_error("%s:\n", s->name);
    assert_string_equal(said, s->steps);
}

static void test_scripts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(scripts); i++)
        run(&scripts[i]);
}

/* The TIP behind unfinished bits: past time and what stands alone, but nothing else. */
static void test_deferred_tip(void **state)
{
    static const struct {
        const char *packets;
        int status;
    } rows[] = {
        {ON "0c " TIP(2010), 0},
        {ON "0c 00 5901 0b " TIP(2010), 0},
        {ON "0c 02031400 " TIP(2010), 0},
        {ON "0c 06 " TIP(2010), PTL_BAD_QUERY},
        {ON "0c " FUP(2010), PTL_BAD_QUERY},
        {ON "0c 0d", PTL_BAD_QUERY},
        {ON "0c", PTL_EOS}, /* it may be in the next piece */
        {ON "0c 00 5901 2d", PTL_EOS},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint8_t bytes[MAX_BYTES];
        struct ptl_flow_config config = {.size = sizeof(config), .begin = bytes};
        struct ptl__bind b;
        struct ptl__step step;
        uint64_t ip = 0;

        config.len = bytes_of(bytes, rows[i].packets);
        ptl__bind_init(&b, &config);
        assert_int_equal(ptl__bind_sync(&b, 0), 0);
        do
            assert_int_equal(ptl__bind_next(&b, &step), 0);
        while (step.kind != STEP_TNT);
        assert_int_equal(ptl__bind_tip(&b, &ip), rows[i].status);
        assert_int_equal(ip, rows[i].status ? 0 : 0x1020);
    }
}

/* Every event has a row that makes sense. */
static void test_rows(void **state)
{
    (void)state;
    for (int i = 0; i <= PTL_EV_MAX_VALUE; i++) {
        const struct ptl__event_row *row = &ptl__event_rows[i];
        assert_int_equal(row->alone == PLACE_CLASS, row->class_ != CLASS_NONE);
        assert_int_not_equal(row->fup, PLACE_CLASS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_deferred_tip),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
