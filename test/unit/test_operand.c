/* SPDX-License-Identifier: BSD-3-Clause */
/* test_operand.c - ptcapture: operands of PTWRITE, rows written by hand from the SDM's tables of
 * ModR/M and SIB. */
#include "unit.h"

#include "../../ptcapture/operand.c" /* NOLINT(bugprone-suspicious-include): part of a program */

static void operands(void **state)
{
    static const struct {
        const char *hex;
        enum ptl_exec_mode mode;
        uint8_t memory, size;
        uint64_t is; /* value or address */
    } rows[] = {
        {"f30faee0", PTL_MODE_64, 0, 4, 0x11111111},            /* eax */
        {"f3480faee0", PTL_MODE_64, 0, 8, 0xaaaa000011111111},  /* rax */
        {"f3490faee7", PTL_MODE_64, 0, 8, 0xf},                 /* r15 */
        {"f3480fae20", PTL_MODE_64, 1, 8, 0xaaaa000011111111},  /* [rax] */
        {"f3480fae63fc", PTL_MODE_64, 1, 8, 0x2ffc},            /* [rbx-4] */
        {"f3480faea300010000", PTL_MODE_64, 1, 8, 0x3100},      /* [rbx+0x100] */
        {"f3480fae2510000000", PTL_MODE_64, 1, 8, 0x401019},    /* [rip+0x10] */
        {"f3480fae24cb", PTL_MODE_64, 1, 8, 0x3000 + 8 * 0x10}, /* [rbx+rcx*8] */
        {"f34a0fae24fb", PTL_MODE_64, 1, 8, 0x3000 + 8 * 0xf},  /* [rbx+r15*8] */
        {"f3480fae2423", PTL_MODE_64, 1, 8, 0x3000},            /* [rbx], no index */
        {"f3480fae242500200000", PTL_MODE_64, 1, 8, 0x2000},    /* [0x2000] */
        {"64f3480fae242500000000", PTL_MODE_64, 1, 8, 0x7000},  /* fs:[0] */
        {"67f30fae20", PTL_MODE_64, 1, 4, 0x11111111},          /* [eax] */
        {"f30fae2500200000", PTL_MODE_32, 1, 4, 0x2000},        /* [0x2000] */
    };
    struct user_regs_struct regs;

    (void)state;
    memset(&regs, 0, sizeof(regs));
    regs.rax = 0xaaaa000011111111;
    regs.rbx = 0x3000;
    regs.rcx = 0x10;
    regs.r15 = 0xf;
    regs.rip = 0x401000;
    regs.fs_base = 0x7000;
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint8_t bytes[16];
        struct operand operand;
        struct ptl_insn insn;
        size_t n = unhex(bytes, rows[i].hex);

        memset(&insn, 0, sizeof(insn));
        insn.size = (uint8_t)n;
        insn.mode = (uint8_t)rows[i].mode;
        insn.iclass = PTL_INSN_PTWRITE;
        assert_int_equal(operand_ptwrite(&operand, bytes, &insn, &regs), 0);
        assert_int_equal(operand.memory, rows[i].memory);
        assert_int_equal(operand.size, rows[i].size);
        assert_int_equal(operand.memory ? operand.address : operand.value, rows[i].is);
    }
}

static void others_are_refused(void **state)
{
    struct user_regs_struct regs;
    struct operand operand;
    struct ptl_insn insn;
    const uint8_t bytes[] = {0xf3, 0x0f, 0xae, 0xe0};

    (void)state;
    memset(&regs, 0, sizeof(regs));
    memset(&insn, 0, sizeof(insn));
    insn.size = sizeof(bytes);
    insn.mode = PTL_MODE_64;
    assert_int_equal(operand_ptwrite(&operand, bytes, &insn, &regs), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands),
        cmocka_unit_test(others_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
