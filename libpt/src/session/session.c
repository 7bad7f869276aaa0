/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.c - opening a recording, and what users ask for.
 */
#include "session/session.h"
#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_NOTES 1000

int ptl__session_note(struct ptl_session *s, uint8_t severity, const char *format, ...)
{
    struct ptl_session_note *note;
    va_list args;

    if (ptl__grow((void **)&s->notes, &s->note_cap, s->note_count + 1, MAX_NOTES, sizeof(*note)) <
        0)
        return PTL_NOMEM;
    note = &s->notes[s->note_count++];
    note->severity = severity;
    va_start(args, format);
    vsnprintf(note->text, sizeof(note->text), format, args);
    va_end(args);
    return 0;
}

static void explain(struct ptl_perf_problem *problem, int status, const char *text)
{
    if (!problem)
        return;
    *problem = (struct ptl_perf_problem){.status = status};
    snprintf(problem->text, sizeof(problem->text), "%s", text);
}

/* Where files that belong to the recording lie. */
static int set_beside(struct ptl_session *s, const char *path)
{
    const char *dir = ptl_perf_directory(s->perf);
    const char *slash = strrchr(path, '/');
    size_t n;

    if (dir) {
        n = strlen(dir) + 2;
        s->beside = ptl__malloc(n);
        if (s->beside)
            snprintf(s->beside, n, "%s/", dir);
    } else {
        s->beside = ptl__strdup(path);
        if (s->beside)
            s->beside[slash ? slash - path + 1 : 0] = 0;
    }
    return s->beside ? 0 : PTL_NOMEM;
}

static int make_base(struct ptl_session *s, const struct ptl_session_config *config)
{
    return config->base ? ptl_space_clone(&s->base, config->base) : ptl_space_new(&s->base);
}

static int note_problems(struct ptl_session *s)
{
    const struct ptl_perf_problem *problem;
    size_t count;
    int status = 0;

    problem = ptl_perf_problems(s->perf, &count);
    for (size_t i = 0; i < count && status == 0; i++)
        status = ptl__session_note(s, 1, "offset 0x%llx: %s", (unsigned long long)problem[i].offset,
                                   problem[i].text);
    return status;
}

/* What the trace cannot tell. */
static int note_time(struct ptl_session *s)
{
    if (!s->timeless)
        return 0;
    return ptl__session_note(s, 0,
                             "the trace %s: mappings and switches apply where AUX records tell "
                             "that the trace had got to",
                             s->pt->tsc ? "has no conversion of time" : "has no time");
}

static int set_up(struct ptl_session *s, const char *path, const struct ptl_session_config *config)
{
    int status = set_beside(s, path);

    ptl__session_setup(s, config);
    if (status == 0)
        status = ptl__session_filters(s, config);
    if (status == 0)
        status = note_problems(s);
    if (status == 0) {
        ptl__losses_file(&s->losses, s->perf);
        status = note_time(s);
    }
    if (status == 0)
        status = make_base(s, config);
    if (status == 0)
        status = ptl__session_kernel(s, config);
    if (status == 0)
        status = ptl__session_vdso(s);
    return status < 0 ? status : ptl__session_records(s, config);
}

int ptl_session_open(struct ptl_session **session, const char *path,
                     const struct ptl_session_config *config, struct ptl_perf_problem *problem)
{
    struct ptl_perf_config perf = {.size = sizeof(perf)};
    struct ptl_session *s;
    int status;

    if (!session || !path || !config || config->size != sizeof(*config))
        return PTL_INVALID;
    s = ptl__calloc(1, sizeof(*s));
    if (!s)
        return PTL_NOMEM;
    perf.unzip = config->unzip;
    perf.tmpdir = config->tmpdir;
    status = ptl_perf_open(&s->perf, path, &perf, problem);
    if (status == 0) {
        s->pt = ptl_perf_pt(s->perf);
        status = s->pt ? set_up(s, path, config) : PTL_NOT_SUPPORTED;
        if (status < 0)
            explain(problem, status,
                    status == PTL_NOT_SUPPORTED ? "no Intel PT in this recording"
                                                : ptl_strstatus(status));
    }
    if (status < 0) {
        ptl_session_close(s);
        return status;
    }
    *session = s;
    return 0;
}

void ptl_session_close(struct ptl_session *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->sideband_count; i++)
        ptl_sideband_free(s->sidebands[i]);
    ptl__free(s->sidebands);
    ptl_section_unref(s->vdso);
    if (s->base)
        ptl_space_free(s->base);
    ptl_perf_close(s->perf);
    ptl__free(s->notes);
    ptl__free(s->filters);
    ptl__free(s->beside);
    ptl__free(s->vmlinux);
    ptl__free(s);
}

/* --- questions ----------------------------------------------------------------------- */

const struct ptl_perf *ptl_session_perf(const struct ptl_session *s)
{
    return s->perf;
}

const struct ptl_sideband *ptl_session_sideband(const struct ptl_session *s, uint32_t queue)
{
    return s->sidebands[queue < s->sideband_count ? queue : 0];
}

uint64_t ptl_session_tsc(const struct ptl_session *s, uint64_t tsc)
{
    return tsc + s->tsc_high;
}

uint64_t ptl_session_ns(const struct ptl_session *s, uint64_t tsc)
{
    return s->time.mult ? ptl_tsc_to_ns(&s->time, tsc + s->tsc_high) : 0;
}

uint64_t ptl_session_ticks(const struct ptl_session *s, uint64_t ns)
{
    return s->time.mult ? ptl_ns_to_tsc(&s->time, ns) - s->tsc_high : 0;
}

int ptl_session_has_time(const struct ptl_session *s)
{
    return !s->timeless;
}

const struct ptl_session_note *ptl_session_notes(const struct ptl_session *s, size_t *count)
{
    *count = s->note_count;
    return s->notes;
}

const char *ptl_session_vmlinux(const struct ptl_session *s)
{
    return s->have_kcore ? NULL : s->vmlinux;
}

const struct ptl_losses *ptl_session_losses(const struct ptl_session *s)
{
    return &s->losses;
}

int ptl_session_flow_config(const struct ptl_session *s, uint32_t queue,
                            struct ptl_flow_config *config)
{
    size_t count;

    (void)ptl_perf_queues(s->perf, &count);
    if (queue >= count)
        return PTL_INVALID;
    *config = s->flow;
    return 0;
}

struct ptl_stream ptl_session_stream(const struct ptl_session *s, uint32_t queue)
{
    size_t count;
    const struct ptl_perf_queue *queues = ptl_perf_queues(s->perf, &count);

    if (queue >= count)
        return (struct ptl_stream){NULL, 0};
    return (struct ptl_stream){queues[queue].pieces, queues[queue].piece_count};
}

uint32_t ptl_session_lane(const struct ptl_session *s, uint32_t queue)
{
    size_t count;
    const struct ptl_perf_queue *queues = ptl_perf_queues(s->perf, &count);

    if (queue >= count)
        return UINT32_MAX;
    return s->by_thread ? queues[queue].tid : queues[queue].cpu;
}

uint64_t ptl_session_kernel_start(const struct ptl_session *s)
{
    return s->kernel_start;
}
