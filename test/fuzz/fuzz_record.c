/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_record.c - perf records of any layout: a control block gives the layout (8 bytes
 * sample_type, 8 read_format, 8 branch_sample_type, 8 regs_user, 8 regs_intr), the rest is
 * records. What decodes encodes again, and the second round is the fixed point.
 */
#include <pt/record.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const struct ptl_record *record, const struct ptl_layout *layout)
{
    static uint8_t first[1 << 16], second[1 << 16];
    struct ptl_record again;
    int n = ptl_record_encode(first, sizeof(first), record, layout);
    if (n < 0)
        return;
    if (ptl_record_decode(&again, first, (size_t)n, layout) != n || again.type != record->type ||
        again.known != record->known ||
        ptl_record_encode(second, sizeof(second), &again, layout) != n ||
        memcmp(first, second, (size_t)n) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ptl_layout layout = {0};
    uint64_t control[5], identifier;
    uint8_t *block;
    size_t at = 0;

    if (size < sizeof(control))
        return 0;
    memcpy(control, data, sizeof(control));
    data += sizeof(control);
    size -= sizeof(control);
    layout.sample_type = control[0];
    layout.read_format = control[1];
    layout.branch_sample_type = control[2];
    layout.regs_user = control[3];
    layout.regs_intr = control[4];
    block = malloc(size ? size : 1);
    if (!block)
        return 0;
    memcpy(block, data, size);
    while (at < size) {
        struct ptl_record record;
        int claimed = ptl_record_size(block + at, size - at);
        int n = ptl_record_decode(&record, block + at, size - at, &layout);
        (void)ptl_record_identifier(block + at, size - at, &layout, &identifier);
        if (claimed < 0 || n == PTL_EOS || n == PTL_BAD_PACKET)
            break;
        if (n > 0 && n != claimed)
            abort();
        if (n > 0) {
            (void)ptl_record_name(record.type);
            check_round_trip(&record, &layout);
        }
        at += (size_t)claimed;
    }
    free(block);
    return 0;
}
