/* SPDX-License-Identifier: BSD-3-Clause */
/* open.c - open and close recordings; problems; small memory. */
#include "perfdata/internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MAX_PROBLEMS 1000 /* a broken file does not fill the memory */

void ptl__perf_complain(struct ptl_perf *perf, int status, uint64_t offset, const char *format, ...)
{
    struct ptl_perf_problem *p;
    va_list ap;

    if (perf->problem_count >= MAX_PROBLEMS ||
        GROW(perf->problems, perf->problem_cap, perf->problem_count))
        return;
    p = &perf->problems[perf->problem_count++];
    memset(p, 0, sizeof(*p));
    p->status = status;
    p->offset = offset;
    va_start(ap, format);
    vsnprintf(p->text, sizeof(p->text), format, ap);
    va_end(ap);
}

void *ptl__perf_keep(struct ptl_perf *perf, size_t size)
{
    void *p;

    if (GROW(perf->kept, perf->kept_cap, perf->kept_count))
        return NULL;
    p = ptl__calloc(1, size);
    if (p)
        perf->kept[perf->kept_count++] = p;
    return p;
}

const char *ptl__perf_text(struct ptl_perf *perf, const uint8_t *bytes, size_t len)
{
    char *copy;

    if (len && memchr(bytes, 0, len))
        return (const char *)bytes;
    copy = ptl__perf_keep(perf, len + 1);
    if (copy && len)
        memcpy(copy, bytes, len);
    return copy;
}

static struct ptl_perf *new_perf(const struct ptl_perf_config *config)
{
    struct ptl_perf *perf = ptl__calloc(1, sizeof(*perf));

    if (!perf)
        return NULL;
    perf->spill.fd = perf->copies.fd = perf->joins.fd = -1;
    if (config && config->size >= sizeof(*config)) {
        perf->unzip = config->unzip;
        perf->tmpdir = config->tmpdir;
    }
    return perf;
}

static struct stream *new_stream(struct ptl_perf *perf)
{
    struct stream *s;

    if (GROW(perf->streams, perf->stream_cap, perf->stream_count))
        return NULL;
    s = &perf->streams[perf->stream_count];
    memset(s, 0, sizeof(*s));
    s->number = (uint32_t)perf->stream_count++;
    return s;
}

/* The number behind "data.", without zeros in front; -1 if the name is no such. */
static long part_number(const char *name)
{
    const char *number = name + strlen("data.");
    size_t digits;

    if (strncmp(name, "data.", strlen("data.")) != 0)
        return -1;
    digits = strspn(number, "0123456789");
    if (!digits || digits > 5 || number[digits] || (*number == '0' && digits > 1))
        return -1;
    return strtol(number, NULL, 10);
}

/* How many parts there should be: one may be missing, as copying may leave one out. */
static long count_parts(struct ptl_perf *perf)
{
    DIR *dir = opendir(perf->directory);
    const struct dirent *entry = NULL;
    long count = 0;

    do {
        errno = 0;
        entry = dir ? readdir(dir) : NULL;
        if (entry && part_number(entry->d_name) >= count)
            count = part_number(entry->d_name) + 1;
    } while (entry);
    if (!dir || errno)
        ptl__perf_complain(perf, PTL_BAD_FILE, 0, "the directory cannot be listed");
    if (dir)
        closedir(dir);
    return count;
}

/* data.0, data.1, ... of a directory: records only, no header. */
static int open_parts(struct ptl_perf *perf)
{
    long count = count_parts(perf);
    int missing = 0;

    for (long i = 0; i < count; i++) {
        struct ptl_perf_problem problem = {0, 0, 0, ""};
        struct stream *s;
        char path[4096];
        struct stat st;

        if (snprintf(path, sizeof(path), "%s/data.%ld", perf->directory, i) >= (int)sizeof(path))
            return 0;
        if (stat(path, &st)) {
            if (!missing++) /* once: the highest number may be any */
                ptl__perf_complain(perf, PTL_BAD_FILE, 0, "data.%ld: cannot be found", i);
            continue;
        }
        s = new_stream(perf);
        if (!s)
            return PTL_NOMEM;
        if (ptl__view_path(&s->view, path, perf->tmpdir, &problem)) {
            errno = problem.err;
            ptl__perf_complain(perf, problem.status, 0, "data.%ld: %s", i, problem.text);
            s->view.bytes = (const uint8_t *)"";
        }
        s->end = s->view.len;
    }
    return 0;
}

/* Time conversion and configuration of the PT event. */
static void settle_pt(struct ptl_perf *perf)
{
    struct ptl_perf_pt *pt = &perf->pt;
    struct ptl_pt_info *info = &pt->info;
    uint64_t freq_bits = info->mtc_freq_bits;

    for (size_t i = 0; i < perf->set.count && !pt->event; i++)
        if (perf->set.events[i].attr.type == info->pmu_type)
            pt->event = &perf->set.events[i];
    if (!pt->event) {
        ptl__perf_complain(perf, PTL_BAD_CONFIG, 0, "no event has the type of the trace (%llu)",
                           (unsigned long long)info->pmu_type);
        return;
    }
    pt->config = pt->event->attr.config;
    pt->tsc = (pt->config & info->tsc_bit) != 0;
    pt->mtc = (pt->config & info->mtc_bit) != 0;
    pt->cyc = (pt->config & info->cyc_bit) != 0;
    pt->noretcomp = (pt->config & info->noretcomp_bit) != 0;
    if (pt->mtc && freq_bits)
        pt->mtc_freq = (uint8_t)((pt->config & freq_bits) >> __builtin_ctzll(freq_bits));
    if (!info->cap_user_time_zero && perf->time_conv.mult) {
        info->time_shift = perf->time_conv.shift;
        info->time_mult = perf->time_conv.mult;
        info->time_zero = perf->time_conv.zero;
        info->cap_user_time_zero = 1;
    }
    pt->have_time = info->cap_user_time_zero && info->time_mult && info->time_mult <= UINT32_MAX &&
                    info->time_shift <= 32 && pt->event->attr.sample_type & PTL_SAMPLE_TIME &&
                    !(pt->event->attr.flags & PTL_ATTR_USE_CLOCKID);
}

/* Everything from streams[0] and the directory on. */
static int load(struct ptl_perf *perf, struct ptl_perf_problem *problem)
{
    int status = ptl__perf_header(perf, problem);

    if (status)
        return status;
    if (perf->directory)
        status = open_parts(perf);
    if (!status)
        status = ptl__perf_walk(perf);
    if (!status)
        status = ptl__spill_map(&perf->spill);
    if (!status)
        status = ptl__spill_map(&perf->copies);
    for (size_t i = 0; !status && i < perf->segment_count; i++)
        if (perf->segments[i].unzipped)
            perf->segments[i].bytes = perf->spill.view.bytes + perf->segments[i].spilled;
        else if (perf->segments[i].copied)
            perf->segments[i].bytes = perf->copies.view.bytes + perf->segments[i].spilled;
    if (!status)
        status = ptl__events_sort(&perf->set);
    if (!status)
        status = ptl__perf_features(perf);
    if (!status && perf->have_pt)
        settle_pt(perf);
    if (!status)
        status = ptl__perf_notes(perf);
    if (!status)
        status = ptl__perf_pieces(perf);
    if (status) {
        problem->status = status;
        problem->err = errno;
        snprintf(problem->text, sizeof(problem->text), "%s", ptl_strstatus(status));
    }
    return status;
}

static int finish_open(struct ptl_perf **out, struct ptl_perf *perf,
                       const struct ptl_perf_problem *problem, struct ptl_perf_problem *report)
{
    if (!problem->status) {
        *out = perf;
        return 0;
    }
    if (report)
        *report = *problem;
    ptl_perf_close(perf);
    return problem->status;
}

static void open_path(struct ptl_perf *perf, const char *path, struct ptl_perf_problem *problem)
{
    struct stream *s = new_stream(perf);
    struct stat st;
    char data[4096];

    problem->status = PTL_NOMEM;
    if (!s)
        return;
    if (strcmp(path, "-") != 0 && !stat(path, &st) && S_ISDIR(st.st_mode)) {
        perf->directory = ptl__strdup(path);
        if (!perf->directory)
            return;
        if (snprintf(data, sizeof(data), "%s/data", path) >= (int)sizeof(data)) {
            problem->status = PTL_BAD_FILE;
            snprintf(problem->text, sizeof(problem->text), "name too long");
            return;
        }
        path = data;
    }
    problem->status = ptl__view_path(&s->view, path, perf->tmpdir, problem);
    if (problem->status && perf->directory && problem->err == ENOENT) {
        snprintf(problem->text, sizeof(problem->text), "a directory without a file \"data\"");
        problem->err = 0;
    }
    if (!problem->status)
        problem->status = load(perf, problem);
}

int ptl_perf_open(struct ptl_perf **out, const char *path, const struct ptl_perf_config *config,
                  struct ptl_perf_problem *report)
{
    struct ptl_perf_problem problem = {0, 0, 0, "out of memory"};
    struct ptl_perf *perf = new_perf(config);

    *out = NULL;
    if (perf)
        open_path(perf, path, &problem);
    else
        problem.status = PTL_NOMEM;
    return finish_open(out, perf, &problem, report);
}

int ptl_perf_open_memory(struct ptl_perf **out, const void *bytes, size_t len,
                         const struct ptl_perf_config *config, struct ptl_perf_problem *report)
{
    struct ptl_perf_problem problem = {0, 0, 0, "out of memory"};
    struct ptl_perf *perf = new_perf(config);
    struct stream *s = perf ? new_stream(perf) : NULL;

    *out = NULL;
    if (s) {
        s->view.bytes = bytes;
        s->view.len = len;
        problem.status = load(perf, &problem);
    } else {
        problem.status = PTL_NOMEM;
    }
    return finish_open(out, perf, &problem, report);
}

void ptl_perf_close(struct ptl_perf *perf)
{
    if (!perf)
        return;
    for (size_t i = 0; i < perf->stream_count; i++)
        ptl__view_close(&perf->streams[i].view);
    for (size_t i = 0; i < perf->kept_count; i++)
        ptl__free(perf->kept[i]);
    if (perf->unzipping)
        perf->unzip->close(perf->unzipping);
    ptl__events_free(&perf->set);
    ptl__spill_close(&perf->spill);
    ptl__spill_close(&perf->copies);
    ptl__spill_close(&perf->joins);
    void *arrays[] = {perf->streams,   perf->segments,   perf->buffers,   perf->notes,
                      perf->build_ids, perf->index_rows, perf->queues,    perf->pieces,
                      perf->problems,  perf->kept,       perf->directory, perf->join_rows,
                      perf->places};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        ptl__free(arrays[i]);
    ptl__free(perf);
}

const struct ptl_perf_problem *ptl_perf_problems(const struct ptl_perf *perf, size_t *count)
{
    *count = perf->problem_count;
    return perf->problems;
}

const char *ptl_perf_directory(const struct ptl_perf *perf)
{
    return perf->directory;
}

const struct ptl_perf_pt *ptl_perf_pt(const struct ptl_perf *perf)
{
    return perf->have_pt ? &perf->pt : NULL;
}
