/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text_insn.c - see text_insn.h. Capstone 4 and later.
 */
#include "text_insn.h"

#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text_insn {
    csh handles[PTL_MODE_64 + 1]; /* by enum ptl_exec_mode; 0: not open */
    cs_insn *insn[PTL_MODE_64 + 1];
    int att;
};

int text_insn_new(struct text_insn **text, int att)
{
    *text = calloc(1, sizeof(**text));
    if (!*text)
        return PTL_NOMEM;
    (*text)->att = att;
    return 0;
}

void text_insn_free(struct text_insn *text)
{
    if (!text)
        return;
    for (int mode = PTL_MODE_16; mode <= PTL_MODE_64; mode++) {
        if (text->insn[mode])
            cs_free(text->insn[mode], 1);
        if (text->handles[mode])
            cs_close(&text->handles[mode]);
    }
    free(text);
}

/* Opened when first needed: three handles take a millisecond. Returns 0 on success. */
static int open_mode(struct text_insn *text, enum ptl_exec_mode mode)
{
    static const cs_mode modes[] = {
        [PTL_MODE_UNKNOWN] = CS_MODE_16,
        [PTL_MODE_16] = CS_MODE_16,
        [PTL_MODE_32] = CS_MODE_32,
        [PTL_MODE_64] = CS_MODE_64,
    };

    if (text->insn[mode])
        return 0;
    if (cs_open(CS_ARCH_X86, modes[mode], &text->handles[mode]) != CS_ERR_OK)
        return -1;
    if (text->att)
        cs_option(text->handles[mode], CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
    text->insn[mode] = cs_malloc(text->handles[mode]);
    return text->insn[mode] ? 0 : -1;
}

/* Disassemble `size` bytes; NULL if the disassembler does not know them. */
static const cs_insn *disassemble(struct text_insn *text, uint8_t mode, const uint8_t *bytes,
                                  size_t size, uint64_t ip)
{
    if (mode < PTL_MODE_16 || mode > PTL_MODE_64 || open_mode(text, mode))
        return NULL;
    return cs_disasm_iter(text->handles[mode], &bytes, &size, &ip, text->insn[mode])
               ? text->insn[mode]
               : NULL;
}

/* --- where the disassembler is too old, or follows AMD ------------------------------ */

/* The position of the first byte that is no legacy prefix. */
static size_t skip_prefixes(const uint8_t *bytes, size_t size)
{
    static const uint8_t prefixes[] = {0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x26,
                                       0x2e, 0x36, 0x3e, 0x64, 0x65};
    size_t i = 0;

    while (i < size && memchr(prefixes, bytes[i], sizeof(prefixes)))
        i++;
    return i;
}

/* Capstone takes a near branch with 66 in 64-bit code as AMD processors do, with a short
 * displacement. Intel processors ignore the prefix (SDM "JMP"): put a harmless one there. */
static int is_branch_66(const struct ptl_insn *insn, const uint8_t *bytes)
{
    int direct = insn->iclass == PTL_INSN_CALL || insn->iclass == PTL_INSN_JMP ||
                 insn->iclass == PTL_INSN_JCC;

    return direct && insn->mode == PTL_MODE_64 &&
           memchr(bytes, 0x66, skip_prefixes(bytes, insn->size));
}

/* Bytes that the disassembler reads as the instruction ought to be read, into `copy`. */
static const uint8_t *rewritten(uint8_t *copy, const struct ptl_insn *insn, const uint8_t *bytes)
{
    size_t n = skip_prefixes(bytes, insn->size);

    memcpy(copy, bytes, insn->size);
    if (is_branch_66(insn, bytes)) {
        for (size_t i = 0; i < n; i++)
            if (copy[i] == 0x66)
                copy[i] = 0x3e;
        return copy;
    }
    if (insn->iclass == PTL_INSN_PTWRITE) {
        /* F3 [REX] 0F AE /4 has the operands of F3 F3 [REX] FF /0, INC. */
        if (copy[n] != 0x0f) {
            copy[n + 1] = copy[n];
            copy[n++] = 0xf3;
        } else {
            copy[n] = 0xf3;
        }
        copy[n + 1] = 0xff;
        copy[n + 2] = (uint8_t)(copy[n + 2] & ~0x38);
        return copy;
    }
    return bytes;
}

/* Instructions that Capstone 4 does not know, or takes for older ones. */
static size_t newer(char *buf, const struct ptl_insn *insn, const uint8_t *bytes)
{
    size_t n = skip_prefixes(bytes, insn->size);
    const char *name = NULL;

    if (insn->kind == PTL_KIND_ERET)
        name = memchr(bytes, 0xf3, n) ? "eretu" : "erets";
    else if (insn->kind == PTL_KIND_UIRET)
        name = "uiret";
    else if (insn->kind == PTL_KIND_UD && bytes[n] == 0xd6)
        name = "udb";
    else if (insn->kind == PTL_KIND_JMPABS)
        return (size_t)snprintf(buf, TEXT_INSN_MAX, "jmpabs 0x%llx",
                                (unsigned long long)insn->disp);
    if (!name)
        return 0;
    memcpy(buf, name, strlen(name));
    return strlen(name);
}

/* --- text ------------------------------------------------------------------------- */

static size_t append(char *buf, size_t len, const char *s)
{
    size_t n = strlen(s);

    if (n > TEXT_INSN_MAX - len)
        n = TEXT_INSN_MAX - len;
    memcpy(buf + len, s, n);
    return len + n;
}

size_t text_insn(struct text_insn *text, char *buf, const struct ptl_insn *insn,
                 const uint8_t *bytes, uint64_t ip)
{
    uint8_t copy[PTL_INSN_MAX_SIZE];
    const cs_insn *cs;
    size_t n = newer(buf, insn, bytes);

    if (n)
        return n;
    cs = disassemble(text, insn->mode, rewritten(copy, insn, bytes), insn->size, ip);
    if (!cs || cs->size != insn->size)
        return 0;
    n = append(buf, 0, insn->iclass == PTL_INSN_PTWRITE ? "ptwrite" : cs->mnemonic);
    if (cs->op_str[0]) {
        n = append(buf, n, " ");
        n = append(buf, n, cs->op_str);
    }
    while (n && buf[n - 1] == ' ')
        n--;
    return n;
}

void text_insn_prepare(struct text_insn *text)
{
    static const uint8_t bytes[] = {0x8b, 0x03}; /* mov eax, [rbx] */
    char buf[TEXT_INSN_MAX];

    for (int mode = PTL_MODE_16; mode <= PTL_MODE_64; mode++) {
        struct ptl_insn insn;
        if (ptl_insn_decode(&insn, bytes, sizeof(bytes), (enum ptl_exec_mode)mode) > 0)
            (void)text_insn(text, buf, &insn, bytes, 0);
    }
}

size_t text_insn_raw(char *buf, const uint8_t *bytes, size_t size, int pad)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;

    for (size_t i = 0; i < size; i++) {
        buf[n++] = ' ';
        buf[n++] = digits[bytes[i] >> 4];
        buf[n++] = digits[bytes[i] & 15];
    }
    while (pad && n < TEXT_RAW_MAX)
        buf[n++] = ' ';
    return n;
}

/* --- the second opinion ------------------------------------------------------------- */

/* Capstone's instruction numbers that are not PTL_INSN_OTHER. Near and indirect CALL and
 * JMP share a number. */
static const struct {
    x86_insn id;
    uint8_t iclass;
} classes[] = {
    {X86_INS_CALL, PTL_INSN_CALL},
    {X86_INS_JMP, PTL_INSN_JMP},
    {X86_INS_RET, PTL_INSN_RET},
    {X86_INS_LCALL, PTL_INSN_FAR_CALL},
    {X86_INS_LJMP, PTL_INSN_FAR_JMP},
    {X86_INS_RETF, PTL_INSN_FAR_RET},
    {X86_INS_RETFQ, PTL_INSN_FAR_RET},
    {X86_INS_IRET, PTL_INSN_FAR_RET},
    {X86_INS_IRETD, PTL_INSN_FAR_RET},
    {X86_INS_IRETQ, PTL_INSN_FAR_RET},
    {X86_INS_SYSRET, PTL_INSN_FAR_RET},
    {X86_INS_SYSEXIT, PTL_INSN_FAR_RET},
    {X86_INS_RSM, PTL_INSN_FAR_RET},
    {X86_INS_INT, PTL_INSN_FAR_CALL},
    {X86_INS_INT1, PTL_INSN_FAR_CALL},
    {X86_INS_INT3, PTL_INSN_FAR_CALL},
    {X86_INS_INTO, PTL_INSN_FAR_CALL},
    {X86_INS_SYSCALL, PTL_INSN_FAR_CALL},
    {X86_INS_SYSENTER, PTL_INSN_FAR_CALL},
    {X86_INS_VMCALL, PTL_INSN_FAR_CALL},
    {X86_INS_VMLAUNCH, PTL_INSN_FAR_RET},
    {X86_INS_VMRESUME, PTL_INSN_FAR_RET},
    {X86_INS_JA, PTL_INSN_JCC},
    {X86_INS_JAE, PTL_INSN_JCC},
    {X86_INS_JB, PTL_INSN_JCC},
    {X86_INS_JBE, PTL_INSN_JCC},
    {X86_INS_JE, PTL_INSN_JCC},
    {X86_INS_JNE, PTL_INSN_JCC},
    {X86_INS_JG, PTL_INSN_JCC},
    {X86_INS_JGE, PTL_INSN_JCC},
    {X86_INS_JL, PTL_INSN_JCC},
    {X86_INS_JLE, PTL_INSN_JCC},
    {X86_INS_JO, PTL_INSN_JCC},
    {X86_INS_JNO, PTL_INSN_JCC},
    {X86_INS_JP, PTL_INSN_JCC},
    {X86_INS_JNP, PTL_INSN_JCC},
    {X86_INS_JS, PTL_INSN_JCC},
    {X86_INS_JNS, PTL_INSN_JCC},
    {X86_INS_JCXZ, PTL_INSN_JCC},
    {X86_INS_JECXZ, PTL_INSN_JCC},
    {X86_INS_JRCXZ, PTL_INSN_JCC},
    {X86_INS_LOOP, PTL_INSN_JCC},
    {X86_INS_LOOPE, PTL_INSN_JCC},
    {X86_INS_LOOPNE, PTL_INSN_JCC},
};

static uint8_t class_of(const cs_insn *cs)
{
    int indirect = !strncmp(cs->op_str, "*", 1) ||
                   (cs->op_str[0] < '0' || cs->op_str[0] > '9'); /* not an address */

    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        if (classes[i].id != (x86_insn)cs->id)
            continue;
        if (indirect && classes[i].iclass == PTL_INSN_CALL)
            return PTL_INSN_CALL_IND;
        if (indirect && classes[i].iclass == PTL_INSN_JMP)
            return PTL_INSN_JMP_IND;
        return classes[i].iclass;
    }
    return PTL_INSN_OTHER;
}

void text_insn_look(struct text_insn *text, struct text_insn_view *view,
                    const struct ptl_insn *insn, const uint8_t *bytes, uint64_t ip)
{
    char ours[TEXT_INSN_MAX];
    const cs_insn *cs;

    memset(view, 0, sizeof(*view));
    /* MOV CR3 and PTWRITE are classes of tracing, not of the disassembler; older processors had
     * UD0 without ModRM. */
    if (newer(ours, insn, bytes) || is_branch_66(insn, bytes) || insn->iclass == PTL_INSN_MOV_CR3 ||
        insn->iclass == PTL_INSN_PTWRITE || insn->kind == PTL_KIND_UD)
        return;
    cs = disassemble(text, insn->mode, bytes, insn->size, ip);
    if (!cs)
        return;
    view->known = 1;
    view->size = (uint8_t)cs->size;
    view->iclass = class_of(cs);
}

const char *text_insn_class(uint8_t iclass)
{
    static const char *const names[] = {
        [PTL_INSN_OTHER] = "other",       [PTL_INSN_CALL] = "call",
        [PTL_INSN_CALL_IND] = "call.ind", [PTL_INSN_RET] = "ret",
        [PTL_INSN_JMP] = "jmp",           [PTL_INSN_JMP_IND] = "jmp.ind",
        [PTL_INSN_JCC] = "jcc",           [PTL_INSN_FAR_CALL] = "call.far",
        [PTL_INSN_FAR_RET] = "ret.far",   [PTL_INSN_FAR_JMP] = "jmp.far",
        [PTL_INSN_MOV_CR3] = "mov.cr3",   [PTL_INSN_PTWRITE] = "ptwrite",
    };

    return iclass <= PTL_INSN_MAX_VALUE ? names[iclass] : "?";
}
