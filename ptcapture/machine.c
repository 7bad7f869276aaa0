/* SPDX-License-Identifier: BSD-3-Clause */
/* machine.c - see machine.h. */
#include "machine.h"

#include <cpuid.h>
#include <dirent.h>
#include <pt/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

long machine_number(const char *path, long missing)
{
    FILE *file = fopen(path, "re");
    long value = missing;

    if (file) {
        if (fscanf(file, "%ld", &value) != 1)
            value = missing;
        fclose(file);
    }
    return value;
}

/* --- CPU --------------------------------------------------------------------- */

void machine_vendor(char vendor[13])
{
    unsigned eax = 0, part[3] = {0, 0, 0};

    __get_cpuid(0, &eax, &part[0], &part[2], &part[1]);
    memcpy(vendor, part, 12);
    vendor[12] = '\0';
}

int machine_cpuid_pt(void)
{
    unsigned eax, ebx, ecx, edx;

    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx >> 25 & 1);
}

/* "GenuineIntel,6,85,4": family and model as they are displayed (SDM vol. 2, CPUID). */
static void cpuid_text(char *text, size_t size)
{
    unsigned eax = 0, ebx, ecx, edx, family, model;
    char vendor[13];

    machine_vendor(vendor);
    __get_cpuid(1, &eax, &ebx, &ecx, &edx);
    family = eax >> 8 & 15;
    model = eax >> 4 & 15;
    if (family == 6 || family == 15)
        model += (eax >> 16 & 15) << 4;
    if (family == 15)
        family += eax >> 20 & 255;
    snprintf(text, size, "%s,%u,%u,%u", vendor, family, model, eax & 15);
}

/* The value after "name<blanks>:" in a file of such lines. */
static int field_of(const char *path, const char *name, char *value, size_t size)
{
    FILE *file = fopen(path, "re");
    char line[512];
    int found = 0;

    while (file && !found && fgets(line, sizeof(line), file)) {
        char *colon = strchr(line, ':');
        if (colon && !strncmp(line, name, strlen(name))) {
            colon += 1 + strspn(colon + 1, " \t");
            colon[strcspn(colon, "\n")] = '\0';
            snprintf(value, size, "%s", colon);
            found = 1;
        }
    }
    if (file)
        fclose(file);
    return found;
}

static int describe_cpu(struct ptl_perf_writer *writer)
{
    long available = sysconf(_SC_NPROCESSORS_CONF), online = sysconf(_SC_NPROCESSORS_ONLN);
    char text[256];
    int status;

    cpuid_text(text, sizeof(text));
    status = ptl_perf_writer_string(writer, PTL_FEAT_CPUID, text);
    if (!status && field_of("/proc/cpuinfo", "model name", text, sizeof(text)))
        status = ptl_perf_writer_string(writer, PTL_FEAT_CPUDESC, text);
    if (!status && available > 0 && online > 0)
        status = ptl_perf_writer_nrcpus(writer, (uint32_t)available, (uint32_t)online);
    if (!status && field_of("/proc/meminfo", "MemTotal", text, sizeof(text))) {
        uint64_t kb = strtoull(text, NULL, 10);
        status = ptl_perf_writer_feature(writer, PTL_FEAT_TOTAL_MEM, &kb, sizeof(kb));
    }
    return status;
}

/* --- topology ------------------------------------------------------------------- */

#define MAX_CPUS 4096

struct topology {
    uint32_t *core, *socket, *die;
    const char **list[3]; /* distinct lists of siblings: of sockets, of cores, of dies */
    size_t lists[3];
    size_t cpus;
};

static char *topology_text(size_t cpu, const char *name)
{
    char path[128], line[256];
    FILE *file;
    char *copy = NULL;

    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%zu/topology/%s", cpu, name);
    file = fopen(path, "re");
    if (file && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        copy = strdup(line);
    }
    if (file)
        fclose(file);
    return copy;
}

static void add_list(struct topology *t, int kind, char *text)
{
    for (size_t i = 0; text && i < t->lists[kind]; i++) {
        if (!strcmp(t->list[kind][i], text)) {
            free(text);
            return;
        }
    }
    if (text)
        t->list[kind][t->lists[kind]++] = text;
}

static uint32_t topology_number(size_t cpu, const char *name)
{
    char path[128];
    long value;

    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%zu/topology/%s", cpu, name);
    value = machine_number(path, 0);
    return value < 0 ? 0 : (uint32_t)value;
}

static int write_topology(struct ptl_perf_writer *writer, struct topology *t)
{
    static const char *const siblings[] = {"core_siblings_list", "thread_siblings_list",
                                           "die_cpus_list"};
    struct ptl_perf_topology out;

    for (size_t cpu = 0; cpu < t->cpus; cpu++) {
        t->core[cpu] = topology_number(cpu, "core_id");
        t->socket[cpu] = topology_number(cpu, "physical_package_id");
        t->die[cpu] = topology_number(cpu, "die_id");
        for (int kind = 0; kind < 3; kind++)
            add_list(t, kind, topology_text(cpu, siblings[kind]));
    }
    if (!t->lists[0])
        return 0; /* no sysfs */
    memset(&out, 0, sizeof(out));
    out.core_lists = t->lists[0];
    out.thread_lists = t->lists[1];
    out.die_lists = t->lists[2];
    out.cpus = t->cpus;
    out.cores = t->list[0];
    out.threads = t->list[1];
    out.dies = t->list[2];
    out.core_ids = t->core;
    out.socket_ids = t->socket;
    out.die_ids = t->die;
    return ptl_perf_writer_topology(writer, &out);
}

static int describe_topology(struct ptl_perf_writer *writer)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    struct topology t;
    int status = PTL_NOMEM;

    if (cpus <= 0 || cpus > MAX_CPUS)
        return 0;
    memset(&t, 0, sizeof(t));
    t.cpus = (size_t)cpus;
    t.core = calloc(t.cpus, sizeof(*t.core));
    t.socket = calloc(t.cpus, sizeof(*t.socket));
    t.die = calloc(t.cpus, sizeof(*t.die));
    for (int kind = 0; kind < 3; kind++)
        t.list[kind] = calloc(t.cpus, sizeof(*t.list[kind]));
    if (t.core && t.socket && t.die && t.list[0] && t.list[1] && t.list[2])
        status = write_topology(writer, &t);
    for (int kind = 0; kind < 3; kind++) {
        for (size_t i = 0; t.list[kind] && i < t.lists[kind]; i++)
            free((char *)t.list[kind][i]);
        free(t.list[kind]);
    }
    free(t.core);
    free(t.socket);
    free(t.die);
    return status;
}

/* --- PMUs ------------------------------------------------------------------------ */

#define MAX_PMUS 128

static int describe_pmus(struct ptl_perf_writer *writer, const struct pmu *own)
{
    char names[MAX_PMUS][64];
    const char *pointers[MAX_PMUS];
    uint32_t types[MAX_PMUS];
    size_t n = 0;
    struct dirent *entry;
    DIR *dir = opendir(PMU_SYSFS);

    snprintf(names[n], sizeof(names[n]), "%s", own->name);
    types[n++] = own->type;
    while (dir && n < MAX_PMUS && (entry = readdir(dir))) {
        char path[512];
        long type;

        if (entry->d_name[0] == '.' || !strcmp(entry->d_name, own->name) ||
            strlen(entry->d_name) >= sizeof(names[n]))
            continue;
        snprintf(path, sizeof(path), PMU_SYSFS "/%s/type", entry->d_name);
        type = machine_number(path, -1);
        if (type < 0)
            continue;
        snprintf(names[n], sizeof(names[n]), "%.63s", entry->d_name);
        types[n++] = (uint32_t)type;
    }
    if (dir)
        closedir(dir);
    for (size_t i = 0; i < n; i++)
        pointers[i] = names[i];
    return ptl_perf_writer_pmus(writer, n, types, pointers);
}

/* --- all --------------------------------------------------------------------------- */

int machine_describe(struct ptl_perf_writer *writer, const struct pmu *pmu, int argc,
                     char *const *argv)
{
    struct utsname host;
    char version[64];
    int status = 0;

    if (!uname(&host)) {
        status = ptl_perf_writer_string(writer, PTL_FEAT_HOSTNAME, host.nodename);
        if (!status)
            status = ptl_perf_writer_string(writer, PTL_FEAT_OSRELEASE, host.release);
        if (!status)
            status = ptl_perf_writer_string(writer, PTL_FEAT_ARCH, host.machine);
    }
    snprintf(version, sizeof(version), "ptcapture %s", ptl_version());
    if (!status)
        status = ptl_perf_writer_string(writer, PTL_FEAT_VERSION, version);
    if (!status)
        status = describe_cpu(writer);
    if (!status)
        status = describe_topology(writer);
    if (!status)
        status = describe_pmus(writer, pmu);
    if (!status)
        status = ptl_perf_writer_cmdline(writer, (size_t)argc, (const char *const *)argv);
    return status;
}
