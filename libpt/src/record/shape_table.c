/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shape_table.c - the layouts of linux/perf_event.h (enum perf_event_type, up to 21) and of
 * perf's own records (from 64 on; doc/internals/record.md), one row a record.
 */
#include "record/shape.h"

#define AT(member)         (uint16_t) offsetof(struct ptl_record, member)
#define FIELDS(name, ...)  static const struct field name[] = {__VA_ARGS__{F_END, 0, 0}};
#define X(kind, member)    {F_##kind, 0, AT(u.member)},
#define N(kind, n, member) {F_##kind, n, AT(u.member)},
#define SKIP(n)            {F_SKIP, n, 0},
#define OPTIONAL           {F_OPTIONAL, 0, 0},

/* clang-format off */
FIELDS(empty, )
FIELDS(mmap, X(U32, mmap.pid) X(U32, mmap.tid) X(U64, mmap.addr) X(U64, mmap.len)
       X(U64, mmap.pgoff) X(STR, mmap.filename))
FIELDS(mmap2, X(U32, mmap.pid) X(U32, mmap.tid) X(U64, mmap.addr) X(U64, mmap.len)
       X(U64, mmap.pgoff) X(DEVICE, mmap) X(U32, mmap.prot) X(U32, mmap.flags)
       X(STR, mmap.filename))
FIELDS(lost, X(U64, lost.id) X(U64, lost.lost))
FIELDS(comm, X(U32, comm.pid) X(U32, comm.tid) X(STR, comm.comm))
FIELDS(task, X(U32, task.pid) X(U32, task.ppid) X(U32, task.tid) X(U32, task.ptid)
       X(U64, task.time))
FIELDS(throttle, X(U64, throttle.time) X(U64, throttle.id) X(U64, throttle.stream_id))
FIELDS(reading, X(U32, read.pid) X(U32, read.tid) X(REST, read.values))
FIELDS(sample, X(SAMPLE, sample))
FIELDS(aux, X(U64, aux.offset) X(U64, aux.size) X(U64, aux.flags))
FIELDS(itrace_start, X(U32, itrace_start.pid) X(U32, itrace_start.tid))
FIELDS(lost_samples, X(U64, lost_samples.lost))
FIELDS(cpu_wide, X(U32, switch_cpu_wide.pid) X(U32, switch_cpu_wide.tid))
FIELDS(namespaces, X(U32, namespaces.pid) X(U32, namespaces.tid) X(LINKS, namespaces.links))
FIELDS(ksymbol, X(U64, ksymbol.addr) X(U32, ksymbol.len) X(U16, ksymbol.ksym_type)
       X(U16, ksymbol.flags) X(STR, ksymbol.name))
FIELDS(bpf, X(U16, bpf.bpf_type) X(U16, bpf.flags) X(U32, bpf.prog) N(BYTES, 8, bpf.tag))
FIELDS(cgroup, X(U64, cgroup.id) X(STR, cgroup.path))
FIELDS(text_poke, X(U64, text_poke.addr) X(POKE, text_poke))
FIELDS(hw_id, X(U64, hw_id.hw_id))
FIELDS(header_attr, X(ATTR, header_attr.attr) X(REST, header_attr.ids))
FIELDS(tracing_data, X(U32, tracing_data.size) SKIP(4))
FIELDS(build_id, X(U32, build_id.pid) N(BYTES, 20, build_id.id) X(U8, build_id.size) SKIP(3)
       X(STR, build_id.filename))
FIELDS(id_index, X(U64, id_index.count) X(ENTRIES, id_index.entries))
FIELDS(auxtrace_info, X(U32, auxtrace_info.type) SKIP(4) X(REST, auxtrace_info.priv))
FIELDS(auxtrace, X(U64, auxtrace.size) X(U64, auxtrace.offset) X(U64, auxtrace.reference)
       X(U32, auxtrace.idx) X(U32, auxtrace.tid) X(U32, auxtrace.cpu) SKIP(4))
FIELDS(auxtrace_error, X(U32, auxtrace_error.type) X(U32, auxtrace_error.code)
       X(U32, auxtrace_error.cpu) X(U32, auxtrace_error.pid) X(U32, auxtrace_error.tid)
       X(U32, auxtrace_error.format) X(U64, auxtrace_error.ip) X(WHEN, auxtrace_error.time)
       X(STR, auxtrace_error.msg))
FIELDS(event_update, X(U64, event_update.type) X(U64, event_update.id) X(REST, event_update.data))
FIELDS(time_conv, X(U64, time_conv.shift) X(U64, time_conv.mult) X(U64, time_conv.zero) OPTIONAL
       X(U64, time_conv.cycles) X(U64, time_conv.mask) X(U8, time_conv.user_time_zero)
       X(U8, time_conv.user_time_short) SKIP(6))
FIELDS(feature, X(U64, feature.feature) X(REST, feature.data))
FIELDS(compressed, X(REST, compressed))
FIELDS(compressed2, X(SIZED, compressed))

static const struct shape kernel_shapes[] = {
    {0, NULL, NULL},
    {PTL_REC_MMAP, "PERF_RECORD_MMAP", mmap},
    {PTL_REC_LOST, "PERF_RECORD_LOST", lost},
    {PTL_REC_COMM, "PERF_RECORD_COMM", comm},
    {PTL_REC_EXIT, "PERF_RECORD_EXIT", task},
    {PTL_REC_THROTTLE, "PERF_RECORD_THROTTLE", throttle},
    {PTL_REC_UNTHROTTLE, "PERF_RECORD_UNTHROTTLE", throttle},
    {PTL_REC_FORK, "PERF_RECORD_FORK", task},
    {PTL_REC_READ, "PERF_RECORD_READ", reading},
    {PTL_REC_SAMPLE, "PERF_RECORD_SAMPLE", sample},
    {PTL_REC_MMAP2, "PERF_RECORD_MMAP2", mmap2},
    {PTL_REC_AUX, "PERF_RECORD_AUX", aux},
    {PTL_REC_ITRACE_START, "PERF_RECORD_ITRACE_START", itrace_start},
    {PTL_REC_LOST_SAMPLES, "PERF_RECORD_LOST_SAMPLES", lost_samples},
    {PTL_REC_SWITCH, "PERF_RECORD_SWITCH", empty},
    {PTL_REC_SWITCH_CPU_WIDE, "PERF_RECORD_SWITCH_CPU_WIDE", cpu_wide},
    {PTL_REC_NAMESPACES, "PERF_RECORD_NAMESPACES", namespaces},
    {PTL_REC_KSYMBOL, "PERF_RECORD_KSYMBOL", ksymbol},
    {PTL_REC_BPF_EVENT, "PERF_RECORD_BPF_EVENT", bpf},
    {PTL_REC_CGROUP, "PERF_RECORD_CGROUP", cgroup},
    {PTL_REC_TEXT_POKE, "PERF_RECORD_TEXT_POKE", text_poke},
    {PTL_REC_AUX_OUTPUT_HW_ID, "PERF_RECORD_AUX_OUTPUT_HW_ID", hw_id},
};

static const struct shape user_shapes[] = {
    {PTL_REC_HEADER_ATTR, "PERF_RECORD_HEADER_ATTR", header_attr},
    {PTL_REC_HEADER_EVENT_TYPE, "PERF_RECORD_HEADER_EVENT_TYPE", NULL},
    {PTL_REC_HEADER_TRACING_DATA, "PERF_RECORD_HEADER_TRACING_DATA", tracing_data},
    {PTL_REC_HEADER_BUILD_ID, "PERF_RECORD_HEADER_BUILD_ID", build_id},
    {PTL_REC_FINISHED_ROUND, "PERF_RECORD_FINISHED_ROUND", empty},
    {PTL_REC_ID_INDEX, "PERF_RECORD_ID_INDEX", id_index},
    {PTL_REC_AUXTRACE_INFO, "PERF_RECORD_AUXTRACE_INFO", auxtrace_info},
    {PTL_REC_AUXTRACE, "PERF_RECORD_AUXTRACE", auxtrace},
    {PTL_REC_AUXTRACE_ERROR, "PERF_RECORD_AUXTRACE_ERROR", auxtrace_error},
    {PTL_REC_THREAD_MAP, "PERF_RECORD_THREAD_MAP", NULL},
    {PTL_REC_CPU_MAP, "PERF_RECORD_CPU_MAP", NULL},
    {PTL_REC_STAT_CONFIG, "PERF_RECORD_STAT_CONFIG", NULL},
    {PTL_REC_STAT, "PERF_RECORD_STAT", NULL},
    {PTL_REC_STAT_ROUND, "PERF_RECORD_STAT_ROUND", NULL},
    {PTL_REC_EVENT_UPDATE, "PERF_RECORD_EVENT_UPDATE", event_update},
    {PTL_REC_TIME_CONV, "PERF_RECORD_TIME_CONV", time_conv},
    {PTL_REC_HEADER_FEATURE, "PERF_RECORD_HEADER_FEATURE", feature},
    {PTL_REC_COMPRESSED, "PERF_RECORD_COMPRESSED", compressed},
    {PTL_REC_FINISHED_INIT, "PERF_RECORD_FINISHED_INIT", empty},
    {PTL_REC_COMPRESSED2, "PERF_RECORD_COMPRESSED2", compressed2},
};

/* Wire order of a SAMPLE. The comment in linux/perf_event.h has AUX before the page sizes
 * and lacks CGROUP; the kernel writes and perf reads this order. */
const struct item ptl__sample_items[] = {
    {PTL_SAMPLE_IDENTIFIER, AT(id.identifier), I_U64},
    {PTL_SAMPLE_IP, AT(u.sample.ip), I_U64},
    {PTL_SAMPLE_TID, AT(id.pid), I_TID},
    {PTL_SAMPLE_TIME, AT(id.time), I_U64},
    {PTL_SAMPLE_ADDR, AT(u.sample.addr), I_U64},
    {PTL_SAMPLE_ID, AT(id.id), I_U64},
    {PTL_SAMPLE_STREAM_ID, AT(id.stream_id), I_U64},
    {PTL_SAMPLE_CPU, AT(id.cpu), I_CPU},
    {PTL_SAMPLE_PERIOD, AT(u.sample.period), I_U64},
    {PTL_SAMPLE_READ, AT(u.sample.read), I_READ},
    {PTL_SAMPLE_CALLCHAIN, AT(u.sample.callchain), I_CHAIN},
    {PTL_SAMPLE_RAW, AT(u.sample.raw), I_RAW},
    {PTL_SAMPLE_BRANCH_STACK, AT(u.sample.branch_stack), I_BRANCH},
    {PTL_SAMPLE_REGS_USER, AT(u.sample.regs_user), I_REGS_USER},
    {PTL_SAMPLE_STACK_USER, AT(u.sample.stack_user), I_STACK},
    {PTL_SAMPLE_WEIGHT | PTL_SAMPLE_WEIGHT_STRUCT, AT(u.sample.weight), I_U64},
    {PTL_SAMPLE_DATA_SRC, AT(u.sample.data_src), I_U64},
    {PTL_SAMPLE_TRANSACTION, AT(u.sample.transaction), I_U64},
    {PTL_SAMPLE_REGS_INTR, AT(u.sample.regs_intr), I_REGS_INTR},
    {PTL_SAMPLE_PHYS_ADDR, AT(u.sample.phys_addr), I_U64},
    {PTL_SAMPLE_CGROUP, AT(u.sample.cgroup), I_U64},
    {PTL_SAMPLE_DATA_PAGE_SIZE, AT(u.sample.data_page_size), I_U64},
    {PTL_SAMPLE_CODE_PAGE_SIZE, AT(u.sample.code_page_size), I_U64},
    {PTL_SAMPLE_AUX, AT(u.sample.aux), I_AUX},
    {0, 0, 0},
};

const struct item ptl__trailer_items[] = {
    {PTL_SAMPLE_TID, AT(id.pid), I_TID},
    {PTL_SAMPLE_TIME, AT(id.time), I_U64},
    {PTL_SAMPLE_ID, AT(id.id), I_U64},
    {PTL_SAMPLE_STREAM_ID, AT(id.stream_id), I_U64},
    {PTL_SAMPLE_CPU, AT(id.cpu), I_CPU},
    {PTL_SAMPLE_IDENTIFIER, AT(id.identifier), I_U64},
    {0, 0, 0},
};
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const struct shape *ptl__shape(uint32_t type)
{
    const struct shape *shape = NULL;

    if (type < COUNT(kernel_shapes))
        shape = &kernel_shapes[type];
    else if (type >= PTL_REC_USER && type - PTL_REC_USER < COUNT(user_shapes))
        shape = &user_shapes[type - PTL_REC_USER];
    return shape && shape->name ? shape : NULL;
}

const char *ptl_record_name(uint32_t type)
{
    const struct shape *shape = ptl__shape(type);
    return shape ? shape->name : NULL;
}
