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
#include <stdlib.h>
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

static int add(const struct dump *dump, const struct jit_code *code, const char *name,
               const uint8_t *bytes)
{
    struct jit_code *jit = MORE(dump->sb, jits);

    if (!code->size)
        return 0;
    if (!jit)
        return PTL_NOMEM;
    *jit = *code;
    jit->seq = (uint32_t)dump->sb->jits_count;
    if (ptl_section_memory(&jit->section, bytes, code->size, 0, name) < 0)
        return PTL_NOMEM;
    dump->sb->jits_count++;
    return 0;
}

static int load(const struct dump *dump, struct ptl__cursor *c, uint64_t time)
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

/* The code that was at the old address. */
static int move(const struct dump *dump, struct ptl__cursor *c, uint64_t time)
{
    struct jit_code code = {.tsc = when(dump, time), .pid = dump->pid};
    uint64_t old;

    ptl__take(c, 16);
    old = ptl__taken(c, 8);
    code.addr = ptl__taken(c, 8);
    code.size = ptl__taken(c, 8);
    for (size_t i = dump->sb->jits_count; i-- > 0 && !c->bad;) {
        const struct jit_code *jit = &dump->sb->jits[i];

        if (jit->pid == dump->pid && jit->addr == old && jit->size >= code.size)
            return add(dump, &code, ptl_section_name(jit->section),
                       ptl_section_bytes(jit->section));
    }
    return 0;
}

static int read_records(const struct dump *dump, struct ptl__cursor *c)
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

static int by_time(const void *a, const void *b)
{
    const struct jit_code *x = a, *y = b;

    if (x->tsc != y->tsc)
        return x->tsc < y->tsc ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

int ptl__sb_jitdump(struct ptl_sideband *sb, const struct wanted *wanted, uint32_t pid)
{
    struct dump dump = {.sb = sb, .source = &sb->sources[wanted->source], .pid = pid};
    struct ptl_section *section;
    struct ptl__cursor c;
    uint32_t problem, header;
    int status = ptl__sb_file(sb, wanted, &section, &problem);

    if (status < 0 || !section)
        return status;
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
    status = read_records(&dump, &c);
    if (sb->jits_count > sb->jits_done) /* with those of other files not yet applied */
        qsort(sb->jits + sb->jits_done, sb->jits_count - sb->jits_done, sizeof(*sb->jits), by_time);
    return status;
}
