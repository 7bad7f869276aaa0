/* SPDX-License-Identifier: BSD-3-Clause */
/* perf_other.c - events whose samples carry trace: "cycles:u", "cpu-clock/period=100000/". */
#include "opts.h"
#include "perf.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_FREQ   1000
#define AUX_SAMPLE_MAX (60 * 1024) /* bytes: a record has 64 KiB */

static const struct {
    const char *name;
    uint32_t type;
    int each; /* sample every one */
    uint64_t config;
} events_known[] = {
    {"cycles", PERF_TYPE_HARDWARE, 0, PERF_COUNT_HW_CPU_CYCLES},
    {"cpu-cycles", PERF_TYPE_HARDWARE, 0, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, 0, PERF_COUNT_HW_INSTRUCTIONS},
    {"branches", PERF_TYPE_HARDWARE, 0, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, 0, PERF_COUNT_HW_BRANCH_MISSES},
    {"cache-misses", PERF_TYPE_HARDWARE, 0, PERF_COUNT_HW_CACHE_MISSES},
    {"cpu-clock", PERF_TYPE_SOFTWARE, 0, PERF_COUNT_SW_CPU_CLOCK},
    {"task-clock", PERF_TYPE_SOFTWARE, 0, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", PERF_TYPE_SOFTWARE, 1, PERF_COUNT_SW_PAGE_FAULTS},
    {"faults", PERF_TYPE_SOFTWARE, 1, PERF_COUNT_SW_PAGE_FAULTS},
    {"context-switches", PERF_TYPE_SOFTWARE, 1, PERF_COUNT_SW_CONTEXT_SWITCHES},
};

static int find(struct ptl_attr *attr, const char *name, size_t len)
{
    char *end;

    attr->flags |= PTL_ATTR_FREQ;
    attr->sample_period = DEFAULT_FREQ;
    for (size_t i = 0; i < sizeof(events_known) / sizeof(*events_known); i++) {
        if (strlen(events_known[i].name) != len || strncmp(events_known[i].name, name, len) != 0)
            continue;
        attr->type = events_known[i].type;
        attr->config = events_known[i].config;
        if (events_known[i].each) {
            attr->flags &= ~PTL_ATTR_FREQ;
            attr->sample_period = 1;
        }
        return 0;
    }
    if (*name != 'r' || len < 2)
        return -1;
    attr->type = PERF_TYPE_RAW;
    errno = 0;
    attr->config = strtoull(name + 1, &end, 16);
    return isxdigit((unsigned char)name[1]) && end == name + len && !errno ? 0 : -1;
}

/* "period=N" or "freq=N", up to the closing slash. */
static int rate(struct ptl_attr *attr, const char *text, const char **rest)
{
    const char *end;

    if (!strncmp(text, "period=", 7)) {
        attr->flags &= ~PTL_ATTR_FREQ;
        text += 7;
    } else if (!strncmp(text, "freq=", 5)) {
        attr->flags |= PTL_ATTR_FREQ;
        text += 5;
    } else {
        return -1;
    }
    if (opts_scan(text, &attr->sample_period, &end) || *end != '/')
        return -1;
    *rest = end + 1;
    return attr->sample_period ? 0 : -1;
}

static int modifiers(struct ptl_attr *attr, const char *text)
{
    int user = 0, kernel = 0;

    if (*text == ':')
        text++;
    for (; *text; text++) {
        if (*text == 'u')
            user = 1;
        else if (*text == 'k')
            kernel = 1;
        else
            return -1;
    }
    if (user && !kernel)
        attr->flags |= PTL_ATTR_EXCLUDE_KERNEL;
    if (kernel && !user)
        attr->flags |= PTL_ATTR_EXCLUDE_USER;
    return 0;
}

int perf_other_parse(struct perf_events *events, const char *text, uint64_t aux_sample_size)
{
    struct ptl_attr *attr = &events->attr;
    size_t len = strcspn(text, "/:");
    const char *rest = text + len;

    if (find(attr, text, len) || (*rest == '/' && rate(attr, rest + 1, &rest)) ||
        modifiers(attr, rest))
        return -1;
    attr->sample_type = PTL_SAMPLE_AUX;
    attr->aux_sample_size = (uint32_t)(aux_sample_size + 7) & ~7u;
    snprintf(events->name, sizeof(events->name), "%s", text);
    return aux_sample_size <= AUX_SAMPLE_MAX ? 0 : -1;
}
