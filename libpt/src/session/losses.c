/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * losses.c - the account of losses: one table of kinds, and who counts where.
 *
 * Sources: perf_event_open(2), PERF_RECORD_AUX and PERF_RECORD_LOST; SDM vol. 3, "Overflow
 * (OVF) packet".
 */
#include "perfdata/skim.h"
#include "session/session.h"

static const struct ptl_loss_kind kinds[PTL_LOSS_MAX_VALUE + 1] = {
    [PTL_LOSS_OVERFLOW] = {"OVF", "", "the processor made packets faster than it could write them",
                           "fewer packets: no cyc, a higher mtc_period, an address filter", 0, 0},
    [PTL_LOSS_TRUNCATED] = {"TRUNCATED", "", "the buffer for trace was full",
                            "a larger buffer (-m ,64M), snapshots (-S), a filter", 0, 0},
    [PTL_LOSS_PARTIAL] =
        {"PARTIAL", "",
         "there are gaps in the trace: the hypervisor interrupted it, or code could not be read",
         "no virtual machines beside, or a processor that traces through VMX", 0, 0},
    [PTL_LOSS_COLLISION] = {"COLLISION", "", "another user of the tracing hardware was in the way",
                            "no other tracer or debugger on these processors", 0, 0},
    [PTL_LOSS_RECORDS] = {"LOST", "records",
                          "records of mappings, tasks or switches did not fit their buffer",
                          "a larger data buffer (-m 4M)", 0, 0},
    [PTL_LOSS_SAMPLES] = {"LOST_SAMPLES", "samples", "the kernel dropped samples",
                          "a lower sampling rate", 0, 0},
    [PTL_LOSS_MISSING] = {"missing", "bytes", "trace that the records tell of is not in the file",
                          "let the recorder end: SIGINT, not SIGKILL; room on the disk", 0, 0},
    [PTL_LOSS_DAMAGED] = {"damaged", "places", "parts of the file cannot be read",
                          "copy the file again; if the recorder was killed, let it end", 1, 1},
    [PTL_LOSS_CUT] = {"cut", "packets", "packets are cut by the end of the trace",
                      "copy the file again, whole", 1, 1},
    [PTL_LOSS_UNSYNCED] = {"no-PSB", "pieces", "trace without a PSB packet, where decoding begins",
                           "a lower psb_period, larger snapshots", 0, 1},
    [PTL_LOSS_SKIPPED] = {"skipped", "bytes",
                          "trace before the first PSB, and from errors to where decoding went on",
                          "a lower psb_period: there are more places to go on", 0, 1},
    [PTL_LOSS_ERRORS] = {"errors", "", "trace and code do not fit, or the trace is damaged",
                         "the files that really ran (build ids), --cpu for its errata", 1, 1},
    [PTL_LOSS_NO_CODE] = {"no-code", "", "no code where the trace leads",
                          "name the missing files: --sysroot, --buildid-dir, --kcore, --elf", 1, 1},
    [PTL_LOSS_IMAGES] = {"images", "", "files and other images whose code was missing",
                         "copy them below a directory and name it with --sysroot", 1, 1},
};

const struct ptl_loss_kind *ptl_loss_kind(enum ptl_loss loss)
{
    return (unsigned)loss <= PTL_LOSS_MAX_VALUE ? &kinds[loss] : NULL;
}

void ptl_losses_record(struct ptl_losses *losses, const struct ptl_record *record)
{
    uint64_t *count = losses->count;

    switch (record->type) {
    case PTL_REC_LOST:
        count[PTL_LOSS_RECORDS] += record->u.lost.lost;
        break;
    case PTL_REC_LOST_SAMPLES:
        count[PTL_LOSS_SAMPLES] += record->u.lost_samples.lost;
        break;
    case PTL_REC_AUX:
        count[PTL_LOSS_TRUNCATED] += (record->u.aux.flags & PTL_AUX_TRUNCATED) != 0;
        count[PTL_LOSS_PARTIAL] += (record->u.aux.flags & PTL_AUX_PARTIAL) != 0;
        count[PTL_LOSS_COLLISION] += (record->u.aux.flags & PTL_AUX_COLLISION) != 0;
        break;
    default:
        break;
    }
}

void ptl__losses_file(struct ptl_losses *losses, const struct ptl_perf *perf)
{
    const struct ptl_perf_queue *queues;
    size_t count;

    queues = ptl_perf_queues(perf, &count);
    for (size_t q = 0; q < count; q++)
        for (size_t i = 0; i < queues[q].piece_count; i++)
            losses->count[PTL_LOSS_MISSING] += queues[q].pieces[i].missing;
    (void)ptl_perf_problems(perf, &count);
    losses->count[PTL_LOSS_DAMAGED] += count;
}

void ptl_losses_recording(struct ptl_losses *losses, const struct ptl_perf *perf)
{
    const uint64_t types = UINT64_C(1) << PTL_REC_LOST | UINT64_C(1) << PTL_REC_LOST_SAMPLES |
                           UINT64_C(1) << PTL_REC_AUX;
    struct ptl_perf_record record;
    struct ptl__skim skim; /* nobody asks whether there is memory */

    ptl__skim_begin(&skim, perf, types);
    while (ptl__skim_next(&skim, &record) > 0) {
        ptl__skim_decode(&record);
        if (record.status == 0)
            ptl_losses_record(losses, &record.record);
    }
    ptl__losses_file(losses, perf);
}

void ptl_losses_item(struct ptl_losses *losses, const struct ptl_item *item)
{
    switch (item->kind) {
    case PTL_ITEM_BLOCK:
        losses->insns += item->ninsn;
        break;
    case PTL_ITEM_EVENT:
        losses->count[PTL_LOSS_OVERFLOW] += item->u.event->type == PTL_EV_OVERFLOW;
        break;
    case PTL_ITEM_ERROR:
        losses->count[item->u.error->status == PTL_NOMAP ? PTL_LOSS_NO_CODE : PTL_LOSS_ERRORS]++;
        break;
    default:
        break;
    }
}

void ptl_losses_add(struct ptl_losses *losses, const struct ptl_losses *more)
{
    for (unsigned i = 0; i <= PTL_LOSS_MAX_VALUE; i++)
        losses->count[i] += more->count[i];
    losses->insns += more->insns;
}

unsigned ptl_losses_kinds(const struct ptl_losses *losses)
{
    unsigned n = 0;

    for (unsigned i = 0; i <= PTL_LOSS_MAX_VALUE; i++)
        n += losses->count[i] != 0;
    return n;
}

uint64_t ptl_losses_error_rate(const struct ptl_losses *losses)
{
    uint64_t errors = losses->count[PTL_LOSS_ERRORS] + losses->count[PTL_LOSS_NO_CODE];

    if (!errors)
        return 0;
    if (!losses->insns)
        return UINT64_MAX;
    return (uint64_t)((double)errors * 1e6 / (double)losses->insns) + 1;
}
