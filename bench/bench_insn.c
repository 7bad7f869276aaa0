/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_insn.c - decode the instructions of a code image from begin to end, as often as
 * asked for: bench_insn CODE TIMES. Prints their number.
 */
#include "infile.h"

#include <pt/insn.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t sweep(const struct infile *code)
{
    uint64_t insns = 0;
    size_t at = 0;

    while (at < code->len) {
        struct ptl_insn insn;
        int n = ptl_insn_decode(&insn, code->bytes + at, code->len - at, PTL_MODE_64);
        at += n > 0 ? (size_t)n : 1;
        insns++;
    }
    return insns;
}

int main(int argc, char **argv)
{
    struct infile code;
    uint64_t insns = 0;

    if (argc != 3 || infile_open(&code, argv[0], argv[1]))
        return 2;
    for (int times = atoi(argv[2]); times > 0; times--)
        insns += sweep(&code);
    printf("%llu insns\n", (unsigned long long)insns);
    infile_close(&code);
    return 0;
}
