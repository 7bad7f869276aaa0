/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backend.h - what a way to record must offer. One constant table each; main.c lists them.
 */
#ifndef PTCAPTURE_BACKEND_H
#define PTCAPTURE_BACKEND_H

#include "capture.h"

/* Why a backend cannot be used; also the exit statuses of --check. */
enum probe_result {
    PROBE_OK = 0,
    PROBE_NO_HARDWARE = 3,
    PROBE_NO_KERNEL = 4,
    PROBE_NO_PERMISSION = 5
};

struct backend {
    const char *name; /* as --backend takes it */
    const char *what; /* for messages: "Intel PT of this CPU" */
    /* Can it be used for these options? `reason` gets a sentence that names the limit and what
     * would fix it (also, with PROBE_OK, a remark; may be left empty). */
    enum probe_result (*probe)(const struct capture_options *options, char *reason, size_t size);
    /* The PMU that -e is checked against. Returns 0 or -1 with errno. */
    int (*pmu)(struct pmu *pmu);
    /* Record until the target ends, a limit is reached or stop_requested(). Returns 0 or -1
     * (the message has been printed). The file is finished by the caller. */
    int (*record)(struct capture *capture);
};

extern const struct backend backend_perf, backend_step;

#endif
