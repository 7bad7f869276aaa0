/* SPDX-License-Identifier: BSD-3-Clause */
/* pmu.c - see pmu.h. */
#include "pmu.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- sysfs ------------------------------------------------------------------ */

/* The first line of a small file. Returns 0 or -1 with errno. */
static int read_line(const char *dir, const char *name, char *line, size_t size)
{
    char path[512];
    FILE *file;
    char *got;

    if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    file = fopen(path, "re");
    if (!file)
        return -1;
    got = fgets(line, (int)size, file);
    fclose(file);
    if (!got) {
        errno = EIO; /* there are no empty ones */
        return -1;
    }
    line[strcspn(line, "\n")] = '\0';
    return 0;
}

static uint32_t read_number(const char *dir, const char *name)
{
    char line[64];

    return read_line(dir, name, line, sizeof(line)) ? 0 : (uint32_t)strtoul(line, NULL, 10);
}

/* "config:14-17", "config1:5". */
static int parse_format(struct pmu_format *format, const char *text)
{
    unsigned word = 0, low, high;
    const char *colon = strchr(text, ':');
    int n;

    if (strncmp(text, "config", 6) || !colon)
        return -1;
    if (text[6] != ':')
        word = (unsigned)(text[6] - '0');
    n = sscanf(colon + 1, "%u-%u", &low, &high);
    if (n == 1)
        high = low;
    if (n < 1 || word > 2 || low > high || high > 63)
        return -1;
    format->word = (uint8_t)word;
    format->low = (uint8_t)low;
    format->high = (uint8_t)high;
    return 0;
}

/* What is not known here is passed over; what cannot be read is missed: a term, or what the clock
 * of the trace is. Returns 0 or -1 with errno. */
static int add_format(struct pmu *pmu, const char *dir, const char *name)
{
    struct pmu_format *format = &pmu->format[pmu->formats];
    char line[64];

    if (pmu->formats == PMU_FORMATS || strlen(name) >= sizeof(format->name))
        return 0;
    if (read_line(dir, name, line, sizeof(line)))
        return -1;
    if (parse_format(format, line))
        return 0;
    memcpy(format->name, name, strlen(name) + 1);
    pmu->formats++;
    return 0;
}

static int add_cap(struct pmu *pmu, const char *dir, const char *name)
{
    struct pmu_cap *cap = &pmu->cap[pmu->caps];
    char line[64];

    if (pmu->caps == PMU_CAPS || strlen(name) >= sizeof(cap->name))
        return 0;
    if (read_line(dir, name, line, sizeof(line)))
        return -1;
    memcpy(cap->name, name, strlen(name) + 1);
    cap->value = strtoull(line, NULL, 16); /* capabilities are hexadecimal without 0x */
    pmu->caps++;
    return 0;
}

/* A directory that is not there has no files. Returns 0 or -1 with errno. */
static int each_file(struct pmu *pmu, const char *dir, const char *sub,
                     int (*add)(struct pmu *, const char *, const char *))
{
    char path[512];
    struct dirent *entry;
    DIR *files;
    int err = 0;

    if (snprintf(path, sizeof(path), "%s/%s", dir, sub) >= (int)sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    files = opendir(path);
    if (!files)
        return errno == ENOENT ? 0 : -1;
    do {
        errno = 0;
        entry = readdir(files);
        if (entry ? entry->d_name[0] != '.' && add(pmu, path, entry->d_name) : errno != 0)
            err = errno;
    } while (entry && !err);
    closedir(files);
    errno = err;
    return err ? -1 : 0;
}

/* A number that not all kernels, or CPUs, have: then 0. Returns 0 or -1 with errno. */
static int optional_number(const char *dir, const char *name, uint32_t *value)
{
    char line[64];

    *value = 0;
    if (read_line(dir, name, line, sizeof(line)))
        return errno == ENOENT ? 0 : -1;
    *value = (uint32_t)strtoul(line, NULL, 10);
    return 0;
}

static int by_position(const void *a, const void *b)
{
    const struct pmu_format *x = a, *y = b;

    return x->word != y->word ? x->word - y->word : x->low - y->low;
}

int pmu_load(struct pmu *pmu, const char *sysfs, const char *name)
{
    char dir[256], line[64];

    memset(pmu, 0, sizeof(*pmu));
    pmu->mtc_period = pmu->psb_period = 3;
    if (snprintf(dir, sizeof(dir), "%s/%s", sysfs, name) >= (int)sizeof(dir) ||
        strlen(name) >= sizeof(pmu->name)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (read_line(dir, "type", line, sizeof(line)))
        return -1;
    memcpy(pmu->name, name, strlen(name) + 1);
    pmu->type = (uint32_t)strtoul(line, NULL, 10);
    if (each_file(pmu, dir, "format", add_format) || each_file(pmu, dir, "caps", add_cap) ||
        optional_number(dir, "nr_addr_filters", &pmu->nr_addr_filters) ||
        optional_number(dir, "max_nonturbo_ratio", &pmu->max_nonturbo_ratio))
        return -1;
    qsort(pmu->format, pmu->formats, sizeof(*pmu->format), by_position);
    if (read_line(dir, "tsc_art_ratio", line, sizeof(line)))
        return errno == ENOENT ? 0 : -1;
    if (sscanf(line, "%u:%u", &pmu->tsc_ratio, &pmu->art_ratio) != 2)
        pmu->tsc_ratio = pmu->art_ratio = 0;
    return 0;
}

/* --- the software recorder's ---------------------------------------------------- */

static const struct pmu_format software_format[] = {
    {"pt", 0, 0, 0},          {"cyc", 0, 1, 1},          {"mtc", 0, 9, 9},
    {"tsc", 0, 10, 10},       {"noretcomp", 0, 11, 11},  {"ptw", 0, 12, 12},
    {"branch", 0, 13, 13},    {"mtc_period", 0, 14, 17}, {"cyc_thresh", 0, 19, 22},
    {"psb_period", 0, 24, 27}};

static const struct pmu_cap software_cap[] = {{"mtc", 1},
                                              {"psb_cyc", 1},
                                              {"ptwrite", 1},
                                              {"mtc_periods", 0xffff},
                                              {"psb_periods", 0xffff},
                                              {"cycle_thresholds", 0x1fff}};

/* A type above all that the kernel has given out, so that a file never confuses the two. */
static uint32_t unused_type(const char *sysfs)
{
    uint32_t type = 6;
    struct dirent *entry;
    DIR *dir = opendir(sysfs);

    while (dir && (entry = readdir(dir))) {
        char path[600];
        uint32_t used;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", sysfs, entry->d_name);
        used = read_number(path, "type");
        if (used >= type)
            type = used + 1;
    }
    if (dir)
        closedir(dir);
    return type;
}

void pmu_software(struct pmu *pmu, const char *sysfs)
{
    memset(pmu, 0, sizeof(*pmu));
    snprintf(pmu->name, sizeof(pmu->name), "intel_pt");
    pmu->type = unused_type(sysfs);
    memcpy(pmu->format, software_format, sizeof(software_format));
    pmu->formats = sizeof(software_format) / sizeof(*software_format);
    memcpy(pmu->cap, software_cap, sizeof(software_cap));
    pmu->caps = sizeof(software_cap) / sizeof(*software_cap);
    /* TSC ticks are nanoseconds of the sideband's clock, core cycles are TSC ticks, and the
     * crystal is the 25 MHz one of server parts. */
    pmu->psb_period = 3;
    pmu->mtc_period = 13; /* a third of a millisecond: some ten steps, not a part of one */
    pmu->max_nonturbo_ratio = 10;
    pmu->tsc_ratio = 40;
    pmu->art_ratio = 1;
}

/* --- questions ----------------------------------------------------------------- */

const struct pmu_format *pmu_format(const struct pmu *pmu, const char *name)
{
    for (size_t i = 0; i < pmu->formats; i++) {
        if (!strcmp(pmu->format[i].name, name))
            return &pmu->format[i];
    }
    return NULL;
}

uint64_t pmu_cap(const struct pmu *pmu, const char *name)
{
    for (size_t i = 0; i < pmu->caps; i++) {
        if (!strcmp(pmu->cap[i].name, name))
            return pmu->cap[i].value;
    }
    return 0;
}

uint64_t pmu_mask(const struct pmu *pmu, const char *name)
{
    const struct pmu_format *format = pmu_format(pmu, name);

    if (!format)
        return 0;
    return (UINT64_MAX >> (63 - format->high)) & (UINT64_MAX << format->low);
}

uint64_t pmu_value(const struct pmu *pmu, const char *name, uint64_t config)
{
    const struct pmu_format *format = pmu_format(pmu, name);

    return format ? (config & pmu_mask(pmu, name)) >> format->low : 0;
}
