/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ipt_blocks.c - decode a trace with Debian's libipt (a black box) and with ours, and
 * compare instruction by instruction and event by event.
 *
 *     ipt_blocks [option value]... TRACE
 *         raw FILE:BASE | elf FILE      code (the base in any C notation)
 *         cpu F/M[/S]  mtc N  nom N  eax N  ebx N  filter A-B  slow 1
 *
 * Blocks of both are expanded to instruction addresses, because where a block ends is a
 * decoder's own choice; their number is compared, too, and only reported. Prints what was
 * compared; exit status 1 at the first difference.
 */
#include <intel-pt.h>
#include <pt/flow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct setup {
    uint8_t *trace;
    size_t len;
    struct ptl_space *space;
    struct ptl_flow_config flow;
    struct ptl_cpu cpu;
};

/* One thing that happened. */
enum kind { STEP, EVENT, ERROR, NOTHING };

struct entry {
    enum kind kind;
    uint64_t ip;
    int what; /* event: type; error: status */
    int have_ip, have_tsc;
    uint64_t tsc, value; /* the event's payload */
};

/* --- instructions of a block ------------------------------------------------------------ */

struct walk {
    const struct ptl_space *space;
    uint64_t ip;
    enum ptl_exec_mode mode;
    unsigned left;
};

/* The address of the next instruction; direct branches are followed. */
static uint64_t step(struct walk *walk)
{
    uint64_t ip = walk->ip;
    uint8_t bytes[PTL_INSN_MAX_SIZE];
    struct ptl_insn insn;
    int n = ptl_space_read(walk->space, bytes, sizeof(bytes), ip);

    walk->left--;
    if (n > 0 && ptl_insn_decode(&insn, bytes, (size_t)n, walk->mode) > 0) {
        walk->ip = ip + insn.size;
        if (insn.iclass == PTL_INSN_CALL || insn.iclass == PTL_INSN_JMP)
            walk->ip = ptl_insn_target(&insn, ip);
    } else {
        walk->left = 0; /* the next difference will tell */
    }
    return ip;
}

/* --- libipt -------------------------------------------------------------------------------- */

struct theirs {
    struct pt_block_decoder *decoder;
    struct walk walk;
    int status; /* of the last call; negative: to be reported or synchronised after */
    int synced, done;
    int error; /* to be reported when the block is through */
    uint64_t blocks, mode;
};

static int add_mapping(void *context, const struct ptl_mapping *mapping)
{
    uint64_t offset = ptl_section_offset(mapping->section) + mapping->offset;

    return pt_image_add_file(context, ptl_section_name(mapping->section), offset,
                             mapping->end - mapping->begin, NULL, mapping->begin);
}

static int theirs_open(struct theirs *t, const struct setup *setup)
{
    struct pt_config config;

    memset(t, 0, sizeof(*t));
    pt_config_init(&config);
    config.begin = setup->trace;
    config.end = setup->trace + setup->len;
    config.cpuid_0x15_eax = setup->flow.clock.cpuid_15_eax;
    config.cpuid_0x15_ebx = setup->flow.clock.cpuid_15_ebx;
    config.mtc_freq = setup->flow.clock.mtc_freq;
    config.nom_freq = setup->flow.clock.nom_freq;
    if (setup->flow.addr[0].config) {
        config.addr_filter.config.addr_cfg = setup->flow.addr[0].config;
        config.addr_filter.addr0_a = setup->flow.addr[0].a;
        config.addr_filter.addr0_b = setup->flow.addr[0].b;
    }
    if (setup->cpu.family) {
        config.cpu.vendor = pcv_intel;
        config.cpu.family = setup->cpu.family;
        config.cpu.model = setup->cpu.model;
        config.cpu.stepping = setup->cpu.stepping;
        if (pt_cpu_errata(&config.errata, &config.cpu) < 0)
            return -1;
    }
    t->decoder = pt_blk_alloc_decoder(&config);
    t->walk.space = setup->space;
    if (!t->decoder)
        return -1;
    return ptl_space_each(setup->space, add_mapping, pt_blk_get_image(t->decoder));
}

static enum ptl_exec_mode mode_of(enum pt_exec_mode mode)
{
    return mode == ptem_64bit   ? PTL_MODE_64
           : mode == ptem_32bit ? PTL_MODE_32
           : mode == ptem_16bit ? PTL_MODE_16
                                : PTL_MODE_UNKNOWN;
}

#define IP_NEVER  0
#define IP_ALWAYS 1
#define IP_MAYBE  2

static void fill_event(struct entry *entry, const struct pt_event *ev)
{
    int ip = IP_MAYBE;

    switch (ev->type) {
#define CASE(type, ours, address, has, payload)                                                    \
    case type:                                                                                     \
        entry->what = ours;                                                                        \
        entry->ip = address;                                                                       \
        ip = has;                                                                                  \
        entry->value = payload;                                                                    \
        break
        CASE(ptev_enabled, PTL_EV_ENABLED, ev->variant.enabled.ip, IP_ALWAYS,
             ev->variant.enabled.resumed);
        CASE(ptev_disabled, PTL_EV_DISABLED, ev->variant.disabled.ip, IP_MAYBE, 0);
        CASE(ptev_async_disabled, PTL_EV_ASYNC_DISABLED, ev->variant.async_disabled.ip, IP_MAYBE,
             ev->variant.async_disabled.at);
        CASE(ptev_async_branch, PTL_EV_ASYNC_BRANCH, ev->variant.async_branch.to, IP_MAYBE,
             ev->variant.async_branch.from);
        CASE(ptev_paging, PTL_EV_PAGING, 0, IP_NEVER, ev->variant.paging.cr3);
        CASE(ptev_async_paging, PTL_EV_ASYNC_PAGING, ev->variant.async_paging.ip, IP_MAYBE,
             ev->variant.async_paging.cr3);
        CASE(ptev_vmcs, PTL_EV_VMCS, 0, IP_NEVER, ev->variant.vmcs.base);
        CASE(ptev_async_vmcs, PTL_EV_ASYNC_VMCS, ev->variant.async_vmcs.ip, IP_MAYBE,
             ev->variant.async_vmcs.base);
        CASE(ptev_overflow, PTL_EV_OVERFLOW, ev->variant.overflow.ip, IP_MAYBE, 0);
        CASE(ptev_exec_mode, PTL_EV_EXEC_MODE, ev->variant.exec_mode.ip, IP_MAYBE,
             mode_of(ev->variant.exec_mode.mode));
        CASE(ptev_tsx, PTL_EV_TSX, ev->variant.tsx.ip, IP_MAYBE, ev->variant.tsx.speculative);
        CASE(ptev_stop, PTL_EV_STOP, 0, IP_NEVER, 0);
        CASE(ptev_exstop, PTL_EV_EXSTOP, ev->variant.exstop.ip, IP_MAYBE, 0);
        CASE(ptev_mwait, PTL_EV_MWAIT, ev->variant.mwait.ip, IP_MAYBE, ev->variant.mwait.hints);
        CASE(ptev_pwre, PTL_EV_PWRE, 0, IP_NEVER, 0);
        CASE(ptev_pwrx, PTL_EV_PWRX, 0, IP_NEVER, 0);
        CASE(ptev_ptwrite, PTL_EV_PTWRITE, ev->variant.ptwrite.ip, IP_MAYBE,
             ev->variant.ptwrite.payload);
        CASE(ptev_tick, PTL_EV_TICK, ev->variant.tick.ip, IP_MAYBE, 0);
        CASE(ptev_cbr, PTL_EV_CBR, 0, IP_NEVER, ev->variant.cbr.ratio);
        CASE(ptev_mnt, PTL_EV_MNT, 0, IP_NEVER, ev->variant.mnt.payload);
#undef CASE
    }
    entry->kind = EVENT;
    entry->have_ip = ip == IP_ALWAYS || (ip == IP_MAYBE && !ev->ip_suppressed);
    entry->have_tsc = (int)ev->has_tsc;
    entry->tsc = ev->has_tsc ? ev->tsc : 0;
}

static void report_error(struct theirs *t, struct entry *entry, int error)
{
    entry->kind = ERROR;
    entry->what = error;
    t->synced = 0;
    t->error = 0;
}

/* When a mode that stays is told again (after PSB, after an overflow) differs between versions
 * of libipt. It is no event. */
static int is_same_mode(uint64_t *mode, const struct entry *entry)
{
    int same = entry->what == PTL_EV_EXEC_MODE && entry->value == *mode;

    if (entry->what == PTL_EV_EXEC_MODE)
        *mode = entry->value;
    return same;
}

/* One event, unless it is one of status. Returns 1 if there is an entry. */
static int their_event(struct theirs *t, struct entry *entry)
{
    struct pt_event ev;

    t->status = pt_blk_event(t->decoder, &ev, sizeof(ev));
    if (t->status < 0) {
        report_error(t, entry, t->status);
        return 1;
    }
    memset(entry, 0, sizeof(*entry));
    fill_event(entry, &ev);
    return !is_same_mode(&t->mode, entry) && !ev.status_update;
}

static void their_block(struct theirs *t)
{
    struct pt_block block;

    memset(&block, 0, sizeof(block));
    t->status = pt_blk_next(t->decoder, &block, sizeof(block));
    t->blocks++;
    t->walk.ip = block.ip;
    t->walk.mode = mode_of(block.mode);
    t->walk.left = block.ninsn;
    if (t->status < 0)
        t->error = t->status;
}

static void theirs_next(struct theirs *t, struct entry *entry)
{
    memset(entry, 0, sizeof(*entry));
    for (;;) {
        if (t->walk.left) {
            entry->kind = STEP;
            entry->ip = step(&t->walk);
            return;
        }
        if (t->error == -pte_eos || t->done) {
            t->synced = 0;
            t->error = 0;
            t->done = 1;
            entry->kind = NOTHING;
            return;
        }
        if (t->error) {
            report_error(t, entry, t->error);
            return;
        }
        if (!t->synced) {
            t->status = pt_blk_sync_forward(t->decoder);
            if (t->status < 0) {
                t->done = 1;
                continue;
            }
            t->synced = 1;
        }
        if (t->status & pts_event_pending) {
            if (their_event(t, entry))
                return;
        } else if (t->status & pts_eos) {
            t->done = 1;
        } else {
            their_block(t);
        }
    }
}

/* --- libpt ---------------------------------------------------------------------------------- */

#define BATCH 64

struct ours {
    struct ptl_flow *flow;
    struct ptl_item items[BATCH];
    int n, at;
    struct walk walk;
    uint64_t blocks, mode;
};

static uint64_t payload_of(const struct ptl_event *e)
{
    switch (e->type) {
    case PTL_EV_ENABLED:
        return e->u.enabled.resumed;
    case PTL_EV_ASYNC_DISABLED:
        return e->u.async_disabled.at;
    case PTL_EV_ASYNC_BRANCH:
        return e->u.async_branch.from;
    case PTL_EV_PAGING:
    case PTL_EV_ASYNC_PAGING:
        return e->u.paging.cr3;
    case PTL_EV_VMCS:
    case PTL_EV_ASYNC_VMCS:
        return e->u.vmcs.base;
    case PTL_EV_EXEC_MODE:
        return e->u.exec_mode.mode;
    case PTL_EV_TSX:
        return e->u.tsx.speculative;
    case PTL_EV_MWAIT:
        return e->u.mwait.hints;
    case PTL_EV_PTWRITE:
        return e->u.ptwrite.payload;
    case PTL_EV_CBR:
        return e->u.cbr.ratio;
    case PTL_EV_MNT:
        return e->u.mnt.payload;
    default:
        return 0;
    }
}

/* Returns 1 if there is an entry. */
static int our_item(struct ours *o, struct entry *entry, const struct ptl_item *item)
{
    if (item->kind == PTL_ITEM_BLOCK) {
        o->walk.ip = item->u.block->ip;
        o->walk.mode = (enum ptl_exec_mode)item->u.block->mode;
        o->walk.left = item->ninsn;
        o->blocks += !(item->flags & PTL_ITEM_CONTINUED);
        return 0;
    }
    if (item->kind == PTL_ITEM_ERROR) {
        entry->kind = ERROR;
        entry->what = item->u.error->status;
        return 1;
    }
    if (item->kind == PTL_ITEM_EVENT && item->u.event->type != PTL_EV_SYNC) {
        entry->kind = EVENT;
        entry->what = item->u.event->type;
        entry->ip = item->u.event->ip;
        entry->have_ip = item->u.event->have_ip;
        entry->have_tsc = item->u.event->have_tsc;
        entry->tsc = item->u.event->have_tsc ? item->u.event->tsc : 0;
        entry->value = payload_of(item->u.event);
        return !is_same_mode(&o->mode, entry) && !item->u.event->status;
    }
    return 0;
}

static void ours_next(struct ours *o, struct entry *entry)
{
    memset(entry, 0, sizeof(*entry));
    for (;;) {
        if (o->walk.left) {
            entry->kind = STEP;
            entry->ip = step(&o->walk);
            return;
        }
        if (o->at == o->n) {
            o->n = ptl_flow_next(o->flow, o->items, BATCH);
            o->at = 0;
            if (o->n <= 0) {
                o->n = 0;
                entry->kind = NOTHING;
                return;
            }
        }
        if (our_item(o, entry, &o->items[o->at++]))
            return;
    }
}

/* --- comparing -------------------------------------------------------------------------------- */

static void show(const char *who, const struct entry *e)
{
    static const char *const kinds[] = {"instruction", "event", "error", "end"};

    printf("  %s: %s", who, kinds[e->kind]);
    if (e->kind == EVENT)
        printf(" type %d, value %llx, tsc %llx", e->what, (unsigned long long)e->value,
               (unsigned long long)e->tsc);
    if (e->kind == ERROR)
        printf(" %s", ptl_strstatus(e->what));
    if (e->kind == STEP || e->have_ip)
        printf(" ip %llx", (unsigned long long)e->ip);
    putchar('\n');
}

/* Debian's version, unlike later ones, does not take cycles of MTC periods without CYC packets
 * into account: estimates may differ by a few ticks. */
#define SLACK 8

static int same_time(const struct entry *a, const struct entry *b)
{
    return a->have_tsc == b->have_tsc && a->tsc - b->tsc + SLACK <= 2 * SLACK;
}

/* Errors have the same numbers in both libraries. */
static int same(const struct entry *a, const struct entry *b)
{
    if (a->kind != b->kind)
        return 0;
    if (a->kind == STEP)
        return a->ip == b->ip;
    if (a->kind != EVENT)
        return a->what == b->what;
    return a->what == b->what && a->have_ip == b->have_ip && (!a->have_ip || a->ip == b->ip) &&
           same_time(a, b) && a->value == b->value;
}

static int compare(struct theirs *t, struct ours *o)
{
    uint64_t count[4] = {0}, last = 0;
    struct entry a, b;

    for (;;) {
        theirs_next(t, &a);
        ours_next(o, &b);
        if (!same(&a, &b))
            break;
        count[a.kind]++;
        if (a.kind == STEP)
            last = a.ip;
        if (a.kind == NOTHING) {
            printf("insns %llu events %llu errors %llu blocks %llu/%llu\n",
                   (unsigned long long)count[STEP], (unsigned long long)count[EVENT],
                   (unsigned long long)count[ERROR], (unsigned long long)t->blocks,
                   (unsigned long long)o->blocks);
            return 0;
        }
    }
    printf("difference after %llu instructions (the last at %llx), %llu events, near offset %llx\n",
           (unsigned long long)count[STEP], (unsigned long long)last,
           (unsigned long long)count[EVENT], (unsigned long long)ptl_flow_offset(o->flow));
    show("libipt", &a);
    show("libpt", &b);
    return 1;
}

/* --- the command line ----------------------------------------------------------------------------
 */

static int load_trace(struct setup *setup, const char *path)
{
    FILE *f = fopen(path, "rb");
    long len;

    if (!f || fseek(f, 0, SEEK_END) || (len = ftell(f)) < 0 || fseek(f, 0, SEEK_SET))
        return -1;
    setup->len = (size_t)len;
    setup->trace = malloc(setup->len);
    if (!setup->trace || fread(setup->trace, 1, setup->len, f) != setup->len)
        return -1;
    fclose(f);
    return 0;
}

static int map_raw(struct setup *setup, const char *arg)
{
    const char *colon = strrchr(arg, ':');
    struct ptl_section *section;
    char name[4096];
    int status;

    if (!colon)
        return -1;
    snprintf(name, sizeof(name), "%.*s", (int)(colon - arg), arg);
    status = ptl_section_file(&section, name, 0, UINT64_MAX);
    if (status)
        return status;
    return ptl_space_map(setup->space, strtoull(colon + 1, NULL, 0), section, 0,
                         ptl_section_size(section));
}

static int apply(struct setup *setup, const char *name, const char *value)
{
    unsigned long number = strtoul(value, NULL, 0);
    char *end;

    if (!strcmp(name, "raw"))
        return map_raw(setup, value);
    if (!strcmp(name, "elf"))
        return ptl_space_load_elf(setup->space, value, 0, NULL, NULL);
    if (!strcmp(name, "cpu"))
        return ptl_cpu_parse(&setup->cpu, value);
    if (!strcmp(name, "mtc"))
        setup->flow.clock.mtc_freq = (uint8_t)number;
    else if (!strcmp(name, "nom"))
        setup->flow.clock.nom_freq = (uint8_t)number;
    else if (!strcmp(name, "eax"))
        setup->flow.clock.cpuid_15_eax = (uint32_t)number;
    else if (!strcmp(name, "ebx"))
        setup->flow.clock.cpuid_15_ebx = (uint32_t)number;
    else if (!strcmp(name, "slow"))
        setup->flow.flags |= number ? PTL_FLOW_SLOW : 0;
    else if (!strcmp(name, "filter")) {
        setup->flow.addr[0].config = 1;
        setup->flow.addr[0].a = strtoull(value, &end, 0);
        setup->flow.addr[0].b = strtoull(end + 1, NULL, 0);
    } else
        return -1;
    return 0;
}

int main(int argc, char **argv)
{
    struct setup setup = {.flow = {.size = sizeof(setup.flow)}};
    struct theirs theirs;
    static struct ours ours;
    int i;

    if (ptl_space_new(&setup.space))
        return 2;
    for (i = 1; i + 2 < argc; i += 2)
        if (apply(&setup, argv[i], argv[i + 1])) {
            fprintf(stderr, "ipt_blocks: %s %s\n", argv[i], argv[i + 1]);
            return 2;
        }
    if (i + 1 != argc || load_trace(&setup, argv[i]) || theirs_open(&theirs, &setup)) {
        fprintf(stderr, "usage: ipt_blocks [option value]... TRACE\n");
        return 2;
    }
    setup.flow.begin = setup.trace;
    setup.flow.len = setup.len;
    setup.flow.space = setup.space;
    if (setup.cpu.family && ptl_cpu_errata(&setup.cpu, &setup.flow.errata))
        return 2;
    setup.flow.clock.errata = setup.flow.errata;
    if (ptl_flow_new(&ours.flow, &setup.flow))
        return 2;
    ours.walk.space = setup.space;
    return compare(&theirs, &ours);
}
