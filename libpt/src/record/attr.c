/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attr.c - struct perf_event_attr (linux/perf_event.h), both ways.
 *
 * The struct has grown from 64 bytes; its own size field says what is meaningful, and
 * what is missing counts as 0.
 */
#include "base/bytes.h"

#include <pt/record.h>

#define ATTR_SIZE_MAX 136 /* with config3 */

struct row {
    uint8_t offset, width;
    uint16_t at; /* in struct ptl_attr */
};
#define ROW(offset, width, member) {offset, width, (uint16_t)offsetof(struct ptl_attr, member)},

/* clang-format off */
static const struct row rows[] = {
    ROW(0, 4, type) ROW(4, 4, size) ROW(8, 8, config) ROW(16, 8, sample_period)
    ROW(24, 8, sample_type) ROW(32, 8, read_format) ROW(40, 8, flags) ROW(48, 4, wakeup)
    ROW(52, 4, bp_type) ROW(56, 8, config1) ROW(64, 8, config2) ROW(72, 8, branch_sample_type)
    ROW(80, 8, sample_regs_user) ROW(88, 4, sample_stack_user) ROW(92, 4, clockid)
    ROW(96, 8, sample_regs_intr) ROW(104, 4, aux_watermark) ROW(108, 2, sample_max_stack)
    ROW(112, 4, aux_sample_size) ROW(116, 4, aux_action) ROW(120, 8, sig_data)
    ROW(128, 8, config3)
};
/* clang-format on */
#define ROWS (sizeof(rows) / sizeof(rows[0]))

int ptl_attr_decode(struct ptl_attr *attr, const uint8_t *buf, size_t len)
{
    size_t size;

    memset(attr, 0, sizeof(*attr));
    if (len < PTL_ATTR_SIZE_MIN)
        return PTL_INVALID;
    size = ptl__load32(buf + 4);
    if (!size) /* as the first writers left it */
        size = PTL_ATTR_SIZE_MIN;
    if (size < PTL_ATTR_SIZE_MIN)
        return PTL_INVALID;
    if (size > len)
        size = len;
    for (const struct row *row = rows; row < rows + ROWS; row++)
        if ((size_t)row->offset + row->width <= size)
            memcpy((uint8_t *)attr + row->at, buf + row->offset, row->width);
    attr->size = (uint32_t)size;
    return (int)size;
}

int ptl_attr_encode(uint8_t *buf, size_t cap, const struct ptl_attr *attr)
{
    uint32_t size = attr->size ? attr->size : PTL_ATTR_SIZE;

    if (size < PTL_ATTR_SIZE_MIN || size > ATTR_SIZE_MAX || size % 8)
        return PTL_INVALID;
    if (size > cap)
        return PTL_EOS;
    memset(buf, 0, size);
    for (const struct row *row = rows; row < rows + ROWS; row++)
        if ((size_t)row->offset + row->width <= size)
            memcpy(buf + row->offset, (const uint8_t *)attr + row->at, row->width);
    ptl__storen(buf + 4, size, 4);
    return (int)size;
}
