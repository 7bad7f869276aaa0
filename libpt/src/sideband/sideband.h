/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sideband.h - what the files of this room share.
 *
 *   sideband.c  sources and items: collecting, decoding one, reading them in order
 *   order.c     times, and the one order of all items
 *   apply.c     one function for each type of record that changes the timeline
 *   tasks.c     processes, threads and their names
 *   files.c     from the names in records to sections
 *   lost.c      what could not be used, and why
 *   bpf.c       code of BPF programs
 *   jitdump.c   code that a JIT compiler wrote down
 */
#ifndef LIBPT_SIDEBAND_SIDEBAND_H
#define LIBPT_SIDEBAND_SIDEBAND_H

#include "sideband/map.h"

#include <pt/sideband.h>

#define MAX_ITEMS ((size_t)1 << 31)

enum abi { ABI_X64, ABI_X32, ABI_IA32, ABI_COUNT };

struct source {
    char *name, *sysroot, *vdso[ABI_COUNT];
    struct ptl_layout layout;
    struct ptl_sb_layout *layouts; /* sorted by id */
    size_t layout_count;
    struct ptl_time_conv time;
    uint64_t tsc_offset;
    uint64_t last; /* order.c: time of the item before */
    unsigned flags;
    uint8_t lanes;
};

/* One record, not decoded. Switches come by the million: what is needed of them is here, so that
 * their bytes are not looked at again. */
struct item {
    uint64_t tsc; /* when it applies */
    const uint8_t *bytes;
    const struct ptl_layout *layout;
    uint64_t offset;
    uint16_t source;
    uint8_t type;  /* PTL_REC_*; ITEM_OTHER */
    uint8_t flags; /* PTL_SB_SCHED_SWITCH, ITEM_* */
    union {
        struct {
            uint32_t len;
            int16_t status; /* of the note, or why it cannot be decoded */
            uint8_t note;   /* enum ptl_sb_note */
        } raw;
        struct {
            uint32_t lane, pid, tid; /* who runs then, and where */
        } to;                        /* ITEM_SWITCH */
    } u;
};

#define ITEM_SWITCH 0x2u /* a whole SWITCH or SWITCH_CPU_WIDE */
#define ITEM_IDLE   0x4u /* - that says nothing */
#define ITEM_OTHER  0xff /* perf's own, unknown */

static inline int ptl__sb_is_switch(const struct item *item)
{
    return (item->flags & (ITEM_SWITCH | ITEM_IDLE)) != 0;
}

#define NO_LANE UINT32_MAX

/* tasks.c */
struct process {
    uint32_t pid, space;
    uint8_t abi, have_abi;
    uint8_t has_jitdump;               /* anonymous code is told of there */
    const struct ptl_section *jitdump; /* the one that was read last */
};

struct thread {
    uint32_t tid, pid;
};

struct name {
    uint64_t tsc;
    uint32_t tid;
    uint32_t seq;     /* order among equal times */
    const char *comm; /* in a record */
};

/* A lane given by the caller. */
struct lane {
    uint32_t id, pid, tid;
};

/* files.c: a name in records, looked for once. */
struct file {
    char *name;
    uint32_t source;
    uint8_t abi;
    uint8_t id_size;
    uint8_t id[20];              /* build id wanted; size 0: any will do */
    struct ptl_section *section; /* borrowed; NULL: see problem */
    uint32_t problem;
    uint32_t next;    /* with the same hash of the name */
    uint32_t next_id; /* of the name and the id */
};

struct known_id {
    char *name;
    uint32_t next; /* with the same hash */
    uint8_t id[20];
    uint8_t size;
};

/* lost.c: a range that has no code. */
struct lost {
    uint64_t addr, len;
    uint32_t space;   /* or PTL_TIMELINE_KERNEL */
    uint32_t problem; /* index */
};

/* jitdump.c */
struct jit_code {
    uint64_t tsc, addr, size;
    uint32_t pid, seq;
    uint32_t older; /* jitdump.c, while the file is read */
    struct ptl_section *section;
};

#define MAX_JITS ((size_t)4 << 20) /* of all files: any number of processes may map a file */

/* bpf.c */
struct bpf {
    uint64_t addr, size;
    struct ptl_section *section;
    uint8_t told; /* a record tells of it */
};

#define ARRAY(type, name)                                                                          \
    type *name;                                                                                    \
    size_t name##_count, name##_cap

struct ptl_sideband {
    unsigned flags;
    uint32_t position_lane;
    uint8_t finished;
    uint8_t has_pokes; /* TEXT_POKE records: rare */
    uint8_t jits_full; /* MAX_JITS: no more are read */
    char *buildid_dir;
    struct ptl_space *base;
    struct ptl_timeline *timeline;
    struct ptl_files *cache;
    ARRAY(struct source, sources);
    ARRAY(struct item, items);
    ARRAY(struct process, processes);
    ARRAY(struct thread, threads);
    ARRAY(struct name, names);
    ARRAY(struct lane, lanes);
    ARRAY(struct file, files);
    ARRAY(struct known_id, ids);
    ARRAY(struct lost, lost);
    ARRAY(struct ptl_sb_problem, problems);
    ARRAY(uint32_t, older_problems); /* of each: one before with the same hash */
    ARRAY(struct jit_code, jits);
    ARRAY(struct bpf, bpfs);
    struct ptl__map by_pid, by_tid, by_lane; /* to the index; by_lane: of its thread */
    struct ptl__map by_name, by_id;          /* files: the newest; by_id: of the name and the id */
    struct ptl__map by_known, by_problem;
    size_t jits_left; /* these first ones are a heap, the next one to apply in front */
    struct ptl_section *vdso;
};

/* sideband.c: as ptl_sideband_add_record(), for a record that is also at `copy`, for now. `id`: the
 * trailer of a switch; of others it has nothing. */
int ptl__sb_add(struct ptl_sideband *sb, uint32_t source, const uint8_t *bytes, const uint8_t *copy,
                size_t len, uint64_t offset, const struct ptl_layout *layout, unsigned flags,
                struct ptl_sample_id *id);

/* So many records will come, if all goes well: memory that is not used costs nothing. */
void ptl__sb_reserve(struct ptl_sideband *sb, uint64_t count);

/* apply.c: the lane of a record. */
uint32_t ptl__sb_lane_of(const struct source *source, const struct ptl_sample_id *id);

/* Room for one more element of an array; NULL without memory. The count is not changed. */
#define MORE(sb, array)                                                                            \
    ((sb)->array##_count >= (sb)->array##_cap &&                                                   \
             ptl__grow((void **)&(sb)->array, &(sb)->array##_cap, (sb)->array##_count + 1,         \
                       MAX_ITEMS, sizeof(*(sb)->array)) < 0                                        \
         ? NULL                                                                                    \
         : &(sb)->array[(sb)->array##_count])

/* sideband.c: decode an item. Returns 0 or the reason why not. */
int ptl__sb_decode(const struct item *item, struct ptl_record *record);

/* order.c */
int ptl__sb_sort(struct ptl_sideband *sb);
uint64_t ptl__sb_ticks(const struct source *source, uint64_t time); /* without the offset */

/* apply.c: build the timeline from the sorted items. */
int ptl__sb_apply(struct ptl_sideband *sb);

/* tasks.c; NULL without memory. Pointers are valid until the next new task. */
struct process *ptl__sb_process(struct ptl_sideband *sb, uint32_t pid);
const struct process *ptl__sb_find_process(const struct ptl_sideband *sb, uint32_t pid);
int ptl__sb_thread(struct ptl_sideband *sb, uint32_t tid, uint32_t pid);
int ptl__sb_name(struct ptl_sideband *sb, uint32_t tid, uint64_t tsc, const char *comm);
void ptl__sb_sort_names(struct ptl_sideband *sb);

/* files.c: the file behind a mapping. Returns 0 and a section (owned by the sideband), or
 * NULL with the problem. */
struct wanted {
    const char *name;
    uint32_t source;
    uint8_t abi;       /* of the process, for [vdso]; else 0 */
    const uint8_t *id; /* build id in the record */
    uint8_t id_size;   /* 0: none */
};
int ptl__sb_file(struct ptl_sideband *sb, const struct wanted *wanted, struct ptl_section **section,
                 uint32_t *problem);
void ptl__sb_free_files(struct ptl_sideband *sb);

/* Of a name, for maps; goes on from `h`. Those who write recordings cannot choose names that
 * collide, as the address of the sideband counts. */
static inline uint32_t ptl__sb_hash(const struct ptl_sideband *sb, uint32_t h, const char *name)
{
    uint64_t sum = 0xcbf29ce484222325 ^ (uintptr_t)sb ^ h; /* FNV-1a, 64 bits */

    for (; *name; name++)
        sum = (sum ^ (uint8_t)*name) * 0x100000001b3;
    return (uint32_t)(sum ^ (sum >> 32));
}

/* files.c: the build id of a name, for files without one in the record; the first one counts. */
int ptl__sb_know_id(struct ptl_sideband *sb, const char *name, const void *id, size_t size);

/* lost.c */
int ptl__sb_problem(struct ptl_sideband *sb, const char *name, uint8_t cause, int err,
                    uint32_t *index);
int ptl__sb_lose(struct ptl_sideband *sb, uint32_t space, uint64_t addr, uint64_t len,
                 uint32_t problem);
/* PTL_SB_CAUSE_*: what a name without a file means; UNKNOWN: it may have one. */
uint8_t ptl__sb_name_cause(const char *name);

/* bpf.c: the code at an address, or NULL; map what no record tells of. */
const struct bpf *ptl__sb_bpf(const struct ptl_sideband *sb, uint64_t addr);
int ptl__sb_bpf_untold(struct ptl_sideband *sb);
void ptl__sb_free_bpf(struct ptl_sideband *sb);

/* jitdump.c: read the file that the mapping names; its code becomes jits. */
int ptl__sb_jitdump(struct ptl_sideband *sb, const struct wanted *wanted, struct process *process);
int ptl__sb_is_jitdump(const char *name);
/* The next code, if it was there by `until`; else NULL. Pointers are valid until the next file. */
const struct jit_code *ptl__sb_next_jit(struct ptl_sideband *sb, uint64_t until);

#endif
