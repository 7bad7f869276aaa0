/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main.c - ptxed: print the instructions that a processor trace says have run.
 *
 * Decoded text, decode errors and statistics go to stdout; what is wrong with the input
 * as a whole, with file and offset, goes to stderr.
 */
#include "ptxed.h"
#include "raw.h"
#include "recording.h"

#include <pt/coverage.h>
#include <pt/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OUT_SIZE (256 * 1024) /* fits the second level cache */

static int failed(const struct ptxed *x, int status)
{
    opts_error(x->prog, "%s.", ptl_strstatus(status));
    return EXIT_NOTHING;
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
    if (x->coverage && ptl_coverage_new(&printer->coverage))
        return PTL_NOMEM;
    printer->by_item = x->coverage_by_item;
    printer->edges = x->coverage_edges;
    if (!x->no_inst && text_insn_new(&printer->style.text, x->att))
        return PTL_NOMEM;
    if ((x->print & PRINT_CHECK) && text_insn_new(&printer->check_text, 0))
        return PTL_NOMEM;
    return 0;
}

/* Returns the exit status. */
static int close_printer(struct printer *printer, const struct ptxed *x, int status)
{
    status = out_finish(&printer->out, x->prog, status);
    text_insn_free(printer->style.text);
    text_insn_free(printer->check_text);
    functions_free(printer->style.functions);
    ptl_coverage_free(printer->coverage);
    return status;
}

static int read_symbols(struct ptl_symbols **symbols, const struct ptl_space *space)
{
    int status = ptl_symbols_new(symbols, NULL);

    if (status == 0)
        status = ptl_symbols_set_debug_root(*symbols, NULL);
    return status == 0 ? ptl_symbols_add_space(*symbols, space) : status;
}

static int run(struct ptxed *x)
{
    struct ptl_symbols *symbols = NULL;
    struct printer printer;
    int status;

    fflush(stdout); /* what --verbose said */
    status = open_printer(&printer, x);

    if (!status && ptxed_wants_symbols(x) && !x->recording.path) {
        status = read_symbols(&symbols, x->space);
        printer.style.symbols = symbols;
        printer.style.space = x->space;
    }
    if (status)
        status = failed(x, status);
    else
        status = x->recording.path ? decode_recording(x, &printer) : decode_trace(x, &printer);
    status = close_printer(&printer, x, status);
    if (symbols && symbols_report(x->prog, symbols) && status == 0)
        status = EXIT_PARTLY;
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

    (void)ptl_map_guard(); /* without it a truncated file ends us by SIGBUS: no worse than before */
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
