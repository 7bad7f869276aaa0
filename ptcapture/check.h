/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h - ptcapture --check: what this machine can record, why not, and what would fix it.
 */
#ifndef PTCAPTURE_CHECK_H
#define PTCAPTURE_CHECK_H

#include "backend.h"

/* Print to standard output. Returns the exit status: 0 Intel PT can be used, else an
 * enum probe_result. `backends` ends with NULL. */
int check_run(const struct capture_options *options, const struct backend *const *backends);

/* How far Intel PT can be used here for events of the kernel, without opening any: hardware,
 * driver, perf_event_paranoid. Text as for backend.probe(). */
enum probe_result check_intel_pt(char *reason, size_t size);

/* Bytes of rings that this user may map in all (perf_event_mlock_kb, RLIMIT_MEMLOCK); UINT64_MAX:
 * no limit. */
uint64_t check_lockable(void);

#endif
