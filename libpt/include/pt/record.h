/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/record.h - layouts of perf_event records, both ways, and nothing else.
 *
 * Source: linux/perf_event.h (enum perf_event_type, struct perf_event_attr) for the
 * records of the kernel; doc/internals/record.md for those that perf adds (types from
 * 64 on).
 *
 * A record is: header {type, misc, size}; body; for records of the kernel other than
 * SAMPLE a trailer (the "sample_id") whose layout follows from the sample_type of the
 * event that wrote it. Decoding gives a plain struct; strings and byte ranges point
 * into the caller's buffer. Pure functions: no allocation, no state, thread-safe.
 */
#ifndef PT_RECORD_H
#define PT_RECORD_H

#include <pt/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ptl_record_type {
    PTL_REC_MMAP = 1,
    PTL_REC_LOST = 2,
    PTL_REC_COMM = 3,
    PTL_REC_EXIT = 4,
    PTL_REC_THROTTLE = 5,
    PTL_REC_UNTHROTTLE = 6,
    PTL_REC_FORK = 7,
    PTL_REC_READ = 8,
    PTL_REC_SAMPLE = 9,
    PTL_REC_MMAP2 = 10,
    PTL_REC_AUX = 11,
    PTL_REC_ITRACE_START = 12,
    PTL_REC_LOST_SAMPLES = 13,
    PTL_REC_SWITCH = 14,
    PTL_REC_SWITCH_CPU_WIDE = 15,
    PTL_REC_NAMESPACES = 16,
    PTL_REC_KSYMBOL = 17,
    PTL_REC_BPF_EVENT = 18,
    PTL_REC_CGROUP = 19,
    PTL_REC_TEXT_POKE = 20,
    PTL_REC_AUX_OUTPUT_HW_ID = 21,
    /* perf's own; no trailer */
    PTL_REC_HEADER_ATTR = 64,
    PTL_REC_HEADER_EVENT_TYPE = 65,
    PTL_REC_HEADER_TRACING_DATA = 66,
    PTL_REC_HEADER_BUILD_ID = 67,
    PTL_REC_FINISHED_ROUND = 68,
    PTL_REC_ID_INDEX = 69,
    PTL_REC_AUXTRACE_INFO = 70,
    PTL_REC_AUXTRACE = 71,
    PTL_REC_AUXTRACE_ERROR = 72,
    PTL_REC_THREAD_MAP = 73,
    PTL_REC_CPU_MAP = 74,
    PTL_REC_STAT_CONFIG = 75,
    PTL_REC_STAT = 76,
    PTL_REC_STAT_ROUND = 77,
    PTL_REC_EVENT_UPDATE = 78,
    PTL_REC_TIME_CONV = 79,
    PTL_REC_HEADER_FEATURE = 80,
    PTL_REC_COMPRESSED = 81,
    PTL_REC_FINISHED_INIT = 82,
    PTL_REC_COMPRESSED2 = 83
};
#define PTL_REC_USER 64 /* the first type that is perf's own */

/* misc */
#define PTL_MISC_CPUMODE            0x0007u
#define PTL_MISC_KERNEL             1u
#define PTL_MISC_USER               2u
#define PTL_MISC_HYPERVISOR         3u
#define PTL_MISC_GUEST_KERNEL       4u
#define PTL_MISC_GUEST_USER         5u
#define PTL_MISC_PROC_MAP_TIMEOUT   0x1000u /* synthesised maps of the process are incomplete */
#define PTL_MISC_MMAP_DATA          0x2000u /* MMAP, MMAP2: not executable */
#define PTL_MISC_COMM_EXEC          0x2000u /* COMM: because of an exec */
#define PTL_MISC_FORK_EXEC          0x2000u /* FORK: synthesised, no maps to copy */
#define PTL_MISC_SWITCH_OUT         0x2000u /* SWITCH, SWITCH_CPU_WIDE; else in */
#define PTL_MISC_SWITCH_OUT_PREEMPT 0x4000u /* SWITCH, SWITCH_CPU_WIDE: still runnable */
#define PTL_MISC_MMAP_BUILD_ID      0x4000u /* MMAP2: build id in place of device and inode */
#define PTL_MISC_EXACT_IP           0x4000u /* SAMPLE */
#define PTL_MISC_BUILD_ID_SIZE      0x8000u /* HEADER_BUILD_ID: the size byte is valid */

/* sample_type: what is in a SAMPLE; those marked T are also in the trailer. */
#define PTL_SAMPLE_IP             (1ull << 0)
#define PTL_SAMPLE_TID            (1ull << 1) /* T */
#define PTL_SAMPLE_TIME           (1ull << 2) /* T */
#define PTL_SAMPLE_ADDR           (1ull << 3)
#define PTL_SAMPLE_READ           (1ull << 4)
#define PTL_SAMPLE_CALLCHAIN      (1ull << 5)
#define PTL_SAMPLE_ID             (1ull << 6) /* T */
#define PTL_SAMPLE_CPU            (1ull << 7) /* T */
#define PTL_SAMPLE_PERIOD         (1ull << 8)
#define PTL_SAMPLE_STREAM_ID      (1ull << 9) /* T */
#define PTL_SAMPLE_RAW            (1ull << 10)
#define PTL_SAMPLE_BRANCH_STACK   (1ull << 11)
#define PTL_SAMPLE_REGS_USER      (1ull << 12)
#define PTL_SAMPLE_STACK_USER     (1ull << 13)
#define PTL_SAMPLE_WEIGHT         (1ull << 14)
#define PTL_SAMPLE_DATA_SRC       (1ull << 15)
#define PTL_SAMPLE_IDENTIFIER     (1ull << 16) /* T, always the last (first in SAMPLE) */
#define PTL_SAMPLE_TRANSACTION    (1ull << 17)
#define PTL_SAMPLE_REGS_INTR      (1ull << 18)
#define PTL_SAMPLE_PHYS_ADDR      (1ull << 19)
#define PTL_SAMPLE_AUX            (1ull << 20)
#define PTL_SAMPLE_CGROUP         (1ull << 21)
#define PTL_SAMPLE_DATA_PAGE_SIZE (1ull << 22)
#define PTL_SAMPLE_CODE_PAGE_SIZE (1ull << 23)
#define PTL_SAMPLE_WEIGHT_STRUCT  (1ull << 24)
/* The bits that shape the trailer. */
#define PTL_SAMPLE_TRAILER                                                                         \
    (PTL_SAMPLE_TID | PTL_SAMPLE_TIME | PTL_SAMPLE_ID | PTL_SAMPLE_CPU | PTL_SAMPLE_STREAM_ID |    \
     PTL_SAMPLE_IDENTIFIER)

/* --- perf_event_attr ------------------------------------------------------- */

/* read_format */
#define PTL_READ_TIME_ENABLED 0x01u
#define PTL_READ_TIME_RUNNING 0x02u
#define PTL_READ_ID           0x04u
#define PTL_READ_GROUP        0x08u
#define PTL_READ_LOST         0x10u

/* flags: the bits of the word at offset 40 */
#define PTL_ATTR_DISABLED       (1ull << 0)
#define PTL_ATTR_INHERIT        (1ull << 1)
#define PTL_ATTR_PINNED         (1ull << 2)
#define PTL_ATTR_EXCLUSIVE      (1ull << 3)
#define PTL_ATTR_EXCLUDE_USER   (1ull << 4)
#define PTL_ATTR_EXCLUDE_KERNEL (1ull << 5)
#define PTL_ATTR_EXCLUDE_HV     (1ull << 6)
#define PTL_ATTR_EXCLUDE_IDLE   (1ull << 7)
#define PTL_ATTR_MMAP           (1ull << 8)
#define PTL_ATTR_COMM           (1ull << 9)
#define PTL_ATTR_FREQ           (1ull << 10)
#define PTL_ATTR_INHERIT_STAT   (1ull << 11)
#define PTL_ATTR_ENABLE_ON_EXEC (1ull << 12)
#define PTL_ATTR_TASK           (1ull << 13)
#define PTL_ATTR_WATERMARK      (1ull << 14)
#define PTL_ATTR_MMAP_DATA      (1ull << 17)
#define PTL_ATTR_SAMPLE_ID_ALL  (1ull << 18)
#define PTL_ATTR_EXCLUDE_HOST   (1ull << 19)
#define PTL_ATTR_EXCLUDE_GUEST  (1ull << 20)
#define PTL_ATTR_MMAP2          (1ull << 23)
#define PTL_ATTR_COMM_EXEC      (1ull << 24)
#define PTL_ATTR_USE_CLOCKID    (1ull << 25)
#define PTL_ATTR_CONTEXT_SWITCH (1ull << 26)
#define PTL_ATTR_WRITE_BACKWARD (1ull << 27)
#define PTL_ATTR_NAMESPACES     (1ull << 28)
#define PTL_ATTR_KSYMBOL        (1ull << 29)
#define PTL_ATTR_BPF_EVENT      (1ull << 30)
#define PTL_ATTR_AUX_OUTPUT     (1ull << 31)
#define PTL_ATTR_CGROUP         (1ull << 32)
#define PTL_ATTR_TEXT_POKE      (1ull << 33)
#define PTL_ATTR_BUILD_ID       (1ull << 34)
#define PTL_ATTR_INHERIT_THREAD (1ull << 35)
#define PTL_ATTR_REMOVE_ON_EXEC (1ull << 36)
#define PTL_ATTR_SIGTRAP        (1ull << 37)

/* struct perf_event_attr without unions and bit-fields. What a shorter attr lacks is 0. */
struct ptl_attr {
    uint32_t type, size; /* size: as stored; 0 when encoding means 128 */
    uint64_t config, config1, config2, config3;
    uint64_t sample_period; /* or frequency */
    uint64_t sample_type, read_format;
    uint64_t flags;  /* PTL_ATTR_* */
    uint32_t wakeup; /* events or watermark */
    uint32_t bp_type;
    uint64_t branch_sample_type;
    uint64_t sample_regs_user, sample_regs_intr;
    uint32_t sample_stack_user;
    int32_t clockid;
    uint32_t aux_watermark;
    uint16_t sample_max_stack;
    uint32_t aux_sample_size;
    uint32_t aux_action; /* start_paused 1, pause 2, resume 4 */
    uint64_t sig_data;
};

#define PTL_ATTR_SIZE_MIN 64  /* the first published size */
#define PTL_ATTR_SIZE     128 /* the largest that every perf accepts */

/* Decode an attr that occupies `len` bytes. Returns the number of bytes used (its own
 * size, at most `len`), or PTL_INVALID when it is shorter than 64. */
PTL_API int ptl_attr_decode(struct ptl_attr *attr, const uint8_t *buf, size_t len) PTL_MUST_CHECK;
/* Encode attr->size (0: 128; else 64..136) bytes. Returns the size, PTL_EOS if `cap` is
 * too small, PTL_INVALID for another size. */
PTL_API int ptl_attr_encode(uint8_t *buf, size_t cap, const struct ptl_attr *attr) PTL_MUST_CHECK;

/* --- one record -------------------------------------------------------------- */

/* What decides how the variable parts of an event's records are laid out. */
struct ptl_layout {
    uint64_t sample_type;
    uint64_t read_format;        /* SAMPLE and READ only */
    uint64_t branch_sample_type; /* SAMPLE only, as the two below */
    uint64_t regs_user, regs_intr;
    uint8_t no_trailer; /* sample_id_all is off */
};

PTL_API struct ptl_layout ptl_layout_of(const struct ptl_attr *attr);

/* The trailer, or the same fields of a SAMPLE. Absent ones are 0; `have` says which. */
struct ptl_sample_id {
    uint32_t have; /* PTL_SAMPLE_* of the trailer that are present */
    uint32_t pid, tid, cpu;
    uint64_t time, id, stream_id, identifier;
};

/* Bytes inside a record. */
struct ptl_span {
    const uint8_t *bytes;
    size_t len;
};

struct ptl_rec_mmap { /* MMAP, MMAP2 */
    uint32_t pid, tid;
    uint64_t addr, len, pgoff;
    /* MMAP2; either device and inode or, with PTL_MISC_MMAP_BUILD_ID, the build id */
    uint32_t maj, min;
    uint64_t ino, ino_generation;
    uint8_t build_id_size; /* 0..20 */
    uint8_t build_id[20];
    uint32_t prot, flags;
    const char *filename;
};

struct ptl_rec_sample {
    uint64_t ip, addr, period;
    struct ptl_span read, callchain, raw, branch_stack; /* as stored, counts included;
                                                           raw: without its size */
    struct ptl_span regs_user, stack_user, regs_intr;
    uint64_t weight, data_src, transaction, phys_addr, cgroup, data_page_size, code_page_size;
    struct ptl_span aux; /* trace; without its size */
};

/* perf's time conversion. */
struct ptl_rec_time_conv {
    uint64_t shift, mult, zero;
    uint64_t cycles, mask; /* 0 in old files, as the two below */
    uint8_t user_time_zero, user_time_short;
};

struct ptl_rec_auxtrace {
    uint64_t size;      /* bytes of trace behind the record */
    uint64_t offset;    /* position in the AUX stream */
    uint64_t reference; /* TSC when the buffer was copied */
    uint32_t idx, tid, cpu;
};

struct ptl_id_index_entry {
    uint64_t id, idx, cpu, tid; /* all ones: any */
};

/* AUX flags */
#define PTL_AUX_TRUNCATED 0x01u
#define PTL_AUX_OVERWRITE 0x02u
#define PTL_AUX_PARTIAL   0x04u
#define PTL_AUX_COLLISION 0x08u

struct ptl_record {
    uint32_t type; /* enum ptl_record_type, or one that is not known */
    uint16_t misc;
    uint16_t size;           /* of the whole record; set when decoding and encoding */
    uint8_t known;           /* the body is decoded; else only `body` is valid */
    struct ptl_sample_id id; /* trailer, or those fields of SAMPLE */
    struct ptl_span body;    /* behind the header, without trailer; as stored */
    union {
        struct ptl_rec_mmap mmap;
        struct {
            uint64_t id, lost;
        } lost;
        struct {
            uint32_t pid, tid;
            const char *comm;
        } comm;
        struct {
            uint32_t pid, ppid, tid, ptid;
            uint64_t time;
        } task; /* EXIT, FORK */
        struct {
            uint64_t time, id, stream_id;
        } throttle; /* THROTTLE, UNTHROTTLE */
        struct {
            uint32_t pid, tid;
            struct ptl_span values; /* as read_format says */
        } read;
        struct ptl_rec_sample sample;
        struct {
            uint64_t offset, size, flags;
        } aux;
        struct {
            uint32_t pid, tid;
        } itrace_start;
        struct {
            uint64_t lost;
        } lost_samples;
        struct {
            uint32_t pid, tid; /* next (out) or previous (in) task */
        } switch_cpu_wide;
        struct {
            uint32_t pid, tid;
            struct ptl_span links; /* pairs of u64 dev, ino: net uts ipc pid user mnt cgroup */
        } namespaces;
        struct {
            uint64_t addr;
            uint32_t len;
            uint16_t ksym_type, flags; /* type 1 BPF, 2 out of line; flags 1 = unregister */
            const char *name;
        } ksymbol;
        struct {
            uint16_t bpf_type, flags; /* type 1 load, 2 unload */
            uint32_t prog;
            uint8_t tag[8];
        } bpf;
        struct {
            uint64_t id;
            const char *path;
        } cgroup;
        struct {
            uint64_t addr;
            struct ptl_span old_bytes, new_bytes;
        } text_poke;
        struct {
            uint64_t hw_id;
        } hw_id;
        /* perf's own */
        struct {
            struct ptl_attr attr;
            struct ptl_span ids; /* u64 each */
        } header_attr;
        struct {
            uint32_t size; /* bytes behind the record, padded to 8 */
        } tracing_data;
        struct {
            int32_t pid;
            uint8_t size; /* of the id, 1..20 */
            uint8_t id[20];
            const char *filename;
        } build_id;
        struct {
            struct ptl_span entries; /* 32 bytes each: ptl_id_index_get() */
            uint64_t count;
        } id_index;
        struct {
            uint32_t type;        /* PTL_AUXTRACE_PT, ... */
            struct ptl_span priv; /* u64 each: ptl_pt_info_decode() */
        } auxtrace_info;
        struct ptl_rec_auxtrace auxtrace;
        struct {
            uint32_t type, code, cpu, pid, tid, format;
            uint64_t ip, time;
            const char *msg;
        } auxtrace_error;
        struct {
            uint64_t type, id; /* type 0 unit, 1 scale, 2 name, 3 cpus */
            struct ptl_span data;
        } event_update;
        struct ptl_rec_time_conv time_conv;
        struct {
            uint64_t feature;
            struct ptl_span data;
        } feature;
        struct ptl_span compressed; /* COMPRESSED, COMPRESSED2 */
    } u;
};

#define PTL_RECORD_HEADER 8

/* The size that the record at `buf` claims. Returns it (8..65535), PTL_EOS when fewer
 * than 8 bytes are left or the record is cut, PTL_BAD_PACKET when it claims less than 8. */
PTL_API int ptl_record_size(const uint8_t *buf, size_t len) PTL_MUST_CHECK;

/* Decode the record at `buf` of a stream whose events have this layout (NULL: no
 * trailer). Unknown types give known = 0 and no trailer. Returns the record's size, or
 *   PTL_EOS         no whole record is left
 *   PTL_BAD_PACKET  an impossible size in the header
 *   PTL_NOSYNC      the size does not fit the type and layout; record->size, type, misc
 *                   and body are valid, so that the caller can go on behind it */
PTL_API int ptl_record_decode(struct ptl_record *record, const uint8_t *buf, size_t len,
                              const struct ptl_layout *layout) PTL_MUST_CHECK;

/* The identifier of a record whose events have sample_type IDENTIFIER (or only ID):
 * found without knowing which event it is. Returns 0, or PTL_EOS when there is none. */
PTL_API int ptl_record_identifier(const uint8_t *buf, size_t len, const struct ptl_layout *layout,
                                  uint64_t *identifier);

/* Encode header, body and trailer (record->id by layout; NULL: none), padded to 8 where
 * the kernel pads. With known = 0 the body is record->body as it is. record->size is
 * ignored. Returns the size; PTL_EOS when `cap` is too small; PTL_INVALID for what does
 * not fit a record (65,528 bytes) or a type that cannot be encoded. */
PTL_API int ptl_record_encode(uint8_t *buf, size_t cap, const struct ptl_record *record,
                              const struct ptl_layout *layout) PTL_MUST_CHECK;

/* "PERF_RECORD_MMAP", ...; NULL for unknown types. Static. */
PTL_API const char *ptl_record_name(uint32_t type);

/* Entry `i` of an ID_INDEX. Returns 0, or PTL_INVALID beyond the end. */
PTL_API int ptl_id_index_get(const struct ptl_record *record, uint64_t i,
                             struct ptl_id_index_entry *entry);

/* --- AUXTRACE_INFO of Intel PT ------------------------------------------------- */

#define PTL_AUXTRACE_PT 1u /* auxtrace_info.type */

/* How sched-in/out is recorded. */
enum ptl_switch_info {
    PTL_SWITCHES_NONE = 0,
    PTL_SWITCHES_TRACEPOINT = 1, /* sched:sched_switch samples */
    PTL_SWITCHES_TASK = 2,       /* SWITCH */
    PTL_SWITCHES_CPU_WIDE = 3    /* SWITCH_CPU_WIDE */
};

struct ptl_pt_info {
    uint64_t pmu_type; /* attr.type of the PT event */
    uint64_t time_shift, time_mult, time_zero;
    uint64_t cap_user_time_zero; /* the three above are valid */
    uint64_t tsc_bit, noretcomp_bit, mtc_bit, mtc_freq_bits, cyc_bit; /* masks of attr.config */
    uint64_t switches;                                                /* enum ptl_switch_info */
    uint64_t snapshot, per_cpu;
    uint64_t ctc_num, ctc_den; /* TSC : crystal; CPUID.15H EBX, EAX */
    uint64_t max_nonturbo;
    const char *filter; /* as given to SET_FILTER; NULL: none */
    uint64_t event_trace;
};

/* Decode the private words of AUXTRACE_INFO; short records leave the rest 0. Returns 0,
 * PTL_NOT_SUPPORTED if it is not of Intel PT, PTL_NOSYNC with fewer than ten words. */
PTL_API int ptl_pt_info_decode(struct ptl_pt_info *info, const struct ptl_record *record);
/* Encode them as `record->u.auxtrace_info.priv` wants them. Returns the number of bytes,
 * or PTL_EOS when `cap` is too small. */
PTL_API int ptl_pt_info_encode(uint8_t *buf, size_t cap,
                               const struct ptl_pt_info *info) PTL_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
