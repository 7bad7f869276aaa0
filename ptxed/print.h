/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * print.h - the items of a flow as lines.
 *
 * One printer may print several flows one after the other.
 */
#ifndef PTXED_PRINT_H
#define PTXED_PRINT_H

#include "lines.h"
#include "out.h"

#include <pt/coverage.h>
#include <pt/losses.h>

#define PRINT_LEAD_MAX 256 /* bytes that lines may begin with */

#define PRINT_QUIET      0x01u /* neither instructions nor events; errors and statistics stay */
#define PRINT_OFFSET     0x02u /* before each line */
#define PRINT_TIME       0x04u /* before each instruction */
#define PRINT_BLOCKS     0x08u /* "[block]" */
#define PRINT_CHECK      0x10u /* compare with the disassembler */
#define PRINT_STAT       0x20u /* statistics at the end: of */
#define PRINT_STAT_INSN  0x40u /* - instructions */
#define PRINT_STAT_BLOCK 0x80u /* - blocks */

#define PRINT_JSON        0x100u /* a JSON object a line */
#define PRINT_JSON_BLOCKS 0x200u /* - for blocks, not for instructions */

#define PRINT_STAT_FUNCTIONS 0x400u /* - instructions by function */
#define PRINT_STAT_DECODED   0x800u /* - bytes of trace that were decoded */

struct print_stats {
    uint64_t insns, blocks;
    uint64_t errors, syncs, events;
    uint64_t withheld;      /* instructions that nothing confirms */
    uint64_t decoded;       /* bytes of trace, those included that are only listened to */
    struct ptl_error first; /* error */
    struct ptl_losses losses;
    int ended_on; /* the trace ended while tracing was on */
};

struct marks;

struct printer {
    struct out out;
    struct ptl_coverage *coverage;            /* what flows have counted goes here; NULL: nowhere */
    uint8_t by_item;                          /* - no, they are counted here item by item */
    uint8_t edges;                            /* - and edges are printed, not blocks */
    struct ptl_coverage_path *path, own_path; /* of the stream at hand; NULL: the one there is */
    unsigned flags;                           /* PRINT_* */
    unsigned event_flags;                     /* TEXT_EVENT_* */
    struct line_style style;
    struct text_insn *check_text; /* for PRINT_CHECK */
    uint64_t offset;              /* of the item at hand */
    const char *lead; /* what each line begins with: the task, the time; `lead_len` bytes. JSON:
                         fields that each object ends with */
    size_t lead_len;
    uint64_t skip;  /* instructions to leave out, and all that comes before them */
    uint32_t first; /* of the block at hand: instructions left out */
    struct print_stats stats;
    struct marks *marks; /* print only what is between them; NULL: all */
    int *between;        /* of the stream at hand: it is */
    /* After the line of an event, also of one without line: sideband up to its time. */
    void (*after_event)(void *context, const struct ptl_event *event);
    void *context;
};

/* Print one item, or what is selected of it. Returns 0 or PTL_NOMEM. */
int print_item(struct printer *printer, const struct ptl_item *item);
/* Print it whatever the marks. */
int print_whole(struct printer *printer, const struct ptl_item *item);

/* Print the whole blocks at the beginning of these items, if they are nothing but lines that have
 * been made already: all in one go, for that is where text spends its time. Returns how many. */
int print_plain(struct printer *printer, const struct ptl_item *items, int n);

/* Print all items of the flow up to its end or pause. Returns 0, PTL_NOMEM, or PTL_IO when
 * nobody reads on. */
int print_flow(struct printer *printer, struct ptl_flow *flow);

/* Count what another printer has counted, of what comes next. */
void print_add_stats(struct printer *printer, const struct print_stats *more);

/* "insn: 123." */
void print_statistics(struct printer *printer);

#endif
