/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmu.h - what an intel_pt PMU offers: the terms of its configuration, their limits, its clock.
 *
 * Read from /sys/bus/event_source/devices/intel_pt, or built in for the software recorder,
 * which uses the same bit positions (those of IA32_RTIT_CTL).
 */
#ifndef PTCAPTURE_PMU_H
#define PTCAPTURE_PMU_H

#include <stddef.h>
#include <stdint.h>

#define PMU_SYSFS "/sys/bus/event_source/devices"

struct pmu_format {
    char name[24];
    uint8_t word; /* 0 config, 1 config1, 2 config2 */
    uint8_t low, high;
};

struct pmu_cap {
    char name[32];
    uint64_t value;
};

#define PMU_FORMATS 40
#define PMU_CAPS    40

struct pmu {
    char name[32];
    uint32_t type; /* perf_event_attr.type */
    struct pmu_format format[PMU_FORMATS];
    size_t formats;
    struct pmu_cap cap[PMU_CAPS];
    size_t caps;
    uint32_t nr_addr_filters;
    uint32_t max_nonturbo_ratio; /* 0 unknown */
    uint8_t mtc_period;          /* the defaults of the terms */
    uint8_t psb_period;
    uint32_t tsc_ratio, art_ratio; /* TSC : crystal, CPUID.15H EBX and EAX; 0 unknown */
};

/* Read the PMU `name` below `sysfs`. Returns 0, or -1 with errno (ENOENT: no such PMU). */
int pmu_load(struct pmu *pmu, const char *sysfs, const char *name);

/* The PMU that the software recorder plays. Its type is one that no PMU of this machine has. */
void pmu_software(struct pmu *pmu, const char *sysfs);

/* NULL if the PMU has no such term. */
const struct pmu_format *pmu_format(const struct pmu *pmu, const char *name);
/* 0 if the PMU has no such capability. */
uint64_t pmu_cap(const struct pmu *pmu, const char *name);
/* The bits of the term in its word, 0 if there is no such term. */
uint64_t pmu_mask(const struct pmu *pmu, const char *name);
/* The value of the term in `config`. */
uint64_t pmu_value(const struct pmu *pmu, const char *name, uint64_t config);

#endif
