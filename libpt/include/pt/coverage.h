/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/coverage.h - which code ran how often.
 *
 * Flows with PTL_FLOW_COVERAGE count while they decode, with no work for each block; a coverage
 * adds up what they have counted, of any number of flows, threads and processes:
 *
 *     while ((n = ptl_flow_next(flow, items, 256)) > 0)
 *         ... errors ...
 *     ptl_coverage_add(coverage, flow);
 *
 * Belongs to one thread at a time.
 */
#ifndef PT_COVERAGE_H
#define PT_COVERAGE_H

#include <pt/flow.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ptl_coverage;

/* A straight run of code: how often execution came to its first instruction, through a branch, from
 * the instruction before, or after an event that interrupted the run. */
struct ptl_coverage_block {
    uint64_t ip;
    uint64_t count; /* >= 1 */
    uint32_t size;  /* bytes */
    uint16_t ninsn; /* instructions; the last ones did not run if an event came between */
    uint8_t mode;   /* enum ptl_exec_mode */
    uint8_t iclass; /* enum ptl_insn_class of the last instruction */
    const struct ptl_section *section; /* of the first byte */
    uint64_t offset;                   /* of the first byte in it */
    const uint8_t *bytes;              /* code, in the section; NULL: it is not in memory */
};

/* Errors: PTL_INVALID, PTL_NOMEM. */
PTL_API int ptl_coverage_new(struct ptl_coverage **coverage) PTL_MUST_CHECK;
PTL_API void ptl_coverage_free(struct ptl_coverage *coverage); /* NULL is ignored */

/* Execution went from the instruction at `from`, the last of a block, to the block at `to`, with no
 * event between that moves it: a branch, or on to the next instruction. */
struct ptl_coverage_edge {
    uint64_t from, to;
    uint64_t count;                         /* >= 1 */
    const struct ptl_section *from_section; /* of the block that `from` ends */
    const struct ptl_section *to_section;   /* of the first byte */
    const uint8_t *from_bytes, *to_bytes;   /* code there; NULL: it is not in memory */
};

/* Add what the flow has counted since it was last added. Errors: PTL_NOMEM (some of it is added,
 * the rest is still the flow's). */
PTL_API int ptl_coverage_add(struct ptl_coverage *coverage, struct ptl_flow *flow) PTL_MUST_CHECK;

/* All blocks that ran, by address; one address may have several: of other files, modes, lengths.
 * Valid until the next call. NULL if there are none. */
PTL_API const struct ptl_coverage_block *ptl_coverage_blocks(struct ptl_coverage *coverage,
                                                             size_t *count);

/* --- of items ----------------------------------------------------------------------------- */

/* Where the items of a flow have led to. One for each flow; all zero: nowhere. */
struct ptl_coverage_path {
    uint64_t from;
    const struct ptl_section *section;
    const uint8_t *bytes;
    uint8_t valid;
};

/* Count a block that ran, and the edge to it; for flows that do not count themselves: those of
 * which only some items are wanted, or the edges. Errors: PTL_NOMEM. */
PTL_API int ptl_coverage_item(struct ptl_coverage *coverage, struct ptl_coverage_path *path,
                              const struct ptl_item *item) PTL_MUST_CHECK;

/* All edges of items, by `from` and `to`. As ptl_coverage_blocks(). */
PTL_API const struct ptl_coverage_edge *ptl_coverage_edges(struct ptl_coverage *coverage,
                                                           size_t *count);

#ifdef __cplusplus
}
#endif

#endif
