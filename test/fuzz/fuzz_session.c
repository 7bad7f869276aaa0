/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_session.c - all at once: a file is opened as a recording and decoded, in all queues, as
 * ptxed does. The mapped files are a directory's; the code below everything is a few bytes at
 * 0x400000.
 */
#include "fuzz_file.h"

#include <pt/session.h>
#include <string.h>

#define MAX_ITEMS 20000u

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

static unsigned decode(struct ptl_decoder *decoder)
{
    struct ptl_item items[32];
    unsigned count = 0;
    int n;

    while (count < MAX_ITEMS && (n = ptl_flow_next(ptl_decoder_flow(decoder), items, 32)) > 0)
        count += (unsigned)n;
    return count;
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
    config.flags = size & 1 ? PTL_SESSION_KEEP_RECORDS : 0;
    fuzz_file_set(&file, data, size);
    if (ptl_session_open(&session, file.path, &config, &problem) < 0)
        return 0;
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
    (void)ptl_session_losses(session);
    ptl_session_close(session);
    return 0;
}
