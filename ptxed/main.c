/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main.c - ptxed: print the instructions that a processor trace says have run.
 *
 * Decoded text, decode errors and statistics go to stdout; what is wrong with the input
 * as a whole, with file and offset, goes to stderr.
 */
#include "jobs.h"
#include "print_json.h"
#include "ptxed.h"
#include "raw_sideband.h"
#include "recording.h"

#include <errno.h>
#include <pt/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OUT_SIZE (256 * 1024) /* fits the second level cache */

/* --- what to say about the input as a whole ------------------------------------------- */

/* The trace ends inside a packet. */
static int is_cut(const struct ptxed *x, uint64_t offset)
{
    struct ptl_packet packet;

    return offset < x->trace.len && ptl_packet_decode(&packet, x->trace.bytes + offset,
                                                      x->trace.len - (size_t)offset, 0) == PTL_EOS;
}

static void explain_errors(const struct ptxed *x, const struct print_stats *stats)
{
    const struct ptl_error *first = &stats->first;

    opts_error(x->prog, "%s: %llu decode error%s, the first at offset 0x%llx: %s (ip 0x%llx).",
               x->trace.name, (unsigned long long)stats->errors, stats->errors > 1 ? "s" : "",
               (unsigned long long)first->offset, ptl_strstatus(first->status),
               (unsigned long long)first->ip);
    if (first->status == PTL_NOMAP)
        opts_error(x->prog, "name the code at 0x%llx with --elf or --raw.",
                   (unsigned long long)first->ip);
}

/* Returns the exit status. */
static int conclude(const struct ptxed *x, const struct print_stats *stats, uint64_t end)
{
    const char *name = x->trace.name;
    struct ptl_losses losses = stats->losses;
    int cut = is_cut(x, end), unsynced;

    unsynced = ptl_psb_find(x->trace.bytes, x->trace.len, 0) == x->trace.len;
    losses.insns = stats->insns;
    losses.count[PTL_LOSS_CUT] = (uint64_t)(cut && !unsynced);
    losses.count[PTL_LOSS_UNSYNCED] = (uint64_t)unsynced;
    if (marks_report(&x->marks, x->prog, name))
        return EXIT_NOTHING;
    if (stats->errors)
        explain_errors(x, stats);
    if (losses_report(&x->losses, name, &losses, 0))
        return EXIT_PARTLY;
    if (unsynced) {
        opts_error(x->prog, "%s: no PSB packet in %zu bytes from offset 0x%llx: nothing to decode.",
                   name, x->trace.len, (unsigned long long)x->trace.from);
        return EXIT_NOTHING;
    }
    if (!stats->syncs && !stats->errors) {
        opts_error(x->prog, "%s: no whole PSB+ (PSB...PSBEND): nothing to decode.", name);
        return EXIT_NOTHING;
    }
    if (cut)
        opts_error(x->prog, "%s: cut inside the packet at offset 0x%llx.", name,
                   (unsigned long long)end);
    if (stats->errors && !stats->insns)
        return EXIT_NOTHING;
    return losses_status(&x->losses, &losses, stats->errors || cut ? EXIT_PARTLY : EXIT_ALL);
}

/* --- decoding ---------------------------------------------------------------------------- */

static int failed(const struct ptxed *x, int status)
{
    opts_error(x->prog, "%s.", ptl_strstatus(status));
    return EXIT_NOTHING;
}

/* An unknown processor is decoded without workarounds. */
static void choose_errata(struct ptxed *x, struct printer *printer)
{
    int status = opts_timing_errata(&x->timing, &x->flow.errata);
    char what[64];

    snprintf(what, sizeof(what), "config error: %s", ptl_strstatus(status));
    if (status && x->shard <= 1 && x->print & PRINT_JSON)
        print_json_check(printer, 0, what);
    else if (status && x->shard <= 1)
        out_printf(&printer->out, "[0, 0: %s]\n", what);
    x->timing.clock.errata = x->flow.errata;
    x->flow.clock = x->timing.clock;
}

/* Print all of the trace given with --pt. Returns 0 or a negative status. */
static int print_trace(struct ptxed *x, struct printer *printer, uint64_t *end)
{
    struct ptl_flow *flow;
    int status;

    x->flow.begin = x->trace.bytes;
    x->flow.len = x->trace.len;
    x->flow.space = x->space;
    if (jobs_apply(x))
        return jobs_print(x, printer, end);
    status = ptl_flow_new(&flow, &x->flow);
    if (status)
        return status;
    ptl_flow_on_free(flow, lines_free);
    status = print_flow(printer, flow, &x->trace);
    *end = ptl_flow_offset(flow);
    ptl_flow_free(flow);
    return status;
}

/* Decode the trace given with --pt. Returns the exit status. */
static int decode_trace(struct ptxed *x, struct printer *printer)
{
    struct raw_sideband sideband;
    uint64_t end = 0;
    int status;

    status = jobs_check(x);
    if (status)
        return status;
    choose_errata(x, printer);
    status = raw_sideband_open(&sideband, x, printer);
    if (status == 0)
        status = print_trace(x, printer, &end);
    raw_sideband_close(&sideband);
    if (status == PTL_IO)
        return EXIT_PARTLY; /* reported when the output is closed */
    if (status)
        return failed(x, status);
    print_statistics(printer);
    out_flush(&printer->out); /* before what stderr says about it */
    return conclude(x, &printer->stats, end);
}

/* Returns 0 or a negative status. */
static int open_printer(struct printer *printer, struct ptxed *x)
{
    memset(printer, 0, sizeof(*printer));
    printer->flags = x->print;
    printer->event_flags = x->events;
    printer->style.raw = x->raw_insn;
    printer->style.json = (x->print & PRINT_JSON) != 0;
    if (out_open(&printer->out, STDOUT_FILENO, OUT_SIZE))
        return PTL_NOMEM;
    printer->style.names = x->symbols;
    if ((x->print & PRINT_STAT_FUNCTIONS) || marks_given(&x->marks)) {
        printer->style.functions = functions_new();
        if (!printer->style.functions)
            return PTL_NOMEM;
    }
    if (marks_given(&x->marks)) {
        printer->marks = &x->marks;
        x->between = marks_begin(&x->marks);
        printer->between = &x->between;
    }
    if (!x->no_inst && text_insn_new(&printer->style.text, x->att))
        return PTL_NOMEM;
    if ((x->print & PRINT_CHECK) && text_insn_new(&printer->check_text, 0))
        return PTL_NOMEM;
    return 0;
}

/* Returns the exit status. */
static int close_printer(struct printer *printer, const struct ptxed *x, int status)
{
    int error = out_close(&printer->out);

    text_insn_free(printer->style.text);
    text_insn_free(printer->check_text);
    functions_free(printer->style.functions);
    /* A reader that has had enough (EPIPE) is no failure of ours. */
    if (!error || error == EPIPE)
        return error ? EXIT_ALL : status;
    opts_error(x->prog, "cannot write: %s.", strerror(error));
    return EXIT_PARTLY;
}

static int run(struct ptxed *x)
{
    struct ptl_symbols *symbols = NULL;
    struct printer printer;
    int status;

    fflush(stdout); /* what --verbose said */
    status = open_printer(&printer, x);

    if (!status && ptxed_wants_symbols(x) && !x->recording.path) {
        status = ptl_symbols_new(&symbols, x->space);
        printer.style.symbols = symbols;
    }
    if (status)
        status = failed(x, status);
    else
        status = x->recording.path ? decode_recording(x, &printer) : decode_trace(x, &printer);
    status = close_printer(&printer, x, status);
    ptl_symbols_free(symbols);
    return status;
}

int main(int argc, char **argv)
{
    struct ptxed x = {
        .prog = argv[0],
        .timing = {.prog = argv[0]},
        .sideband = {.prog = argv[0]},
        .losses = {.prog = argv[0]},
        .recording = {.prog = argv[0], .select = {.prog = argv[0]}},
        .flow = {.size = sizeof(x.flow)},
    };
    int status = ptl_space_new(&x.space);

    if (status) {
        opts_error(x.prog, "%s.", ptl_strstatus(status));
        return EXIT_NOTHING;
    }
    status = ptxed_options(&x, argc, argv);
    status = status ? status - 1 : run(&x);
    opts_sideband_close(&x.sideband);
    opts_select_close(&x.recording.select);
    infile_close(&x.trace);
    ptl_space_free(x.space);
    return status;
}
