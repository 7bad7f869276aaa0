/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * machine.h - what a perf.data header says about the machine: host, kernel, CPU, memory, PMUs.
 */
#ifndef PTCAPTURE_MACHINE_H
#define PTCAPTURE_MACHINE_H

#include "pmu.h"

#include <pt/perfdata.h>

/* Add the features to a writer that has not begun. What cannot be found out is left away.
 * Returns 0 or a negative status of the writer. */
int machine_describe(struct ptl_perf_writer *writer, const struct pmu *pmu, int argc,
                     char *const *argv);

/* CPUID vendor ("GenuineIntel"). */
void machine_vendor(char vendor[13]);
/* CPUID.7.EBX[25], Intel PT. (0 in most virtual machines, although the CPU has it.) */
int machine_cpuid_pt(void);

/* A number from a file such as /proc/sys/kernel/perf_event_paranoid; `missing` without it. */
long machine_number(const char *path, long missing);

#endif
