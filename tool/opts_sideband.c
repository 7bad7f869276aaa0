/* SPDX-License-Identifier: BSD-3-Clause */
/* opts_sideband.c - see opts_sideband.h. */
#include "opts_sideband.h"

#include <errno.h>
#include <stdlib.h>

#define FAILED    3  /* exit status 2, plus 1 */
#define SHIFT_MAX 32 /* see pt/clock.h */

static int set_print(void *context, const struct opt *opt, const char *arg)
{
    struct opts_sideband *o = context;
    unsigned flag = (unsigned)opt->value;

    (void)arg;
    if (flag & (SB_PRINT_COMPACT | SB_PRINT_VERBOSE))
        o->print &= ~(SB_PRINT_COMPACT | SB_PRINT_VERBOSE);
    o->print |= flag;
    return 0;
}

static int set_switches(void *context, const struct opt *opt, const char *arg)
{
    (void)opt;
    (void)arg;
    ((struct opts_sideband *)context)->show_switches = 1;
    return 0;
}

static int set_string(void *context, const struct opt *opt, const char *arg)
{
    memcpy((char *)context + opt->value, &arg, sizeof(arg));
    return 0;
}

/* opt->value: offset of an uint64_t. */
static int set_number(void *context, const struct opt *opt, const char *arg)
{
    struct opts_sideband *o = context;
    uint64_t value;
    int status = opts_number(o->prog, opt->name, arg, UINT64_MAX, &value);

    if (!status)
        memcpy((char *)context + opt->value, &value, sizeof(value));
    return status;
}

static int set_shift(void *context, const struct opt *opt, const char *arg)
{
    struct opts_sideband *o = context;
    uint64_t value;
    int status = opts_number(o->prog, opt->name, arg, SHIFT_MAX, &value);

    if (!status)
        o->next.time.shift = (uint16_t)value;
    return status;
}

static int set_mult(void *context, const struct opt *opt, const char *arg)
{
    struct opts_sideband *o = context;
    uint64_t value;
    int status = opts_number(o->prog, opt->name, arg, UINT32_MAX, &value);

    if (!status)
        o->next.time.mult = (uint32_t)value;
    return status;
}

static int no_memory(const struct opts_sideband *o)
{
    opts_error(o->prog, "out of memory");
    return FAILED;
}

static int bad_config(const struct opts_sideband *o, const char *arg)
{
    opts_error(o->prog, "bad sample config %s: %s.", arg, ptl_strstatus(PTL_INVALID));
    return FAILED;
}

/* "ID:TYPE" */
static int add_config(void *context, const struct opt *opt, const char *arg)
{
    struct opts_sideband *o = context;
    size_t n = o->next.layout_count;
    struct ptl_sb_layout *layouts, layout = {0};
    const char *end;

    (void)opt;
    if (opts_scan(arg, &layout.id, &end) || *end != ':')
        return bad_config(o, arg);
    arg = end + 1;
    if (opts_size(arg, &layout.layout.sample_type))
        return bad_config(o, arg);
    layouts = realloc(o->layouts, (n + 1) * sizeof(*layouts));
    if (!layouts)
        return no_memory(o);
    layouts[n] = layout;
    o->layouts = layouts;
    o->next.layout_count = n + 1;
    return 0;
}

/* The layouts given so far belong to the file; later ones do not. */
static int keep_layouts(struct opts_sideband *o, struct opts_sideband_file *file)
{
    size_t size = o->next.layout_count * sizeof(*o->layouts);
    struct ptl_sb_layout *copy;

    if (!size)
        return 0;
    copy = malloc(size);
    if (!copy)
        return -1;
    memcpy(copy, o->layouts, size);
    file->source.layouts = copy;
    return 0;
}

/* opt->value: PTL_SB_LANE_*. */
static int add_file(void *context, const struct opt *opt, const char *arg)
{
    struct opts_sideband *o = context;
    struct opts_sideband_file *files = realloc(o->files, (o->file_count + 1) * sizeof(*files)),
                              *file;
    int status;

    if (!files)
        return no_memory(o);
    o->files = files;
    file = &files[o->file_count];
    memset(file, 0, sizeof(*file));
    status = infile_open(&file->file, o->prog, arg);
    if (status)
        return status;
    file->source = o->next;
    file->source.size = sizeof(file->source);
    file->source.name = file->file.name;
    file->source.lanes = (uint8_t)opt->value;
    file->source.flags = PTL_SB_IN_ORDER;
    o->file_count++;
    return keep_layouts(o, file) ? no_memory(o) : 0;
}

#define SOURCE(field) offsetof(struct opts_sideband, next.field)

const struct opt opts_sideband_table[] = {
    {"--pevent:primary", NULL, "<file>[:<from>[-<to>]]",
     "records of the traced processor, or a part of them", add_file, PTL_SB_LANE_FIXED, 0, NULL},
    {"--pevent", NULL, "<file>[:<from>[-<to>]]",
     "records of the traced processor, or a part of them", add_file, PTL_SB_LANE_FIXED, OPT_HIDDEN,
     NULL},
    {"--pevent:secondary", NULL, "<file>[:<from>[-<to>]]",
     "records of other processors: their context switches do not count", add_file, PTL_SB_LANE_NONE,
     0, NULL},
    {"--pevent:sample-type", NULL, "<val>", "perf_event_attr.sample_type of the records",
     set_number, SOURCE(layout.sample_type), 0, NULL},
    {"--pevent:sample-config", NULL, "<id>:<val>",
     "the sample type of records with this identifier", add_config, 0, 0, NULL},
    {"--pevent:time-zero", NULL, "<val>", "perf_event_mmap_page.time_zero", set_number,
     SOURCE(time.zero), 0, NULL},
    {"--pevent:time-shift", NULL, "<val>", "perf_event_mmap_page.time_shift", set_shift, 0, 0,
     NULL},
    {"--pevent:time-mult", NULL, "<val>", "perf_event_mmap_page.time_mult", set_mult, 0, 0, NULL},
    {"--pevent:tsc-offset", NULL, "<val>", "records apply this many ticks earlier", set_number,
     SOURCE(tsc_offset), 0, NULL},
    {"--pevent:kernel-start", NULL, "<val>", "addresses from here up are the kernel's", set_number,
     offsetof(struct opts_sideband, kernel_start), 0, NULL},
    {"--pevent:sysroot", NULL, "<path>", "put before the names of mapped files", set_string,
     SOURCE(sysroot), 0, NULL},
    {"--pevent:kcore", NULL, "<file>", "a copy of /proc/kcore: code of the kernel", set_string,
     offsetof(struct opts_sideband, kcore), 0, NULL},
    {"--pevent:vdso-x64", NULL, "<file>", "the [vdso] of 64-bit processes", set_string,
     SOURCE(vdso_x64), 0, NULL},
    {"--pevent:vdso-x32", NULL, "<file>", "the [vdso] of x32 processes", set_string,
     SOURCE(vdso_x32), 0, NULL},
    {"--pevent:vdso-ia32", NULL, "<file>", "the [vdso] of 32-bit processes", set_string,
     SOURCE(vdso_ia32), 0, NULL},
    {"--sb:compact", NULL, NULL, "show records, one a line", set_print, SB_PRINT_COMPACT, 0, NULL},
    {"--sb", NULL, NULL, "show records, one a line", set_print, SB_PRINT_COMPACT, OPT_HIDDEN, NULL},
    {"--sb:verbose", NULL, NULL, "show records, one field a line", set_print, SB_PRINT_VERBOSE, 0,
     NULL},
    {"--sb:filename", NULL, NULL, "with the name of their file", set_print, SB_PRINT_FILENAME, 0,
     NULL},
    {"--sb:offset", NULL, NULL, "with their offset in the file", set_print, SB_PRINT_OFFSET, 0,
     NULL},
    {"--sb:time", NULL, NULL, "with their time in TSC ticks", set_print, SB_PRINT_TIME, 0, NULL},
    {"--sb:switch", NULL, NULL, "show context switches", set_switches, 0, 0, NULL},
    {"--sb:warn", NULL, NULL, "show warnings about lost sideband, trace and images", set_print,
     SB_PRINT_WARN, 0, NULL},
    {.name = NULL},
};

int opts_sideband_build(const struct opts_sideband *o, const struct ptl_space *base, int images,
                        struct ptl_sideband **sideband)
{
    const struct ptl_sideband_config config = {.size = sizeof(config),
                                               .flags =
                                                   PTL_SB_KEEP | (images ? 0 : PTL_SB_NO_IMAGES),
                                               .base = base};
    uint32_t index;
    int status;

    *sideband = NULL;
    if (!o->file_count)
        return 0;
    status = ptl_sideband_new(sideband, &config);
    for (size_t i = 0; i < o->file_count && status == 0; i++) {
        const struct opts_sideband_file *file = &o->files[i];

        status = ptl_sideband_source(*sideband, &file->source, &index);
        if (status == 0)
            status = ptl_sideband_add(*sideband, index, file->file.bytes, file->file.len,
                                      0); /* offsets count from the part given */
    }
    if (status == 0)
        status = ptl_sideband_finish(*sideband);
    if (status < 0) {
        ptl_sideband_free(*sideband);
        *sideband = NULL;
    }
    return status;
}

/* Where records end, which need not be the end of the file: zeros may follow. */
static size_t records_end(const struct infile *file)
{
    size_t at = 0, zeros;
    int size;

    while ((size = ptl_record_size(file->bytes + at, file->len - at)) > 0) {
        uint32_t type;

        memcpy(&type, file->bytes + at, sizeof(type));
        if (!type)
            return file->len;
        at += (size_t)size;
    }
    for (zeros = at; zeros < file->len && !file->bytes[zeros]; zeros++)
        ;
    return zeros == file->len ? zeros : at;
}

uint64_t opts_sideband_report(const struct opts_sideband *o)
{
    uint64_t count = 0;

    for (size_t i = 0; i < o->file_count; i++) {
        const struct infile *file = &o->files[i].file;
        size_t end = records_end(file);

        if (end == file->len)
            continue;
        count++;
        opts_error(o->prog, "%s: 0x%llx: what comes here is no record, or not all of one.",
                   file->name, (unsigned long long)(file->from + end));
    }
    return count;
}

void opts_sideband_close(struct opts_sideband *o)
{
    for (size_t i = 0; i < o->file_count; i++) {
        free((void *)(uintptr_t)o->files[i].source.layouts);
        infile_close(&o->files[i].file);
    }
    free(o->files);
    free(o->layouts);
}
