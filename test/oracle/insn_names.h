/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * insn_names.h - class and kind by the mnemonic that a disassembler prints.
 *
 * Mnemonics as in AT&T syntax (objdump) and as capstone writes them; the operand decides
 * between direct and indirect. Jcc and LOOPcc are recognised by their first letters.
 */
#ifndef TEST_ORACLE_INSN_NAMES_H
#define TEST_ORACLE_INSN_NAMES_H

#include <pt/insn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct name_row {
    const char *name;
    int iclass, kind;
};

static const struct name_row name_rows[] = {
    {"call", PTL_INSN_CALL, 0},
    {"callw", PTL_INSN_CALL, 0},
    {"calll", PTL_INSN_CALL, 0},
    {"callq", PTL_INSN_CALL, 0},
    {"ret", PTL_INSN_RET, 0},
    {"retw", PTL_INSN_RET, 0},
    {"retl", PTL_INSN_RET, 0},
    {"retq", PTL_INSN_RET, 0},
    {"jmp", PTL_INSN_JMP, 0},
    {"jmpw", PTL_INSN_JMP, 0},
    {"jmpl", PTL_INSN_JMP, 0},
    {"jmpq", PTL_INSN_JMP, 0},
    {"lcall", PTL_INSN_FAR_CALL, 0},
    {"lcallw", PTL_INSN_FAR_CALL, 0},
    {"lcalll", PTL_INSN_FAR_CALL, 0},
    {"lcallq", PTL_INSN_FAR_CALL, 0},
    {"ljmp", PTL_INSN_FAR_JMP, 0},
    {"ljmpw", PTL_INSN_FAR_JMP, 0},
    {"ljmpl", PTL_INSN_FAR_JMP, 0},
    {"ljmpq", PTL_INSN_FAR_JMP, 0},
    {"lret", PTL_INSN_FAR_RET, 0},
    {"lretw", PTL_INSN_FAR_RET, 0},
    {"lretl", PTL_INSN_FAR_RET, 0},
    {"lretq", PTL_INSN_FAR_RET, 0},
    {"retf", PTL_INSN_FAR_RET, 0},
    {"retfq", PTL_INSN_FAR_RET, 0},
    {"iret", PTL_INSN_FAR_RET, PTL_KIND_IRET},
    {"iretw", PTL_INSN_FAR_RET, PTL_KIND_IRET},
    {"iretl", PTL_INSN_FAR_RET, PTL_KIND_IRET},
    {"iretd", PTL_INSN_FAR_RET, PTL_KIND_IRET},
    {"iretq", PTL_INSN_FAR_RET, PTL_KIND_IRET},
    {"int", PTL_INSN_FAR_CALL, PTL_KIND_INT},
    {"int1", PTL_INSN_FAR_CALL, PTL_KIND_INT},
    {"icebp", PTL_INSN_FAR_CALL, PTL_KIND_INT},
    {"int3", PTL_INSN_FAR_CALL, PTL_KIND_INT},
    {"into", PTL_INSN_FAR_CALL, PTL_KIND_INT},
    {"syscall", PTL_INSN_FAR_CALL, PTL_KIND_SYSCALL},
    {"sysenter", PTL_INSN_FAR_CALL, PTL_KIND_SYSENTER},
    {"sysret", PTL_INSN_FAR_RET, PTL_KIND_SYSRET},
    {"sysretw", PTL_INSN_FAR_RET, PTL_KIND_SYSRET},
    {"sysretl", PTL_INSN_FAR_RET, PTL_KIND_SYSRET},
    {"sysretq", PTL_INSN_FAR_RET, PTL_KIND_SYSRET},
    {"sysexit", PTL_INSN_FAR_RET, PTL_KIND_SYSEXIT},
    {"sysexitl", PTL_INSN_FAR_RET, PTL_KIND_SYSEXIT},
    {"sysexitq", PTL_INSN_FAR_RET, PTL_KIND_SYSEXIT},
    {"rsm", PTL_INSN_FAR_RET, PTL_KIND_RSM},
    {"uiret", PTL_INSN_FAR_RET, PTL_KIND_UIRET},
    {"eretu", PTL_INSN_FAR_RET, PTL_KIND_ERET},
    {"erets", PTL_INSN_FAR_RET, PTL_KIND_ERET},
    {"vmcall", PTL_INSN_FAR_CALL, PTL_KIND_VMCALL},
    {"vmlaunch", PTL_INSN_FAR_RET, PTL_KIND_VMLAUNCH},
    {"vmresume", PTL_INSN_FAR_RET, PTL_KIND_VMRESUME},
    {"vmptrld", PTL_INSN_OTHER, PTL_KIND_VMPTRLD},
    {"xbegin", PTL_INSN_OTHER, PTL_KIND_XBEGIN},
    {"xbeginw", PTL_INSN_OTHER, PTL_KIND_XBEGIN},
    {"xbeginl", PTL_INSN_OTHER, PTL_KIND_XBEGIN},
    {"xbeginq", PTL_INSN_OTHER, PTL_KIND_XBEGIN},
    {"xend", PTL_INSN_OTHER, PTL_KIND_XEND},
    {"xabort", PTL_INSN_OTHER, PTL_KIND_XABORT},
    {"wrmsr", PTL_INSN_OTHER, PTL_KIND_WRMSR},
    {"wrmsrns", PTL_INSN_OTHER, PTL_KIND_WRMSR},
    {"wrmsrlist", PTL_INSN_OTHER, PTL_KIND_WRMSR},
    {"ud0", PTL_INSN_OTHER, PTL_KIND_UD},
    {"ud1", PTL_INSN_OTHER, PTL_KIND_UD},
    {"ud2", PTL_INSN_OTHER, PTL_KIND_UD},
    {"hlt", PTL_INSN_OTHER, PTL_KIND_HLT},
    {"mwait", PTL_INSN_OTHER, PTL_KIND_MWAIT},
    {"ptwrite", PTL_INSN_PTWRITE, 0},
    {"ptwritel", PTL_INSN_PTWRITE, 0},
    {"ptwriteq", PTL_INSN_PTWRITE, 0},
};

/* Words that are printed before the mnemonic. */
static inline bool is_prefix_word(const char *word, size_t len)
{
    static const char *const words[] = {"bnd",    "notrack", "rep",  "repe",     "repz",
                                        "repne",  "repnz",   "lock", "data16",   "data32",
                                        "addr16", "addr32",  "cs",   "ds",       "es",
                                        "fs",     "gs",      "ss",   "xacquire", "xrelease"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strlen(words[i]) == len && !memcmp(words[i], word, len))
            return true;
    return len >= 3 && !memcmp(word, "rex", 3);
}

/* Class and kind of "MNEMONIC" (`len` bytes) with its operands. */
static inline void class_of_name(const char *name, size_t len, const char *operands, int *iclass,
                                 int *kind)
{
    *iclass = PTL_INSN_OTHER;
    *kind = PTL_KIND_NONE;
    for (size_t i = 0; i < sizeof(name_rows) / sizeof(name_rows[0]); i++)
        if (strlen(name_rows[i].name) == len && !memcmp(name_rows[i].name, name, len)) {
            *iclass = name_rows[i].iclass;
            *kind = name_rows[i].kind;
        }
    if (*iclass == PTL_INSN_CALL && *operands == '*')
        *iclass = PTL_INSN_CALL_IND;
    if (*iclass == PTL_INSN_JMP && *operands == '*')
        *iclass = PTL_INSN_JMP_IND;
    if (*iclass == PTL_INSN_OTHER && (*name == 'j' || !strncmp(name, "loop", 4)))
        *iclass = PTL_INSN_JCC;
    if (!strncmp(name, "mov", 3) && !strcmp(operands + strlen(operands) - 4, "%cr3"))
        *iclass = PTL_INSN_MOV_CR3;
}

#endif
