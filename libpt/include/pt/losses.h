/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/losses.h - what is missing between what ran and what was decoded: one account.
 *
 * Each kind of loss is counted in the same place, whoever notices it: recorders while they
 * record, readers of a recording, decoders. ptl_loss_kind() says what a kind means, whether
 * it can be had back, and what helps.
 */
#ifndef PT_LOSSES_H
#define PT_LOSSES_H

#include <pt/flow.h>
#include <pt/perfdata.h>
#include <pt/record.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ptl_loss {
    /* in the processor and the kernel, while it was recorded */
    PTL_LOSS_OVERFLOW,  /* OVF packets: the processor could not write fast enough */
    PTL_LOSS_TRUNCATED, /* AUX records with this flag: the ring was full */
    PTL_LOSS_PARTIAL,   /* AUX records with this flag: gaps inside */
    PTL_LOSS_COLLISION, /* AUX records with this flag: another user of the PMU */
    PTL_LOSS_RECORDS,   /* LOST: records of mappings, tasks, switches */
    PTL_LOSS_SAMPLES,   /* LOST_SAMPLES */
    /* in the file */
    PTL_LOSS_MISSING,  /* bytes of trace that AUX records tell of and that are not there */
    PTL_LOSS_DAMAGED,  /* places where the file cannot be read */
    PTL_LOSS_CUT,      /* packets cut by the end of their trace */
    PTL_LOSS_UNSYNCED, /* stretches of trace without a PSB */
    /* while it was decoded */
    PTL_LOSS_SKIPPED, /* bytes of trace before the first PSB and after errors */
    PTL_LOSS_ERRORS,  /* decode errors, but for missing code */
    PTL_LOSS_NO_CODE, /* decode errors because of missing code */
    PTL_LOSS_IMAGES,  /* files and other images whose code was missing */
    PTL_LOSS_MAX_VALUE = PTL_LOSS_IMAGES
};

struct ptl_losses {
    uint64_t count[PTL_LOSS_MAX_VALUE + 1];
    uint64_t insns; /* decoded; the measure of errors */
};

/* Static texts. */
struct ptl_loss_kind {
    const char *name;    /* a word: "TRUNCATED", "skipped" */
    const char *unit;    /* what is counted: "bytes", "" for occurrences */
    const char *what;    /* what happened */
    const char *remedy;  /* what helps */
    uint8_t recoverable; /* the recording has it, or its original: decode again with the remedy */
    uint8_t located; /* each has a place that problems, items or a report tell, not only a count */
};
/* NULL beyond the last kind. */
PTL_API const struct ptl_loss_kind *ptl_loss_kind(enum ptl_loss loss);

/* A record of the kernel: AUX, LOST, LOST_SAMPLES; others are ignored. */
PTL_API void ptl_losses_record(struct ptl_losses *losses, const struct ptl_record *record);
/* All that a recording tells by itself: its records, the trace that is not there, damage. */
PTL_API void ptl_losses_recording(struct ptl_losses *losses, const struct ptl_perf *perf);
/* An item of a flow; instructions are counted, too. */
PTL_API void ptl_losses_item(struct ptl_losses *losses, const struct ptl_item *item);
PTL_API void ptl_losses_add(struct ptl_losses *losses, const struct ptl_losses *more);

/* Kinds with a count that is not 0. */
PTL_API unsigned ptl_losses_kinds(const struct ptl_losses *losses);
/* Decode errors of all kinds per million instructions, rounded up; 0: none. */
PTL_API uint64_t ptl_losses_error_rate(const struct ptl_losses *losses);

#ifdef __cplusplus
}
#endif

#endif
