/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/sideband.h - from perf_event records to a timeline.
 *
 * Records come from one or more sources: raw files of records (one of them of the traced
 * CPU), or a perf.data file whose records the caller hands over. ptl_sideband_finish()
 * brings all of them into one order and builds the timeline: processes, their mappings,
 * which task ran where. Afterwards the object is const and may be shared by threads.
 *
 * Files named by mappings are opened while the timeline is built, below the source's
 * sysroot. What could not be used is in ptl_sideband_problems(), once for each file.
 *
 * The order: by time; records without time keep their place behind the record before them
 * in their source (so those at the beginning come first), and time never runs backwards
 * within a source of PTL_SB_IN_ORDER. Ties: in the order of the sources.
 */
#ifndef PT_SIDEBAND_H
#define PT_SIDEBAND_H

#include <pt/clock.h>
#include <pt/record.h>
#include <pt/timeline.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ptl_sideband;

/* --- building ------------------------------------------------------------------ */

#define PTL_SB_KEEP                                                                                \
    0x1u                      /* keep all records for ptl_sideband_get(), not only those with an   \
                                 effect on the timeline */
#define PTL_SB_NO_IMAGES 0x2u /* open no files: for the records alone */
#define PTL_SB_POSITIONS                                                                           \
    0x4u /* the trace has no time: rows apply by the trace positions that the                      \
            AUX records of `position_lane` tell */

struct ptl_sideband_config {
    size_t size; /* sizeof(struct ptl_sideband_config) */
    unsigned flags;
    uint32_t position_lane;
    const struct ptl_space *base; /* seen below every process, e.g. the kernel; may be NULL */
    const char *buildid_dir;      /* perf's build-id cache, e.g. ~/.debug; NULL: none */
    struct ptl_section *vdso;     /* for [vdso] where nothing else is known; may be NULL */
};

PTL_API int ptl_sideband_new(struct ptl_sideband **sideband,
                             const struct ptl_sideband_config *config) PTL_MUST_CHECK;
PTL_API void ptl_sideband_free(struct ptl_sideband *sideband); /* NULL is ignored */

/* What the records of a source tell of. */
enum ptl_sb_lane {
    PTL_SB_LANE_NONE,  /* other CPUs: mappings and processes count, switches do not */
    PTL_SB_LANE_FIXED, /* the one traced CPU, lane 0 */
    PTL_SB_LANE_CPU,   /* lane = CPU in the trailer */
    PTL_SB_LANE_TID    /* lane = thread: per-thread tracing */
};

#define PTL_SB_IN_ORDER 0x1u /* records apply in file order; else they are sorted by time */

/* The layout of records with this identifier (their last 8 bytes). */
struct ptl_sb_layout {
    uint64_t id;
    struct ptl_layout layout;
};

/* Strings are copied; arrays too. */
struct ptl_sideband_source {
    size_t size; /* sizeof(struct ptl_sideband_source) */
    const char *name;
    uint8_t lanes; /* enum ptl_sb_lane */
    unsigned flags;
    struct ptl_layout layout;            /* of records without one of their own */
    const struct ptl_sb_layout *layouts; /* may be NULL */
    size_t layout_count;
    struct ptl_time_conv time;                   /* mult 0: times are TSC ticks already */
    uint64_t tsc_offset;                         /* apply records this many ticks earlier */
    const char *sysroot;                         /* put before file names; NULL: none */
    const char *vdso_x64, *vdso_x32, *vdso_ia32; /* files for [vdso] by the ABI of the process */
};

PTL_API int ptl_sideband_source(struct ptl_sideband *sideband,
                                const struct ptl_sideband_source *source,
                                uint32_t *index) PTL_MUST_CHECK;

/* All records of a raw file. `bytes` must outlive the sideband. A record that cannot be
 * understood ends the file; ptl_sideband_get() shows it with its status. */
PTL_API int ptl_sideband_add(struct ptl_sideband *sideband, uint32_t source, const uint8_t *bytes,
                             size_t len, uint64_t offset) PTL_MUST_CHECK;

#define PTL_SB_SCHED_SWITCH 0x1u /* a SAMPLE of sched:sched_switch */

/* One record. `bytes` and `layout` (NULL: no trailer) must outlive the sideband. */
PTL_API int ptl_sideband_add_record(struct ptl_sideband *sideband, uint32_t source,
                                    const uint8_t *bytes, size_t len, uint64_t offset,
                                    const struct ptl_layout *layout, unsigned flags) PTL_MUST_CHECK;

/* Lane `lane` runs this task to begin with (per-thread tracing). pid UINT32_MAX: found from
 * the records. */
PTL_API int ptl_sideband_lane(struct ptl_sideband *sideband, uint32_t lane, uint32_t pid,
                              uint32_t tid) PTL_MUST_CHECK;

/* The build id of a file, from the header of a recording (1..20 bytes). */
PTL_API int ptl_sideband_build_id(struct ptl_sideband *sideband, const char *filename,
                                  const uint8_t *id, size_t len) PTL_MUST_CHECK;

/* The code of a BPF program, `len` bytes (copied) at `addr`: there while KSYMBOL records say so;
 * all the time if none tells of it. */
PTL_API int ptl_sideband_bpf(struct ptl_sideband *sideband, uint64_t addr, const void *bytes,
                             size_t len, const char *name) PTL_MUST_CHECK;

PTL_API int ptl_sideband_finish(struct ptl_sideband *sideband) PTL_MUST_CHECK;

/* Owned by the sideband. */
PTL_API const struct ptl_timeline *ptl_sideband_timeline(const struct ptl_sideband *sideband);

/* --- the records in order --------------------------------------------------------- */

/* What is to be said about a record. */
enum ptl_sb_note {
    PTL_SB_NOTE_NONE,
    PTL_SB_NOTE_SIDEBAND_LOST, /* LOST */
    PTL_SB_NOTE_TRACE_LOST,    /* AUX: truncated */
    PTL_SB_NOTE_SECTION_LOST,  /* a mapping without a file: anonymous, deleted, special */
    PTL_SB_NOTE_ERROR          /* `status` tells */
};

struct ptl_sb_record {
    struct ptl_record record; /* known = 0 and status set if it could not be decoded */
    const char *source;       /* name */
    uint64_t offset;
    uint64_t tsc;      /* when it applies (shifted by tsc_offset); 0: at once */
    uint64_t time_tsc; /* its own time in ticks; 0: none */
    uint8_t have_time; /* it has a TIME field */
    uint8_t note;      /* enum ptl_sb_note */
    int status;        /* of PTL_SB_NOTE_ERROR */
};

/* Record `i` in the order in which they apply. Returns 1, or 0 beyond the last. */
PTL_API int ptl_sideband_get(const struct ptl_sideband *sideband, size_t i,
                             struct ptl_sb_record *record);

/* "sideband lost", ...; the text of the status for an error. Static. */
PTL_API const char *ptl_sb_note_text(const struct ptl_sb_record *record);

/* --- tasks and problems -------------------------------------------------------------- */

/* The name of a thread at some time (TSC); NULL if not known. */
PTL_API const char *ptl_sideband_comm(const struct ptl_sideband *sideband, uint32_t tid,
                                      uint64_t tsc);
/* The process of a thread, as last seen; UINT32_MAX if not known. */
PTL_API uint32_t ptl_sideband_pid(const struct ptl_sideband *sideband, uint32_t tid);

enum ptl_sb_cause {
    PTL_SB_CAUSE_UNKNOWN,   /* nothing was mapped there, as far as the records tell */
    PTL_SB_CAUSE_MISSING,   /* the file is not there or cannot be read */
    PTL_SB_CAUSE_BUILD_ID,  /* the file is there, but another build of it */
    PTL_SB_CAUSE_DELETED,   /* the file was deleted while it was mapped */
    PTL_SB_CAUSE_ANONYMOUS, /* generated code: JIT */
    PTL_SB_CAUSE_VDSO,      /* the kernel's [vdso] */
    PTL_SB_CAUSE_SPECIAL,   /* another mapping of the kernel, "[...]" */
    PTL_SB_CAUSE_KERNEL,    /* no kernel image */
    PTL_SB_CAUSE_MODULE,    /* a kernel module */
    PTL_SB_CAUSE_BPF,       /* a BPF program */
    PTL_SB_CAUSE_MAX_VALUE = PTL_SB_CAUSE_BPF
};

/* A mapping that could not be used. */
struct ptl_sb_problem {
    const char *name;  /* as the records have it */
    uint8_t cause;     /* enum ptl_sb_cause */
    int err;           /* errno of PTL_SB_CAUSE_MISSING, or 0 */
    uint64_t mappings; /* how many of it there were */
};

PTL_API const struct ptl_sb_problem *ptl_sideband_problems(const struct ptl_sideband *sideband,
                                                           size_t *count);

/* Why there is no code at `ip` in process `pid`: the problem of what is mapped there, or a
 * static one without name. Never NULL. */
PTL_API const struct ptl_sb_problem *ptl_sideband_why(const struct ptl_sideband *sideband,
                                                      uint32_t pid, uint64_t ip);

#ifdef __cplusplus
}
#endif

#endif
