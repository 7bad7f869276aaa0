/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jitdump.c - code that JIT compilers wrote down for profilers: files named jit-PID.dump,
 * which the program maps executable so that the recording tells of them.
 *
 * Layout (linux, tools/perf/Documentation/jitdump-specification.txt), in the machine's byte
 * order:
 *
 *     header  u32 magic "JiTD", version, size of the header, ELF machine, 0, pid;
 *             u64 time, flags (bit 0: times are TSC ticks)
 *     record  u32 id, total size; u64 time; then by id
 *       0 load: u32 pid, tid; u64 vma, address, size of the code, index; name, NUL; the code
 *       1 move: u32 pid, tid; u64 vma, old address, new address, size, index
 *       others do not matter here; 3 is the end
 *
 * The pid may be that of a container: the record of the mapping knows better.
 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "sideband/sideband.h"

#include <errno.h>
#include <string.h>

#define MAGIC         0x4a695444u
#define HEADER_SIZE   40
#define RECORD_SIZE   16
#define JIT_TSC_TIMES 1u

enum { JIT_LOAD = 0, JIT_MOVE = 1, JIT_CLOSE = 3 };

struct dump {
    struct ptl_sideband *sb;
    const struct source *source;
    const uint8_t *bytes;
    uint64_t flags;
    uint32_t pid;
    struct jit_code *codes; /* of this file, so far */
    size_t count, cap;
    struct ptl__map by_addr; /* the newest at an address */
};

int ptl__sb_is_jitdump(const char *name)
{
    const char *base = strrchr(name, '/');
    size_t n;

    base = base ? base + 1 : name;
    n = strlen(base);
    return n > 9 && strncmp(base, "jit-", 4) == 0 && strcmp(base + n - 5, ".dump") == 0;
}

/* When code is there: nothing else is known without times in the trace. */
static uint64_t when(const struct dump *dump, uint64_t time)
{
    uint64_t tsc = dump->flags & JIT_TSC_TIMES ? time : ptl__sb_ticks(dump->source, time);

    if (dump->sb->flags & PTL_SB_POSITIONS)
        return 0;
    return tsc > dump->source->tsc_offset ? tsc - dump->source->tsc_offset : 0;
}

/* Those who write the file cannot choose addresses that collide. */
static uint32_t hash_of(const struct dump *dump, uint64_t addr)
{
    return (uint32_t)(((addr ^ (uintptr_t)dump->sb) * 0x9e3779b97f4a7c15) >> 32);
}

static int add(struct dump *dump, const struct jit_code *code, const char *name,
               const uint8_t *bytes)
{
    uint32_t hash = hash_of(dump, code->addr);
    struct jit_code *jit;

    if (!code->size)
        return 0;
    if (ptl__grow((void **)&dump->codes, &dump->cap, dump->count + 1, MAX_JITS, sizeof(*jit)) < 0)
        return dump->count < MAX_JITS ? PTL_NOMEM : PTL_BAD_FILE;
    jit = &dump->codes[dump->count];
    *jit = *code;
    jit->older = ptl__map_get(&dump->by_addr, hash);
    if (ptl_section_memory(&jit->section, bytes, code->size, 0, name) < 0)
        return PTL_NOMEM;
    return ptl__map_put(&dump->by_addr, hash, (uint32_t)dump->count++);
}

static int load(struct dump *dump, struct ptl__cursor *c, uint64_t time)
{
    struct jit_code code = {.tsc = when(dump, time), .pid = dump->pid};
    const uint8_t *nul;
    const char *name;

    ptl__take(c, 16); /* pid, tid, vma */
    code.addr = ptl__taken(c, 8);
    code.size = ptl__taken(c, 8);
    ptl__take(c, 8); /* index */
    nul = c->bad ? NULL : memchr(c->pos, 0, ptl__left(c));
    if (!nul || (size_t)(c->end - nul) - 1 < code.size)
        return 0;
    name = (const char *)c->pos;
    return add(dump, &code, name, nul + 1);
}

/* The code that was at the old address: only the newest, what was there before is no more. */
static int move(struct dump *dump, struct ptl__cursor *c, uint64_t time)
{
    struct jit_code code = {.tsc = when(dump, time), .pid = dump->pid};
    uint64_t old;
    uint32_t i;

    ptl__take(c, 16);
    old = ptl__taken(c, 8);
    code.addr = ptl__taken(c, 8);
    code.size = ptl__taken(c, 8);
    i = dump->codes ? ptl__map_get(&dump->by_addr, hash_of(dump, old)) : PTL__MAP_NONE;
    while (i != PTL__MAP_NONE && dump->codes[i].addr != old)
        i = dump->codes[i].older;
    if (c->bad || i == PTL__MAP_NONE || dump->codes[i].size < code.size)
        return 0;
    return add(dump, &code, ptl_section_name(dump->codes[i].section),
               ptl_section_bytes(dump->codes[i].section));
}

static int read_records(struct dump *dump, struct ptl__cursor *c)
{
    int status = 0;

    while (status >= 0 && ptl__left(c) >= RECORD_SIZE) {
        const uint8_t *begin = c->pos;
        uint32_t id = (uint32_t)ptl__taken(c, 4), size = (uint32_t)ptl__taken(c, 4);
        uint64_t time = ptl__taken(c, 8);
        struct ptl__cursor body = {c->pos, begin + size, 0};

        if (size < RECORD_SIZE || size > (size_t)(c->end - begin) || id == JIT_CLOSE)
            break; /* still being written, or damaged */
        if (id == JIT_LOAD)
            status = load(dump, &body, time);
        else if (id == JIT_MOVE)
            status = move(dump, &body, time);
        c->pos = begin + size;
    }
    return status;
}

/* --- by time ----------------------------------------------------------------------------- */

static int is_before(const struct jit_code *x, const struct jit_code *y)
{
    return x->tsc != y->tsc ? x->tsc < y->tsc : x->seq < y->seq;
}

static void swap(struct jit_code *x, struct jit_code *y)
{
    struct jit_code was = *x;

    *x = *y;
    *y = was;
}

/* Into the heap, in the place of one that has been applied. */
static int push(struct ptl_sideband *sb, const struct jit_code *code)
{
    struct jit_code *heap = MORE(sb, jits);
    size_t i = sb->jits_left, up;

    if (!heap)
        return PTL_NOMEM;
    heap = sb->jits;
    heap[sb->jits_count] = heap[i];
    heap[i] = *code;
    heap[i].seq = (uint32_t)sb->jits_count++;
    sb->jits_left++;
    for (; i && is_before(&heap[i], &heap[up = (i - 1) / 2]); i = up)
        swap(&heap[i], &heap[up]);
    return 0;
}

const struct jit_code *ptl__sb_next_jit(struct ptl_sideband *sb, uint64_t until)
{
    struct jit_code *heap = sb->jits;
    size_t i = 0, down;

    if (!sb->jits_left || heap->tsc > until)
        return NULL;
    swap(heap, &heap[--sb->jits_left]);
    for (; (down = 2 * i + 1) < sb->jits_left; i = down) {
        if (down + 1 < sb->jits_left && is_before(&heap[down + 1], &heap[down]))
            down++;
        if (!is_before(&heap[down], &heap[i]))
            break;
        swap(&heap[i], &heap[down]);
    }
    return &heap[sb->jits_left];
}

/* All that was read, or nothing of it. */
static int push_all(struct dump *dump, int status)
{
    size_t i = 0;

    if (status == 0 && dump->count > MAX_JITS - dump->sb->jits_count)
        status = PTL_BAD_FILE;
    dump->sb->jits_full |= status == PTL_BAD_FILE;
    while (status == 0 && i < dump->count)
        if ((status = push(dump->sb, &dump->codes[i])) == 0)
            i++;
    while (i < dump->count)
        ptl_section_unref(dump->codes[i++].section);
    ptl__free(dump->codes);
    ptl__map_free(&dump->by_addr);
    return status;
}

/* --- all ----------------------------------------------------------------------------------- */

int ptl__sb_jitdump(struct ptl_sideband *sb, const struct wanted *wanted, struct process *process)
{
    struct dump dump = {.sb = sb, .source = &sb->sources[wanted->source], .pid = process->pid};
    struct ptl_section *section;
    struct ptl__cursor c;
    uint32_t problem, header;
    int status = ptl__sb_file(sb, wanted, &section, &problem);

    if (status < 0 || !section || process->jitdump == section)
        return status;
    process->jitdump = section;
    if (sb->jits_full) /* reading them only to find that takes time, too */
        return ptl__sb_problem(sb, wanted->name, PTL_SB_CAUSE_MISSING, EFBIG, &problem);
    dump.bytes = ptl_section_bytes(section);
    c = (struct ptl__cursor){dump.bytes, dump.bytes + ptl_section_size(section), 0};
    if (ptl_section_size(section) < HEADER_SIZE || ptl__taken(&c, 4) != MAGIC)
        return ptl__sb_problem(sb, wanted->name, PTL_SB_CAUSE_MISSING, EINVAL, &problem);
    ptl__take(&c, 4); /* version */
    header = (uint32_t)ptl__taken(&c, 4);
    dump.flags = ptl__load64(dump.bytes + 32);
    if (header < HEADER_SIZE || header > ptl_section_size(section))
        return ptl__sb_problem(sb, wanted->name, PTL_SB_CAUSE_MISSING, EINVAL, &problem);
    c.pos = dump.bytes + header;
    status = push_all(&dump, read_records(&dump, &c));
    if (status == PTL_BAD_FILE)
        status = ptl__sb_problem(sb, wanted->name, PTL_SB_CAUSE_MISSING, EFBIG, &problem);
    return status;
}
