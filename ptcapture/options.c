/* SPDX-License-Identifier: BSD-3-Clause */
/* options.c - see options.h. One table drives the parser, --help, the manual and completions. */
#include "options.h"

#include "opts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USAGE_FAILED 3 /* exit status 2, plus 1 */

#define MAX_IDS 65536

static int id_list_add(struct id_list *list, long id)
{
    int *grown;

    if (list->count >= MAX_IDS)
        return -1;
    grown = realloc(list->ids, (list->count + 1) * sizeof(*grown));
    if (!grown)
        return -1;
    list->ids = grown;
    list->ids[list->count++] = (int)id;
    return 0;
}

int id_list_parse(struct id_list *list, const char *text, int ranges)
{
    while (*text) {
        char *end;
        long first, last;

        if (!isdigit((unsigned char)*text))
            return -1;
        errno = 0;
        first = last = strtol(text, &end, 10);
        if (ranges && *end == '-' && isdigit((unsigned char)end[1]))
            last = strtol(end + 1, &end, 10);
        if (errno || last < first || last > INT32_MAX || last - first > MAX_IDS)
            return -1;
        for (long id = first; id <= last; id++) {
            if (id_list_add(list, id))
                return -1;
        }
        if (*end == ',' && end[1])
            end++;
        else if (*end)
            return -1;
        text = end;
    }
    return list->count ? 0 : -1;
}

/* --- what options do -------------------------------------------------------- */

static char *field(void *context, const struct opt *opt)
{
    return (char *)context + opt->value;
}

static const char *prog_of(const void *context)
{
    return ((const struct capture_options *)context)->prog;
}

static int bad_argument(const void *context, const struct opt *opt, const char *arg)
{
    opts_error(prog_of(context), "%s: bad argument: %s.", opt->name, arg);
    return USAGE_FAILED;
}

static int set_flag(void *context, const struct opt *opt, const char *arg)
{
    int one = 1;

    (void)arg;
    memcpy(field(context, opt), &one, sizeof(one));
    return 0;
}

static int set_string(void *context, const struct opt *opt, const char *arg)
{
    memcpy(field(context, opt), &arg, sizeof(arg));
    return 0;
}

static int add_string(void *context, const struct opt *opt, const char *arg)
{
    struct string_list *list = (void *)field(context, opt);

    if (list->count == OPTION_STRINGS) {
        opts_error(prog_of(context), "%s: given more than %d times.", opt->name, OPTION_STRINGS);
        return USAGE_FAILED;
    }
    list->item[list->count++] = arg;
    return 0;
}

static int set_size(void *context, const struct opt *opt, const char *arg)
{
    uint64_t bytes;

    if (opts_size(arg, &bytes) || !bytes)
        return bad_argument(context, opt, arg);
    memcpy(field(context, opt), &bytes, sizeof(bytes));
    return 0;
}

/* -m DATA[,AUX]: like perf, a plain number is a number of pages. */
static int buffer_size(const char *text, uint64_t *bytes)
{
    size_t n = strlen(text);

    if (opts_size(text, bytes))
        return -1;
    if (n && isdigit((unsigned char)text[n - 1])) {
        if (*bytes > UINT64_MAX / 4096)
            return -1;
        *bytes *= 4096;
    }
    return 0;
}

static int set_buffers(void *context, const struct opt *opt, const char *arg)
{
    struct capture_options *options = context;
    const char *comma = strchr(arg, ',');
    char data[32];
    size_t n = comma ? (size_t)(comma - arg) : strlen(arg);

    if (n >= sizeof(data))
        return bad_argument(context, opt, arg);
    memcpy(data, arg, n);
    data[n] = '\0';
    if ((n && (buffer_size(data, &options->data_size) || !options->data_size)) ||
        (comma && (buffer_size(comma + 1, &options->aux_size) || !options->aux_size)))
        return bad_argument(context, opt, arg);
    return 0;
}

static int set_snapshot(void *context, const struct opt *opt, const char *arg)
{
    struct capture_options *options = context;

    options->snapshot = 1;
    return arg && *arg ? set_size(context, opt, arg) : 0;
}

static int set_aux_sample(void *context, const struct opt *opt, const char *arg)
{
    struct capture_options *options = context;

    options->aux_sample = 1;
    return arg && *arg ? set_size(context, opt, arg) : 0;
}

static int set_per_cpu(void *context, const struct opt *opt, const char *arg)
{
    struct capture_options *options = context;

    if (arg && *arg && strcmp(arg, "wide") != 0)
        return bad_argument(context, opt, arg);
    options->per_cpu = arg && *arg ? PER_CPU_WIDE : PER_CPU_TASK;
    return 0;
}

/* "500", "500ms", "1.5s", "2m": a bare number has the unit of the option. */
static int parse_time(const char *arg, double unit, uint64_t *ns)
{
    static const struct {
        const char *suffix;
        double ns;
    } units[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    char *end;
    double value;

    if (!isdigit((unsigned char)*arg) && *arg != '.')
        return -1;
    value = strtod(arg, &end);
    if (*end) {
        unit = 0;
        for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
            if (!strcmp(end, units[i].suffix))
                unit = units[i].ns;
        }
    }
    value *= unit;
    if (!(value > 0 && value < 9e18))
        return -1;
    *ns = (uint64_t)value;
    return 0;
}

static int set_delay(void *context, const struct opt *opt, const char *arg)
{
    struct capture_options *options = context;

    return parse_time(arg, 1e6, &options->delay_ns) ? bad_argument(context, opt, arg) : 0;
}

static int set_duration(void *context, const struct opt *opt, const char *arg)
{
    struct capture_options *options = context;

    return parse_time(arg, 1e9, &options->duration_ns) ? bad_argument(context, opt, arg) : 0;
}

static int set_backend(void *context, const struct opt *opt, const char *arg)
{
    if (strcmp(arg, "auto") && strcmp(arg, "perf") && strcmp(arg, "step")) {
        opts_error(prog_of(context), "%s: unknown backend: %s. Valid values are: auto, perf, step.",
                   opt->name, arg);
        return USAGE_FAILED;
    }
    return set_string(context, opt, arg);
}

static int set_ids(void *context, const struct opt *opt, const char *arg)
{
    struct capture_options *options = context;
    int is_cpus = !strcmp(opt->name, "--cpu");

    if (id_list_parse(is_cpus ? &options->cpus : &options->ids, arg, is_cpus))
        return bad_argument(context, opt, arg);
    if (options->target && options->target != (enum capture_target)opt->value) {
        opts_error(options->prog, "%s: -p, -t and -a or -C exclude each other.", opt->name);
        return USAGE_FAILED;
    }
    options->target = (enum capture_target)opt->value;
    return 0;
}

static int set_all_cpus(void *context, const struct opt *opt, const char *arg)
{
    struct capture_options *options = context;

    (void)arg;
    if (options->target && options->target != TARGET_CPUS) {
        opts_error(options->prog, "%s: -p, -t and -a or -C exclude each other.", opt->name);
        return USAGE_FAILED;
    }
    options->target = TARGET_CPUS;
    return 0;
}

#define AT(member) offsetof(struct capture_options, member)

static const struct opt table[] = {
    {"", NULL, NULL, "What to record", NULL, 0, 0, NULL},
    {"--pid", "-p", "<pid>[,<pid>]", "Attach to running processes, all their threads.", set_ids,
     TARGET_PIDS, 0, NULL},
    {"--tid", "-t", "<tid>[,<tid>]", "Attach to these threads.", set_ids, TARGET_TIDS, 0, NULL},
    {"--all-cpus", "-a", NULL, "Record the whole machine.", set_all_cpus, 0, 0, NULL},
    {"--cpu", "-C", "<cpu>[-<cpu>][,...]", "Record whatever runs on these CPUs.", set_ids,
     TARGET_CPUS, 0, NULL},
    {"--event", "-e", "<event>",
     "intel_pt/<term>[=<value>],.../<modifiers>: what the trace holds. Modifiers: u user code, k "
     "kernel code. Terms and their limits are the machine's (--check lists them). With "
     "--aux-sample, further events.",
     add_string, AT(events), 0, NULL},
    {"--filter", NULL, "<filter>",
     "Trace only parts: 'filter <start>[/<size>]', 'tracestop ...', each with '@<object>'; <start> "
     "is an address or a symbol. Repeatable.",
     add_string, AT(filters), 0, NULL},
    {"--per-thread", NULL, NULL, "One trace for each thread; threads started later are not traced.",
     set_flag, AT(per_thread), 0, NULL},
    {"--per-cpu", NULL, "[wide]",
     "Software recorder: one trace of one virtual CPU, on which the threads take turns, with "
     "SWITCH "
     "records as perf record has for a command (wide: SWITCH_CPU_WIDE, as for whole CPUs).",
     set_per_cpu, 0, 0, NULL},
    {"--no-inherit", "-i", NULL, "Do not follow children and new threads.", set_flag,
     AT(no_inherit), 0, NULL},
    {"--delay", "-D", "<ms>", "Begin to trace this long after the start.", set_delay, 0, 0, NULL},
    {"--duration", NULL, "<seconds>", "Stop after this time; also 500ms, 2m.", set_duration, 0, 0,
     NULL},
    {"", NULL, NULL, "How to record", NULL, 0, 0, NULL},
    {"--backend", NULL, "auto|perf|step",
     "perf: the kernel and a CPU with Intel PT. step: the software recorder, which works anywhere "
     "and is slow. auto: perf where it can, else step.",
     set_backend, AT(backend), 0, NULL},
    {"--single-step", NULL, NULL,
     "Software recorder: stop at each instruction of a command, write no breakpoints into it.",
     set_flag, AT(single_step), 0, NULL},
    {"--mmap-pages", "-m", "<data>[,<aux>]", "Size of the rings: pages, or bytes with K, M or G.",
     set_buffers, 0, 0, NULL},
    {"--snapshot", "-S", "[<size>]",
     "Keep the newest trace only and write it on SIGUSR2, at the end, and when --control asks.",
     set_snapshot, AT(snapshot_size), 0, NULL},
    {"--aux-sample", NULL, "[<size>]", "Attach the newest trace to samples of further events.",
     set_aux_sample, AT(aux_sample_size), 0, NULL},
    {"--control", NULL, "fifo:<ctl>[,<ack>]",
     "Take the commands snapshot, enable, disable, ping and stop from a FIFO.", set_string,
     AT(control), 0, NULL},
    {"--kcore", NULL, NULL, "Save the kernel's code next to the trace (a directory is written).",
     set_flag, AT(kcore), 0, NULL},
    {"", NULL, NULL, "Output", NULL, 0, 0, NULL},
    {"--output", "-o", "<file>", "Default perf.data; an existing one is kept as <file>.old.",
     set_string, AT(output), 0, NULL},
    {"--max-size", NULL, "<size>", "Stop when the output has this many bytes (K, M, G).", set_size,
     AT(max_size), 0, NULL},
    {"--compress", "-z", NULL, "Compress sideband with zstd, as perf record -z does.", set_flag,
     AT(compress), 0, NULL},
    {"--truth", NULL, "<file>",
     "Software recorder: also write every instruction that executed, to this file.", set_string,
     AT(truth), 0, NULL},
    {.name = "losses",
     .flags = OPT_SUB,
     .sub = losses_table,
     .value = offsetof(struct capture_options, losses)},
    {"--quiet", "-q", NULL, "Print errors only.", set_flag, AT(quiet), 0, NULL},
    {"--verbose", "-v", NULL, "Say what is being done.", set_flag, AT(verbose), 0, NULL},
    {"", NULL, NULL, "Information", NULL, 0, 0, NULL},
    {"--check", NULL, NULL,
     "Tell what this machine can record, why not, and what would fix it. Exit status: 0 Intel PT "
     "can be used, 3 no hardware, 4 no kernel support, 5 no permission.",
     set_flag, AT(check), 0, NULL},
    {"--json", NULL, NULL, "Each line of --check a JSON object, see libpt-json(5).", set_flag,
     AT(json), 0, NULL},
    OPTS_HELP_ROW,
    OPTS_VERSION_ROW(NULL),
    OPTS_LIST_ROW,
    {NULL, NULL, NULL, NULL, NULL, 0, 0, NULL},
};

static void describe(struct opts *opts, struct capture_options *options)
{
    memset(opts, 0, sizeof(*opts));
    opts->prog = options->prog;
    opts->name = "ptcapture";
    opts->table = table;
    opts->usage = "[options] [--] <command> [<argument>...]\n"
                  "       ptcapture [options] -p <pid> | -t <tid> | -a | -C <cpus>";
    opts->about = "Records what a command, processes, threads or CPUs execute, as Intel PT, into a "
                  "perf.data file that perf script, ptdump and ptxed read.";
    opts->context = options;
    opts->stop_at_word = 1;
}

/* --- what does not go together ------------------------------------------------ */

static int usage(const struct capture_options *options, const char *text)
{
    opts_error(options->prog, "%s", text);
    return USAGE_FAILED;
}

static int cross_check(struct capture_options *options, char **rest)
{
    if (options->check)
        return 0;
    if (options->json)
        return usage(options, "--json: only with --check.");
    if (*rest) {
        options->command = rest;
        if (options->target == TARGET_NONE)
            options->target = TARGET_COMMAND;
    }
    if (options->target == TARGET_NONE)
        return usage(options, "nothing to record: name a command, -p, -t, -a or -C (see --help).");
    if (options->snapshot && options->aux_sample)
        return usage(options, "--snapshot and --aux-sample exclude each other.");
    if (options->per_thread && options->target == TARGET_CPUS)
        return usage(options, "--per-thread and -a or -C exclude each other.");
    if (options->per_thread && options->per_cpu)
        return usage(options, "--per-thread and --per-cpu exclude each other.");
    if (options->aux_sample && options->events.count < 2)
        return usage(options, "--aux-sample needs a second -e: the event to sample.");
    return 0;
}

int options_parse(struct capture_options *options, int argc, char **argv)
{
    struct opts opts;
    int rest = 0, status;

    memset(options, 0, sizeof(*options));
    options->prog = options->losses.prog = argv[0];
    options->output = "perf.data";
    options->backend = "auto";
    describe(&opts, options);
    status = opts_parse(&opts, argc, argv, &rest);
    return status ? status : cross_check(options, argv + rest);
}

void options_free(struct capture_options *options)
{
    free(options->ids.ids);
    free(options->cpus.ids);
}
