/* SPDX-License-Identifier: BSD-3-Clause */
/* sb_print.c - see sb_print.h. */
#include "sb_print.h"

#include "json.h"
#include "text_record.h"

static void print_json(struct out *out, const struct ptl_sb_record *record)
{
    struct json json;

    json_begin(&json, out, "record");
    json_string(&json, "file", record->source ? record->source : "");
    json_count(&json, "offset", record->offset);
    if (record->have_time)
        json_hex(&json, "tsc", record->time_tsc);
    json_record(&json, &record->record);
    json_end(&json);
}

static void print_record(const struct sb_print *print, struct out *out,
                         const struct ptl_sb_record *record)
{
    int all = (print->flags & SB_PRINT_ALL) != 0;

    if (print->flags & SB_PRINT_JSON) {
        print_json(out, record);
        return;
    }
    if (print->flags & SB_PRINT_FILENAME) {
        out_str(out, record->source);
        out_str(out, print->flags & SB_PRINT_OFFSET ? ":" : "  ");
    }
    if (print->flags & SB_PRINT_OFFSET) {
        out_hex_pad(out, record->offset, 16);
        out_str(out, "  ");
    }
    if ((print->flags & SB_PRINT_TIME) && record->have_time) {
        out_hex_pad(out, record->time_tsc, 16);
        out_str(out, "  ");
    }
    if (print->flags & SB_PRINT_VERBOSE)
        text_record_verbose(out, &record->record, all);
    else
        text_record(out, &record->record, all);
}

static void print_json_note(struct out *out, const struct ptl_sb_record *record,
                            const char *severity)
{
    struct json json;

    json_begin(&json, out, "note");
    json_string(&json, "severity", severity);
    json_string(&json, "file", record->source ? record->source : "");
    json_count(&json, "offset", record->offset);
    json_string(&json, "what", ptl_sb_note_text(record));
    json_end(&json);
}

static void print_note(const struct sb_print *print, struct out *out,
                       const struct ptl_sb_record *record)
{
    int error = record->note == PTL_SB_NOTE_ERROR;
    const char *severity = error || (print->flags & SB_PRINT_ERRORS) ? "error" : "warning";

    if (record->note == PTL_SB_NOTE_NONE || (!error && !(print->flags & SB_PRINT_WARN)))
        return;
    if (print->flags & SB_PRINT_JSON)
        print_json_note(out, record, severity);
    else
        out_printf(out, "[%s:%016llx sideband %s: %s]\n", record->source,
                   (unsigned long long)record->offset, severity, ptl_sb_note_text(record));
}

/* Another CPU's? */
static int is_other(const struct sb_print *print, const struct ptl_sb_record *record)
{
    const struct ptl_sample_id *id = &record->record.id;

    return print->by_cpu && (id->have & PTL_SAMPLE_CPU) && id->cpu != print->cpu;
}

static void print_both(const struct sb_print *print, struct out *out,
                       const struct ptl_sb_record *record)
{
    /* A record that could not be read has nothing to show. */
    if ((print->flags & (SB_PRINT_COMPACT | SB_PRINT_VERBOSE)) &&
        !(record->note == PTL_SB_NOTE_ERROR && record->status == PTL_NOSYNC))
        print_record(print, out, record);
    print_note(print, out, record);
}

void sb_print_until(struct sb_print *print, struct out *out, uint64_t tsc)
{
    struct ptl_sb_record record;

    if (!print->sb || (print->begun && tsc <= print->until))
        return;
    print->begun = 1;
    print->until = tsc;
    while (ptl_sideband_get(print->sb, print->next, &record) && record.tsc <= tsc) {
        if (!is_other(print, &record))
            print_both(print, out, &record);
        print->next++;
    }
}

void sb_print_rest(struct sb_print *print, struct out *out)
{
    sb_print_until(print, out, UINT64_MAX);
}
