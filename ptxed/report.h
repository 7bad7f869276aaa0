/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report.h - what a recording lacks, on stderr: what could not be used, and where code was
 * missing most, each with what to do about it.
 */
#ifndef PTXED_REPORT_H
#define PTXED_REPORT_H

#include <pt/session.h>

/* Code that was missing, by what was mapped there. */
struct missing {
    const struct ptl_sb_problem *problem;
    uint64_t ip; /* the first one */
    uint32_t pid;
    uint64_t count;
};

struct report {
    struct missing *missing;
    size_t count, cap;
    uint64_t kernel_errors; /* of other kinds, in the kernel's code */
    uint64_t kernel_ip;     /* the first one */
};

/* Before decoding: notes of the session; those only to know if `verbose`. */
void report_notes(const char *prog, const char *path, const struct ptl_session *session,
                  int verbose);
/* Code was missing at `ip`. */
void report_missing(struct report *report, const struct ptl_sideband *sb, uint32_t pid,
                    uint64_t ip);
/* Trace and code contradict each other. Matters where the kernel's code is from a vmlinux. */
void report_error(struct report *report, const struct ptl_session *session, uint64_t ip);
/* Add what another report has found, and forget it there. */
void report_merge(struct report *report, struct report *more);
void report_clear(struct report *report);
/* At the end. */
void report_end(struct report *report, const char *prog, const struct ptl_session *session);

#endif
