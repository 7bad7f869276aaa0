/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text_record.c - see text_record.h. One row for each kind of record: its fields in the order
 * of the long form, and the short form as a template in which letters stand for fields.
 * All numbers are hexadecimal.
 */
#include "text_record.h"

#include "plain.h"

#define FIELDS 12

struct field {
    const char *label;
    uint16_t offset; /* in struct ptl_record */
    uint16_t size;   /* 2, 4, 8; or a KIND_* */
};

#define KIND_STRING 0
#define KIND_BYTES  100 /* a span */
#define KIND_TAG    101 /* eight bytes */
#define KIND_LINKS  102 /* a span of namespaces: pairs of device and inode */

struct row {
    uint32_t type;
    uint16_t mask, misc; /* record->misc & mask == misc */
    const char *name;
    const char *compact; /* "a": fields[0] ... */
    struct field fields[FIELDS];
};

/* The rows behind this one are not known to the reference's tools. */
#define FIRST_OWN PTL_REC_NAMESPACES

#define U(label, member)                                                                           \
    {                                                                                              \
        label, offsetof(struct ptl_record, u.member), sizeof(((struct ptl_record *)0)->u.member)   \
    }
#define S(label, member)                                                                           \
    {                                                                                              \
        label, offsetof(struct ptl_record, u.member), KIND_STRING                                  \
    }
#define K(label, kind, member)                                                                     \
    {                                                                                              \
        label, offsetof(struct ptl_record, u.member), KIND_##kind                                  \
    }
#define TASK                                                                                       \
    {                                                                                              \
        U("pid", task.pid), U("ppid", task.ppid), U("tid", task.tid), U("ptid", task.ptid),        \
            U("time", task.time)                                                                   \
    }
#define THROTTLE                                                                                   \
    {                                                                                              \
        U("time", throttle.time), U("id", throttle.id), U("stream_id", throttle.stream_id)         \
    }
#define COMM                                                                                       \
    {                                                                                              \
        U("pid", comm.pid), U("tid", comm.tid), S("comm", comm.comm)                               \
    }
#define AUX                                                                                        \
    {                                                                                              \
        U("aux offset", aux.offset), U("aux size", aux.size), U("flags", aux.flags)                \
    }
#define RECORD(type) PTL_REC_##type, 0, 0, "PERF_RECORD_" #type
#define FLAGGED(type, mask, misc, suffix)                                                          \
    PTL_REC_##type, mask, misc, "PERF_RECORD_" #type "." suffix

static const struct row rows[] = {
    {RECORD(MMAP),
     "  a/b, c, d, e, f",
     {U("pid", mmap.pid), U("tid", mmap.tid), U("addr", mmap.addr), U("len", mmap.len),
      U("pgoff", mmap.pgoff), S("filename", mmap.filename)}},
    {RECORD(LOST), "  a, b", {U("id", lost.id), U("lost", lost.lost)}},
    {FLAGGED(COMM, PTL_MISC_COMM_EXEC, PTL_MISC_COMM_EXEC, "EXEC"), "  a/b, c", COMM},
    {RECORD(COMM), "  a/b, c", COMM},
    {RECORD(EXIT), "  a/c, b/d, e", TASK},
    {RECORD(THROTTLE), "  a, b, c", THROTTLE},
    {RECORD(UNTHROTTLE), "  a, b, c", THROTTLE},
    {RECORD(FORK), "  a/c, b/d, e", TASK},
    {RECORD(MMAP2),
     "  a/b, c, d, e, f, g, h, i, j, k, l",
     {U("pid", mmap.pid), U("tid", mmap.tid), U("addr", mmap.addr), U("len", mmap.len),
      U("pgoff", mmap.pgoff), U("maj", mmap.maj), U("min", mmap.min), U("ino", mmap.ino),
      U("ino_generation", mmap.ino_generation), U("prot", mmap.prot), U("flags", mmap.flags),
      S("filename", mmap.filename)}},
    {FLAGGED(AUX, 0, 0, "TRUNCATED"), "  a, b, c", AUX},
    {RECORD(AUX), "  a, b, c", AUX},
    {RECORD(ITRACE_START), "  a/b", {U("pid", itrace_start.pid), U("tid", itrace_start.tid)}},
    {RECORD(LOST_SAMPLES), "  a", {U("lost", lost_samples.lost)}},
    {FLAGGED(SWITCH, PTL_MISC_SWITCH_OUT, 0, "IN"), "", {{0}}},
    {FLAGGED(SWITCH, PTL_MISC_SWITCH_OUT, PTL_MISC_SWITCH_OUT, "OUT"), "", {{0}}},
    {FLAGGED(SWITCH_CPU_WIDE, PTL_MISC_SWITCH_OUT, 0, "IN"),
     "  a/b",
     {U("prev pid", switch_cpu_wide.pid), U("prev tid", switch_cpu_wide.tid)}},
    {FLAGGED(SWITCH_CPU_WIDE, PTL_MISC_SWITCH_OUT, PTL_MISC_SWITCH_OUT, "OUT"),
     "  a/b",
     {U("next pid", switch_cpu_wide.pid), U("next tid", switch_cpu_wide.tid)}},
    {RECORD(NAMESPACES),
     "  a/b, c",
     {U("pid", namespaces.pid), U("tid", namespaces.tid),
      K("namespaces", LINKS, namespaces.links)}},
    {RECORD(KSYMBOL),
     "  a, b, c, d, e",
     {U("addr", ksymbol.addr), U("len", ksymbol.len), U("ksym_type", ksymbol.ksym_type),
      U("flags", ksymbol.flags), S("name", ksymbol.name)}},
    {RECORD(BPF_EVENT),
     "  a, b, c, d",
     {U("bpf_type", bpf.bpf_type), U("flags", bpf.flags), U("prog", bpf.prog),
      K("tag", TAG, bpf.tag)}},
    {RECORD(CGROUP), "  a, b", {U("id", cgroup.id), S("path", cgroup.path)}},
    {RECORD(TEXT_POKE),
     "  a, b, c",
     {U("addr", text_poke.addr), K("old", BYTES, text_poke.old_bytes),
      K("new", BYTES, text_poke.new_bytes)}},
    {RECORD(AUX_OUTPUT_HW_ID), "  a", {U("hw_id", hw_id.hw_id)}},
};

/* TRUNCATED is a flag in the body, not in the header. */
static int is_whole_aux(const struct ptl_record *record)
{
    return record->type == PTL_REC_AUX && !(record->u.aux.flags & PTL_AUX_TRUNCATED);
}

static const struct row *find_row(const struct ptl_record *record, int all)
{
    size_t i = 0, n = sizeof(rows) / sizeof(*rows);

    if (!record->known || (!all && record->type >= FIRST_OWN))
        return NULL;
    while (i < n && (rows[i].type != record->type || (record->misc & rows[i].mask) != rows[i].misc))
        i++;
    return i == n ? NULL : &rows[i + (size_t)is_whole_aux(record)];
}

/* --- values ---------------------------------------------------------------------------- */

static void put_name(struct out *out, const char *name)
{
    for (int control = 0; *name; name++, control -= control > 0) {
        if (!control)
            control = plain_control(name);
        if (control)
            out_printf(out, "\\x%02x", (unsigned)(unsigned char)*name);
        else
            out_char(out, *name);
    }
}

static void put_bytes(struct out *out, const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        out_printf(out, "%02x", bytes[i]);
}

/* In the order of the kernel (linux/perf_event.h). */
static const char *const namespaces[] = {"net", "uts", "ipc", "pid", "user", "mnt", "cgroup"};

#define LINK_SIZE 16 /* of a namespace in the record: device, inode */

/* The `i`th namespace. Returns its name; NULL: there is none, or none that has a name. */
static const char *get_link(const struct ptl_span *links, size_t i, uint64_t pair[2])
{
    if (i >= links->len / LINK_SIZE || i >= sizeof(namespaces) / sizeof(*namespaces))
        return NULL;
    memcpy(pair, links->bytes + i * LINK_SIZE, LINK_SIZE);
    return namespaces[i];
}

static void put_links(struct out *out, const struct ptl_span *links)
{
    const char *name;
    uint64_t pair[2];

    for (size_t i = 0; (name = get_link(links, i, pair)) != NULL; i++)
        out_printf(out, "%s%s: %llx/%llx", i ? ", " : "", name, (unsigned long long)pair[0],
                   (unsigned long long)pair[1]);
}

static uint64_t number_at(const void *at, size_t size)
{
    uint64_t value = 0;

    memcpy(&value, at, size);
    return value;
}

static void put_field(struct out *out, const struct ptl_record *record, const struct field *field)
{
    const char *at = (const char *)record + field->offset;
    struct ptl_span span = {NULL, 0};
    const char *name = NULL;

    if (field->size == KIND_STRING)
        memcpy(&name, at, sizeof(name));
    else if (field->size == KIND_BYTES || field->size == KIND_LINKS)
        memcpy(&span, at, sizeof(span));
    switch (field->size) {
    case KIND_STRING:
        put_name(out, name ? name : "");
        break;
    case KIND_BYTES:
        put_bytes(out, span.bytes, span.len);
        break;
    case KIND_TAG:
        put_bytes(out, (const uint8_t *)at, 8);
        break;
    case KIND_LINKS:
        put_links(out, &span);
        break;
    default:
        out_hex(out, number_at(at, field->size));
    }
}

/* --- one line ---------------------------------------------------------------------------- */

static void put_hex(struct out *out, const struct ptl_sample_id *id, uint32_t which,
                    const char *prefix, uint64_t value)
{
    if (!(id->have & which))
        return;
    out_str(out, prefix);
    out_hex(out, value);
}

static void put_samples(struct out *out, const struct ptl_sample_id *id)
{
    out_str(out, "  {");
    put_hex(out, id, PTL_SAMPLE_TID, " ", id->pid);
    put_hex(out, id, PTL_SAMPLE_TID, "/", id->tid);
    put_hex(out, id, PTL_SAMPLE_TIME, " ", id->time);
    put_hex(out, id, PTL_SAMPLE_ID, " ", id->id);
    put_hex(out, id, PTL_SAMPLE_CPU, " cpu-", id->cpu);
    put_hex(out, id, PTL_SAMPLE_STREAM_ID, " ", id->stream_id);
    put_hex(out, id, PTL_SAMPLE_IDENTIFIER, " ", id->identifier);
    out_str(out, " }\n");
}

void text_record(struct out *out, const struct ptl_record *record, int all)
{
    const struct row *row = find_row(record, all);

    if (!row) {
        out_printf(out, "UNKNOWN (%x, %x)  { }\n", record->type, record->misc);
        return;
    }
    out_str(out, row->name);
    for (const char *c = row->compact; *c; c++) {
        if (*c >= 'a')
            put_field(out, record, &row->fields[*c - 'a']);
        else
            out_char(out, *c);
    }
    put_samples(out, &record->id);
}

/* --- one line a field ----------------------------------------------------------------------- */

static void put_label(struct out *out, const struct ptl_sample_id *id, uint32_t which,
                      const char *label, uint64_t value)
{
    if (id->have & which)
        out_printf(out, "  %s: %llx\n", label, (unsigned long long)value);
}

void text_record_verbose(struct out *out, const struct ptl_record *record, int all)
{
    const struct row *row = find_row(record, all);
    const struct ptl_sample_id *id = &record->id;

    if (!row) {
        out_printf(out, "UNKNOWN\n  type: %x\n  misc: %x\n", record->type, record->misc);
        return;
    }
    out_str(out, row->name);
    out_char(out, '\n');
    for (size_t i = 0; i < FIELDS && row->fields[i].label; i++) {
        out_printf(out, "  %s: ", row->fields[i].label);
        put_field(out, record, &row->fields[i]);
        out_char(out, '\n');
    }
    put_label(out, id, PTL_SAMPLE_TID, "pid", id->pid);
    put_label(out, id, PTL_SAMPLE_TID, "tid", id->tid);
    put_label(out, id, PTL_SAMPLE_TIME, "time", id->time);
    put_label(out, id, PTL_SAMPLE_ID, "id", id->id);
    put_label(out, id, PTL_SAMPLE_CPU, "cpu", id->cpu);
    put_label(out, id, PTL_SAMPLE_STREAM_ID, "stream id", id->stream_id);
    put_label(out, id, PTL_SAMPLE_IDENTIFIER, "identifier", id->identifier);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void json_links(struct json *json, const char *key, const struct ptl_span *links)
{
    const char *name;
    uint64_t pair[2];

    json_open(json, key, '{');
    for (size_t i = 0; (name = get_link(links, i, pair)) != NULL; i++) {
        json_open(json, name, '{');
        json_hex(json, "dev", pair[0]);
        json_hex(json, "ino", pair[1]);
        json_close(json, '}');
    }
    json_close(json, '}');
}

/* "aux offset": a key has no blanks. */
static void make_key(char *key, size_t size, const char *label)
{
    size_t n = 0;

    for (; n < size - 1 && label[n]; n++)
        key[n] = label[n] == ' ' ? '_' : label[n];
    key[n] = '\0';
}

static void json_field(struct json *json, const struct ptl_record *record,
                       const struct field *field)
{
    const char *at = (const char *)record + field->offset, *string = NULL;
    struct ptl_span span = {NULL, 0};
    char key[32];

    make_key(key, sizeof(key), field->label);
    if (field->size == KIND_STRING)
        memcpy(&string, at, sizeof(string));
    else if (field->size == KIND_BYTES || field->size == KIND_LINKS)
        memcpy(&span, at, sizeof(span));
    switch (field->size) {
    case KIND_STRING:
        json_string(json, key, string ? string : "");
        break;
    case KIND_BYTES:
        json_bytes(json, key, span.bytes, span.len);
        break;
    case KIND_TAG:
        json_bytes(json, key, (const uint8_t *)at, 8);
        break;
    case KIND_LINKS:
        json_links(json, key, &span);
        break;
    case 8:
        json_hex(json, key, number_at(at, 8));
        break;
    default:
        json_count(json, key, number_at(at, field->size));
    }
}

static void json_sample(struct json *json, const struct ptl_sample_id *id)
{
    json_open(json, "sample", '{');
    if (id->have & PTL_SAMPLE_TID) {
        json_count(json, "pid", id->pid);
        json_count(json, "tid", id->tid);
    }
    if (id->have & PTL_SAMPLE_TIME)
        json_hex(json, "time", id->time);
    if (id->have & PTL_SAMPLE_ID)
        json_hex(json, "id", id->id);
    if (id->have & PTL_SAMPLE_CPU)
        json_count(json, "cpu", id->cpu);
    if (id->have & PTL_SAMPLE_STREAM_ID)
        json_hex(json, "stream_id", id->stream_id);
    if (id->have & PTL_SAMPLE_IDENTIFIER)
        json_hex(json, "identifier", id->identifier);
    json_close(json, '}');
}

void json_record(struct json *json, const struct ptl_record *record)
{
    const struct row *row = find_row(record, 1);
    const char *name = row ? row->name : ptl_record_name(record->type);

    json_string(json, "record", name ? name : "UNKNOWN");
    json_count(json, "record_type", record->type);
    json_count(json, "misc", record->misc);
    for (size_t i = 0; row && i < FIELDS && row->fields[i].label; i++)
        json_field(json, record, &row->fields[i]);
    if (row)
        json_sample(json, &record->id);
}
