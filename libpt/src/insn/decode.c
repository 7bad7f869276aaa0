/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decode.c - length and class of one instruction.
 *
 *   [legacy prefixes, REX] [REX2 | VEX | EVEX | XOP | 0F [38 | 3A]] opcode [ModRM [SIB] [disp]]
 * [imm]
 *
 * (SDM vol. 2, "Instruction Format".) Two ways lead to finish(): the fast one for 64-bit
 * code without prefixes other than REX in the one- and two-byte maps, straight from the
 * caller's bytes; and the general one, which has PAD_SIZE bytes so that nothing there checks
 * for the end: near the end of the caller's bytes they are copied and padded with zeros.
 * Zeros never make an instruction shorter or undefined: if the result reaches beyond the
 * caller's bytes, the bytes ended inside the instruction.
 */
#include "base/bytes.h"
#include "insn/opcode.h"

#include <pt/insn.h>
#include <stdbool.h>

/* What the prefixes and the payloads of REX2, VEX, EVEX and XOP say. */
struct prefixes {
    uint8_t mode;   /* enum ptl_exec_mode */
    uint8_t opsize; /* enum opsize */
    bool addr16;    /* 16-bit addressing forms */
    bool has66, has67;
    uint8_t rep; /* the last of F2 and F3, or 0 */
    bool rexw, rexr;
    bool rex2;
};

#define REX_W    0x08u
#define REX_R    0x04u
#define REX2_M0  0x80u
#define REX2_R4  0x40u
#define VEX_W    0x80u
#define PAD_SIZE 40 /* 15 bytes and room for every form after 14 prefixes */

static enum opsize operand_size(const struct prefixes *x)
{
    if (x->mode == PTL_MODE_64) {
        if (x->rexw)
            return OPSIZE_64_64;
        return x->has66 ? OPSIZE_64_16 : OPSIZE_64_32;
    }
    return (x->mode == PTL_MODE_16) != x->has66 ? OPSIZE_16 : OPSIZE_32;
}

static inline unsigned modrm_size(const uint8_t *modrm, bool addr16)
{
    unsigned size;
    if (addr16)
        return ptl__modrm_size16[*modrm];
    size = ptl__modrm_size32[*modrm];
    if (size & MODRM_SIB_BASE) {
        size &= ~MODRM_SIB_BASE;
        if ((modrm[1] & 7) == 5)
            size += 4;
    }
    return size;
}

static bool needs_met(uint8_t need, uint8_t modrm, const struct prefixes *x)
{
    return !((need & NEED_MEMORY && modrm >= 0xc0) || (need & NEED_NO66 && x->has66) ||
             (need & NEED_NOREP && x->rep) || (need & NEED_F2 && x->rep != 0xf2) ||
             (need & NEED_NOF2 && x->rep == 0xf2) || (need & NEED_F3 && x->rep != 0xf3) ||
             (need & NEED_MODE64 && x->mode != PTL_MODE_64) || (need & NEED_NOREXR && x->rexr));
}

static unsigned group_member(unsigned group, uint8_t modrm, const struct prefixes *x)
{
    const struct group_rule *r = ptl__group[group - WHAT_GROUP_FF];
    while (r->what && ((modrm & r->mask) != r->value || !needs_met(r->need, modrm, x)))
        r++;
    return r->what;
}

/* A0..A3: MOV with an address. REX2 makes A1 JMPABS ("Intel APX", section on JMPABS). */
static unsigned moffs(struct ptl_insn *insn, const uint8_t *p, unsigned n, const struct prefixes *x)
{
    if (x->rex2 && p[n - 1] == 0xa1 && !x->rexw && !x->has66 && !x->has67) {
        insn->iclass = PTL_INSN_JMP_IND;
        insn->kind = PTL_KIND_JMPABS;
        insn->disp = (int64_t)ptl__load64(p + n);
        return n + 8;
    }
    if (x->mode == PTL_MODE_64)
        return n + (x->has67 ? 4 : 8);
    return n + (x->addr16 ? 2 : 4);
}

/* The few opcodes whose length depends on more; `n` is what the table alone says. */
static unsigned irregular(struct ptl_insn *insn, const uint8_t *p, unsigned modrm, unsigned n,
                          uint16_t attr, const struct prefixes *x)
{
    switch ((enum what)(attr >> ATTR_WHAT_SHIFT)) {
    case WHAT_TEST: /* F6, F7: only /0 and /1 are TEST, the others have no immediate */
        return (p[modrm] & 0x30) ? n - ptl__imm_size[attr & ATTR_IMM][x->opsize] : n;
    case WHAT_0F78: /* EXTRQ, INSERTQ (AMD SSE4a); without prefix VMREAD */
        return x->rep == 0xf2 || (x->has66 && !x->rep) ? n + 2 : n;
    default: /* WHAT_MOFFS */
        return moffs(insn, p, n, x);
    }
}

static int64_t displacement(const uint8_t *end, unsigned size)
{
    if (size == 1)
        return (int8_t)end[-1];
    if (size == 2)
        return (int16_t)ptl__load16(end - 2);
    return (int32_t)ptl__load32(end - 4);
}

/* Opcodes that are not plain: class, kind and displacement. Returns the size. */
static unsigned classify(struct ptl_insn *insn, const uint8_t *p, unsigned modrm, unsigned n,
                         uint16_t attr, const struct prefixes *x)
{
    unsigned what = attr >> ATTR_WHAT_SHIFT, imm = attr & ATTR_IMM;
    if (attr & (x->mode == PTL_MODE_64 ? ATTR_N64 : ATTR_O64))
        return n;
    if (what >= WHAT_GROUP_END)
        return irregular(insn, p, modrm, n, attr, x);
    if (what >= WHAT_ROWS)
        what = group_member(what, p[modrm], x);
    insn->iclass = ptl__what[what].iclass;
    insn->kind = ptl__what[what].kind;
    if (imm == IMM_REL8 || imm == IMM_RELZ)
        insn->disp = displacement(p + n, ptl__imm_size[imm][x->opsize]);
    if (insn->iclass >= PTL_INSN_CALL && insn->iclass <= PTL_INSN_JCC)
        insn->opsize16 = x->opsize == OPSIZE_16;
    return n;
}

/* The opcode was p[n - 1]. */
static inline unsigned finish(struct ptl_insn *insn, const uint8_t *p, unsigned n, uint16_t attr,
                              const struct prefixes *x)
{
    unsigned modrm = n;
    insn->disp = 0;
    insn->iclass = PTL_INSN_OTHER;
    insn->kind = PTL_KIND_NONE;
    insn->mode = x->mode;
    insn->opsize16 = 0;
    if (attr & ATTR_MODRM)
        n += modrm_size(p + n, x->addr16);
    n += ptl__imm_size[attr & ATTR_IMM][x->opsize];
    if (attr >> ATTR_WHAT_SHIFT)
        n = classify(insn, p, modrm, n, attr, x);
    insn->size = (uint8_t)n;
    return n;
}

/* Legacy prefixes and REX from `n` on; returns the index of the first other byte. A REX
 * counts only directly before the opcode: any prefix after it cancels it. */
static unsigned take_prefixes(const uint8_t *p, struct prefixes *x)
{
    unsigned n = 0;
    uint8_t rex = 0;
    for (; n < PTL_INSN_MAX_SIZE; n++) {
        switch (p[n]) {
        case 0x66:
            x->has66 = true;
            break;
        case 0x67:
            x->has67 = true;
            break;
        case 0xf2:
        case 0xf3:
            x->rep = p[n];
            break;
        case 0xf0:
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x64:
        case 0x65:
            break;
        default:
            if (x->mode == PTL_MODE_64 && (p[n] & 0xf0) == 0x40) {
                rex = p[n];
                continue;
            }
            x->rexw = rex & REX_W;
            x->rexr = rex & REX_R;
            return n;
        }
        rex = 0;
    }
    return n;
}

/* The pp field stands for a prefix 66, F3 or F2. */
static void set_pp(struct prefixes *x, unsigned pp)
{
    static const uint8_t rep[4] = {0, 0, 0xf3, 0xf2};
    x->has66 = pp == 1;
    x->rep = rep[pp];
}

/* VEX (C4, C5), XOP (8F) and EVEX (62) at p[n]. Gives the opcode's attributes and moves `n`
 * behind the opcode; 0 if there is no such map (all opcodes but VEX.0F.77 have ModRM). */
static bool vex(const uint8_t *p, unsigned *n, uint16_t *attr, struct prefixes *x)
{
    const uint8_t *v = p + *n;
    unsigned map, w_pp, opcode;
    switch (v[0]) {
    case 0xc5:
        map = 1, w_pp = v[1] & 3, opcode = 2;
        break;
    case 0x62:
        map = v[1] & 7, w_pp = v[2], opcode = 4;
        break;
    default:
        map = v[1] & 0x1f, w_pp = v[2], opcode = 3;
        break;
    }
    *n += opcode + 1;
    set_pp(x, w_pp & 3);
    x->rexw = w_pp & VEX_W;
    x->rexr = false;
    x->opsize = (uint8_t)operand_size(x);
    if (map == 1 && v[0] != 0x8f) {
        *attr = ptl__opcode_vex1[v[opcode]];
        if (v[0] == 0x62)
            *attr |= ATTR_MODRM;
        return true;
    }
    if (map == 4 && v[0] == 0x62) {
        *attr = ptl__opcode_evex4[v[opcode]];
        return true;
    }
    if (map > 10 || (v[0] != 0x8f && map > 7))
        return false;
    *attr = ptl__opcode_uniform[map];
    if (map == 7 && v[opcode] != 0xf6) /* of map 7 only WRMSRNS matters */
        *attr &= ATTR_MODRM | ATTR_IMM;
    return *attr != 0;
}

/* REX2: D5 and a payload with map, W and register bits ("Intel APX", section on REX2). */
static bool rex2(const uint8_t *p, unsigned *n, uint16_t *attr, struct prefixes *x)
{
    uint8_t payload = p[*n + 1], opcode = p[*n + 2], row = opcode >> 4;
    bool map1 = payload & REX2_M0;
    *n += 3;
    x->rex2 = true;
    x->rexw = payload & REX_W;
    x->rexr = payload & (REX_R | REX2_R4);
    x->opsize = (uint8_t)operand_size(x);
    *attr = map1 ? ptl__opcode_map1[opcode] : ptl__opcode_map0[opcode];
    if (*attr & ATTR_ESC)
        return !map1 && opcode == 0x8f; /* POP; never XOP */
    /* Undefined rows: step over them, they branch nowhere. */
    if (map1 ? row == 0x3 || row == 0x8 : row == 0x4 || row == 0x7 || row == 0xe)
        *attr &= ATTR_MODRM | ATTR_IMM;
    return true;
}

/* 0F at p[n]. */
static bool two_byte(const uint8_t *p, unsigned *n, uint16_t *attr)
{
    uint8_t opcode = p[*n + 1];
    *n += 2;
    if (opcode == 0x38 || opcode == 0x3a) {
        *n += 1;
        *attr = ptl__opcode_uniform[opcode == 0x38 ? 2 : 3];
        return true;
    }
    *attr = ptl__opcode_map1[opcode];
    return !(*attr & ATTR_ESC);
}

/* Any instruction; `p` has PAD_SIZE bytes. Returns the size or, if there is no such
 * instruction, minus the number of bytes that this needed. */
static int decode_any(struct ptl_insn *insn, const uint8_t *p, enum ptl_exec_mode mode)
{
    struct prefixes x = {.mode = (uint8_t)mode};
    unsigned n = take_prefixes(p, &x);
    bool ok = true, is64 = mode == PTL_MODE_64;
    uint16_t attr;
    x.opsize = (uint8_t)operand_size(&x);
    x.addr16 = !is64 && (mode == PTL_MODE_16) != x.has67;
    attr = ptl__opcode_map0[p[n]];
    if (!(attr & ATTR_ESC))
        n++;
    else if (p[n] == 0x0f)
        ok = two_byte(p, &n, &attr);
    else if (is64 && p[n] == 0xd5)
        ok = rex2(p, &n, &attr, &x);
    else if (p[n] == 0x8f && (p[n + 1] & 0x1f) >= 8)
        ok = vex(p, &n, &attr, &x);
    else if ((p[n] == 0xc4 || p[n] == 0xc5 || p[n] == 0x62) && (is64 || p[n + 1] >= 0xc0))
        ok = vex(p, &n, &attr, &x);
    else /* INC, DEC, LES, LDS, BOUND, AAD, POP */
        n++;
    return ok ? (int)finish(insn, p, n, attr, &x) : -(int)n;
}

static int decode_slow(struct ptl_insn *insn, const uint8_t *bytes, size_t len,
                       enum ptl_exec_mode mode)
{
    uint8_t padded[PAD_SIZE];
    size_t have = len < PTL_INSN_MAX_SIZE ? len : PTL_INSN_MAX_SIZE;
    int size;
    if (len < PAD_SIZE) {
        memset(padded, 0, sizeof(padded));
        memcpy(padded, bytes, have);
        bytes = padded;
    }
    size = decode_any(insn, bytes, mode);
    if ((size_t)(size < 0 ? -size : size) > have)
        return have < PTL_INSN_MAX_SIZE ? PTL_EOS : PTL_BAD_INSN;
    return size < 0 ? PTL_BAD_INSN : size;
}

int ptl_insn_decode(struct ptl_insn *insn, const uint8_t *bytes, size_t len,
                    enum ptl_exec_mode mode)
{
    struct prefixes x = {.mode = PTL_MODE_64, .opsize = OPSIZE_64_32};
    unsigned n = 0;
    uint16_t attr;
    if (mode != PTL_MODE_64 || len < PTL_INSN_MAX_SIZE) {
        if (mode < PTL_MODE_16 || mode > PTL_MODE_64)
            return PTL_INVALID;
        return len ? decode_slow(insn, bytes, len, mode) : PTL_EOS;
    }
    if ((bytes[0] & 0xf0) == 0x40) {
        x.rexw = bytes[0] & REX_W;
        x.rexr = bytes[0] & REX_R;
        x.opsize = x.rexw ? OPSIZE_64_64 : OPSIZE_64_32;
        n = 1;
    }
    attr = ptl__opcode_map0[bytes[n]];
    if (bytes[n] == 0x0f)
        attr = ptl__opcode_map1[bytes[++n]];
    if (attr & ATTR_ESC)
        return decode_slow(insn, bytes, len, mode);
    return (int)finish(insn, bytes, n + 1, attr, &x);
}

uint64_t ptl_insn_target(const struct ptl_insn *insn, uint64_t ip)
{
    uint64_t target;
    if (insn->kind == PTL_KIND_JMPABS)
        return (uint64_t)insn->disp;
    target = ip + insn->size + (uint64_t)insn->disp;
    if (insn->mode == PTL_MODE_64)
        return target;
    return target & (insn->opsize16 ? 0xffff : 0xffffffff);
}
