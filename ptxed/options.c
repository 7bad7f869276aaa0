/* SPDX-License-Identifier: BSD-3-Clause */
/* options.c - the options of ptxed. */
#include "ptxed.h"

#include "text_event.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define FAILED   (EXIT_NOTHING + 1)
#define JOBS_MAX 1024

/* --- what the rows do ------------------------------------------------------------ */

static int set_byte(void *context, const struct opt *opt, const char *arg)
{
    (void)arg;
    *((uint8_t *)context + opt->value) = 1;
    return 0;
}

static int set_print(void *context, const struct opt *opt, const char *arg)
{
    struct ptxed *x = context;

    (void)arg;
    x->print |= (unsigned)opt->value;
    return 0;
}

static int set_event(void *context, const struct opt *opt, const char *arg)
{
    struct ptxed *x = context;

    (void)arg;
    x->events |= (unsigned)opt->value;
    return 0;
}

static int set_flow(void *context, const struct opt *opt, const char *arg)
{
    struct ptxed *x = context;

    (void)arg;
    x->flow.flags |= (uint32_t)opt->value;
    return 0;
}

static int set_offset(void *context, const struct opt *opt, const char *arg)
{
    struct ptxed *x = context;

    (void)opt;
    (void)arg;
    x->print |= PRINT_OFFSET;
    x->events |= TEXT_EVENT_OFFSET;
    return 0;
}

/* --quick[=psb] */
static int set_quick(void *context, const struct opt *opt, const char *arg)
{
    struct ptxed *x = context;

    if (arg && strcmp(arg, "psb") != 0) {
        opts_error(x->prog, "%s: bad argument: %s.", opt->name, arg);
        return FAILED;
    }
    x->flow.flags |= arg ? PTL_FLOW_PSB_ONLY : PTL_FLOW_DISTNT;
    x->events |= TEXT_EVENT_IP | (arg ? TEXT_EVENT_SYNC : 0);
    return 0;
}

/* --json[=insn|blocks] */
static int set_json(void *context, const struct opt *opt, const char *arg)
{
    struct ptxed *x = context;

    x->print |= PRINT_JSON;
    x->print &= ~PRINT_JSON_BLOCKS;
    if (arg && !strcmp(arg, "blocks")) {
        x->print |= PRINT_JSON_BLOCKS;
    } else if (arg && strcmp(arg, "insns") != 0) {
        opts_error(x->prog, "%s: bad argument: %s, not insns or blocks.", opt->name, arg);
        return FAILED;
    }
    return 0;
}

static int set_coverage(void *context, const struct opt *opt, const char *arg)
{
    struct ptxed *x = context;

    x->coverage = 1;
    x->coverage_edges = arg && !strcmp(arg, "edges");
    if (!arg || x->coverage_edges || !strcmp(arg, "blocks"))
        return 0;
    opts_error(x->prog, "%s: bad argument: %s, not blocks or edges.", opt->name, arg);
    return FAILED;
}

/* opt->value is the offset of a struct mark. */
static int set_mark(void *context, const struct opt *opt, const char *arg)
{
    struct ptxed *x = context;

    if (!mark_parse((struct mark *)(void *)((char *)x + opt->value), arg))
        return 0;
    opts_error(x->prog, "%s: bad argument: %s, not a function, an address or ptwrite[:value].",
               opt->name, arg);
    return FAILED;
}

static int choose_decoder(void *context, const struct opt *opt, const char *arg)
{
    struct ptxed *x = context;

    (void)arg;
    if (x->trace.name) {
        opts_error(opt->name, "please specify %s before the pt source file.", x->prog);
        return FAILED;
    }
    x->insn_decoder = (uint8_t)opt->value;
    return 0;
}

/* Options whose meaning is fixed when the trace is opened. */
static int too_late(const struct ptxed *x, const char *name)
{
    if (!x->trace.name)
        return 0;
    opts_error(x->prog, "please specify %s before --pt.", name);
    return FAILED;
}

/* "--filter:addr2_cfg": digit and field are at fixed places. */
static struct ptl_addr_range *filter_of(struct ptxed *x, const struct opt *opt)
{
    return &x->flow.addr[opt->name[strlen("--filter:addr")] - '0'];
}

static int set_filter(void *context, const struct opt *opt, const char *arg)
{
    struct ptxed *x = context;
    struct ptl_addr_range *range = filter_of(x, opt);
    const char *field = opt->name + strlen("--filter:addr2_");
    uint64_t value;
    int status = too_late(x, opt->name);

    if (!status)
        status = opts_number(x->prog, opt->name, arg, *field == 'c' ? 15 : UINT64_MAX, &value);
    if (status)
        return status;
    if (*field == 'c')
        range->config = (uint8_t)value;
    else if (*field == 'a')
        range->a = value;
    else
        range->b = value;
    return 0;
}

static int set_trace(void *context, const struct opt *opt, const char *arg)
{
    struct ptxed *x = context;

    (void)opt;
    if (x->trace.name) {
        opts_error(x->prog, "duplicate pt sources: %s.", arg);
        return FAILED;
    }
    x->timing.too_late = "please specify cpu before the pt source file.";
    return infile_open(&x->trace, x->prog, arg);
}

static int set_jobs(void *context, const struct opt *opt, const char *arg)
{
    struct ptxed *x = context;
    uint64_t value;
    int status = opts_positive(x->prog, opt->name, arg, JOBS_MAX, &value);

    if (!status)
        x->jobs = (uint32_t)value;
    return status;
}

static int set_shard(void *context, const struct opt *opt, const char *arg)
{
    struct ptxed *x = context;
    uint64_t k = 0, n = 0;
    const char *end;
    int failed = opts_scan(arg, &k, &end) || *end != '/' || opts_scan(end + 1, &n, &end);

    if (failed || *end || !k || k > n || n > UINT32_MAX) {
        opts_error(x->prog, "%s: bad argument: %s, not K/N with 1 <= K <= N.", opt->name, arg);
        return FAILED;
    }
    x->shard = (uint32_t)k;
    x->share = (uint32_t)n;
    return 0;
}

static int set_tail(void *context, const struct opt *opt, const char *arg)
{
    struct ptxed *x = context;

    return opts_positive(x->prog, opt->name, arg, UINT64_MAX, &x->tail);
}

static int check_size(void *context, const struct opt *opt, const char *arg)
{
    const struct ptxed *x = context;
    uint64_t size;

    return opts_number(x->prog, opt->name, arg, UINT64_MAX, &size);
}

static int set_segment_size(void *context, const struct opt *opt, const char *arg)
{
    struct ptxed *x = context;

    return opts_positive(x->prog, opt->name, arg, UINT64_MAX, &x->segment_size);
}

static int add_raw(void *context, const struct opt *opt, const char *arg)
{
    (void)opt;
    return ptxed_load_raw(context, arg);
}

static int add_elf(void *context, const struct opt *opt, const char *arg)
{
    (void)opt;
    return ptxed_load_elf(context, arg);
}

/* --- the table -------------------------------------------------------------------- */

#define FLAG(field) set_byte, offsetof(struct ptxed, field)
#define FILTER(n)                                                                                  \
    {.name = "--filter:addr" n "_cfg",                                                             \
     .arg = "<cfg>",                                                                               \
     .help =                                                                                       \
         "IA32_RTIT_CTL.ADDR" n "_CFG: 1 the trace is limited to the range, 2 it stops there.",    \
     .apply = set_filter},                                                                         \
        {.name = "--filter:addr" n "_a",                                                           \
         .arg = "<base>",                                                                          \
         .help = "first address of range " n ".",                                                  \
         .apply = set_filter},                                                                     \
    {                                                                                              \
        .name = "--filter:addr" n "_b", .arg = "<limit>", .help = "last address of range " n ".",  \
        .apply = set_filter                                                                        \
    }

static const struct opt table[] = {
    {.name = "", .help = "input"},
    {"--pt", NULL, "<file>[:<from>[-<to>]]", "the trace, or a part of it. Once.", set_trace, 0, 0,
     NULL},
    {"--raw", NULL, "<file>[:<from>[-<to>]]:<base>",
     "Code: the file, or a part of it, mapped at address base. What comes later hides what came "
     "before.",
     add_raw, 0, 0, NULL},
    {"--elf", NULL, "<file>[:<base>]",
     "code: the loadable segments of an ELF file, moved so that the lowest is at base.", add_elf, 0,
     0, NULL},
    {.flags = OPT_SUB,
     .name = "",
     .sub = opts_timing_table,
     .value = offsetof(struct ptxed, timing)},
    {.name = "", .help = "recordings (perf.data)"},
    {.name = "recording",
     .flags = OPT_SUB,
     .sub = recording_options_table,
     .value = offsetof(struct ptxed, recording)},
    {.name = "", .help = "sideband (options act on the files that follow)"},
    {.name = "sideband",
     .flags = OPT_SUB,
     .sub = opts_sideband_table,
     .value = offsetof(struct ptxed, sideband)},
    {.name = "", .help = "address filters (before --pt)"},
    FILTER("0"),
    FILTER("1"),
    FILTER("2"),
    FILTER("3"),
    {.name = "", .help = "what ran between two marks"},
    {"--select:from", NULL, "<mark>",
     "From a mark on: a function (its first instruction), an address, ptwrite:value or any "
     "ptwrite. "
     "Again after each --select:to.",
     set_mark, offsetof(struct ptxed, marks.from), 0, NULL},
    {"--select:to", NULL, "<mark>",
     "up to a mark, without it; for each thread or processor on its own.", set_mark,
     offsetof(struct ptxed, marks.to), 0, NULL},
    {.name = "", .help = "instructions"},
    {"--no-inst", NULL, NULL, "only addresses.", FLAG(no_inst), 0, NULL},
    {"--raw-insn", NULL, NULL, "the bytes of the instruction.", FLAG(raw_insn), 0, NULL},
    {"--att", NULL, NULL, "AT&T syntax.", FLAG(att), 0, NULL},
    {"--symbols", NULL, NULL,
     "function and offset after the address. Of stripped files as far as they export names, or "
     "what "
     "was split off them is in /usr/lib/debug (below the sysroot) by build id.",
     FLAG(symbols), 0, NULL},
    {"--iscache-limit", NULL, "<size>", "no effect: files are mapped, nothing is copied.",
     check_size, 0, 0, NULL},
    {"--offset", NULL, NULL, "begin lines with the offset into the trace.", set_offset, 0, 0, NULL},
    {"--time", NULL, NULL,
     "begin lines of instructions with the time of the last event, in TSC ticks.", set_print,
     PRINT_TIME, 0, NULL},
    {.name = "", .help = "events"},
    {"--event:time", NULL, NULL, "the time of events.", set_event, TEXT_EVENT_TIME, 0, NULL},
    {"--event:ip", NULL, NULL, "the addresses of events.", set_event, TEXT_EVENT_IP, 0, NULL},
    {"--event:tick", NULL, NULL, "an event wherever the time changes.", set_flow, PTL_FLOW_TICKS, 0,
     NULL},
    {"--event:iflags", NULL, NULL, "changes of the interrupt flag.", set_flow, PTL_FLOW_IFLAGS, 0,
     NULL},
    {.name = "", .help = "decoding"},
    {"--block-decoder", NULL, NULL, "decode by blocks (default; before --pt).", choose_decoder, 0,
     0, NULL},
    {"--insn-decoder", NULL, NULL,
     "decode by instructions: as before, without blocks (before --pt).", choose_decoder, 1, 0,
     NULL},
    {"--block:show-blocks", NULL, NULL, "a line before each block.", set_print, PRINT_BLOCKS, 0,
     NULL},
    {"--block:end-on-call", NULL, NULL, "blocks end after direct calls.", set_flow,
     PTL_FLOW_END_ON_CALL, 0, NULL},
    {"--block:end-on-jump", NULL, NULL, "blocks end after direct jumps.", set_flow,
     PTL_FLOW_END_ON_JUMP, 0, NULL},
    {"--block:keep-tcal-on-ovf", NULL, NULL, "an overflow keeps the calibration of time.",
     FLAG(timing.clock.keep_tcal_on_ovf), 0, NULL},
    {"--insn:keep-tcal-on-ovf", NULL, NULL, "an overflow keeps the calibration of time.",
     FLAG(timing.clock.keep_tcal_on_ovf), 0, NULL},
    {"--resync-on-error", NULL, NULL,
     "after an error go on at the next address that the trace tells, not at the next PSB.",
     set_flow, PTL_FLOW_RESYNC, 0, NULL},
    {"--proven", NULL, NULL,
     "print only what the next PSB+ confirms: of a stretch between two PSB packets in which trace "
     "and code contradict each other nothing is printed but the error.",
     set_flow, PTL_FLOW_PROVEN, 0, NULL},
    {"--quick", NULL, "[psb]",
     "only addresses that packets say, without a look at code; or only what PSB+ says.", set_quick,
     0, 0, NULL},
    {"--no-fast-path", NULL, NULL, "step instruction by instruction; the output is the same.",
     set_flow, PTL_FLOW_SLOW, 0, NULL},
    {"--jobs", "-j", "<n>",
     "decode with n threads (default: one a processor); the output is the same.", set_jobs, 0, 0,
     NULL},
    {"--shard", NULL, "<k>/<n>",
     "only the k-th of n parts of the trace: the outputs of all parts, one after the other, are "
     "that of the whole.",
     set_shard, 0, 0, NULL},
    {"--tail", NULL, "<n>",
     "only the last n instructions (of each buffer of a recording), and what lies between them; "
     "what "
     "comes before is not decoded.",
     set_tail, 0, 0, NULL},
    {"--segment-size", NULL, "<bytes>", "what a thread decodes at a time (for tests).",
     set_segment_size, 0, OPT_HIDDEN, NULL},
    {.name = "", .help = "output"},
    {"--quiet", "-q", NULL, "only errors and statistics.", set_print, PRINT_QUIET, 0, NULL},
    {"--coverage", NULL, "[blocks|edges]",
     "how often each block of code ran (default), or execution went from one to another, by "
     "address, instead of what ran when.",
     set_coverage, 0, 0, NULL},
    {"--json", NULL, "[insns|blocks]",
     "each line a JSON object, see libpt-json(5): instructions (default), or blocks of them.",
     set_json, 0, 0, NULL},
    {"--stat", NULL, NULL, "numbers at the end: of instructions and blocks.", set_print, PRINT_STAT,
     0, NULL},
    {"--stat:insn", NULL, NULL, "the number of instructions.", set_print, PRINT_STAT_INSN, 0, NULL},
    {"--stat:blocks", NULL, NULL, "the number of blocks.", set_print, PRINT_STAT_BLOCK, 0, NULL},
    {"--stat:decoded", NULL, NULL, "how many bytes of trace were decoded.", set_print,
     PRINT_STAT_DECODED, 0, NULL},
    {"--stat:functions", NULL, NULL,
     "how many instructions ran in each function, and how often it was entered.", set_print,
     PRINT_STAT_FUNCTIONS, 0, NULL},
    {"--check", NULL, NULL, "compare length and class of instructions with the disassembler's.",
     set_print, PRINT_CHECK, 0, NULL},
    {.name = "losses",
     .flags = OPT_SUB,
     .sub = losses_table,
     .value = offsetof(struct ptxed, losses)},
    {"--verbose", "-v", NULL, "report the segments of the ELF files that follow.", FLAG(verbose), 0,
     NULL},
    OPTS_HELP_ROW,
    OPTS_VERSION_ROW(NULL),
    OPTS_LIST_ROW,
    {.name = NULL},
};

/* --- the command line --------------------------------------------------------------- */

/* A word is a recording: one, and not beside a raw trace. */
static int take_word(void *context, const char *word)
{
    struct ptxed *x = context;

    if (x->recording.path || x->trace.name || (word[0] == '-' && word[1])) {
        opts_error(x->prog, "unknown option: %s.", word);
        return FAILED;
    }
    x->recording.path = word;
    return 0;
}

static struct opts command(struct ptxed *x)
{
    return (struct opts){
        .prog = x->prog,
        .name = "ptxed",
        .table = table,
        .usage = "[<options>] <perf.data>\n       ptxed [<options>] --pt <file> [--elf <file> | "
                 "--raw <file>:<base>]...",
        .about = "Print the instructions that a processor trace says have run. Exit status: 0 all "
                 "decoded, 1 not everything, 2 nothing.",
        .context = x,
        .word = take_word,
    };
}

int ptxed_wants_symbols(const struct ptxed *x)
{
    return x->symbols || (x->print & PRINT_STAT_FUNCTIONS) || marks_given(&x->marks);
}

unsigned ptxed_sideband(const struct ptxed *x)
{
    return x->sideband.print | (x->print & PRINT_JSON ? SB_PRINT_JSON : 0);
}

/* Nobody looks at blocks. */
static int only_counts(const struct ptxed *x)
{
    return (x->print & PRINT_QUIET) && !x->tail && !x->coverage_by_item &&
           !(x->print & (PRINT_CHECK | PRINT_STAT_FUNCTIONS)) && !marks_given(&x->marks);
}

static int check_coverage(struct ptxed *x)
{
    const struct opts_select *select = &x->recording.select;

    if ((x->print & (PRINT_CHECK | PRINT_STAT_FUNCTIONS)) || marks_given(&x->marks) ||
        x->flow.flags & FLOW_LISTENS) {
        opts_error(x->prog, "--coverage: not with --check, --quick, marks or functions.");
        return FAILED;
    }
    x->print |= PRINT_QUIET;
    x->coverage_by_item = x->coverage_edges || select_by_task(select) || select_by_time(select);
    if (!x->coverage_by_item)
        x->flow.flags |= PTL_FLOW_COVERAGE;
    return 0;
}

/* What only listens to packets is never contradicted. */
static int check_proven(const struct ptxed *x)
{
    if (!(x->flow.flags & PTL_FLOW_PROVEN) || (!x->coverage && !(x->flow.flags & FLOW_LISTENS)))
        return 0;
    opts_error(x->prog, "--proven: not with --coverage or --quick.");
    return FAILED;
}

int ptxed_options(struct ptxed *x, int argc, char **argv)
{
    struct opts opts = command(x);
    int rest, status = opts_parse(&opts, argc, argv, &rest);

    if (status)
        return status;
    if (x->trace.name && x->recording.path) {
        opts_error(x->prog, "unknown option: %s.", x->recording.path);
        return FAILED;
    }
    if (!x->trace.name && !x->recording.path) {
        opts_error(x->prog, "no pt file.");
        return FAILED;
    }
    if (x->trace.name && (select_refuse(x->prog, x->recording.select.given, x->trace.name) ||
                          select_refuse(x->prog, x->recording.given, x->trace.name)))
        return FAILED;
    status = check_proven(x);
    if (!status && x->coverage)
        status = check_coverage(x);
    if (status)
        return status;
    /* Plain --stat means all that the decoder has; a choice is a choice. */
    if ((x->print & PRINT_STAT) && !(x->print & (PRINT_STAT_INSN | PRINT_STAT_BLOCK)))
        x->print |= PRINT_STAT_INSN | PRINT_STAT_BLOCK;
    if (x->insn_decoder)
        x->print &= ~(PRINT_BLOCKS | PRINT_STAT_BLOCK);
    /* Between events time goes on with each branch. */
    if (select_by_time(&x->recording.select) && !(x->flow.flags & PTL_FLOW_TICKS)) {
        x->flow.flags |= PTL_FLOW_TICKS;
        x->hide_ticks = 1;
    }
    if (x->print & (PRINT_BLOCKS | PRINT_STAT_BLOCK))
        x->flow.flags |= PTL_FLOW_COLD_BLOCKS;
    if (only_counts(x))
        x->flow.flags |= PTL_FLOW_COUNT;
    if (only_counts(x) && !x->sideband.file_count && !x->recording.path)
        x->flow.flags |= PTL_FLOW_FEW_EVENTS;
    return 0;
}
