/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c - ptdump: from the command line to the dump loop and the exit status. */
#include "dump_json.h"
#include "infile.h"
#include "mapped.h"
#include "options.h"
#include "recording.h"
#include "tail.h"

#include <pt/io.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OUT_SIZE (256u << 10) /* stays in the second-level cache */

/* What happens between packets. */
struct between {
    const struct infile *file;
    struct sb_print sideband;
    struct out *out;
};

static void forget(void *context, const uint8_t *pos)
{
    infile_forget(((struct between *)context)->file, pos);
}

static void show_sideband(void *context, uint64_t tsc)
{
    struct between *between = context;

    sb_print_until(&between->sideband, between->out, tsc);
}

/* What the lines on stdout do not tell. */
static int report(const struct options *options, const char *file, const struct dump *dump)
{
    const struct dump_result *result = &dump->result;
    struct ptl_losses losses = {0};
    int status = EXIT_ALL;

    dump_losses(dump, &losses);
    losses.count[PTL_LOSS_DAMAGED] +=
        mapped_report(options->prog) + opts_sideband_report(&options->sideband);
    if (result->unsynced)
        opts_error(options->prog, "%s: no PSB found", file);
    if (result->cuts)
        opts_error(options->prog, "%s: 0x%llx: packet cut by the end of the trace", file,
                   (unsigned long long)result->cut_offset);
    if (result->errors)
        opts_error(options->prog, "%s: %llu decode error%s", file,
                   (unsigned long long)result->errors, result->errors == 1 ? "" : "s");
    if (losses_report(&options->losses, file, &losses, 0) || result->unsynced || result->cuts ||
        result->errors)
        status = EXIT_PART;
    return losses_status(&options->losses, &losses, status);
}

/* A file, and who only counts its packets. */
struct whole {
    struct ptl_perf_piece piece;
    struct dump dump;
};

static uint64_t count_packets(void *context, struct ptl_place from)
{
    struct whole *whole = context;

    dump_hide(&whole->dump, UINT64_MAX);
    dump_range(&whole->dump, whole->piece.bytes + from.at, whole->piece.size - from.at, 0);
    return UINT64_MAX - whole->dump.hide;
}

/* Where to begin; what comes before the last packets of `dump` is hidden. */
static size_t find_tail(const struct options *options, const struct infile *file, struct dump *dump)
{
    struct whole whole = {.piece = {.bytes = file->bytes, .size = file->len}};
    const struct ptl_stream stream = {&whole.piece, 1};
    struct ptl_place place;
    uint64_t hide;

    if (!options->tail)
        return 0;
    dump_init(&whole.dump, &options->dump, &options->timing.clock, dump->out, NULL);
    whole.dump.track = whole.dump.tell_time = 0;
    place = tail_find(&stream, options->tail, count_packets, &whole, &hide);
    dump_hide(dump, hide);
    return place.piece ? file->len : place.at;
}

static int run(struct options *options, struct infile *file, struct out *out)
{
    struct between between = {.file = file, .out = out};
    struct dump_hooks hooks = {.context = &between, .passed = forget};
    struct ptl_sideband *sideband;
    struct dump dump;
    size_t begin;
    int status = opts_sideband_build(&options->sideband, NULL, 0, &sideband);

    if (status) {
        opts_error(options->prog, "%s", ptl_strstatus(status));
        return EXIT_NONE;
    }
    if (sideband) {
        between.sideband.sb = sideband;
        between.sideband.flags = options_sideband(options);
        hooks.upto = show_sideband;
        hooks.sideband = &between.sideband;
    }
    if (opts_timing_errata(&options->timing, &options->timing.clock.errata))
        dump_unknown_cpu(&options->dump, out);
    dump_init(&dump, &options->dump, &options->timing.clock, out, &hooks);
    begin = find_tail(options, file, &dump);
    dump_range(&dump, file->bytes + begin, file->len - begin, begin);
    if (sideband)
        sb_print_rest(&between.sideband, out);
    ptl_sideband_free(sideband);
    if (options->dump.json)
        dump_json_summary(out, &dump.result);
    out_flush(out);
    return report(options, file->name, &dump);
}

/* `file` NULL: a directory. */
static int print_all(struct options *options, struct infile *file)
{
    struct out out;
    int status;

    if (out_open(&out, STDOUT_FILENO, OUT_SIZE)) {
        opts_error(options->prog, "out of memory");
        return EXIT_NONE;
    }
    if (!file || recording_is_file(file))
        status = recording_run(options, file, &out);
    else if (select_refuse(options->prog, options->select.given, file->name) ||
             select_refuse(options->prog, options->extract.given, file->name))
        status = EXIT_NONE;
    else
        status = run(options, file, &out);
    return out_finish(&out, options->prog, status);
}

int main(int argc, char **argv)
{
    struct options options;
    struct infile file = {.name = NULL};
    int status, directory = 0;

    (void)ptl_map_guard(); /* without it a truncated file ends us by SIGBUS: no worse than before */
    status = options_parse(&options, argc, argv);
    if (!status)
        directory = recording_is_directory(options.file);
    if (!status && !directory)
        status = infile_open(&file, options.prog, options.file);
    status = status ? status - 1 : print_all(&options, directory ? NULL : &file);
    infile_close(&file);
    opts_select_close(&options.select);
    opts_sideband_close(&options.sideband);
    return status;
}
