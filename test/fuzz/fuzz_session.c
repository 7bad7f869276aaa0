/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_session.c - all at once: a file is opened as a recording and decoded, in all queues, as
 * ptxed does. The mapped files are a directory's; the code below everything is a few bytes at
 * 0x400000.
 *
 * The last three bytes of the file are PTL_FLOW_* (16 bits) and PTL_SESSION_* as well.
 */
#include "fuzz_file.h"

#include <pt/coverage.h>
#include <pt/session.h>
#include <string.h>

#define MAX_ITEMS 20000u
/* What ptxed may ask for: the rest is the recording's to say. */
#define FLOW_FLAGS                                                                                 \
    (PTL_FLOW_TICKS | PTL_FLOW_IFLAGS | PTL_FLOW_END_ON_CALL | PTL_FLOW_END_ON_JUMP |              \
     PTL_FLOW_RESYNC | PTL_FLOW_SLOW | PTL_FLOW_COLD_BLOCKS | PTL_FLOW_COUNT |                     \
     PTL_FLOW_FEW_EVENTS | PTL_FLOW_COVERAGE | PTL_FLOW_PSB_ONLY | PTL_FLOW_PROVEN)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ptl_space *make_base(void)
{
    static const uint8_t code[64] = {0x90, 0x74, 0x02, 0x90, 0x90, 0xe8, 0x06, 0,    0,    0,
                                     0xff, 0xe0, 0xeb, 0xfe, 0x0f, 0x05, 0xc3, 0xc3, 0x90, 0xcc};
    struct ptl_section *section;
    struct ptl_space *space;

    if (ptl_space_new(&space) < 0 ||
        ptl_section_memory(&section, code, sizeof(code), 1, "code") < 0 ||
        ptl_space_map(space, 0x400000, section, 0, sizeof(code)) < 0)
        abort();
    ptl_section_unref(section);
    return space;
}

/* Counted as the flow does, and by items with their edges. */
static struct ptl_coverage *coverage;

static unsigned decode(struct ptl_decoder *decoder)
{
    struct ptl_coverage_path path = {0};
    struct ptl_item items[32];
    unsigned count = 0;
    int n;

    while (count < MAX_ITEMS && (n = ptl_flow_next(ptl_decoder_flow(decoder), items, 32)) > 0) {
        count += (unsigned)n;
        for (int i = 0; i < n; i++)
            if (ptl_coverage_item(coverage, &path, &items[i]) < 0)
                abort();
    }
    if (ptl_coverage_add(coverage, ptl_decoder_flow(decoder)) < 0)
        abort();
    return count;
}

static void look_at_coverage(void)
{
    const struct ptl_coverage_block *blocks;
    const struct ptl_coverage_edge *edges;
    size_t count;

    blocks = ptl_coverage_blocks(coverage, &count);
    for (size_t i = 0; i < count; i++)
        if (!blocks[i].count || !blocks[i].size)
            abort();
    edges = ptl_coverage_edges(coverage, &count);
    for (size_t i = 0; i < count; i++)
        if (!edges[i].count)
            abort();
}

/* At a time, and at the last place where the stream can be cut. */
static void begin_somewhere(struct ptl_decoder *decoder, const struct ptl_session *session,
                            uint32_t queue, uint64_t tsc)
{
    struct ptl_stream stream = ptl_session_stream(session, queue);
    struct ptl_place place = ptl_session_find(session, queue, tsc), end = {stream.count, 0}, warm,
                     begin;

    if (place.piece < stream.count && ptl_decoder_start(decoder, place, end) == 0)
        (void)decode(decoder);
    ptl_segments_cut_before(&stream, end, &warm, &begin);
    if (warm.piece < stream.count && ptl_decoder_start(decoder, warm, begin) == 0)
        (void)decode(decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz_file file;
    static struct ptl_space *base;
    struct ptl_session_config config = {.size = sizeof(config), .sysroot = fuzz_directory()};
    struct ptl_perf_problem problem;
    struct ptl_session *session;
    const struct ptl_perf_queue *queues;
    size_t count;

    if (!base)
        base = make_base();
    config.base = base;
    if (size > 2) {
        config.flow_flags = (data[size - 3] | (uint32_t)data[size - 2] << 8) & FLOW_FLAGS;
        config.flags = data[size - 1] & (PTL_SESSION_KEEP_RECORDS | PTL_SESSION_NO_TIME);
    }
    if (config.flow_flags & PTL_FLOW_PROVEN) /* not with these */
        config.flow_flags &= ~(uint32_t)(PTL_FLOW_COVERAGE | PTL_FLOW_PSB_ONLY);
    fuzz_file_set(&file, data, size);
    if (ptl_session_open(&session, file.path, &config, &problem) < 0)
        return 0;
    if (ptl_coverage_new(&coverage) < 0)
        abort();
    queues = ptl_perf_queues(ptl_session_perf(session), &count);
    for (uint32_t q = 0; q < count && q < 4; q++) {
        struct ptl_decoder *decoder;

        if (ptl_decoder_new(&decoder, session, q) < 0)
            continue;
        for (size_t i = 0; i < queues[q].piece_count && i < 16; i++)
            if (ptl_decoder_piece(decoder, i) < 0 || decode(decoder) >= MAX_ITEMS)
                break;
        begin_somewhere(decoder, session, q, queues[q].size);
        ptl_decoder_free(decoder);
    }
    look_at_coverage();
    ptl_coverage_free(coverage);
    (void)ptl_session_losses(session);
    ptl_session_close(session);
    return 0;
}
