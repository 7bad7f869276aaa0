/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read_recording.c - what each thread of a perf.data file ran.
 *
 *     read_recording PERF.DATA
 *
 * The session finds processor, timing, code and whose code ran when; a decoder reads one buffer
 * of trace, piece by piece. (Files that perf record -z compressed need ptl_session_config.unzip.)
 */
#include <inttypes.h>
#include <pt/session.h>
#include <stdio.h>

struct totals {
    uint64_t instructions, errors;
};

/* All items of the piece at hand. Returns 0 or a negative status. */
static int count_piece(struct ptl_flow *flow, struct totals *totals)
{
    struct ptl_item items[256];
    int n;

    while ((n = ptl_flow_next(flow, items, 256)) > 0) {
        for (int i = 0; i < n; i++) {
            totals->instructions += items[i].kind == PTL_ITEM_BLOCK ? items[i].ninsn : 0;
            totals->errors += items[i].kind == PTL_ITEM_ERROR;
        }
    }
    return n;
}

/* A queue is what one processor or thread wrote. */
static int count_queue(const struct ptl_session *session, uint32_t queue, struct totals *totals)
{
    struct ptl_decoder *decoder;
    const struct ptl_perf_queue *queues;
    size_t count;
    int status = ptl_decoder_new(&decoder, session, queue);

    if (status < 0)
        return status;
    queues = ptl_perf_queues(ptl_session_perf(session), &count);
    for (size_t piece = 0; piece < queues[queue].piece_count && status >= 0; piece++) {
        status = ptl_decoder_piece(decoder, piece);
        if (status >= 0)
            status = count_piece(ptl_decoder_flow(decoder), totals);
    }
    ptl_decoder_free(decoder);
    return status < 0 ? status : 0;
}

static int report(const struct ptl_session *session)
{
    const struct ptl_perf_queue *queues;
    size_t count;
    int status = 0;

    queues = ptl_perf_queues(ptl_session_perf(session), &count);
    for (size_t i = 0; i < count && status == 0; i++) {
        struct totals totals = {0, 0};

        status = count_queue(session, (uint32_t)i, &totals);
        printf("thread %d, processor %d: %" PRIu64 " instructions, %" PRIu64 " errors\n",
               (int)queues[i].tid, (int)queues[i].cpu, totals.instructions, totals.errors);
    }
    return status;
}

int main(int argc, char **argv)
{
    const struct ptl_session_config config = {.size = sizeof(config)};
    struct ptl_perf_problem problem = {0};
    struct ptl_session *session;
    int status;

    if (argc != 2) {
        fprintf(stderr, "usage: read_recording PERF.DATA\n");
        return 2;
    }
    status = ptl_session_open(&session, argv[1], &config, &problem);
    if (status < 0) {
        fprintf(stderr, "read_recording: %s: %s\n", argv[1],
                problem.text[0] ? problem.text : ptl_strstatus(status));
        return 2;
    }
    status = report(session);
    ptl_session_close(session);
    return status ? 1 : 0;
}
