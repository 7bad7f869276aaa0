/* SPDX-License-Identifier: BSD-3-Clause */
/* recording_options.c - see recording_options.h. */
#include "recording_options.h"

#include <string.h>

#define FAILED 3 /* exit status 2, plus 1 */

static int set_string(void *context, const struct opt *opt, const char *arg)
{
    ((struct recording_options *)context)->given = opt->name;
    memcpy((char *)context + opt->value, &arg, sizeof(arg));
    return 0;
}

static int set_int(void *context, const struct opt *opt, const char *arg)
{
    const int one = 1;

    (void)arg;
    ((struct recording_options *)context)->given = opt->name;
    memcpy((char *)context + opt->value, &one, sizeof(one));
    return 0;
}

static const struct {
    const char *name;
    unsigned flag;
} fields[] = {
    {"comm", FIELD_COMM}, {"pid", FIELD_PID},   {"tid", FIELD_TID},
    {"cpu", FIELD_CPU},   {"time", FIELD_TIME}, {"all", ~0u},
};

/* "comm,tid": returns the flag of the first word, 0 if there is no such field. */
static unsigned field_of(const char *word, size_t len)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        if (strlen(fields[i].name) == len && !memcmp(fields[i].name, word, len))
            return fields[i].flag;
    return 0;
}

static int set_fields(void *context, const struct opt *opt, const char *arg)
{
    struct recording_options *o = context;

    o->given = opt->name;
    for (const char *word = arg; *word; word += *word == ',') {
        size_t len = strcspn(word, ",");
        unsigned flag = field_of(word, len);

        if (!flag) {
            opts_error(o->prog, "%s: bad argument: %s (comm, pid, tid, cpu, time, all).", opt->name,
                       arg);
            return FAILED;
        }
        o->fields |= flag;
        word += len;
    }
    return 0;
}

#define AT(field) offsetof(struct recording_options, field)

const struct opt recording_options_table[] = {
    {"--merge", NULL, NULL, "all buffers together, by time; else one after the other", set_int,
     AT(merge), 0, NULL},
    {"--fields", NULL, "<field>[,<field>]...",
     "begin each line with comm, pid, tid, cpu, time (seconds as perf shows them), or all",
     set_fields, 0, 0, NULL},
    {"--sysroot", NULL, "<dir>", "put before the names of mapped files", set_string, AT(sysroot), 0,
     NULL},
    {"--buildid-dir", NULL, "<dir>", "perf's cache of files by build id (default: ~/.debug)",
     set_string, AT(buildid_dir), 0, NULL},
    {"--kcore", NULL, "<file>", "the kernel's code: a copy of /proc/kcore, or a directory with one",
     set_string, AT(kcore), 0, NULL},
    {"--vmlinux", NULL, "<file>", "the kernel's code: its ELF file", set_string, AT(vmlinux), 0,
     NULL},
    {"--no-trace-time", NULL, NULL,
     "ignore the times in the trace: mappings apply where AUX records tell that it had got to",
     set_int, AT(no_time), 0, NULL},
    {.name = "select", .flags = OPT_SUB, .sub = opts_select_table, .value = AT(select)},
    {.name = NULL},
};
