/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ptinfo.c - the private words of an AUXTRACE_INFO record of Intel PT, both ways.
 *
 * u64 each, in the order of the table; then the filter: its length in bytes, a string
 * padded to a multiple of 8; then one more word. Words from the eleventh on came with
 * later versions of perf.
 */
#include "base/bytes.h"

#include <pt/record.h>

#define AT(member) (uint16_t) offsetof(struct ptl_pt_info, member)

static const uint16_t words[] = {
    AT(pmu_type),     AT(time_shift),    AT(time_mult), AT(time_zero), AT(cap_user_time_zero),
    AT(tsc_bit),      AT(noretcomp_bit), AT(switches),  AT(snapshot),  AT(per_cpu),
    AT(mtc_bit),      AT(mtc_freq_bits), AT(ctc_num),   AT(ctc_den),   AT(cyc_bit),
    AT(max_nonturbo),
};
#define WORDS     (sizeof(words) / sizeof(words[0]))
#define MIN_WORDS 10 /* what perf asks for */

int ptl_pt_info_decode(struct ptl_pt_info *info, const struct ptl_record *record)
{
    struct ptl_span priv = record->u.auxtrace_info.priv;
    struct ptl__cursor c = {priv.bytes, priv.bytes + priv.len, 0};
    uint64_t n;

    memset(info, 0, sizeof(*info));
    if (record->type != PTL_REC_AUXTRACE_INFO || record->u.auxtrace_info.type != PTL_AUXTRACE_PT)
        return PTL_NOT_SUPPORTED;
    if (priv.len < 8 * MIN_WORDS)
        return PTL_NOSYNC;
    for (size_t i = 0; i < WORDS && ptl__left(&c) >= 8; i++) {
        uint64_t v = ptl__taken(&c, 8);
        memcpy((uint8_t *)info + words[i], &v, 8);
    }
    if (ptl__left(&c) < 8)
        return 0;
    n = ptl__taken(&c, 8);
    if (n > ptl__left(&c))
        return 0; /* cut: the filter is unknown */
    if (n && memchr(c.pos, 0, n))
        info->filter = (const char *)c.pos;
    ptl__take(&c, n);
    if (ptl__left(&c) >= 8)
        info->event_trace = ptl__taken(&c, 8);
    return 0;
}

int ptl_pt_info_encode(uint8_t *buf, size_t cap, const struct ptl_pt_info *info)
{
    struct ptl__sink s = {buf, buf + cap, 0};
    size_t n = info->filter ? strlen(info->filter) + 1 : 0;
    size_t padded = (n + 7) & ~(size_t)7;

    for (size_t i = 0; i < WORDS; i++)
        ptl__put(&s, (const uint8_t *)info + words[i], 8);
    ptl__putn(&s, padded, 8);
    ptl__put(&s, info->filter, n);
    ptl__put_zero(&s, padded - n);
    ptl__putn(&s, info->event_trace, 8);
    if (n) /* perf 6.1 looks at the word before only if one more follows a filter */
        ptl__putn(&s, 0, 8);
    return s.bad ? PTL_EOS : (int)(s.pos - buf);
}
