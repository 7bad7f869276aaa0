/* SPDX-License-Identifier: BSD-3-Clause */
/* losses.c - see losses.h. */
#include "losses.h"

#include <stdio.h>

typedef unsigned long long ull;

/* --- options ---------------------------------------------------------------------------- */

static int take_losses(void *context, const struct opt *opt, const char *arg)
{
    (void)opt;
    (void)arg;
    ((struct losses_options *)context)->table = 1;
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
     .help =
         "at the end tell each kind of loss, also those that did not happen: how often, whether "
         "it can be had back, and what helps; on standard error.",
     .apply = take_losses},
    {.name = "--strict",
     .help = "any loss is a failure: exit status 1 where it would be 0.",
     .apply = take_strict},
    {.name = NULL},
};

/* --- words ------------------------------------------------------------------------------- */

/* Kinds that the tools explain with places and names. */
static int told_elsewhere(unsigned loss)
{
    switch (loss) {
    case PTL_LOSS_DAMAGED:
    case PTL_LOSS_CUT:
    case PTL_LOSS_UNSYNCED:
    case PTL_LOSS_ERRORS:
    case PTL_LOSS_NO_CODE:
    case PTL_LOSS_IMAGES:
        return 1;
    default:
        return 0;
    }
}

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

/* --- all ----------------------------------------------------------------------------------- */

void losses_report(const struct losses_options *o, const char *name,
                   const struct ptl_losses *losses, unsigned flags)
{
    if (o->table)
        say_table(o, name, losses);
    else if ((flags & LOSSES_LINE))
        say_line(o, name, losses);
    for (unsigned i = 0; i <= PTL_LOSS_MAX_VALUE && !o->table; i++)
        if (losses->count[i] && !told_elsewhere(i))
            say_kind(o, name, i, losses->count[i]);
}

int losses_status(const struct losses_options *o, const struct ptl_losses *losses, int status)
{
    struct ptl_losses grave = *losses;

    if (!o->strict) {
        grave.count[PTL_LOSS_OVERFLOW] = 0;
        grave.count[PTL_LOSS_SKIPPED] = 0;
    }
    return !status && ptl_losses_kinds(&grave) ? 1 : status;
}
