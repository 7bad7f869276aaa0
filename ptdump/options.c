/* SPDX-License-Identifier: BSD-3-Clause */
/* options.c - see options.h. The table is the parser, --help and the manual's check. */
#include "options.h"

#include <stdio.h>
#include <string.h>

#define FAILED 3 /* exit status 2, plus 1 */

static int take_file(void *context, const char *word)
{
    struct options *options = context;

    if (options->file) {
        opts_error(options->prog, "[<options>] <ptfile>.  Use --help or -h for help.");
        return FAILED;
    }
    options->file = word;
    return 0;
}

/* opt->value is the offset of an uint8_t. */
static int set_flag(void *context, const struct opt *opt, const char *arg)
{
    (void)arg;
    ((uint8_t *)context)[opt->value] = 1;
    return 0;
}

/* Records are shown if that is asked for afterwards. */
static int set_quiet(void *context, const struct opt *opt, const char *arg)
{
    struct options *options = context;

    (void)opt;
    (void)arg;
    options->dump.quiet = 1;
    options->sideband.print = 0;
    return 0;
}

/* opt->value is an EXTRACT_*. */
static int set_extract(void *context, const struct opt *opt, const char *arg)
{
    struct options *options = context;

    options->extract.given = opt->name;
    options->extract.what |= (unsigned)opt->value;
    if (arg)
        options->extract.prefix = arg;
    return 0;
}

static int set_tail(void *context, const struct opt *opt, const char *arg)
{
    struct options *options = context;

    return opts_positive(options->prog, opt->name, arg, UINT64_MAX, &options->tail);
}

#define FLAG(field) .apply = set_flag, .value = offsetof(struct options, field)

static const struct opt table[] = {
    {.name = "", .help = "general"},
    OPTS_HELP_ROW,
    OPTS_VERSION_ROW("-v"),
    OPTS_LIST_ROW,
    {.name = "losses",
     .flags = OPT_SUB,
     .sub = losses_table,
     .value = offsetof(struct options, losses)},
    {.name = "--no-sync",
     .help = "don't try to sync to the first PSB, assume a valid sync point.",
     FLAG(dump.no_sync)},

    {.name = "", .help = "what to print"},
    {.name = "--tail",
     .arg = "<n>",
     .help =
         "only the last n packets of those that are shown (of each buffer of a recording); what "
         "comes before is not decoded, so that time is known from the PSB before them on.",
     .apply = set_tail},
    {.name = "--quiet",
     .alias = "-q",
     .help = "don't print anything but errors, nor what an --sb option before it asked for.",
     .apply = set_quiet},
    {.name = "--no-pad", .help = "don't show PAD packets.", FLAG(dump.no_pad)},
    {.name = "--no-timing",
     .help = "don't show timing packets: TSC, TMA, MTC, CYC, CBR.",
     FLAG(dump.no_timing)},
    {.name = "--no-cyc",
     .help = "don't show CYC packets and don't use them for time.",
     FLAG(dump.no_cyc)},
    {.name = "--no-offset", .help = "don't show the offset of each packet.", FLAG(dump.no_offset)},
    {.name = "--raw", .help = "show the bytes of each packet.", FLAG(dump.raw)},
    {.name = "--lastip", .help = "show the address that IP packets lead to.", FLAG(dump.lastip)},
    {.name = "--json",
     .help = "each line a JSON object, see libpt-json(5). The address of IP packets is always "
             "there, --time-delta has no effect.",
     FLAG(dump.json)},
    {.name = "--exec-mode", .help = "show the current execution mode.", FLAG(dump.exec_mode)},

    {.name = "", .help = "time"},
    {.name = "--time", .help = "show the estimated TSC for timing packets.", FLAG(dump.time)},
    {.name = "--tcal",
     .help = "show the calibration: TSC ticks per core cycle (not together with --time).",
     FLAG(dump.tcal)},
    {.name = "--time-delta",
     .help = "show time and calibration as difference to the line before.",
     FLAG(dump.time_delta)},
    {.name = "--no-tcal",
     .help = "don't calibrate: CYC packets then cannot be used and are reported.",
     FLAG(timing.clock.no_tcal)},
    {.name = "--no-wall-clock",
     .help = "count time from zero before the first TSC, instead of reporting it as missing.",
     FLAG(dump.no_wall_clock)},
    {.name = "--keep-tcal-on-ovf",
     .help = "keep the calibration across overflows.",
     FLAG(timing.clock.keep_tcal_on_ovf)},

    {.name = "timing",
     .flags = OPT_SUB,
     .sub = opts_timing_table,
     .value = offsetof(struct options, timing)},
    {.name = "", .help = "sideband (options act on the files that follow)"},
    {.name = "sideband",
     .flags = OPT_SUB,
     .sub = opts_sideband_table,
     .value = offsetof(struct options, sideband)},
    {.name = "", .help = "recordings (perf.data)"},
    {.name = "select",
     .flags = OPT_SUB,
     .sub = opts_select_table,
     .value = offsetof(struct options, select)},
    {.name = "--list-aux",
     .help = "instead of packets: a line per piece of trace.",
     .apply = set_extract,
     .value = EXTRACT_LIST_AUX},
    {.name = "--list-config",
     .help = "instead of packets: processor, timing, events; a name and a value a line.",
     .apply = set_extract,
     .value = EXTRACT_LIST_CONFIG},
    {.name = "--list-files",
     .help = "instead of packets: the names of mapped files, each ended by a zero byte.",
     .apply = set_extract,
     .value = EXTRACT_LIST_FILES},
    {.name = "--extract-aux",
     .arg = "<prefix>",
     .help = "write the trace of each AUX buffer to <prefix>-aux-idx<n>.bin.",
     .apply = set_extract,
     .value = EXTRACT_AUX},
    {.name = "--extract-pieces",
     .arg = "<prefix>",
     .help = "write each piece of trace (each snapshot) to <prefix>-aux-idx<n>.<m>.bin.",
     .apply = set_extract,
     .value = EXTRACT_PIECES},
    {.name = "--extract-sideband",
     .arg = "<prefix>",
     .help = "write the records of each processor to <prefix>-sideband-cpu<n>.pevent, those of "
             "none to <prefix>-sideband.pevent.",
     .apply = set_extract,
     .value = EXTRACT_SIDEBAND},
    {.name = NULL},
};

/* What has no effect on lists and on parts that are extracted. */
static int check_extract(const struct options *options)
{
    const struct opts_select *select = &options->select;
    const unsigned by_queue = EXTRACT_LIST_AUX | EXTRACT_AUX | EXTRACT_PIECES;
    const char *bad = NULL;

    if (!options->extract.what)
        return 0;
    if (select_by_time(select) || select_by_task(select) ||
        (options->extract.what & ~by_queue && select->given))
        bad = select->given;
    else if (options->tail)
        bad = "--tail";
    else if (options->dump.json)
        bad = "--json";
    if (bad)
        opts_error(options->prog, "%s: not with %s.", bad, options->extract.given);
    return bad ? FAILED : 0;
}

static void describe(struct opts *opts, struct options *options)
{
    memset(opts, 0, sizeof(*opts));
    opts->prog = options->prog;
    opts->name = "ptdump";
    opts->table = table;
    opts->usage = "[<options>] <ptfile>[:<from>[-<to>]]";
    opts->about = "Print the packets of a processor trace, one a line. <ptfile> is raw trace or a "
                  "recording: a perf.data file or directory. <from> and <to> limit the "
                  "file to a range of bytes; - is standard input. Exit status: 0 everything was "
                  "decoded; 1 something was not; 2 wrong usage or nothing to decode.";
    opts->context = options;
    opts->word = take_file;
}

unsigned options_sideband(const struct options *options)
{
    return options->sideband.print | SB_PRINT_ERRORS | (options->dump.json ? SB_PRINT_JSON : 0);
}

int options_parse(struct options *options, int argc, char **argv)
{
    struct opts opts;
    int rest, status;

    memset(options, 0, sizeof(*options));
    options->prog = argc > 0 ? argv[0] : "ptdump";
    options->timing.prog = options->sideband.prog = options->select.prog = options->losses.prog =
        options->prog;
    describe(&opts, options);
    status = opts_parse(&opts, argc, argv, &rest);
    if (status)
        return status;
    if (options->dump.time && options->dump.tcal) {
        opts_error(options->prog, "specify either --time or --tcal.");
        return FAILED;
    }
    if (options->tail && (options->sideband.print || options->sideband.file_count)) {
        opts_error(options->prog, "--tail: not with records (--sb:...).");
        return FAILED;
    }
    if (options->tail && options->dump.quiet) {
        opts_error(options->prog, "--tail: not with --quiet.");
        return FAILED;
    }
    if (!options->file) {
        opts_error(options->prog, "No processor trace file specified.");
        return FAILED;
    }
    return check_extract(options);
}
