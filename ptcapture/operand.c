/* SPDX-License-Identifier: BSD-3-Clause */
/* operand.c - see operand.h. */
#include "operand.h"

#include <string.h>

struct form {
    int wide; /* 64-bit mode */
    uint8_t rex, address16, address32;
    char segment; /* 'f', 'g', or 0 */
};

static uint64_t reg(const struct user_regs_struct *r, unsigned number)
{
    const uint64_t value[16] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
                                r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};

    return value[number & 15];
}

/* Prefixes up to 0F; returns their length. */
static size_t prefixes(const uint8_t *bytes, const struct ptl_insn *insn, struct form *form)
{
    size_t i = 0;

    memset(form, 0, sizeof(*form));
    form->wide = insn->mode == PTL_MODE_64;
    for (; i < insn->size && bytes[i] != 0x0f; i++) {
        form->rex = form->wide && (bytes[i] & 0xf0) == 0x40 ? bytes[i] : 0;
        if (bytes[i] == 0x67) {
            form->address32 = (uint8_t)form->wide;
            form->address16 = (uint8_t)!form->wide;
        }
        if (bytes[i] == 0x64 || bytes[i] == 0x65)
            form->segment = bytes[i] == 0x64 ? 'f' : 'g';
    }
    return i;
}

static int64_t displacement(const uint8_t *bytes, unsigned size)
{
    int8_t d8;
    int32_t d32;

    if (size == 1) {
        memcpy(&d8, bytes, sizeof(d8));
        return d8;
    }
    memcpy(&d32, bytes, sizeof(d32));
    return size ? d32 : 0;
}

/* `at`: the ModRM byte. */
static uint64_t address_of(const uint8_t *at, const struct ptl_insn *insn, const struct form *form,
                           const struct user_regs_struct *regs)
{
    unsigned mod = *at >> 6, rm = *at & 7, base = rm | (form->rex & 1u) << 3;
    unsigned disp_size = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    uint64_t address = 0;
    int no_base = 0;

    at++;
    if (rm == 4) {
        unsigned index = (*at >> 3 & 7) | (form->rex & 2u) << 2;
        if (index != 4)
            address += reg(regs, index) << (*at >> 6);
        base = (*at & 7) | (form->rex & 1u) << 3;
        no_base = mod == 0 && (*at & 7) == 5;
        at++;
    } else if (mod == 0 && rm == 5) {
        no_base = 1;
        if (form->wide)
            address = regs->rip + insn->size;
    }
    if (no_base)
        disp_size = 4;
    else
        address += reg(regs, base);
    address += (uint64_t)displacement(at, disp_size);
    if (!form->wide || form->address32)
        address = (uint32_t)address;
    if (form->segment)
        address += form->segment == 'f' ? regs->fs_base : regs->gs_base;
    return address;
}

int operand_ptwrite(struct operand *operand, const uint8_t *bytes, const struct ptl_insn *insn,
                    const struct user_regs_struct *regs)
{
    struct form form;
    size_t i = prefixes(bytes, insn, &form);
    unsigned mod, rm;

    memset(operand, 0, sizeof(*operand));
    if (i + 3 > insn->size || insn->iclass != PTL_INSN_PTWRITE || form.address16)
        return -1;
    mod = bytes[i + 2] >> 6;
    rm = (bytes[i + 2] & 7) | (form.rex & 1u) << 3;
    operand->size = form.rex & 8 ? 8 : 4;
    operand->memory = mod != 3;
    if (operand->memory)
        operand->address = address_of(bytes + i + 2, insn, &form, regs);
    else
        operand->value = operand->size == 8 ? reg(regs, rm) : (uint32_t)reg(regs, rm);
    return 0;
}
