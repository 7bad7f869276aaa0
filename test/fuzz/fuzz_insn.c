/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_insn.c - one instruction in each mode: the properties of the decoder, and capstone
 * where it decodes the same encoding.
 *
 * The first byte chooses the mode, the others are code in a heap block of their own size.
 */
#include <capstone/capstone.h>
#include <pt/insn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool equal(const struct ptl_insn *a, const struct ptl_insn *b)
{
    return a->size == b->size && a->iclass == b->iclass && a->kind == b->kind &&
           a->disp == b->disp && a->mode == b->mode && a->opsize16 == b->opsize16;
}

/* Only the instruction's own bytes matter: cut off behind it nothing changes, shorter is
 * PTL_EOS, and other bytes behind it change nothing. */
static void check_extent(const uint8_t *code, const struct ptl_insn *insn, enum ptl_exec_mode mode)
{
    uint8_t longer[64];
    struct ptl_insn again;
    for (size_t len = 0; len < insn->size; len++)
        if (ptl_insn_decode(&again, code, len, mode) != PTL_EOS)
            abort();
    if (ptl_insn_decode(&again, code, insn->size, mode) != insn->size || !equal(insn, &again))
        abort();
    memset(longer, 0xff, sizeof(longer));
    memcpy(longer, code, insn->size);
    for (size_t len = insn->size; len <= sizeof(longer); len++)
        if (ptl_insn_decode(&again, longer, len, mode) != insn->size || !equal(insn, &again))
            abort();
}

static void check_fields(const struct ptl_insn *insn, enum ptl_exec_mode mode)
{
    bool direct = insn->iclass == PTL_INSN_CALL || insn->iclass == PTL_INSN_JMP ||
                  insn->iclass == PTL_INSN_JCC;
    uint64_t target = ptl_insn_target(insn, 0x12345678);
    if (insn->size < 1 || insn->size > PTL_INSN_MAX_SIZE || insn->iclass > PTL_INSN_MAX_VALUE ||
        insn->kind > PTL_KIND_MAX_VALUE || insn->mode != mode || insn->opsize16 > 1)
        abort();
    if (insn->disp && !direct && insn->kind != PTL_KIND_JMPABS)
        abort();
    if (direct && mode != PTL_MODE_64 && target > (insn->opsize16 ? 0xffff : UINT32_MAX))
        abort();
}

/* Plain encodings that capstone knows well: no prefixes but REX, maps 0 and 1. The known
 * faults of capstone 4 are in test/oracle/insn_exceptions.h. */
static bool comparable(const uint8_t *p, size_t size, enum ptl_exec_mode mode)
{
    size_t n = 0;
    while (n < size && mode == PTL_MODE_64 && p[n] >> 4 == 4)
        n++; /* only the last REX counts, and a prefix behind it takes that away, too */
    if (n >= size)
        return false;
    switch (p[n]) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xf0:
    case 0xf2:
    case 0xf3:
    case 0x62:
    case 0x8f:
        return false;
    case 0x0f:
        return n + 1 < size && p[n + 1] != 0x78 && p[n + 1] != 0xb9 && p[n + 1] != 0xff;
    default:
        return true;
    }
}

static void check_capstone(const uint8_t *code, size_t size, int ours, enum ptl_exec_mode mode)
{
    static const cs_mode modes[] = {
        [PTL_MODE_16] = CS_MODE_16, [PTL_MODE_32] = CS_MODE_32, [PTL_MODE_64] = CS_MODE_64};
    csh handle;
    cs_insn *insn;
    if (cs_open(CS_ARCH_X86, modes[mode], &handle) != CS_ERR_OK)
        return;
    if (cs_disasm(handle, code, size, 0, 1, &insn)) {
        if (insn->size != ours)
            abort();
        cs_free(insn, 1);
    }
    cs_close(&handle);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ptl_insn insn;
    enum ptl_exec_mode mode;
    uint8_t *code;
    int len;

    if (size < 1)
        return 0;
    mode = (enum ptl_exec_mode)(PTL_MODE_16 + data[0] % 3);
    size--;
    code = malloc(size ? size : 1);
    if (!code)
        return 0;
    memcpy(code, data + 1, size);
    len = ptl_insn_decode(&insn, code, size, mode);
    if (len == 0 || (len > 0 && (size_t)len > size) ||
        (len < 0 && len != PTL_EOS && len != PTL_BAD_INSN) ||
        (len == PTL_EOS && size >= PTL_INSN_MAX_SIZE))
        abort();
    if (len > 0) {
        check_fields(&insn, mode);
        check_extent(code, &insn, mode);
        if (size && comparable(code, size, mode))
            check_capstone(code, size, len, mode);
    }
    free(code);
    return 0;
}
