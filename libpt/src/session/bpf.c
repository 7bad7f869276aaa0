/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bpf.c - the code of BPF programs that a recorder has saved: feature BPF_PROG_INFO.
 *
 *     u32 count; count times {
 *         u32 info_len, data_len; u64 arrays;
 *         struct bpf_prog_info (info_len bytes); data (data_len bytes) }
 *
 * Pointers in the structure are offsets into the data. A program consists of functions: their
 * addresses are `jited_ksyms`, their lengths `jited_func_lens`, their code, one after the other,
 * `jited_prog_insns`. Source: linux/bpf.h; perf's documentation of perf.data.
 */
#include "base/bytes.h"
#include "session/session.h"

#include <string.h>

/* Offsets in struct bpf_prog_info. */
#define JITED_LEN      16
#define JITED_INSNS    24
#define NAME           64
#define NAME_LEN       16
#define NR_KSYMS       104
#define NR_FUNC_LENS   108
#define KSYMS          112
#define FUNC_LENS      120
#define INFO_SIZE      128
#define MAX_NR_KSYMS   65536
#define PROGRAM_HEADER 16

struct program {
    const uint8_t *info, *data;
    uint32_t data_len;
};

/* `n` bytes at the offset that the structure has at `field`; NULL if they are not there. */
static const uint8_t *array(const struct program *p, unsigned field, uint64_t n)
{
    uint64_t at = ptl__load64(p->info + field);

    return n && at <= p->data_len && n <= p->data_len - at ? p->data + at : NULL;
}

static int add_functions(struct ptl_sideband *sb, const struct program *p)
{
    uint32_t count = ptl__load32(p->info + NR_KSYMS), left = ptl__load32(p->info + JITED_LEN);
    const uint8_t *insns = array(p, JITED_INSNS, left), *addrs, *lens;
    char name[NAME_LEN + 1] = "";
    int status = 0;

    if (!insns || count != ptl__load32(p->info + NR_FUNC_LENS) || count > MAX_NR_KSYMS)
        return 0;
    memcpy(name, p->info + NAME, NAME_LEN);
    addrs = array(p, KSYMS, 8ull * count);
    lens = array(p, FUNC_LENS, 4ull * count);
    for (uint32_t i = 0; addrs && lens && i < count && status == 0; i++) {
        uint32_t len = ptl__load32(lens + 4 * (size_t)i);

        if (!len || len > left)
            return 0;
        status = ptl_sideband_bpf(sb, ptl__load64(addrs + 8 * (size_t)i), insns, len, name);
        insns += len;
        left -= len;
    }
    return status;
}

int ptl__session_bpf(const struct ptl_session *session, struct ptl_sideband *sideband)
{
    size_t left;
    const uint8_t *at = ptl_perf_feature(session->perf, PTL_FEAT_BPF_PROG_INFO, &left);
    int status = 0;

    if (!at || left < 4)
        return 0;
    at += 4; /* the count: the bytes tell as well */
    left -= 4;
    while (left >= PROGRAM_HEADER && status == 0) {
        uint64_t info_len = ptl__load32(at), data_len = ptl__load32(at + 4);
        struct program p = {.info = at + PROGRAM_HEADER, .data_len = (uint32_t)data_len};

        if (info_len + data_len > left - PROGRAM_HEADER)
            return 0;
        p.data = p.info + info_len;
        if (info_len >= INFO_SIZE)
            status = add_functions(sideband, &p);
        at += PROGRAM_HEADER + info_len + data_len;
        left -= PROGRAM_HEADER + (size_t)(info_len + data_len);
    }
    return status;
}
