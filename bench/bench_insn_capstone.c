/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_insn_capstone.c - as bench_insn.c, with capstone (without details) for comparison.
 */
#include "infile.h"

#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t sweep(const struct infile *code, csh handle, cs_insn *insn)
{
    const uint8_t *at = code->bytes;
    size_t left = code->len;
    uint64_t insns = 0, address = 0;

    while (left) {
        if (!cs_disasm_iter(handle, &at, &left, &address, insn))
            at++, left--;
        insns++;
    }
    return insns;
}

int main(int argc, char **argv)
{
    struct infile code;
    uint64_t insns = 0;
    csh handle;
    cs_insn *insn;

    if (argc != 3 || infile_open(&code, argv[0], argv[1]) ||
        cs_open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK)
        return 2;
    insn = cs_malloc(handle);
    for (int times = atoi(argv[2]); times > 0; times--)
        insns += sweep(&code, handle, insn);
    printf("%llu insns\n", (unsigned long long)insns);
    cs_free(insn, 1);
    cs_close(&handle);
    infile_close(&code);
    return 0;
}
