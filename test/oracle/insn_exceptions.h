/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * insn_exceptions.h - where an oracle is wrong or too old, and the manual's rule.
 *
 * An entry excuses a difference if everything matches: the oracle, the mode, the differing
 * properties, the prefixes, and up to three bytes from the opcode on (after legacy prefixes
 * and REX). doc/internals/insn.md lists the same entries.
 */
#ifndef TEST_ORACLE_INSN_EXCEPTIONS_H
#define TEST_ORACLE_INSN_EXCEPTIONS_H

#include <stddef.h>
#include <stdint.h>

enum { CAPSTONE = 1, OBJDUMP = 2, BOTH = 3 };
enum { IN16 = 1, IN32 = 2, IN64 = 4, IN_LEGACY = 3, IN_ANY = 7 };
enum {
    DIFF_REFUSED = 1, /* the oracle knows no instruction here */
    DIFF_SIZE = 2,
    DIFF_CLASS = 4,
    DIFF_TARGET = 8,
    DIFF_OURS_BAD = 16, /* we know no instruction here */
};
enum {
    P_66 = 1,
    P_67 = 2,
    P_F2 = 4,
    P_F3 = 8,
    P_LOCK = 16,
    P_SEGMENT = 32,
    P_REX = 64, /* directly before the opcode */
    P_CANCELLED_REX = 128,
};

struct exception {
    unsigned oracles, modes, diffs;
    unsigned with; /* any of these prefixes; 0: do not care */
    uint8_t mask[3], value[3];
    const char *why;
};

static const struct exception exceptions[] = {
    {0, 0, 0, 0, {0}, {0}, ""},
};

#endif
