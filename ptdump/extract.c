/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * extract.c - what is in a recording, for scripts: lists on standard output, parts of it as
 * files beside.
 *
 *   --list-aux           a line per piece of trace
 *   --list-config        a line "key TAB value" per thing that decoders need to know
 *   --list-files         names of mapped files, each ended by a NUL
 *   --extract-aux P      P-aux-idxN.bin: the trace of each AUX buffer
 *   --extract-pieces P   P-aux-idxN.M.bin: the same, a file per AUXTRACE record (snapshots)
 *   --extract-sideband P P-sideband-cpuN.pevent, P-sideband.pevent: raw records
 */
#include "outfile.h"
#include "plain.h"
#include "recording.h"

#include <errno.h>
#include <pt/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX_MAX 4000 /* names of files are shorter than 4096 */

struct extract {
    const struct options *options;
    const struct ptl_perf *perf;
    struct out *out;
    const char *prefix;
};

/* --- lists ------------------------------------------------------------------------- */

static void column(struct out *out, uint32_t value)
{
    if (value == PTL_PERF_ANY)
        out_str(out, "\t-");
    else
        out_printf(out, "\t%u", value);
}

static int selected(const struct extract *x, const struct ptl_perf_queue *queue)
{
    return select_has(&x->options->select.idxs, queue->idx) &&
           select_has(&x->options->select.cpus, queue->cpu);
}

const char *piece_kind(unsigned kind)
{
    static const char *const kinds[] = {"full", "snapshot", "sample", "untold"};

    return kinds[kind <= PTL_PIECE_UNTOLD ? kind : PTL_PIECE_UNTOLD];
}

static int list_aux(struct extract *x)
{
    const struct ptl_perf_queue *q;
    size_t count;

    q = ptl_perf_queues(x->perf, &count);
    out_str(x->out, "idx\tcpu\tpid\ttid\toffset\tsize\tfile\ttime\tflags\tkind\tjoined\tmissing\n");
    for (const struct ptl_perf_queue *end = q + count; q < end; q++)
        for (size_t i = 0; i < q->piece_count && selected(x, q); i++) {
            const struct ptl_perf_piece *p = &q->pieces[i];
            out_dec(x->out, q->idx);
            column(x->out, p->cpu);
            column(x->out, p->pid);
            column(x->out, p->tid);
            out_printf(x->out, "\t%llu\t%llu\t%llu\t%llu\t%x\t%s\t%d\t%llu\n",
                       (unsigned long long)p->offset, (unsigned long long)p->size,
                       (unsigned long long)p->file, (unsigned long long)p->time, p->flags,
                       piece_kind(p->kind), p->joined, (unsigned long long)p->missing);
        }
    return 0;
}

/* A text of the recording is neither an escape sequence nor a line of its own. */
static void put_plain(struct out *out, const char *text)
{
    for (int n; *text; text += n ? n : 1) {
        n = plain_control(text);
        out_char(out, (char)(n ? '?' : *text));
    }
}

static void pair(struct extract *x, const char *key, const char *value)
{
    if (!value)
        return;
    out_printf(x->out, "%s\t", key);
    put_plain(x->out, value);
    out_char(x->out, '\n');
}

static void pair_number(struct extract *x, const char *key, uint64_t value)
{
    out_printf(x->out, "%s\t%llu\n", key, (unsigned long long)value);
}

static void pt_config(struct extract *x, const struct ptl_perf_pt *pt)
{
    if (pt->have_time) {
        pair_number(x, "time-shift", pt->info.time_shift);
        pair_number(x, "time-mult", pt->info.time_mult);
        pair_number(x, "time-zero", pt->info.time_zero);
    }
    if (pt->info.ctc_den) {
        pair_number(x, "cpuid-0x15.ebx", pt->info.ctc_num);
        pair_number(x, "cpuid-0x15.eax", pt->info.ctc_den);
    }
    if (pt->info.max_nonturbo)
        pair_number(x, "nom-freq", pt->info.max_nonturbo);
    if (pt->mtc)
        out_printf(x->out, "mtc-freq\t0x%x\n", pt->mtc_freq);
    out_printf(x->out, "pt-config\t0x%llx\n", (unsigned long long)pt->config);
    pair_number(x, "snapshot", pt->info.snapshot);
    pair_number(x, "per-cpu", pt->info.per_cpu);
    pair(x, "filter", pt->info.filter);
}

/* The start of the kernel's text, as the map of it says. */
static void kernel_map(struct extract *x)
{
    struct ptl_perf_iter iter = {0, 0};
    struct ptl_perf_record r;

    while (ptl_perf_next(x->perf, &iter, &r) > 0) {
        const struct ptl_rec_mmap *m = &r.record.u.mmap;
        if (r.record.known && (r.record.type == PTL_REC_MMAP || r.record.type == PTL_REC_MMAP2) &&
            !strncmp(m->filename, "[kernel.kallsyms]", 17)) {
            out_printf(x->out, "kernel-start\t0x%llx\n", (unsigned long long)m->addr);
            return;
        }
    }
}

static int list_config(struct extract *x)
{
    const struct ptl_perf_info *info = ptl_perf_info(x->perf);
    const struct ptl_perf_pt *pt = ptl_perf_pt(x->perf);
    const struct ptl_perf_event *events;
    size_t count;

    if (info->intel)
        out_printf(x->out, "cpu\t%u/%u/%u\n", info->cpu_family, info->cpu_model,
                   info->cpu_stepping);
    if (pt)
        pt_config(x, pt);
    events = ptl_perf_events(x->perf, &count);
    if (count)
        out_printf(x->out, "sample-config\t0:0x%llx\n",
                   (unsigned long long)events[0].attr.sample_type);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < events[i].id_count; k++)
            out_printf(x->out, "sample-config\t%llu:0x%llx\n", (unsigned long long)events[i].ids[k],
                       (unsigned long long)events[i].attr.sample_type);
    kernel_map(x);
    pair(x, "hostname", info->hostname);
    pair(x, "osrelease", info->osrelease);
    pair(x, "arch", info->arch);
    pair(x, "cpuid", info->cpuid);
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int list_files(struct extract *x)
{
    struct ptl_perf_iter iter = {0, 0};
    struct ptl_perf_record r;
    const char **names = NULL, *last = NULL;
    int for_people = isatty(x->out->fd);
    size_t count = 0, cap = 0;

    while (ptl_perf_next(x->perf, &iter, &r) > 0) {
        if (!r.record.known || (r.record.type != PTL_REC_MMAP && r.record.type != PTL_REC_MMAP2))
            continue;
        if (count == cap) {
            const char **more = realloc(names, (cap = cap ? 2 * cap : 64) * sizeof(*names));
            if (!more) {
                free(names);
                opts_error(x->options->prog, "out of memory");
                return -1;
            }
            names = more;
        }
        names[count++] = r.record.u.mmap.filename;
    }
    if (count)
        qsort(names, count, sizeof(*names), compare_names);
    for (size_t i = 0; i < count; i++) {
        if (last && !strcmp(last, names[i]))
            continue;
        if (for_people)
            put_plain(x->out, names[i]);
        else
            out_str(x->out, names[i]);
        out_char(x->out, '\0');
        last = names[i];
    }
    free(names);
    return 0;
}

/* --- files ------------------------------------------------------------------------- */

static int cannot(const struct extract *x, const char *name)
{
    opts_error(x->options->prog, "%s: %s", name, strerror(errno));
    return -1;
}

static int create(const struct extract *x, const char *name, struct out *file)
{
    int fd = outfile_open(name, 0, 0600);

    if (fd < 0)
        return cannot(x, name);
    if (out_open(file, fd, 64u << 10)) {
        close(fd);
        errno = ENOMEM;
        return cannot(x, name);
    }
    return 0;
}

static int finish(const struct extract *x, const char *name, struct out *file)
{
    int fd = file->fd, error = out_close(file);

    if (close(fd) && !error)
        error = errno;
    errno = error;
    return error ? cannot(x, name) : 0;
}

/* What the file still has of it. write(2) would fail for a page that is gone. */
static void write_piece(struct out *file, const struct ptl_perf_piece *piece)
{
    out_write(file, (const char *)piece->bytes, ptl_map_left(piece->bytes, piece->size));
}

static int write_queue(struct extract *x, const struct ptl_perf_queue *queue)
{
    struct out file;
    char name[4096];

    snprintf(name, sizeof(name), "%s-aux-idx%u.bin", x->prefix, queue->idx);
    if (create(x, name, &file))
        return -1;
    for (size_t i = 0; i < queue->piece_count; i++)
        write_piece(&file, &queue->pieces[i]);
    return finish(x, name, &file);
}

static int write_pieces(struct extract *x, const struct ptl_perf_queue *queue)
{
    for (size_t i = 0; i < queue->piece_count; i++) {
        struct out file;
        char name[4096];
        snprintf(name, sizeof(name), "%s-aux-idx%u.%zu.bin", x->prefix, queue->idx, i);
        if (create(x, name, &file))
            return -1;
        write_piece(&file, &queue->pieces[i]);
        if (finish(x, name, &file))
            return -1;
    }
    return 0;
}

static int each_queue(struct extract *x,
                      int (*write_one)(struct extract *x, const struct ptl_perf_queue *queue))
{
    const struct ptl_perf_queue *queues;
    size_t count;

    queues = ptl_perf_queues(x->perf, &count);
    for (size_t i = 0; i < count; i++)
        if (selected(x, &queues[i]) && write_one(x, &queues[i]))
            return -1;
    return 0;
}

/* One file per CPU that wrote records, opened when the first comes. */
struct cpu_file {
    uint32_t cpu;
    struct out out;
    char name[4096];
};

static struct out *cpu_out(struct extract *x, struct cpu_file **files, size_t *count, uint32_t cpu)
{
    struct cpu_file *f;

    for (size_t i = *count; i-- > 0;)
        if ((*files)[i].cpu == cpu)
            return &(*files)[i].out;
    f = realloc(*files, (*count + 1) * sizeof(*f));
    if (!f) {
        opts_error(x->options->prog, "out of memory");
        return NULL;
    }
    *files = f;
    f += *count;
    f->cpu = cpu;
    if (cpu == PTL_PERF_ANY)
        snprintf(f->name, sizeof(f->name), "%s-sideband.pevent", x->prefix);
    else
        snprintf(f->name, sizeof(f->name), "%s-sideband-cpu%u.pevent", x->prefix, cpu);
    if (create(x, f->name, &f->out))
        return NULL;
    ++*count;
    return &f->out;
}

/* Trace and its framing are no sideband. */
static int is_sideband(uint32_t type)
{
    return type != PTL_REC_AUXTRACE && type != PTL_REC_AUXTRACE_INFO &&
           type != PTL_REC_FINISHED_ROUND;
}

/* Which file a record goes to. perf's own records have no trailer; perf script -D, which the
 * names come from, shows them with CPU 0 if the first event's records have a CPU. */
static uint32_t cpu_of(const struct extract *x, const struct ptl_perf_record *r)
{
    const struct ptl_perf_event *first = ptl_perf_event_of(x->perf, 0);

    if (r->record.type >= PTL_REC_USER)
        return first && first->attr.sample_type & PTL_SAMPLE_CPU ? 0 : PTL_PERF_ANY;
    return r->record.id.have & PTL_SAMPLE_CPU ? r->record.id.cpu : PTL_PERF_ANY;
}

struct sb_row {
    uint64_t time, order;
    const uint8_t *bytes;
    uint32_t cpu;
    uint16_t size;
};

static int compare_rows(const void *a, const void *b)
{
    const struct sb_row *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* All sideband by time; what has none comes first. Returns 0 or -1. */
static int sorted_rows(struct extract *x, struct sb_row **sorted, size_t *count)
{
    struct ptl_perf_iter iter = {0, 0};
    struct ptl_perf_record r;
    struct sb_row *rows = NULL;
    size_t cap = 0;

    *count = 0;
    while (ptl_perf_next(x->perf, &iter, &r) > 0) {
        if (!is_sideband(r.record.type))
            continue;
        if (*count == cap) {
            struct sb_row *more = realloc(rows, (cap = cap ? 2 * cap : 256) * sizeof(*rows));
            if (!more) {
                free(rows);
                opts_error(x->options->prog, "out of memory");
                return -1;
            }
            rows = more;
        }
        rows[*count] =
            (struct sb_row){r.record.id.time, *count, r.bytes, cpu_of(x, &r), r.record.size};
        ++*count;
    }
    if (*count)
        qsort(rows, *count, sizeof(*rows), compare_rows);
    *sorted = rows;
    return 0;
}

static int write_sideband(struct extract *x)
{
    struct cpu_file *files = NULL;
    size_t file_count = 0, count;
    struct sb_row *rows = NULL;
    int status = sorted_rows(x, &rows, &count);

    for (size_t i = 0; i < count && !status; i++) {
        struct out *file = cpu_out(x, &files, &file_count, rows[i].cpu);
        if (ptl_map_left(rows[i].bytes, rows[i].size) < rows[i].size)
            continue;
        if (file)
            out_write(file, (const char *)rows[i].bytes, rows[i].size);
        else
            status = -1;
    }
    for (size_t i = 0; i < file_count; i++)
        if (finish(x, files[i].name, &files[i].out))
            status = -1;
    free(files);
    free(rows);
    return status;
}

int extract_run(const struct options *options, const char *name, const struct ptl_perf *perf,
                struct out *out)
{
    struct extract x = {options, perf, out, options->extract.prefix};
    unsigned what = options->extract.what;
    int status = 0;

    if (!x.prefix)
        x.prefix = name;
    if (strlen(x.prefix) > PREFIX_MAX) {
        errno = ENAMETOOLONG;
        return cannot(&x, x.prefix);
    }
    if (what & EXTRACT_LIST_AUX)
        status |= list_aux(&x);
    if (what & EXTRACT_LIST_CONFIG)
        status |= list_config(&x);
    if (what & EXTRACT_LIST_FILES)
        status |= list_files(&x);
    if (what & EXTRACT_AUX)
        status |= each_queue(&x, write_queue);
    if (what & EXTRACT_PIECES)
        status |= each_queue(&x, write_pieces);
    if (what & EXTRACT_SIDEBAND)
        status |= write_sideband(&x);
    return status;
}
