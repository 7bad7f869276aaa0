/* SPDX-License-Identifier: BSD-3-Clause */
/* check.c - see check.h. */
#include "check.h"

#include "machine.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"
#define MLOCK_KB "/proc/sys/kernel/perf_event_mlock_kb"
#define YAMA     "/proc/sys/kernel/yama/ptrace_scope"

static int is_virtual(void)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[4096];
    int found = 0;

    while (file && !found && fgets(line, sizeof(line), file))
        found = !strncmp(line, "flags", 5) && strstr(line, " hypervisor");
    if (file)
        fclose(file);
    return found;
}

static int has_capability(int cap)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];

    memset(data, 0, sizeof(data));
    if (syscall(SYS_capget, &header, data))
        return 0;
    return data[cap / 32].effective >> (cap % 32) & 1;
}

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

static int is_privileged(void)
{
    return has_capability(CAP_PERFMON) || has_capability(CAP_SYS_ADMIN);
}

uint64_t check_lockable(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct rlimit memlock;

    if (has_capability(CAP_IPC_LOCK) || machine_number(PARANOID, 2) < 0 ||
        getrlimit(RLIMIT_MEMLOCK, &memlock) || memlock.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return (uint64_t)machine_number(MLOCK_KB, 516) * 1024 * (uint64_t)(cpus > 0 ? cpus : 1) +
           memlock.rlim_cur;
}

static enum probe_result no_pmu(char *reason, size_t size)
{
    char vendor[13];

    machine_vendor(vendor);
    if (strcmp(vendor, "GenuineIntel") != 0) {
        snprintf(reason, size, "the CPU is not Intel's (%s): only Intel CPUs write Intel PT",
                 vendor);
        return PROBE_NO_HARDWARE;
    }
    if (!machine_cpuid_pt()) {
        snprintf(reason, size, "%s",
                 is_virtual()
                     ? "this virtual machine does not show Intel PT to its guest: expose it "
                       "in the hypervisor (KVM: kvm_intel.pt_mode=1), or record on the host"
                     : "the CPU lacks Intel PT (CPUID.7.EBX[25] is 0; needs Broadwell or "
                       "newer, or the firmware has turned it off)");
        return PROBE_NO_HARDWARE;
    }
    snprintf(reason, size,
             "the CPU has Intel PT but the kernel has no intel_pt driver: needs Linux 4.1 "
             "with CONFIG_PERF_EVENTS_INTEL_PT or newer kernels with CONFIG_PERF_EVENTS, "
             "and firmware that leaves the trace enabled for the system");
    return PROBE_NO_KERNEL;
}

enum probe_result check_intel_pt(char *reason, size_t size)
{
    long paranoid = machine_number(PARANOID, 2);
    struct pmu pmu;

    *reason = '\0';
    if (pmu_load(&pmu, PMU_SYSFS, "intel_pt"))
        return no_pmu(reason, size);
    if (paranoid > 2 && !is_privileged()) {
        snprintf(reason, size,
                 PARANOID " is %ld: only privileged users may open events. Fix: sysctl "
                          "kernel.perf_event_paranoid=2, or CAP_PERFMON",
                 paranoid);
        return PROBE_NO_PERMISSION;
    }
    return PROBE_OK;
}

/* --- the report -------------------------------------------------------------------- */

static void report_pmu(void)
{
    char text[1024];
    struct pmu pmu;

    if (pmu_load(&pmu, PMU_SYSFS, "intel_pt")) {
        printf("PMU         none (" PMU_SYSFS "/intel_pt does not exist)\n");
        return;
    }
    terms_list(&pmu, text, sizeof(text));
    printf("PMU         intel_pt, type %u\n", pmu.type);
    printf("terms       %s\n", text);
    printf("filters     %u address ranges\n", pmu.nr_addr_filters);
    if (pmu.tsc_ratio)
        printf("clock       TSC : crystal = %u : %u\n", pmu.tsc_ratio, pmu.art_ratio);
}

static void report_limits(void)
{
    long paranoid = machine_number(PARANOID, -2), yama = machine_number(YAMA, 0);
    struct rlimit memlock;

    if (paranoid == -2)
        printf("events      the kernel has no perf events (CONFIG_PERF_EVENTS)\n");
    else
        printf("events      perf_event_paranoid %ld, %sprivileged: %s\n", paranoid,
               is_privileged() ? "" : "not ",
               is_privileged() || paranoid < 0 ? "all CPUs and the kernel"
               : paranoid < 1                  ? "all CPUs, kernel code of own tasks"
               : paranoid < 2                  ? "own tasks with kernel code"
               : paranoid < 3                  ? "user code of own tasks"
                                               : "nothing (sysctl kernel.perf_event_paranoid=2)");
    if (!getrlimit(RLIMIT_MEMLOCK, &memlock)) {
        printf("buffers     perf_event_mlock_kb %ld for each CPU, then RLIMIT_MEMLOCK ",
               machine_number(MLOCK_KB, 516));
        if (memlock.rlim_cur == RLIM_INFINITY)
            printf("unlimited\n");
        else
            printf("%llu KiB%s\n", (unsigned long long)memlock.rlim_cur / 1024,
                   has_capability(CAP_IPC_LOCK) ? " (lifted by CAP_IPC_LOCK)" : "");
    }
    if (yama > 0)
        printf(
            "ptrace      yama.ptrace_scope %ld: attaching to processes that are not children %s\n",
            yama,
            yama == 3 ? "is off" : "needs CAP_SYS_PTRACE (sysctl kernel.yama.ptrace_scope=0)");
}

int check_run(const struct capture_options *options, const struct backend *const *backends)
{
    enum probe_result result;
    struct utsname host;
    char reason[512], vendor[13];

    machine_vendor(vendor);
    printf("CPU         %s, Intel PT %s%s\n", vendor, machine_cpuid_pt() ? "yes" : "no",
           is_virtual() ? ", in a virtual machine" : "");
    if (!uname(&host))
        printf("kernel      %s %s\n", host.sysname, host.release);
    report_pmu();
    report_limits();
    result = check_intel_pt(reason, sizeof(reason));
    if (result)
        printf("Intel PT    cannot be used: %s.\n", reason);
    else
        printf("Intel PT    can be used.%s%s\n", *reason ? " " : "", reason);
    for (; *backends; backends++) {
        enum probe_result own = (*backends)->probe(options, reason, sizeof(reason));
        printf("--backend=%s: %s%s%s\n", (*backends)->name, own ? "cannot be used" : "can be used",
               *reason ? ": " : "", reason);
        if (own && !result && !strcmp((*backends)->name, "perf"))
            result = own;
    }
    return (int)result;
}
