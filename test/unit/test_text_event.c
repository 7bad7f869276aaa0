/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_text_event.c - the line of each event, as scripts know it.
 */
#include "unit.h"

#include "text_event.h"

#include <string.h>

#define ALL (TEXT_EVENT_OFFSET | TEXT_EVENT_TIME | TEXT_EVENT_IP)

static void expect(const struct ptl_event *event, unsigned flags, const char *line)
{
    char buf[TEXT_EVENT_MAX + 1];
    size_t n = text_event(buf, event, flags);

    assert_true(n < sizeof(buf));
    buf[n] = 0;
    assert_string_equal(buf, line);
}

struct row {
    struct ptl_event event;
    const char *plain, *with_ip;
};

#define AT(t) .type = PTL_EV_##t, .have_ip = 1, .ip = 0x401000

static const struct row rows[] = {
    {{AT(ENABLED)}, "[enabled]", "[enabled, ip: 0000000000401000]"},
    {{AT(ENABLED), .u.enabled.resumed = 1}, "[resumed]", "[resumed, ip: 0000000000401000]"},
    {{AT(DISABLED)}, "[disabled]", "[disabled, ip: 0000000000401000]"},
    {{.type = PTL_EV_DISABLED}, "[disabled]", "[disabled]"},
    {{.type = PTL_EV_ASYNC_DISABLED, .u.async_disabled.at = 0x10},
     "[disabled]",
     "[disabled, at: 0000000000000010]"},
    {{AT(ASYNC_DISABLED), .u.async_disabled.at = 0x10},
     "[disabled]",
     "[disabled, at: 0000000000000010, ip: 0000000000401000]"},
    {{AT(ASYNC_BRANCH), .u.async_branch.from = 0xffffffff81000000},
     "[interrupt]",
     "[interrupt, from: ffffffff81000000, to: 0000000000401000]"},
    {{AT(PAGING), .u.paging = {0xcdcdc0, 1}},
     "[paging, cr3: 0000000000cdcdc0, nr]",
     "[paging, cr3: 0000000000cdcdc0, nr]"},
    {{AT(ASYNC_PAGING), .u.paging = {0xa00, 0}},
     "[paging, cr3: 0000000000000a00]",
     "[paging, cr3: 0000000000000a00, ip: 0000000000401000]"},
    {{AT(VMCS), .u.vmcs.base = 0xa000},
     "[vmcs, base: 000000000000a000]",
     "[vmcs, base: 000000000000a000]"},
    {{AT(ASYNC_VMCS), .u.vmcs.base = 0xa000},
     "[vmcs, base: 000000000000a000]",
     "[vmcs, base: 000000000000a000, ip: 0000000000401000]"},
    {{AT(OVERFLOW)}, "[overflow]", "[overflow, ip: 0000000000401000]"},
    {{AT(EXEC_MODE), .u.exec_mode.mode = PTL_MODE_64},
     "[exec mode: 64-bit]",
     "[exec mode: 64-bit, ip: 0000000000401000]"},
    {{AT(EXEC_MODE), .u.exec_mode.mode = PTL_MODE_UNKNOWN},
     "[exec mode: <unknown>]",
     "[exec mode: <unknown>, ip: 0000000000401000]"},
    {{AT(TSX), .u.tsx = {1, 0}},
     "[begin transaction]",
     "[begin transaction, ip: 0000000000401000]"},
    {{AT(TSX), .u.tsx = {0, 0}}, "[committed]", "[committed, ip: 0000000000401000]"},
    {{AT(TSX), .u.tsx = {0, 1}}, "[aborted]", "[aborted, ip: 0000000000401000]"},
    {{.type = PTL_EV_STOP}, "[stopped]", "[stopped]"},
    {{AT(EXSTOP)}, "[exstop]", "[exstop, ip: 0000000000401000]"},
    {{AT(MWAIT), .u.mwait = {0x50, 1}}, "[mwait 50 1]", "[mwait 50 1, ip: 0000000000401000]"},
    {{.type = PTL_EV_PWRE, .u.pwre = {0, 15, 1}}, "[pwre c1.0 hw]", "[pwre c1.0 hw]"},
    {{.type = PTL_EV_PWRX, .u.pwrx = {5, 15, 1, 0, 0}},
     "[pwrx int: c6 (c0)]",
     "[pwrx int: c6 (c0)]"},
    {{.type = PTL_EV_PWRX, .u.pwrx = {0, 0, 0, 1, 1}},
     "[pwrx st: hw: c1 (c1)]",
     "[pwrx st: hw: c1 (c1)]"},
    {{AT(PTWRITE), .u.ptwrite = {0xabcd, 8}},
     "[ptwrite: abcd]",
     "[ptwrite: abcd, ip: 0000000000401000]"},
    {{AT(TICK)}, "[tick]", "[tick, ip: 0000000000401000]"},
    {{.type = PTL_EV_CBR, .u.cbr.ratio = 0x2a}, "[cbr: 2a]", "[cbr: 2a]"},
    {{.type = PTL_EV_MNT, .u.mnt.payload = 0xa000}, "[mnt: a000]", "[mnt: a000]"},
    {{AT(INTR), .u.cfe = {.vector = 14, .have_cr2 = 1, .cr2 = 0xf00baa}},
     "[interrupt 14, cr2: 0000000000f00baa]",
     "[interrupt 14, cr2: 0000000000f00baa, ip: 0000000000401000]"},
    {{AT(IRET)}, "[iret]", "[iret, ip: 0000000000401000]"},
    {{AT(SMI)}, "[smi]", "[smi, ip: 0000000000401000]"},
    {{.type = PTL_EV_RSM}, "[rsm]", "[rsm]"},
    {{.type = PTL_EV_SIPI, .u.cfe.vector = 0xce}, "[sipi: ce]", "[sipi: ce]"},
    {{AT(INIT)}, "[init]", "[init, ip: 0000000000401000]"},
    {{AT(VMENTRY)}, "[vmentry]", "[vmentry, ip: 0000000000401000]"},
    {{AT(VMEXIT),
      .u.cfe = {.have_vector = 1, .vector = 14, .have_vmxr = 1, .have_vmxq = 1, .vmxq = 0xf00baa}},
     "[vmexit, intr: 14, vmxr: 0000000000000000, vmxq: 0000000000f00baa]",
     "[vmexit, intr: 14, vmxr: 0000000000000000, vmxq: 0000000000f00baa, ip: 0000000000401000]"},
    {{AT(SHUTDOWN)}, "[shutdown]", "[shutdown, ip: 0000000000401000]"},
    {{AT(UINTR), .u.cfe.vector = 4}, "[uintr 4]", "[uintr 4, ip: 0000000000401000]"},
    {{AT(UIRET)}, "[uiret]", "[uiret, ip: 0000000000401000]"},
    {{AT(SWINTR), .u.cfe.vector = 128}, "[swintr 128]", "[swintr 128, ip: 0000000000401000]"},
    {{AT(SYSCALL)}, "[syscall]", "[syscall, ip: 0000000000401000]"},
    {{AT(IFLAG), .u.iflag.iflag = 1},
     "[interrupts enabled]",
     "[interrupts enabled, ip: 0000000000401000]"},
    {{AT(IFLAG)}, "[interrupts disabled]", "[interrupts disabled, ip: 0000000000401000]"},
    {{AT(TRIG), .u.trig = {.vector = 3, .mult = 1, .icnt = 12}},
     "[trig 03, mult, icnt: 12]",
     "[trig 03, mult, ip: 0000000000401000, icnt: 12]"},
    {{.type = PTL_EV_TRIG, .u.trig = {.vector = 0x1a}}, "[trig 1a]", "[trig 1a]"},
    {{.type = PTL_EV_SYNC, .status = 1}, "", ""},
    {{.type = PTL_EV_CONTEXT, .u.context = {0x1f, 0x20}}, "", ""},
};

static void test_each_type(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        expect(&rows[i].event, 0, rows[i].plain);
        expect(&rows[i].event, TEXT_EVENT_IP, rows[i].with_ip);
    }
}

static void test_columns(void **state)
{
    struct ptl_event e = {AT(ENABLED), .offset = 0x47, .tsc = 0x2fa1088fb20aa3, .have_tsc = 1};

    (void)state;
    expect(&e, TEXT_EVENT_OFFSET, "[0000000000000047  enabled]");
    expect(&e, TEXT_EVENT_TIME, "[002fa1088fb20aa3  enabled]");
    expect(&e, ALL, "[0000000000000047  002fa1088fb20aa3  enabled, ip: 0000000000401000]");
    e.have_tsc = 0;
    expect(&e, ALL, "[0000000000000047  enabled, ip: 0000000000401000]");
}

/* State from PSB+ has no line, except for MNT, which is not state. */
static void test_status(void **state)
{
    struct ptl_event mode = {AT(EXEC_MODE), .status = 1};
    struct ptl_event mnt = {.type = PTL_EV_MNT, .status = 1, .u.mnt.payload = 1};

    (void)state;
    expect(&mode, ALL, "");
    expect(&mnt, 0, "[mnt: 1]");
}

static void test_context(void **state)
{
    struct ptl_event e = {.type = PTL_EV_CONTEXT, .u.context = {0x1f, 0x20}};

    (void)state;
    expect(&e, TEXT_EVENT_CONTEXT, "[context: pid-1f]");
}

/* The longest line fits. */
static void test_longest(void **state)
{
    struct ptl_event e = {AT(VMEXIT), .have_tsc = 1};
    char buf[TEXT_EVENT_MAX];

    (void)state;
    memset(&e.u, 0xff, sizeof(e.u));
    assert_true(text_event(buf, &e, ALL) < sizeof(buf) / 2 + 64);
}

static void test_error(void **state)
{
    static const struct {
        struct ptl_error error;
        const char *line;
    } errors[] = {
        {{PTL_NOMAP, PTL_PHASE_FLOW, 0x100100, 0x1d},
         "[1d, 100100: error: no memory mapped at this address]"},
        {{PTL_BAD_STATUS_UPDATE, PTL_PHASE_RESYNC, 0x100003, 0x33},
         "[33, 100003: resync error: bad status update]"},
        {{PTL_BAD_OPC, PTL_PHASE_SYNC, 0, 0x10}, "[10, 0: sync error: unknown opcode]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        char buf[TEXT_EVENT_MAX];
        size_t n = text_error(buf, &errors[i].error);
        assert_int_equal(n, strlen(errors[i].line));
        assert_memory_equal(buf, errors[i].line, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_type), cmocka_unit_test(test_columns),
        cmocka_unit_test(test_status),    cmocka_unit_test(test_context),
        cmocka_unit_test(test_longest),   cmocka_unit_test(test_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
