/* SPDX-License-Identifier: BSD-3-Clause */
/* raw_sideband.c - see raw_sideband.h. */
#include "raw_sideband.h"

#include "text_event.h"

/* Records are printed behind the event whose time reached theirs; those without time at the
 * first one. */
static void after_event(void *context, const struct ptl_event *event)
{
    struct raw_sideband *raw = context;

    sb_print_until(&raw->print, &raw->printer->out, event->have_tsc ? event->tsc : 0);
}

/* The kernel's code goes below all processes. */
static int load_kcore(const struct ptxed *x)
{
    int status;

    if (!x->sideband.kcore)
        return 0;
    status = ptl_space_load_kcore(x->space, x->sideband.kcore);
    if (status)
        opts_error(x->prog, "failed to load %s: %s.", x->sideband.kcore, ptl_strstatus(status));
    return status;
}

int raw_sideband_open(struct raw_sideband *raw, struct ptxed *x, struct printer *printer)
{
    int status = load_kcore(x);

    *raw = (struct raw_sideband){.printer = printer};
    if (status == 0)
        status = opts_sideband_build(&x->sideband, x->space, 1, &raw->sb);
    if (status < 0 || !raw->sb)
        return status;
    raw->print = (struct sb_print){.sb = raw->sb, .flags = ptxed_sideband(x)};
    printer->after_event = after_event;
    printer->context = raw;
    if (x->sideband.show_switches)
        printer->event_flags |= TEXT_EVENT_CONTEXT;
    return 0;
}

void raw_sideband_close(struct raw_sideband *raw)
{
    ptl_sideband_free(raw->sb);
}
