/* SPDX-License-Identifier: BSD-3-Clause */
/* losses.c - see losses.h. */
#include "losses.h"

#include "json.h"
#include "outfile.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define FAILED 3 /* exit status 2, plus 1 */

typedef unsigned long long ull;

/* --- options ---------------------------------------------------------------------------- */

static int take_losses(void *context, const struct opt *opt, const char *arg)
{
    struct losses_options *o = context;

    (void)opt;
    if (!arg || !strcmp(arg, "text")) {
        o->table = 1;
        return 0;
    }
    if (strncmp(arg, "json", 4) != 0 || (arg[4] && (arg[4] != ':' || !arg[5]))) {
        opts_error(o->prog, "--losses=%s: text, json or json:FILE.", arg);
        return FAILED;
    }
    o->json = 1;
    o->path = arg[4] ? arg + 5 : NULL;
    return 0;
}

static int take_strict(void *context, const struct opt *opt, const char *arg)
{
    (void)opt;
    (void)arg;
    ((struct losses_options *)context)->strict = 1;
    return 0;
}

const struct opt losses_table[] = {
    {.name = "--losses",
     .arg = "[text|json[:<file>]]",
     .help =
         "at the end tell each kind of loss, also those that did not happen: how often, whether "
         "it can be had back, and what helps. As a table on standard error (text, the default), or "
         "as a "
         "line of JSON there or in a file.",
     .apply = take_losses},
    {.name = "--strict",
     .help = "any loss is a failure: exit status 1 where it would be 0.",
     .apply = take_strict},
    {.name = NULL},
};

/* --- words ------------------------------------------------------------------------------- */

static void rate_text(char *text, size_t size, const struct ptl_losses *losses)
{
    uint64_t rate = ptl_losses_error_rate(losses);

    if (rate == UINT64_MAX)
        snprintf(text, size, "no instructions");
    else
        snprintf(text, size, "%llu errors per million instructions", (ull)rate);
}

static void say_line(const struct losses_options *o, const char *name,
                     const struct ptl_losses *losses)
{
    char line[1024], rate[64];
    size_t n = 0;

    for (unsigned i = 0; i <= PTL_LOSS_MAX_VALUE; i++) {
        const struct ptl_loss_kind *kind = ptl_loss_kind(i);

        n += (size_t)snprintf(line + n, sizeof(line) - n, "%s %llu, ", kind->name,
                              (ull)losses->count[i]);
    }
    rate_text(rate, sizeof(rate), losses);
    opts_error(o->prog, "%s: losses: %s%s", name, line, rate);
}

static void say_kind(const struct losses_options *o, const char *name, unsigned loss,
                     uint64_t count)
{
    const struct ptl_loss_kind *kind = ptl_loss_kind(loss);

    opts_error(o->prog, "%s: lost: %llu %s %s: %s; remedy: %s.", name, (ull)count,
               kind->unit[0] ? kind->unit : "x", kind->name, kind->what, kind->remedy);
}

static void say_table(const struct losses_options *o, const char *name,
                      const struct ptl_losses *losses)
{
    char rate[64];

    rate_text(rate, sizeof(rate), losses);
    opts_error(o->prog, "%s: losses (%llu instructions, %s):", name, (ull)losses->insns, rate);
    fprintf(stderr, "  %-12s %12s %-8s %-5s what; remedy\n", "kind", "count", "of", "back?");
    for (unsigned i = 0; i <= PTL_LOSS_MAX_VALUE; i++) {
        const struct ptl_loss_kind *kind = ptl_loss_kind(i);

        fprintf(stderr, "  %-12s %12llu %-8s %-5s %s; %s\n", kind->name, (ull)losses->count[i],
                kind->unit, kind->recoverable ? "yes" : "no", kind->what, kind->remedy);
    }
}

/* --- JSON -------------------------------------------------------------------------------- */

static void put_json(struct out *out, const char *name, const struct ptl_losses *losses,
                     const uint64_t *withheld)
{
    struct json json;

    json_begin(&json, out, "losses");
    json_string(&json, "file", name);
    json_count(&json, "insns", losses->insns);
    if (ptl_losses_error_rate(losses) != UINT64_MAX)
        json_count(&json, "errors_per_million", ptl_losses_error_rate(losses));
    if (withheld)
        json_count(&json, "withheld", *withheld);
    json_open(&json, "kinds", '[');
    for (unsigned i = 0; i <= PTL_LOSS_MAX_VALUE; i++) {
        const struct ptl_loss_kind *kind = ptl_loss_kind(i);

        json_open(&json, NULL, '{');
        json_string(&json, "kind", kind->name);
        json_count(&json, "count", losses->count[i]);
        json_string(&json, "unit", kind->unit);
        json_bool(&json, "recoverable", kind->recoverable);
        json_string(&json, "what", kind->what);
        json_string(&json, "remedy", kind->remedy);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_end(&json);
}

/* The file is written when the input is no longer needed - by us. */
static int is_input(const struct losses_options *o, const char *name)
{
    struct stat to, from;

    return o->path && !stat(o->path, &to) && S_ISREG(to.st_mode) && !stat(name, &from) &&
           to.st_dev == from.st_dev && to.st_ino == from.st_ino;
}

/* Returns 0, or an errno. */
static int write_json(const struct losses_options *o, const char *name,
                      const struct ptl_losses *losses)
{
    const char *path = o->path;
    int fd = STDERR_FILENO, failed;
    struct out out;

    if (path)
        fd = outfile_open(path, 0, 0666);
    if (fd < 0)
        return errno;
    failed = out_open(&out, fd, 16384) ? ENOMEM : 0;
    if (!failed) {
        put_json(&out, name, losses, o->withheld);
        failed = out_close(&out);
    }
    if (path && close(fd) && !failed)
        failed = errno;
    return failed;
}

/* --- all ----------------------------------------------------------------------------------- */

int losses_report(const struct losses_options *o, const char *name, const struct ptl_losses *losses,
                  unsigned flags)
{
    int failed = 0, refused = 0;

    if (o->json && is_input(o, name)) {
        opts_error(o->prog, "cannot write %s: that is the input.", o->path);
        refused = 1;
    } else if (o->json) {
        failed = write_json(o, name, losses);
    }
    if (failed)
        opts_error(o->prog, "cannot write %s: %s.", o->path ? o->path : "standard error",
                   strerror(failed));
    if (o->table) {
        say_table(o, name, losses);
    } else if (!o->json || o->path) {
        if ((flags & LOSSES_LINE) || ptl_losses_kinds(losses))
            say_line(o, name, losses);
        for (unsigned i = 0; i <= PTL_LOSS_MAX_VALUE; i++)
            if (losses->count[i])
                say_kind(o, name, i, losses->count[i]);
    }
    if (o->withheld && *o->withheld)
        opts_error(o->prog, "%s: withheld: %llu instructions that no PSB+ confirms (--proven).",
                   name, (ull)*o->withheld);
    return failed || refused ? -1 : 0;
}

int losses_status(const struct losses_options *o, const struct ptl_losses *losses, int status)
{
    struct ptl_losses grave = *losses;

    if (!o->strict) {
        grave.count[PTL_LOSS_OVERFLOW] = 0;
        grave.count[PTL_LOSS_SKIPPED] = 0;
    }
    if (!status && o->withheld && *o->withheld)
        return 1;
    return !status && ptl_losses_kinds(&grave) ? 1 : status;
}
