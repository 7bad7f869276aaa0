/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * terms.h - event terms: "intel_pt/cyc,mtc_period=3,psb_period=5/u" into the words of
 * perf_event_attr, checked against what the PMU allows.
 */
#ifndef PTCAPTURE_TERMS_H
#define PTCAPTURE_TERMS_H

#include "pmu.h"

struct pt_event {
    uint64_t config[3];       /* config, config1, config2 */
    int user, kernel;         /* which code is traced */
    int kernel_given;         /* a modifier asked for it: no fallback when it is not permitted */
    char name[128];           /* as given: the event's name in the file */
    uint64_t aux_sample_size; /* term aux-sample-size, 0 if not given */
};

/* Is `text` an event of this PMU ("intel_pt/.../" or "intel_pt//u")? */
int terms_is_pt(const struct pmu *pmu, const char *text);

/* Parse `text`; NULL means the defaults. Like perf, terms change a default: tsc, mtc with
 * mtc_period and psb_period of the PMU or the nearest lower values that it allows, pt, branch.
 * Returns 0; or -1 with a message of up to `size` bytes in `error` that lists what is valid. */
int terms_parse(struct pt_event *event, const struct pmu *pmu, const char *text, char *error,
                size_t size);

/* "0-3,6": the set bits of `mask`. */
void terms_list_values(uint64_t mask, char *text, size_t size);

/* All terms of the PMU with their limits, "tsc,mtc_period=0-15,...", for messages. */
void terms_list(const struct pmu *pmu, char *text, size_t size);

#endif
