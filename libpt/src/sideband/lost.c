/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lost.c - what could not be used, and why: once for each name, and by address for those who
 * ask why there is no code.
 */
#include "base/alloc.h"
#include "sideband/sideband.h"

#include <string.h>

/* --- names --------------------------------------------------------------------------- */

static int has_prefix(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static int has_suffix(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);

    return n >= m && strcmp(s + n - m, suffix) == 0;
}

/* Only the beginning and the end count: files may have brackets and blanks in their names. */
uint8_t ptl__sb_name_cause(const char *name)
{
    static const char *const anonymous[] = {"//anon",      "/memfd:",        "/dev/zero",
                                            "anon_inode:", "/anon_hugepage", "/SYSV"};

    if (strcmp(name, "[vdso]") == 0)
        return PTL_SB_CAUSE_VDSO;
    if (strcmp(name, "[heap]") == 0 || has_prefix(name, "[stack") || has_prefix(name, "[anon:"))
        return PTL_SB_CAUSE_ANONYMOUS;
    if (name[0] == '[')
        return PTL_SB_CAUSE_SPECIAL;
    for (size_t i = 0; i < sizeof(anonymous) / sizeof(*anonymous); i++)
        if (has_prefix(name, anonymous[i]))
            return PTL_SB_CAUSE_ANONYMOUS;
    return has_suffix(name, " (deleted)") ? PTL_SB_CAUSE_DELETED : PTL_SB_CAUSE_UNKNOWN;
}

/* --- problems --------------------------------------------------------------------------- */

int ptl__sb_problem(struct ptl_sideband *sb, const char *name, uint8_t cause, int err,
                    uint32_t *index)
{
    uint32_t hash = ptl__sb_hash(sb, cause, name), newest = ptl__map_get(&sb->by_problem, hash);
    struct ptl_sb_problem *problem = MORE(sb, problems);
    uint32_t *older = MORE(sb, older_problems);

    for (*index = newest; *index != PTL__MAP_NONE; *index = sb->older_problems[*index])
        if (sb->problems[*index].cause == cause && strcmp(sb->problems[*index].name, name) == 0)
            return 0;
    if (!problem || !older)
        return PTL_NOMEM;
    *problem = (struct ptl_sb_problem){.name = ptl__strdup(name), .cause = cause, .err = err};
    if (!problem->name)
        return PTL_NOMEM;
    *older = newest;
    *index = (uint32_t)sb->problems_count++;
    sb->older_problems_count++;
    return ptl__map_put(&sb->by_problem, hash, *index);
}

int ptl__sb_lose(struct ptl_sideband *sb, uint32_t space, uint64_t addr, uint64_t len,
                 uint32_t problem)
{
    struct lost *lost = MORE(sb, lost);

    if (!lost)
        return PTL_NOMEM;
    *lost = (struct lost){addr, len, space, problem};
    sb->lost_count++;
    sb->problems[problem].mappings++;
    return 0;
}

const struct ptl_sb_problem *ptl_sideband_problems(const struct ptl_sideband *sb, size_t *count)
{
    *count = sb->problems_count;
    return sb->problems;
}

/* --- by address --------------------------------------------------------------------------- */

static const struct ptl_sb_problem unknown = {.cause = PTL_SB_CAUSE_UNKNOWN};
static const struct ptl_sb_problem kernel = {.cause = PTL_SB_CAUSE_KERNEL};

/* The newest mapping at the address: in that process, else in any. (A child has its parent's
 * mappings, which are not repeated here.) */
const struct ptl_sb_problem *ptl_sideband_why(const struct ptl_sideband *sb, uint32_t pid,
                                              uint64_t ip)
{
    const struct process *process = ptl__sb_find_process(sb, pid);
    const struct lost *any = NULL;

    for (size_t i = sb->lost_count; i-- > 0;) {
        const struct lost *lost = &sb->lost[i];

        if (ip - lost->addr >= lost->len)
            continue;
        if (lost->space == PTL_TIMELINE_KERNEL || (process && lost->space == process->space))
            return &sb->problems[lost->problem];
        if (!any)
            any = lost;
    }
    if (any)
        return &sb->problems[any->problem];
    return ip >> 63 ? &kernel : &unknown;
}
