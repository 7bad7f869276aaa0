/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * apply.c - what each record does to the timeline.
 *
 * Records are taken in order, so "now" is well defined: a fork copies what the parent holds
 * by now, a switch goes to what the process holds by then. An exec gives the process a new
 * address space; the old one stays in use on its CPU until the kernel has been left.
 *
 * Whose pid and tid is in the trailer: the task that did it; the incoming one of SWITCH in, the
 * outgoing one of SWITCH out.
 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "sideband/sideband.h"

#include <errno.h>
#include <string.h>

/* The record at hand. */
struct at {
    struct ptl_sideband *sb;
    struct item *item;
    struct ptl_record rec;
    uint64_t when;
    uint64_t position; /* PTL_SB_POSITIONS: end of the trace written so far */
    uint32_t lane;
};

static void note(struct at *at, enum ptl_sb_note what, int status)
{
    at->item->u.raw.note = (uint8_t)what;
    at->item->u.raw.status = (int16_t)status;
}

/* --- switches -------------------------------------------------------------------------- */

static int switch_to(struct at *at, uint32_t lane, uint32_t pid, uint32_t tid, int at_once)
{
    uint32_t space = PTL_TIMELINE_NONE;

    if (lane == NO_LANE)
        return 0;
    if (pid != 0 && pid != UINT32_MAX) { /* 0: idle */
        const struct process *process = ptl__sb_process(at->sb, pid);

        if (!process)
            return PTL_NOMEM;
        space = process->space;
    }
    return ptl_timeline_switch(at->sb->timeline, lane, at->when, space, pid, tid, at_once);
}

static int apply_itrace_start(struct at *at)
{
    uint32_t pid = at->rec.u.itrace_start.pid, tid = at->rec.u.itrace_start.tid;
    int status = ptl__sb_thread(at->sb, tid, pid);

    return status < 0 ? status : switch_to(at, at->lane, pid, tid, 1);
}

static int is_out(const struct at *at)
{
    return (at->rec.misc & PTL_MISC_SWITCH_OUT) != 0;
}

static int apply_switch(struct at *at)
{
    if (is_out(at) || !(at->rec.id.have & PTL_SAMPLE_TID))
        return 0;
    return switch_to(at, at->lane, at->rec.id.pid, at->rec.id.tid, 0);
}

/* Out tells the next task; in repeats it in the trailer, which helps if out was lost. */
static int apply_switch_cpu_wide(struct at *at)
{
    if (!is_out(at))
        return apply_switch(at);
    return switch_to(at, at->lane, at->rec.u.switch_cpu_wide.pid, at->rec.u.switch_cpu_wide.tid, 0);
}

/* sched:sched_switch, 64-bit kernels: 8 bytes common to all tracepoints, then
 * prev_comm[16], prev_pid, prev_prio, prev_state (8 bytes), next_comm[16], next_pid, next_prio.
 * "pid" there is the thread. */
#define NEXT_PID 56

static int apply_sample(struct at *at)
{
    const struct ptl_span raw = at->rec.u.sample.raw;
    uint32_t tid, pid;

    if (raw.len < NEXT_PID + 4)
        return 0;
    tid = ptl__load32(raw.bytes + NEXT_PID);
    pid = ptl_sideband_pid(at->sb, tid);
    return switch_to(at, at->lane, pid == UINT32_MAX ? tid : pid, tid, 0);
}

/* --- tasks ------------------------------------------------------------------------------ */

/* A lane of the thread itself (per-thread tracing), or none. */
static uint32_t own_lane(const struct at *at, uint32_t tid)
{
    uint32_t i = PTL__MAP_NONE;

    if (at->sb->sources[at->item->source].lanes == PTL_SB_LANE_TID)
        i = ptl__map_get(&at->sb->by_lane, tid);
    return i == PTL__MAP_NONE ? NO_LANE : at->sb->lanes[i].id;
}

static int new_space(struct at *at, uint32_t pid, uint32_t parent)
{
    struct process *process = ptl__sb_process(at->sb, pid);
    const struct process *from = NULL;
    uint32_t space;

    if (!process)
        return PTL_NOMEM;
    if (parent != pid)
        from = ptl__sb_find_process(at->sb, parent);
    if (ptl_timeline_space(at->sb->timeline, from ? from->space : PTL_TIMELINE_NONE, &space) < 0)
        return PTL_NOMEM;
    *process = (struct process){.pid = pid,
                                .space = space,
                                .abi = from ? from->abi : 0,
                                .have_abi = from ? from->have_abi : 0};
    return 0;
}

/* A new process has its parent's mappings; a new thread lives in its process. Records that
 * perf makes up for running tasks are followed by those of their own mappings. */
static int apply_fork(struct at *at)
{
    uint32_t pid = at->rec.u.task.pid, tid = at->rec.u.task.tid, ppid = at->rec.u.task.ppid;
    int made_up = (at->rec.misc & PTL_MISC_FORK_EXEC) != 0;
    int status = ptl__sb_thread(at->sb, tid, pid);

    if (status == 0 && pid != ppid)
        status = new_space(at, pid, made_up ? pid : ppid);
    if (status < 0 || own_lane(at, tid) == NO_LANE)
        return status;
    return switch_to(at, own_lane(at, tid), pid, tid, 1);
}

static int apply_comm(struct at *at)
{
    uint32_t pid = at->rec.u.comm.pid, tid = at->rec.u.comm.tid;
    uint32_t lane = own_lane(at, tid) != NO_LANE ? own_lane(at, tid) : at->lane;
    int status = ptl__sb_thread(at->sb, tid, pid);

    if (status == 0)
        status = ptl__sb_name(at->sb, tid, at->item->tsc, at->rec.u.comm.comm);
    if (status < 0 || !(at->rec.misc & PTL_MISC_COMM_EXEC))
        return status;
    status = new_space(at, pid, pid);
    return status < 0 ? status : switch_to(at, lane, pid, tid, 0);
}

/* --- mappings ---------------------------------------------------------------------------- */

/* The ABI of a process is that of the first ELF file mapped into it. */
static void learn_abi(struct process *process, const struct ptl_section *section)
{
    const uint8_t *b = ptl_section_bytes(section);

    if (process->have_abi || !b || ptl_section_size(section) < 20 || memcmp(b, "\177ELF", 4) != 0)
        return;
    process->have_abi = 1;
    if (b[4] == 2) /* EI_CLASS: ELFCLASS64 */
        process->abi = ABI_X64;
    else
        process->abi = ptl__load16(b + 18) == 62 ? ABI_X32 : ABI_IA32; /* EM_X86_64 */
}

/* Nothing usable: what was there before is gone all the same, unless a JIT compiler tells of
 * its code in a file of its own. */
static int map_nothing(struct at *at, const struct process *process, uint32_t problem)
{
    const struct ptl_rec_mmap *m = &at->rec.u.mmap;
    uint8_t cause = at->sb->problems[problem].cause;
    int status = ptl__sb_lose(at->sb, process->space, m->addr, m->len, problem);

    if (status < 0)
        return status;
    if (cause == PTL_SB_CAUSE_MISSING || cause == PTL_SB_CAUSE_BUILD_ID)
        note(at, PTL_SB_NOTE_ERROR, PTL_BAD_FILE);
    else if (cause == PTL_SB_CAUSE_VDSO)
        note(at, PTL_SB_NOTE_ERROR, PTL_BAD_CONFIG);
    else
        note(at, PTL_SB_NOTE_SECTION_LOST, 0);
    if (!m->len || m->addr + m->len - 1 < m->addr ||
        (cause == PTL_SB_CAUSE_ANONYMOUS && process->has_jitdump))
        return 0;
    return ptl_timeline_unmap(at->sb->timeline, process->space, at->when, m->addr, m->len);
}

static int map_section(struct at *at, const struct process *process, struct ptl_section *section,
                       uint64_t pgoff)
{
    const struct ptl_rec_mmap *m = &at->rec.u.mmap;
    uint64_t size = ptl_section_size(section), len = m->len;
    uint32_t problem;

    if (pgoff >= size || !len || m->addr + len - 1 < m->addr) {
        int status = ptl__sb_problem(at->sb, m->filename, PTL_SB_CAUSE_MISSING, EFBIG, &problem);

        return status < 0 ? status : map_nothing(at, process, problem);
    }
    if (len > size - pgoff)
        len = size - pgoff;
    return ptl_timeline_map(at->sb->timeline, process->space, at->when, m->addr, section, pgoff,
                            len);
}

static int map_user(struct at *at)
{
    const struct ptl_rec_mmap *m = &at->rec.u.mmap;
    struct process *process = ptl__sb_process(at->sb, m->pid);
    struct wanted wanted = {.name = m->filename, .source = at->item->source};
    struct ptl_section *section = NULL;
    uint32_t problem = 0;
    int status;

    if (!process || ptl__sb_thread(at->sb, m->tid, m->pid) < 0)
        return PTL_NOMEM;
    if (at->sb->flags & PTL_SB_NO_IMAGES)
        return 0;
    if (strcmp(m->filename, "[vdso]") == 0)
        wanted.abi = process->abi;
    if (at->rec.type == PTL_REC_MMAP2 && (at->rec.misc & PTL_MISC_MMAP_BUILD_ID)) {
        wanted.id = m->build_id;
        wanted.id_size = m->build_id_size;
    }
    if (ptl__sb_is_jitdump(m->filename)) {
        process->has_jitdump = 1;
        return ptl__sb_jitdump(at->sb, &wanted, process);
    }
    status = ptl__sb_file(at->sb, &wanted, &section, &problem);
    if (status < 0)
        return status;
    if (!section)
        return map_nothing(at, process, problem);
    if (strcmp(m->filename, "[vdso]") == 0)
        return map_section(at, process, section, 0); /* pgoff is no offset in a file */
    learn_abi(process, section);
    return map_section(at, process, section, m->pgoff);
}

/* The kernel's code is the caller's business: what is said here only explains what is
 * missing. */
static int map_kernel(struct at *at)
{
    const struct ptl_rec_mmap *m = &at->rec.u.mmap;
    int module = m->filename[0] == '/' || strcmp(m->filename, "[module]") == 0;
    uint32_t problem;
    int status = ptl__sb_problem(at->sb, m->filename,
                                 module ? PTL_SB_CAUSE_MODULE : PTL_SB_CAUSE_KERNEL, 0, &problem);

    return status < 0 ? status
                      : ptl__sb_lose(at->sb, PTL_TIMELINE_KERNEL, m->addr, m->len, problem);
}

static int apply_mmap(struct at *at)
{
    switch (at->rec.misc & PTL_MISC_CPUMODE) {
    case PTL_MISC_KERNEL:
        return map_kernel(at);
    case PTL_MISC_HYPERVISOR:
    case PTL_MISC_GUEST_KERNEL:
    case PTL_MISC_GUEST_USER:
        return 0;
    default:
        return map_user(at);
    }
}

/* --- the kernel's code -------------------------------------------------------------------- */

/* What the kernel makes at run time: BPF programs, and code "out of line" (trampolines). Its bytes
 * are in the recording, or else in no file; the name explains errors. */
static int unknown_ksymbol(struct at *at)
{
    uint32_t problem;
    int status = ptl__sb_problem(at->sb, at->rec.u.ksymbol.name, PTL_SB_CAUSE_BPF, 0, &problem);

    return status < 0 ? status
                      : ptl__sb_lose(at->sb, PTL_TIMELINE_KERNEL, at->rec.u.ksymbol.addr,
                                     at->rec.u.ksymbol.len, problem);
}

static int apply_ksymbol(struct at *at)
{
    int gone = at->rec.u.ksymbol.flags & 1;
    const struct bpf *bpf = ptl__sb_bpf(at->sb, at->rec.u.ksymbol.addr);
    int status = 0;

    if (bpf && gone)
        status = ptl_timeline_unmap(at->sb->timeline, PTL_TIMELINE_KERNEL, at->when, bpf->addr,
                                    bpf->size);
    else if (bpf)
        status = ptl_timeline_map(at->sb->timeline, PTL_TIMELINE_KERNEL, at->when, bpf->addr,
                                  bpf->section, 0, bpf->size);
    else if (!gone)
        status = unknown_ksymbol(at);
    return status == PTL_INVALID ? 0 : status; /* an address at the end of the world */
}

static int poke(struct at *at, uint64_t when, struct ptl_span bytes)
{
    struct ptl_section *section;
    int status;

    if (!bytes.len)
        return 0;
    status = ptl_section_memory(&section, bytes.bytes, bytes.len, 1, "text poke");
    if (status < 0)
        return status;
    status = ptl_timeline_map(at->sb->timeline, PTL_TIMELINE_KERNEL, when, at->rec.u.text_poke.addr,
                              section, 0, bytes.len);
    ptl_section_unref(section);
    return status == PTL_INVALID ? 0 : status; /* an address at the end of the world */
}

/* From its time on the code is the new bytes. */
static int apply_text_poke(struct at *at)
{
    uint64_t addr = at->rec.u.text_poke.addr;
    struct ptl_span old = at->rec.u.text_poke.old_bytes, new = at->rec.u.text_poke.new_bytes;
    int status = poke(at, at->when, new);

    if (status < 0 || old.len <= new.len || addr + old.len - 1 < addr)
        return status;
    return ptl_timeline_unmap(at->sb->timeline, PTL_TIMELINE_KERNEL, at->when, addr + new.len,
                              old.len - new.len);
}

/* Before the first poke of a place the code is its old bytes, whenever the image of the kernel
 * was taken. Backwards, so that the first one of a place wins. */
static int poke_back(struct ptl_sideband *sb)
{
    int status = 0;

    for (size_t i = sb->has_pokes ? sb->items_count : 0; i-- > 0 && status >= 0;) {
        struct at at = {.sb = sb, .item = &sb->items[i]};

        if (at.item->type == PTL_REC_TEXT_POKE && ptl__sb_decode(at.item, &at.rec) == 0)
            status = poke(&at, 0, at.rec.u.text_poke.old_bytes);
    }
    return status;
}

/* --- losses ----------------------------------------------------------------------------------- */

static int apply_lost(struct at *at)
{
    note(at, PTL_SB_NOTE_SIDEBAND_LOST, 0);
    return 0;
}

static int apply_aux(struct at *at)
{
    if (at->rec.u.aux.flags & PTL_AUX_TRUNCATED)
        note(at, PTL_SB_NOTE_TRACE_LOST, 0);
    if (at->lane == at->sb->position_lane)
        at->position = at->rec.u.aux.offset + at->rec.u.aux.size;
    return 0;
}

/* --- all ----------------------------------------------------------------------------------------
 */

static int (*const apply[])(struct at *) = {
    [PTL_REC_MMAP] = apply_mmap,       [PTL_REC_LOST] = apply_lost,
    [PTL_REC_COMM] = apply_comm,       [PTL_REC_FORK] = apply_fork,
    [PTL_REC_SAMPLE] = apply_sample,   [PTL_REC_MMAP2] = apply_mmap,
    [PTL_REC_AUX] = apply_aux,         [PTL_REC_ITRACE_START] = apply_itrace_start,
    [PTL_REC_SWITCH] = apply_switch,   [PTL_REC_SWITCH_CPU_WIDE] = apply_switch_cpu_wide,
    [PTL_REC_KSYMBOL] = apply_ksymbol, [PTL_REC_TEXT_POKE] = apply_text_poke,
};

uint32_t ptl__sb_lane_of(const struct source *source, const struct ptl_sample_id *id)
{
    switch (source->lanes) {
    case PTL_SB_LANE_FIXED:
        return 0;
    case PTL_SB_LANE_CPU:
        return id->have & PTL_SAMPLE_CPU ? id->cpu : NO_LANE;
    case PTL_SB_LANE_TID:
        return id->have & PTL_SAMPLE_TID ? id->tid : NO_LANE;
    default:
        return NO_LANE;
    }
}

/* Code that JIT compilers wrote until now. */
static int apply_jits(struct ptl_sideband *sb, uint64_t until)
{
    const struct jit_code *jit;

    while ((jit = ptl__sb_next_jit(sb, until)) != NULL) {
        const struct process *process = ptl__sb_process(sb, jit->pid);
        int status = PTL_NOMEM;

        if (process)
            status = ptl_timeline_map(sb->timeline, process->space, jit->tsc, jit->addr,
                                      jit->section, 0, jit->size);
        if (status < 0 && status != PTL_INVALID)
            return status;
    }
    return 0;
}

static int apply_known_switch(struct at *at)
{
    const struct item *item = at->item;

    if (item->flags & ITEM_IDLE)
        return 0;
    return switch_to(at, item->u.to.lane, item->u.to.pid, item->u.to.tid, 0);
}

static int apply_item(struct at *at, struct item *item)
{
    at->item = item;
    if (ptl__sb_is_switch(item)) {
        if (at->sb->flags & PTL_SB_POSITIONS)
            item->tsc = at->position;
        at->when = item->tsc;
        return apply_known_switch(at);
    }
    if (item->u.raw.note == PTL_SB_NOTE_ERROR) /* already known to be broken */
        return 0;
    if (item->type >= sizeof(apply) / sizeof(*apply) || !apply[item->type])
        return 0;
    if (item->type == PTL_REC_SAMPLE && !(item->flags & PTL_SB_SCHED_SWITCH))
        return 0;
    if (ptl__sb_decode(item, &at->rec) < 0) {
        note(at, PTL_SB_NOTE_ERROR, PTL_NOSYNC);
        return 0;
    }
    at->lane = ptl__sb_lane_of(&at->sb->sources[item->source], &at->rec.id);
    if (at->sb->flags & PTL_SB_POSITIONS)
        item->tsc = at->position;
    at->when = item->tsc;
    return apply[at->rec.type](at);
}

/* Lanes of one thread begin with it. */
static int begin_lanes(struct at *at)
{
    int status = 0;

    for (size_t i = 0; i < at->sb->lanes_count && status >= 0; i++) {
        const struct lane *lane = &at->sb->lanes[i];

        status =
            switch_to(at, lane->id, lane->pid == UINT32_MAX ? lane->tid : lane->pid, lane->tid, 1);
    }
    return status;
}

/* The processes of lanes that were given by thread only. */
static void find_lane_pids(struct ptl_sideband *sb)
{
    for (size_t i = 0; i < sb->items_count && sb->lanes_count; i++) {
        struct ptl_record rec;
        uint32_t lane;

        if (ptl__sb_decode(&sb->items[i], &rec) < 0 || !(rec.id.have & PTL_SAMPLE_TID))
            continue;
        lane = ptl__map_get(&sb->by_lane, rec.id.tid);
        if (lane != PTL__MAP_NONE && sb->lanes[lane].pid == UINT32_MAX && rec.id.pid)
            sb->lanes[lane].pid = rec.id.pid;
    }
}

int ptl__sb_apply(struct ptl_sideband *sb)
{
    struct at at = {.sb = sb};
    int status;

    find_lane_pids(sb);
    status = begin_lanes(&at);
    if (status == 0)
        status = poke_back(sb);
    if (status >= 0)
        status = ptl__sb_bpf_untold(sb);
    for (size_t i = 0; i < sb->items_count && status >= 0; i++) {
        if (sb->jits_left)
            status = apply_jits(sb, sb->items[i].tsc - (sb->items[i].tsc != 0));
        if (status >= 0)
            status = apply_item(&at, &sb->items[i]);
    }
    if (status >= 0)
        status = apply_jits(sb, UINT64_MAX);
    return status < 0 ? status : 0;
}
