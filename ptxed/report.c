/* SPDX-License-Identifier: BSD-3-Clause */
/* report.c - see report.h. */
#include "report.h"

#include "opts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 10 /* places named */

typedef unsigned long long ull;

/* What a cause means, and the remedy. */
static const struct {
    const char *what, *remedy;
} causes[PTL_SB_CAUSE_MAX_VALUE + 1] = {
    [PTL_SB_CAUSE_UNKNOWN] = {"the recording tells of nothing mapped there",
                              "sideband was lost, or code was made without a file"},
    [PTL_SB_CAUSE_MISSING] = {"the file cannot be used",
                              "have pt-bundle.bash pack it with the recording, or name a directory "
                              "that holds a copy with --sysroot"},
    [PTL_SB_CAUSE_BUILD_ID] = {"the file is another build than the one that ran",
                               "name a place that has the right one with --sysroot or "
                               "--buildid-dir"},
    [PTL_SB_CAUSE_DELETED] = {"the file was deleted while it was in use",
                              "only a copy in perf's build-id cache (--buildid-dir) can stand in"},
    [PTL_SB_CAUSE_ANONYMOUS] = {"generated code, in no file",
                                "have the JIT compiler write a jitdump file, or record with "
                                "ptcapture --backend step, which saves such code"},
    [PTL_SB_CAUSE_VDSO] = {"the kernel's [vdso]",
                           "name a copy with --pevent:vdso-x64, or put it beside the recording as "
                           "vdso-x64.so"},
    [PTL_SB_CAUSE_SPECIAL] = {"a mapping that the kernel made", "its code is in no file"},
    [PTL_SB_CAUSE_KERNEL] = {"no image of the kernel",
                             "record with --kcore, or name one with --kcore or --vmlinux"},
    [PTL_SB_CAUSE_MODULE] = {"a kernel module", "its file (.ko) below a directory named with "
                                                "--sysroot will do, or --kcore"},
    [PTL_SB_CAUSE_BPF] =
        {"code that the kernel made: a BPF program or a trampoline",
         "record as root, so that perf saves the code of BPF programs, or with --kcore"},
};

/* --- notes ------------------------------------------------------------------------------ */

void report_notes(const char *prog, const char *path, const struct ptl_session *session,
                  int verbose)
{
    const struct ptl_session_note *notes;
    size_t count;

    notes = ptl_session_notes(session, &count);
    for (size_t i = 0; i < count; i++)
        if (notes[i].severity || verbose)
            opts_error(prog, "%s%s: %s.", notes[i].severity ? "warning: " : "", path,
                       notes[i].text);
}

/* --- missing code ---------------------------------------------------------------------------- */

static void add(struct report *report, const struct missing *more)
{
    struct missing *m = report->missing;
    size_t i = 0;

    while (i < report->count && m[i].problem != more->problem)
        i++;
    if (i == report->cap) {
        size_t cap = report->cap ? report->cap * 2 : 16;

        m = realloc(report->missing, cap * sizeof(*m));
        if (!m)
            return;
        report->missing = m;
        report->cap = cap;
    }
    if (i == report->count)
        m[report->count++] = *more;
    else
        m[i].count += more->count;
}

void report_missing(struct report *report, const struct ptl_sideband *sb, uint32_t pid, uint64_t ip)
{
    const struct missing one = {
        .problem = ptl_sideband_why(sb, pid, ip), .ip = ip, .pid = pid, .count = 1};

    add(report, &one);
}

void report_error(struct report *report, const struct ptl_session *session, uint64_t ip)
{
    if (ip >= ptl_session_kernel_start(session) && !report->kernel_errors++)
        report->kernel_ip = ip;
}

void report_merge(struct report *report, struct report *more)
{
    for (size_t i = 0; i < more->count; i++)
        add(report, &more->missing[i]);
    more->count = 0;
    if (!report->kernel_errors)
        report->kernel_ip = more->kernel_ip;
    report->kernel_errors += more->kernel_errors;
    more->kernel_errors = 0;
}

void report_clear(struct report *report)
{
    free(report->missing);
    *report = (struct report){0};
}

static int by_count(const void *a, const void *b)
{
    const struct missing *x = a, *y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->ip < y->ip ? -1 : x->ip > y->ip;
}

static void report_places(const struct report *report, const char *prog)
{
    if (report->count)
        qsort(report->missing, report->count, sizeof(*report->missing), by_count);
    for (size_t i = 0; i < report->count && i < MOST; i++) {
        const struct missing *m = &report->missing[i];
        const char *name = m->problem->name;
        char pid[32] = "";

        if (m->pid != UINT32_MAX && m->problem->cause != PTL_SB_CAUSE_KERNEL)
            snprintf(pid, sizeof(pid), " in process %u", m->pid);
        opts_error(prog, "no code %llu time%s, first at 0x%llx%s%s%s: %s%s%s; %s.", (ull)m->count,
                   m->count == 1 ? "" : "s", (ull)m->ip, pid, name ? " in " : "", name ? name : "",
                   causes[m->problem->cause].what, m->problem->err ? ": " : "",
                   m->problem->err ? strerror(m->problem->err) : "",
                   causes[m->problem->cause].remedy);
    }
}

/* --- files --------------------------------------------------------------------------------------
 */

/* Mappings without a file are normal; they only matter if code ran there. */
static int is_file(const struct ptl_sb_problem *problem)
{
    return problem->cause == PTL_SB_CAUSE_MISSING || problem->cause == PTL_SB_CAUSE_BUILD_ID;
}

static int is_reported(const struct report *report, const struct ptl_sb_problem *problem)
{
    for (size_t i = 0; i < report->count && i < MOST; i++)
        if (report->missing[i].problem == problem)
            return 1;
    return 0;
}

static void report_files(const struct report *report, const char *prog,
                         const struct ptl_session *session)
{
    const struct ptl_sb_problem *problems;
    size_t count;

    problems = ptl_sideband_problems(ptl_session_sideband(session, 0), &count);
    for (size_t i = 0; i < count; i++)
        if (is_file(&problems[i]) && !is_reported(report, &problems[i]))
            opts_error(prog, "not used: %s: %s.", problems[i].name,
                       problems[i].err ? strerror(problems[i].err)
                                       : causes[problems[i].cause].what);
}

/* --- code that is not as it ran ------------------------------------------------------------- */

static void report_vmlinux(const struct report *report, const char *prog,
                           const struct ptl_session *session)
{
    const char *vmlinux = ptl_session_vmlinux(session);

    if (report->kernel_errors && vmlinux)
        opts_error(prog,
                   "%llu error%s in kernel code, first at 0x%llx: %s lacks what the kernel patches "
                   "when it starts and as it runs; record with --kcore.",
                   (ull)report->kernel_errors, report->kernel_errors == 1 ? "" : "s",
                   (ull)report->kernel_ip, vmlinux);
}

/* --- all ---------------------------------------------------------------------------------- */

void report_end(struct report *report, const char *prog, const struct ptl_session *session)
{
    report_places(report, prog);
    report_vmlinux(report, prog, session);
    report_files(report, prog, session);
    report_clear(report);
}
