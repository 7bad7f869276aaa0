/* SPDX-License-Identifier: BSD-3-Clause */
/* load.c - code images from the command line. */
#include "ptxed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define FAILED (EXIT_NOTHING + 1)

/* Cut "name:number" at the last colon. Returns 0, or -1 if no number stands there. */
static int split_base(char *arg, uint64_t *base)
{
    char *colon = strrchr(arg, ':');

    if (!colon || opts_size(colon + 1, base))
        return -1;
    *colon = 0;
    return 0;
}

/* --- raw ---------------------------------------------------------------------------- */

static void why(const struct ptxed *x, const char *name)
{
    if (errno)
        opts_error(x->prog, "%s: %s.", name, strerror(errno));
}

/* Returns 0 or a negative status. */
static int map_raw(struct ptxed *x, const struct file_range *range, uint64_t base)
{
    uint64_t size = range->to ? range->to - range->from : UINT64_MAX - range->from;
    struct ptl_section *section;
    int status;

    errno = 0;
    status = ptl_section_file(&section, range->name, range->from, size);
    if (status) {
        why(x, range->name);
        return status;
    }
    if (range->to && ptl_section_size(section) < size)
        opts_error(x->prog, "warning: %s ends at 0x%llx, before 0x%llx.", range->name,
                   (unsigned long long)(range->from + ptl_section_size(section)),
                   (unsigned long long)range->to);
    status = ptl_space_map(x->space, base, section, 0, ptl_section_size(section));
    ptl_section_unref(section);
    return status;
}

int ptxed_load_raw(struct ptxed *x, const char *arg)
{
    struct file_range range = {0};
    char *name = strdup(arg);
    uint64_t base;
    int status = PTL_INVALID;

    if (!name) {
        opts_error(x->prog, "out of memory");
    } else if (split_base(name, &base)) {
        /* Scripts know this text as it is. */
        opts_error(x->prog, "failed to parse base addressfrom '%s'.", arg);
    } else {
        status = opts_file_range(&range, name) ? PTL_INVALID : map_raw(x, &range, base);
        if (status)
            opts_error(x->prog, "failed to add %s at 0x%llx: %s.", name, (unsigned long long)base,
                       ptl_strstatus(status));
    }
    if (status)
        opts_error(x->prog, "--raw: failed to load '%s'.", arg);
    free(range.name);
    free(name);
    return status ? FAILED : 0;
}

/* --- ELF ---------------------------------------------------------------------------- */

struct elf_report {
    const struct ptxed *x;
    const char *name;
    uint64_t size; /* of the file */
};

static void report_segment(void *context, const struct ptl_elf_segment *segment)
{
    const struct elf_report *report = context;

    if (report->x->verbose)
        printf("%s: offset=0x%llx size=0x%llx vaddr=0x%llx.\n", report->name,
               (unsigned long long)segment->offset, (unsigned long long)segment->size,
               (unsigned long long)segment->vaddr);
    if (segment->offset + segment->size > report->size)
        opts_error(report->x->prog, "warning: %s ends at 0x%llx, within the segment at 0x%llx.",
                   report->name, (unsigned long long)report->size,
                   (unsigned long long)segment->vaddr);
}

static int is_elf(const struct ptl_section *section)
{
    return ptl_section_size(section) >= 4 && !memcmp(ptl_section_bytes(section), "\177ELF", 4);
}

/* A section of the whole file; NULL with the message printed. */
static struct ptl_section *open_elf(const struct ptxed *x, const char *name)
{
    struct ptl_section *section = NULL;
    int status;

    errno = 0;
    status = ptl_section_file(&section, name, 0, UINT64_MAX);
    if (status == 0 && is_elf(section))
        return section;
    if (status == 0)
        ptl_section_unref(section);
    /* An empty file, or a directory, a device, a FIFO, which are not opened. */
    if (status == 0 || status == PTL_INVALID || errno == EISDIR || errno == ENOTSUP)
        opts_error(x->prog, "warning: ignoring %s: not an ELF file.", name);
    else
        opts_error(x->prog, "warning: failed to open %s: %s.", name,
                   errno ? strerror(errno) : ptl_strstatus(status));
    return NULL;
}

/* Returns 0, or FAILED with the message printed. */
static int load_elf(struct ptxed *x, const char *name, uint64_t base)
{
    struct elf_report report = {.x = x, .name = name};
    struct ptl_section *section = open_elf(x, name);
    int status;

    if (!section)
        return FAILED;
    report.size = ptl_section_size(section);
    status = ptl_space_load_elf_section(x->space, section, base, report_segment, &report);
    ptl_section_unref(section);
    if (status)
        opts_error(x->prog, "warning: ignoring %s: %s.", name, ptl_strstatus(status));
    return status ? FAILED : 0;
}

int ptxed_load_elf(struct ptxed *x, const char *arg)
{
    char *name = strdup(arg);
    uint64_t base = 0;
    int status = FAILED;

    if (name) {
        (void)split_base(name, &base); /* no base: where the file wants to be */
        status = load_elf(x, name, base);
    } else {
        opts_error(x->prog, "out of memory");
    }
    free(name);
    return status;
}
