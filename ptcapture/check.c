/* SPDX-License-Identifier: BSD-3-Clause */
/* check.c - see check.h. */
#include "check.h"

#include "block.h"
#include "json.h"
#include "machine.h"
#include "opts.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
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
    if (pmu_load(&pmu, PMU_SYSFS, "intel_pt")) {
        if (errno == ENOENT)
            return no_pmu(reason, size);
        snprintf(reason, size, "cannot read " PMU_SYSFS "/intel_pt: %s", strerror(errno));
        return PROBE_NO_KERNEL;
    }
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

#define TEXT 1536

/* Where it goes, and how. */
struct report {
    struct out out;
    int as_json;
};

/* "label       text"; with JSON {"type":"check","name":"label","text":"..."}, left open. */
static void begin(struct report *report, struct json *json, const char *label, const char *text)
{
    if (!report->as_json) {
        out_printf(&report->out, "%-11s %s\n", label, text);
        return;
    }
    json_begin(json, &report->out, "check");
    json_string(json, "name", label);
    json_string(json, "text", text);
}

static void end(struct report *report, struct json *json)
{
    if (report->as_json)
        json_end(json);
}

static void say(struct report *report, const char *label, const char *text)
{
    struct json json;

    begin(report, &json, label, text);
    end(report, &json);
}

/* Whether something can be used, and why (not). */
static void judge(struct report *report, const char *label, const char *text,
                  enum probe_result result, const char *reason)
{
    struct json json;

    if (!report->as_json) {
        out_str(&report->out, text);
        return;
    }
    json_begin(&json, &report->out, "check");
    json_string(&json, "name", label);
    json_bool(&json, "usable", result == PROBE_OK);
    json_count(&json, "status", (uint64_t)result);
    json_string(&json, "reason", reason);
    json_end(&json);
}

static void report_pmu(struct report *report)
{
    char text[TEXT];
    struct pmu pmu;

    if (pmu_load(&pmu, PMU_SYSFS, "intel_pt")) {
        snprintf(text, sizeof(text), "none (" PMU_SYSFS "/intel_pt %s)",
                 errno == ENOENT ? "does not exist" : "cannot be read");
        say(report, "PMU", text);
        return;
    }
    snprintf(text, sizeof(text), "intel_pt, type %u", pmu.type);
    say(report, "PMU", text);
    terms_list(&pmu, text, sizeof(text));
    say(report, "terms", text);
    snprintf(text, sizeof(text), "%u address ranges", pmu.nr_addr_filters);
    say(report, "filters", text);
    snprintf(text, sizeof(text), "TSC : crystal = %u : %u", pmu.tsc_ratio, pmu.art_ratio);
    if (pmu.tsc_ratio)
        say(report, "clock", text);
}

static void report_events(struct report *report)
{
    long paranoid = machine_number(PARANOID, -2);
    char text[TEXT];

    snprintf(text, sizeof(text), "perf_event_paranoid %ld, %sprivileged: %s", paranoid,
             is_privileged() ? "" : "not ",
             is_privileged() || paranoid < 0 ? "all CPUs and the kernel"
             : paranoid < 1                  ? "all CPUs, kernel code of own tasks"
             : paranoid < 2                  ? "own tasks with kernel code"
             : paranoid < 3                  ? "user code of own tasks"
                                             : "nothing (sysctl kernel.perf_event_paranoid=2)");
    say(report, "events",
        paranoid == -2 ? "the kernel has no perf events (CONFIG_PERF_EVENTS)" : text);
}

static void report_limits(struct report *report)
{
    long yama = machine_number(YAMA, 0);
    struct rlimit memlock;
    char text[TEXT], limit[64] = "unlimited";

    if (!getrlimit(RLIMIT_MEMLOCK, &memlock)) {
        if (memlock.rlim_cur != RLIM_INFINITY)
            snprintf(limit, sizeof(limit), "%llu KiB%s",
                     (unsigned long long)memlock.rlim_cur / 1024,
                     has_capability(CAP_IPC_LOCK) ? " (lifted by CAP_IPC_LOCK)" : "");
        snprintf(text, sizeof(text), "perf_event_mlock_kb %ld for each CPU, then RLIMIT_MEMLOCK %s",
                 machine_number(MLOCK_KB, 516), limit);
        say(report, "buffers", text);
    }
    snprintf(text, sizeof(text),
             "yama.ptrace_scope %ld: attaching to processes that are not children %s", yama,
             yama == 3 ? "is off" : "needs CAP_SYS_PTRACE (sysctl kernel.yama.ptrace_scope=0)");
    if (yama > 0)
        say(report, "ptrace", text);
    say(report, "stepping",
        block_probe()
            ? "whole blocks: the CPU's branch step works"
            : "commands of one thread several instructions at once, by breakpoints; other "
              "threads one by one: the branch step of this machine (PTRACE_SINGLEBLOCK) "
              "does not skip any, as is usual in virtual machines");
}

static void report_machine(struct report *report)
{
    struct utsname host;
    char text[TEXT], vendor[13];

    machine_vendor(vendor);
    snprintf(text, sizeof(text), "%s, Intel PT %s%s", vendor, machine_cpuid_pt() ? "yes" : "no",
             is_virtual() ? ", in a virtual machine" : "");
    say(report, "CPU", text);
    if (uname(&host))
        return;
    snprintf(text, sizeof(text), "%s %s", host.sysname, host.release);
    say(report, "kernel", text);
}

static enum probe_result report_intel_pt(struct report *report)
{
    char reason[512], text[TEXT];
    enum probe_result result = check_intel_pt(reason, sizeof(reason));

    if (result)
        snprintf(text, sizeof(text), "Intel PT    cannot be used: %s.\n", reason);
    else
        snprintf(text, sizeof(text), "Intel PT    can be used.%s%s\n", *reason ? " " : "", reason);
    judge(report, "Intel PT", text, result, reason);
    return result;
}

static enum probe_result report_backend(struct report *report, const struct backend *backend,
                                        const struct capture_options *options)
{
    char reason[512] = "", text[TEXT];
    enum probe_result result = backend->probe(options, reason, sizeof(reason));

    snprintf(text, sizeof(text), "--backend=%s: %s%s%s\n", backend->name,
             result ? "cannot be used" : "can be used", *reason ? ": " : "", reason);
    judge(report, backend->name, text, result, reason);
    return result;
}

static int cannot_write(int error)
{
    opts_error("ptcapture", "cannot write the report: %s.", strerror(error));
    return EXIT_FAILURE;
}

int check_run(const struct capture_options *options, const struct backend *const *backends)
{
    struct report report = {.as_json = options->json};
    enum probe_result result, own;
    int error;

    if (out_open(&report.out, STDOUT_FILENO, 0))
        return cannot_write(ENOMEM);
    report_machine(&report);
    report_pmu(&report);
    report_events(&report);
    report_limits(&report);
    result = report_intel_pt(&report);
    for (; *backends; backends++) {
        own = report_backend(&report, *backends, options);
        if (own && !result && !strcmp((*backends)->name, "perf"))
            result = own;
    }
    error = out_close(&report.out);
    return error ? cannot_write(error) : (int)result;
}
