/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helper_percpu IN OUT [cpus=N] [switch|wide|sched] [task] [calls]: make of a recording with a
 * queue for each thread one with a queue for each processor, as if the scheduler had had fewer
 * processors than threads.
 *
 * Each thread's trace is decoded to what it executed; that is played again, in the order of time,
 * on N processors, each with a packet generator of its own. A thread that finds no processor takes
 * that of whoever has had one for longest: TIP.PGD (with FUP, if user code is interrupted), the
 * records of the switch, TIP.PGE. Sideband is written between, in its order. All times are new.
 *
 *   switch  SWITCH records (default); wide: SWITCH_CPU_WIDE; sched: samples of sched:sched_switch
 *   task    as events of a task are: PSB when it comes, AUX record when it goes
 *   calls   returns are compressed by the calls of the thread, over times without trace, too.
 *           Hardware does not; without this the generator forgets calls at every TIP.PGD.
 */
#include "../../ptcapture/generator.c" /* NOLINT(bugprone-suspicious-include): part of a program */

#include <fcntl.h>
#include <pt/session.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_CPUS 8
#define GAP      1000000u /* ticks of a switch: more than two MTC periods */
#define BUFFER   65536u
#define PT_ID    1000u /* + cpu */
#define DUMMY_ID 2000u
#define SCHED_ID 3000u
#define NOBODY   UINT32_MAX

enum op_kind { OP_ON, OP_INSN, OP_PTW, OP_LEAVE, OP_STOP };

/* A step of a thread. */
struct op {
    uint64_t tsc, ip, value;
    struct ptl_insn insn;
    uint8_t kind, mode, size;
};

struct thread {
    uint32_t pid, tid;
    struct op *op;
    size_t count, cap, next;
    int cpu; /* where it runs, -1: nowhere */
    int last_cpu;
    int on;                    /* in user code */
    uint64_t stack[GEN_STACK]; /* calls: while it does not run */
    uint8_t depth, top;
};

struct cpu {
    struct generator gen;
    uint8_t buffer[BUFFER];
    struct thread *thread;
    uint64_t offset, used, psb_at;
    int told; /* sideband has been written since the last exact time */
    int started;
};

static struct thread *threads;
static size_t nthreads;
static struct cpu cpus[MAX_CPUS];
static unsigned ncpus = 1;
static uint64_t now = 1000000, turn;
static enum { SWITCH, WIDE, SCHED } flavour;
static int task, calls;
static struct ptl_perf_writer *writer;
static struct ptl_layout layout, sched_layout;
static uint64_t switches;

static void fail(const char *what)
{
    fprintf(stderr, "helper_percpu: %s\n", what);
    exit(1);
}

static void must(int status)
{
    if (status < 0)
        fail(ptl_strstatus(status));
}

/* --- reading ------------------------------------------------------------------------- */

static struct op *add(struct thread *t, enum op_kind kind, uint64_t tsc, uint64_t ip)
{
    struct op *op;

    if (t->count == t->cap) {
        t->cap = t->cap ? t->cap * 2 : 1024;
        t->op = realloc(t->op, t->cap * sizeof(*t->op));
        if (!t->op)
            fail("out of memory");
    }
    op = &t->op[t->count];
    memset(op, 0, sizeof(*op));
    op->kind = (uint8_t)kind;
    op->ip = ip;
    op->tsc = t->count && t->op[t->count - 1].tsc > tsc ? t->op[t->count - 1].tsc : tsc;
    t->count++;
    return op;
}

static void add_block(struct thread *t, const struct ptl_item *item)
{
    const struct ptl_block *block = item->u.block;
    uint32_t at = 0;

    for (unsigned i = 0; i < item->ninsn; i++) {
        struct op *op = add(t, OP_INSN, item->tsc, block->ip + at);

        op->mode = block->mode;
        must(ptl_insn_decode(&op->insn, block->bytes + at, block->size - at,
                             (enum ptl_exec_mode)block->mode));
        at += op->insn.size;
    }
}

static void add_event(struct thread *t, const struct ptl_event *ev, uint64_t tsc)
{
    struct op *op;

    switch (ev->type) {
    case PTL_EV_ENABLED:
        add(t, OP_ON, tsc, ev->ip);
        break;
    case PTL_EV_DISABLED:
        add(t, OP_LEAVE, tsc, 0);
        break;
    case PTL_EV_ASYNC_DISABLED:
        add(t, OP_STOP, tsc, ev->u.async_disabled.at);
        break;
    case PTL_EV_PTWRITE:
        op = add(t, OP_PTW, tsc, 0);
        op->value = ev->u.ptwrite.payload;
        op->size = ev->u.ptwrite.size;
        break;
    case PTL_EV_CONTEXT:
        t->pid = ev->u.context.pid;
        break;
    case PTL_EV_SYNC:
    case PTL_EV_PSB:
    case PTL_EV_EXEC_MODE:
    case PTL_EV_CBR:
    case PTL_EV_TSX:
        break;
    default:
        fail("an event that the software recorder does not write");
    }
}

static void read_thread(const struct ptl_session *session, uint32_t queue,
                        const struct ptl_perf_queue *q, struct thread *t)
{
    struct ptl_decoder *decoder;
    struct ptl_item items[64];
    int n;

    t->tid = q->tid;
    t->pid = ptl_sideband_pid(ptl_session_sideband(session, queue), q->tid);
    t->cpu = t->last_cpu = -1;
    must(ptl_decoder_new(&decoder, session, queue));
    for (size_t piece = 0; piece < q->piece_count; piece++) {
        must(ptl_decoder_piece(decoder, piece));
        while ((n = ptl_flow_next(ptl_decoder_flow(decoder), items, 64)) > 0) {
            for (int i = 0; i < n; i++) {
                if (items[i].kind == PTL_ITEM_BLOCK)
                    add_block(t, &items[i]);
                else if (items[i].kind == PTL_ITEM_EVENT)
                    add_event(t, items[i].u.event, items[i].tsc);
                else if (items[i].kind == PTL_ITEM_ERROR)
                    fail(ptl_strstatus(items[i].u.error->status));
            }
        }
        must(n);
    }
    ptl_decoder_free(decoder);
}

/* --- records -------------------------------------------------------------------------- */

static struct ptl_record record_of(uint32_t type, const struct thread *t, unsigned cpu, uint64_t id)
{
    struct ptl_record r = {.type = type, .known = 1};

    r.id.pid = t ? t->pid : 0;
    r.id.tid = t ? t->tid : 0;
    r.id.cpu = cpu;
    r.id.time = now;
    r.id.identifier = id + cpu;
    return r;
}

static void flush(unsigned i)
{
    struct cpu *c = &cpus[i];
    struct ptl_record r = record_of(PTL_REC_AUX, c->thread, i, PT_ID);
    struct ptl_rec_auxtrace auxtrace = {
        .offset = c->offset, .reference = now, .idx = i, .tid = NOBODY, .cpu = i};
    struct iovec part = {c->buffer, 0};

    gen_flush(&c->gen, now);
    part.iov_len = c->gen.len;
    if (!part.iov_len)
        return;
    r.u.aux.offset = c->offset;
    r.u.aux.size = c->gen.len;
    must(ptl_perf_write_record(writer, &r, &layout));
    must(ptl_perf_write_auxtrace(writer, &auxtrace, &part, 1));
    c->offset += c->gen.len;
    c->gen.len = 0;
}

/* 8 bytes common to all tracepoints, prev_comm[16], prev_pid, prev_prio, prev_state (8 bytes),
 * next_comm[16], next_pid, next_prio. */
static void sched_switch(unsigned cpu, const struct thread *out, const struct thread *in)
{
    struct ptl_record r = record_of(PTL_REC_SAMPLE, out, cpu, SCHED_ID);
    uint8_t raw[68] = {0};

    memcpy(raw + 24, out ? &out->tid : &r.id.cpu, 4);
    memcpy(raw + 56, &in->tid, 4);
    r.u.sample.raw = (struct ptl_span){raw, sizeof(raw)};
    must(ptl_perf_write_record(writer, &r, &sched_layout));
}

static void put_switch(unsigned cpu, const struct thread *t, const struct thread *other, int out)
{
    struct ptl_record r =
        record_of(flavour == WIDE ? PTL_REC_SWITCH_CPU_WIDE : PTL_REC_SWITCH, t, cpu, DUMMY_ID);

    r.misc = out ? PTL_MISC_SWITCH_OUT : 0;
    if (flavour == WIDE) {
        r.u.switch_cpu_wide.pid = other ? other->pid : 0;
        r.u.switch_cpu_wide.tid = other ? other->tid : 0;
    }
    must(ptl_perf_write_record(writer, &r, &layout));
}

static void put_switches(unsigned cpu, const struct thread *out, const struct thread *in)
{
    if (flavour == SCHED) {
        sched_switch(cpu, out, in);
        return;
    }
    if (out || flavour == WIDE)
        put_switch(cpu, out, in, 1);
    now++;
    put_switch(cpu, in, out, 0);
}

static void start(unsigned i, const struct thread *t)
{
    struct ptl_record r = record_of(PTL_REC_ITRACE_START, t, i, PT_ID);

    r.u.itrace_start.pid = t->pid;
    r.u.itrace_start.tid = t->tid;
    must(ptl_perf_write_record(writer, &r, &layout));
    cpus[i].started = 1;
}

static const struct thread *find(uint32_t tid)
{
    for (size_t i = 0; i < nthreads; i++)
        if (threads[i].tid == tid)
            return &threads[i];
    return NULL;
}

/* A record of the recording, at a new time. */
static void put_old(struct ptl_record *r)
{
    const struct thread *t = find(r->id.tid);

    if (r->type >= PTL_REC_USER || r->type == PTL_REC_AUX || r->type == PTL_REC_ITRACE_START)
        return;
    if (r->id.time) {
        r->id.time = ++now;
        r->id.cpu = t && t->last_cpu > 0 ? (uint32_t)t->last_cpu : 0;
        r->id.identifier = DUMMY_ID + r->id.cpu;
    }
    if (r->type == PTL_REC_FORK || r->type == PTL_REC_EXIT)
        r->u.task.time = r->id.time;
    must(ptl_perf_write_record(writer, r, &layout));
    for (unsigned i = 0; i < ncpus; i++)
        cpus[i].told = 1;
}

/* --- playing ----------------------------------------------------------------------------- */

/* What is between two steps of one instruction. */
static int is_whole(const struct thread *t)
{
    return t->next == t->count || t->op[t->next].kind == OP_INSN || t->op[t->next].kind == OP_ON;
}

static void off(struct cpu *c)
{
    if (!calls)
        c->gen.depth = 0;
}

static void put_out(unsigned i)
{
    struct cpu *c = &cpus[i];
    struct thread *t = c->thread;

    if (!t)
        return;
    if (t->on && t->next < t->count) {
        gen_interrupt(&c->gen, t->op[t->next].ip, now);
        off(c);
    }
    if (task)
        flush(i);
    memcpy(t->stack, c->gen.stack, sizeof(t->stack));
    t->depth = c->gen.depth;
    t->top = c->gen.top;
    t->cpu = -1;
}

static void put_in(unsigned i, struct thread *t)
{
    struct cpu *c = &cpus[i];
    struct thread *before = c->thread;

    put_out(i);
    now += GAP / 2;
    put_switches(i, before, t);
    if (!c->started)
        start(i, t);
    now += GAP / 2;
    if (task)
        c->gen.psb_at = 0;
    if (calls) {
        memcpy(c->gen.stack, t->stack, sizeof(t->stack));
        c->gen.depth = t->depth;
        c->gen.top = t->top;
    }
    c->thread = t;
    c->used = ++turn;
    t->cpu = t->last_cpu = (int)i;
    switches++;
    if (t->on)
        gen_enable(&c->gen, t->op[t->next].ip, (enum ptl_exec_mode)t->op[t->next].mode, now);
}

/* The processor for a thread. */
static unsigned place(struct thread *t)
{
    unsigned best = ncpus;

    if (t->cpu >= 0)
        return (unsigned)t->cpu;
    for (unsigned i = 0; i < ncpus; i++)
        if (!cpus[i].thread || is_whole(cpus[i].thread))
            if (best == ncpus || cpus[i].used < cpus[best].used)
                best = i;
    put_in(best, t);
    return best;
}

static void play_insn(struct generator *gen, struct thread *t, const struct op *op)
{
    const struct op *end = t->op + t->count, *next = op + 1;

    if (next < end && next->kind == OP_PTW) {
        gen_ptwrite(gen, next->value, next->size == 8, now);
        next++;
        t->next++;
    }
    if (next == end)
        gen_interrupt(gen, op->ip + op->insn.size, now);
    else if (next->kind != OP_LEAVE)
        gen_insn(gen, &op->insn, op->ip, next->ip,
                 (enum ptl_exec_mode)(next->kind == OP_INSN ? next->mode : op->mode), now);
}

static void play(unsigned i, struct thread *t)
{
    struct cpu *c = &cpus[i];
    const struct op *op = &t->op[t->next++];

    now += 2;
    if (c->gen.cap - c->gen.len < 4u * GEN_ROOM)
        flush(i);
    switch (op->kind) {
    case OP_ON:
        if (c->told)
            gen_time(&c->gen, now);
        c->told = 0;
        gen_enable(&c->gen, op->ip, (enum ptl_exec_mode)op[1].mode, now);
        t->on = 1;
        break;
    case OP_INSN:
        play_insn(&c->gen, t, op);
        break;
    case OP_LEAVE:
        gen_far_leave(&c->gen, now);
        off(c);
        t->on = 0;
        break;
    case OP_STOP:
        gen_interrupt(&c->gen, op->ip, now);
        off(c);
        t->on = 0;
        break;
    default:
        break;
    }
    if (c->gen.psb_at != c->psb_at) /* a PSB: nobody's calls count any more */
        for (size_t k = 0; k < nthreads; k++)
            threads[k].depth = 0;
    c->psb_at = c->gen.psb_at;
}

/* The thread whose next step is the earliest; who runs goes on. */
static struct thread *earliest(void)
{
    struct thread *first = NULL;

    for (size_t i = 0; i < nthreads; i++) {
        struct thread *t = &threads[i];

        if (t->next == t->count)
            continue;
        if (!is_whole(t))
            return t;
        if (!first || t->op[t->next].tsc < first->op[first->next].tsc ||
            (t->op[t->next].tsc == first->op[first->next].tsc && first->cpu < 0 && t->cpu >= 0))
            first = t;
    }
    return first;
}

static void play_all(const struct ptl_sideband *sb)
{
    struct ptl_sb_record r;
    struct thread *t;
    size_t at = 0;

    while ((t = earliest()) != NULL) {
        for (; is_whole(t) && ptl_sideband_get(sb, at, &r) && r.tsc <= t->op[t->next].tsc; at++)
            put_old(&r.record);
        play(place(t), t);
    }
    for (; ptl_sideband_get(sb, at, &r); at++)
        put_old(&r.record);
    for (unsigned i = 0; i < ncpus; i++)
        flush(i);
}

/* --- the file ------------------------------------------------------------------------------ */

static void add_events(const struct ptl_perf_pt *pt)
{
    struct ptl_attr attr = pt->event->attr, dummy = attr, sched = attr;
    uint64_t ids[3][MAX_CPUS];

    attr.sample_type |= PTL_SAMPLE_CPU;
    attr.flags |= PTL_ATTR_INHERIT;
    attr.size = dummy.size = sched.size = 0;
    layout = ptl_layout_of(&attr);
    dummy.type = 1;
    dummy.config = 9;
    dummy.sample_type = attr.sample_type;
    dummy.flags = PTL_ATTR_SAMPLE_ID_ALL | PTL_ATTR_MMAP | PTL_ATTR_MMAP2 | PTL_ATTR_COMM |
                  PTL_ATTR_TASK | PTL_ATTR_CONTEXT_SWITCH | PTL_ATTR_EXCLUDE_KERNEL;
    sched.type = 2;
    sched.config = 300;
    sched.sample_type = attr.sample_type | PTL_SAMPLE_RAW;
    sched.flags = PTL_ATTR_SAMPLE_ID_ALL;
    sched_layout = ptl_layout_of(&sched);
    for (unsigned i = 0; i < ncpus; i++) {
        ids[0][i] = PT_ID + i;
        ids[1][i] = DUMMY_ID + i;
        ids[2][i] = SCHED_ID + i;
    }
    must(ptl_perf_writer_event(writer, &attr, ids[0], ncpus, pt->event->name));
    must(ptl_perf_writer_event(writer, &dummy, ids[1], ncpus, "dummy:u"));
    if (flavour == SCHED)
        must(ptl_perf_writer_event(writer, &sched, ids[2], ncpus, "sched:sched_switch"));
}

/* Formats of tracepoints, as tracefs tells them: what perf wants before it looks at samples. The
 * common header is not read by anybody here; the formats are those of Linux 5.0 on x86-64. */
static const char header_page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
                                  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
                                  "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
                                  "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";
static const char header_event[] = "# compressed entry header\n"
                                   "\ttype_len    :    5 bits\n"
                                   "\ttime_delta  :   27 bits\n"
                                   "\tarray       :   32 bits\n";
static const char sched_format[] =
    "name: sched_switch\nID: 300\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:1;\n"
    "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
    "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
    "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:1;\n"
    "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
    "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"
    "print fmt: \"next_pid=%d\", REC->next_pid\n";

struct payload {
    uint8_t bytes[8192];
    size_t len;
};

static void append(struct payload *p, const void *bytes, size_t len)
{
    memcpy(p->bytes + p->len, bytes, len);
    p->len += len;
}

static void append_number(struct payload *p, uint64_t value, size_t size)
{
    append(p, &value, size);
}

static void append_sized(struct payload *p, const char *text)
{
    append_number(p, strlen(text), 8);
    append(p, text, strlen(text));
}

/* As trace.dat has it, version 0.6: found by what perf reads. */
static void add_tracing_data(void)
{
    struct payload p = {.len = 0};

    append(&p, "\x17\x08\x44tracing0.6", 14); /* with its NUL */
    append_number(&p, 0, 1);                  /* little endian */
    append_number(&p, sizeof(long), 1);
    append_number(&p, 4096, 4);
    append(&p, "header_page", 12);
    append_sized(&p, header_page);
    append(&p, "header_event", 13);
    append_sized(&p, header_event);
    append_number(&p, 0, 4); /* events of ftrace itself */
    append_number(&p, 1, 4); /* systems */
    append(&p, "sched", 6);
    append_number(&p, 1, 4);
    append_sized(&p, sched_format);
    append_number(&p, 0, 4); /* kallsyms */
    append_number(&p, 0, 4); /* texts of trace_printk() */
    append_number(&p, 0, 8); /* names of tasks */
    must(ptl_perf_writer_feature(writer, PTL_FEAT_TRACING_DATA, p.bytes, p.len));
}

static void add_features(const struct ptl_perf *perf)
{
    static const unsigned copied[] = {PTL_FEAT_HOSTNAME, PTL_FEAT_OSRELEASE,   PTL_FEAT_VERSION,
                                      PTL_FEAT_ARCH,     PTL_FEAT_CPUID,       PTL_FEAT_CPUDESC,
                                      PTL_FEAT_CMDLINE,  PTL_FEAT_PMU_MAPPINGS};
    const struct ptl_perf_build_id *ids;
    size_t count, len;

    for (size_t i = 0; i < sizeof(copied) / sizeof(*copied); i++) {
        const uint8_t *payload = ptl_perf_feature(perf, copied[i], &len);

        if (payload)
            must(ptl_perf_writer_feature(writer, copied[i], payload, len));
    }
    if (flavour == SCHED)
        add_tracing_data();
    must(ptl_perf_writer_nrcpus(writer, ncpus, ncpus));
    ids = ptl_perf_build_ids(perf, &count);
    for (size_t i = 0; i < count; i++)
        must(ptl_perf_writer_build_id(writer, &ids[i]));
}

static void begin(const struct ptl_perf *perf, int fd)
{
    const struct ptl_perf_writer_config config = {.size = sizeof(config)};
    const struct ptl_perf_pt *pt = ptl_perf_pt(perf);
    struct ptl_id_index_entry index[2 * MAX_CPUS];
    struct ptl_pt_info info = pt->info;
    struct ptl_rec_time_conv conv = {.shift = info.time_shift,
                                     .mult = info.time_mult,
                                     .zero = info.time_zero,
                                     .mask = UINT64_MAX,
                                     .user_time_zero = 1};

    info.per_cpu = 1;
    info.switches = flavour == SWITCH ? PTL_SWITCHES_TASK
                    : flavour == WIDE ? PTL_SWITCHES_CPU_WIDE
                                      : PTL_SWITCHES_TRACEPOINT;
    for (unsigned i = 0; i < ncpus; i++) {
        index[2 * i] = (struct ptl_id_index_entry){PT_ID + i, i, i, UINT64_MAX};
        index[2 * i + 1] = (struct ptl_id_index_entry){DUMMY_ID + i, i, i, UINT64_MAX};
    }
    must(ptl_perf_writer_new(&writer, fd, &config));
    add_events(pt);
    add_features(perf);
    must(ptl_perf_writer_begin(writer));
    must(ptl_perf_write_time_conv(writer, &conv));
    must(ptl_perf_write_id_index(writer, index, 2 * (size_t)ncpus));
    must(ptl_perf_write_pt_info(writer, &info));
}

static void make_generators(const struct ptl_perf_pt *pt)
{
    const uint64_t config = pt->config;
    struct gen_config gen = {.tsc_ratio = (uint32_t)pt->info.ctc_num,
                             .art_ratio = (uint32_t)pt->info.ctc_den,
                             .tsc = pt->tsc,
                             .mtc = pt->mtc,
                             .cyc = pt->cyc,
                             .noretcomp = pt->noretcomp,
                             .branch = 1,
                             .ptw = 1,
                             .mtc_period = pt->mtc_freq,
                             .psb_period = (config >> 24) & 15,
                             .cyc_thresh = (config >> 19) & 15,
                             .cbr = (uint8_t)pt->info.max_nonturbo};

    for (unsigned i = 0; i < ncpus; i++)
        gen_init(&cpus[i].gen, &gen, cpus[i].buffer, sizeof(cpus[i].buffer));
}

static void option(const char *arg)
{
    if (strncmp(arg, "cpus=", 5) == 0)
        ncpus = (unsigned)strtoul(arg + 5, NULL, 10);
    else if (strcmp(arg, "wide") == 0)
        flavour = WIDE;
    else if (strcmp(arg, "sched") == 0)
        flavour = SCHED;
    else if (strcmp(arg, "task") == 0)
        task = 1;
    else if (strcmp(arg, "calls") == 0)
        calls = 1;
    else if (strcmp(arg, "switch") != 0)
        fail("unknown option");
    if (!ncpus || ncpus > MAX_CPUS)
        fail("so many processors?");
}

int main(int argc, char **argv)
{
    struct ptl_session_config config = {.size = sizeof(config), .flags = PTL_SESSION_KEEP_RECORDS};
    const struct ptl_perf_queue *queues;
    struct ptl_session *session;
    int fd;

    if (argc < 3)
        fail("usage: helper_percpu IN OUT [OPTION]...");
    for (int i = 3; i < argc; i++)
        option(argv[i]);
    must(ptl_session_open(&session, argv[1], &config, NULL));
    queues = ptl_perf_queues(ptl_session_perf(session), &nthreads);
    threads = calloc(nthreads + 1, sizeof(*threads));
    if (!threads)
        fail("out of memory");
    for (size_t i = 0; i < nthreads; i++)
        read_thread(session, (uint32_t)i, &queues[i], &threads[i]);
    fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        fail("cannot create the file");
    make_generators(ptl_perf_pt(ptl_session_perf(session)));
    begin(ptl_session_perf(session), fd);
    play_all(ptl_session_sideband(session, 0));
    must(ptl_perf_writer_finish(writer));
    ptl_perf_writer_free(writer);
    close(fd);
    printf("%llu switches\n", (unsigned long long)switches);
    for (size_t i = 0; i < nthreads; i++)
        free(threads[i].op);
    free(threads);
    ptl_session_close(session);
    return 0;
}
