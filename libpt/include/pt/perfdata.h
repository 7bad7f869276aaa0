/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/perfdata.h - perf.data files: reading and writing.
 *
 * Source: doc/internals/perfdata.md. Reads what perf wrote since 4.1: plain files,
 * directories (data, data.N, kcore_dir), pipes (spooled to an unlinked temporary file),
 * compressed ones (given a decompressor). Files are mapped, not read: memory in use
 * does not grow with the trace.
 *
 * An open recording is const: any number of threads may iterate over it. Everything a
 * getter returns lives until ptl_perf_close().
 */
#ifndef PT_PERFDATA_H
#define PT_PERFDATA_H

#include <pt/record.h>
#include <pt/status.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- opening ---------------------------------------------------------------- */

/* A streaming decompressor (perf uses zstd; tool/unzip.h has one). */
struct ptl_unzip {
    /* A new stream; NULL without memory. */
    void *(*open)(void *context);
    /* Take bytes from *src (advance it, lower *left) and put at most `cap` bytes to `dst`.
     * Returns how many were put (0: needs more input), or a negative status. */
    int64_t (*feed)(void *stream, const uint8_t **src, size_t *left, uint8_t *dst, size_t cap);
    void (*close)(void *stream);
    void *context;
};

struct ptl_perf_config {
    size_t size;                   /* sizeof(struct ptl_perf_config) */
    const struct ptl_unzip *unzip; /* NULL: compressed records are a problem */
    const char *tmpdir;            /* for spooled and decompressed data; NULL: $TMPDIR or /tmp */
};

/* Why something could not be used. */
struct ptl_perf_problem {
    int status;      /* enum ptl_status */
    int err;         /* errno, or 0 */
    uint64_t offset; /* in the file */
    char text[152];  /* a sentence without a full stop */
};

struct ptl_perf;

/* Open `path`: a file, a directory, or "-" for standard input, from its offset on. `config` may be
 * NULL.
 * A damaged or unfinished file opens as long as its header can be understood: what is
 * wrong is in ptl_perf_problems(), what comes before it is usable. On failure *perf is
 * NULL, and `problem` (may be NULL) says why. Errors: PTL_BAD_FILE (cannot be read; errno
 * in problem->err), PTL_NOT_SUPPORTED (not perf.data, big endian, PERFFILE1),
 * PTL_BAD_CONFIG (the header contradicts itself), PTL_IO, PTL_NOMEM. */
PTL_API int ptl_perf_open(struct ptl_perf **perf, const char *path,
                          const struct ptl_perf_config *config,
                          struct ptl_perf_problem *problem) PTL_MUST_CHECK;
/* The same for a file that is in memory and outlives the recording. */
PTL_API int ptl_perf_open_memory(struct ptl_perf **perf, const void *bytes, size_t len,
                                 const struct ptl_perf_config *config,
                                 struct ptl_perf_problem *problem) PTL_MUST_CHECK;
PTL_API void ptl_perf_close(struct ptl_perf *perf); /* NULL is ignored */

/* What is wrong with the file, in the order found. */
PTL_API const struct ptl_perf_problem *ptl_perf_problems(const struct ptl_perf *perf,
                                                         size_t *count);

/* The directory of a recording that is one (kcore_dir is in it), else NULL. */
PTL_API const char *ptl_perf_directory(const struct ptl_perf *perf);

/* --- header ------------------------------------------------------------------ */

struct ptl_perf_event {
    struct ptl_attr attr;
    struct ptl_layout layout; /* of attr */
    const uint64_t *ids;
    size_t id_count;
    const char *name; /* "intel_pt//u"; NULL: not recorded */
};

PTL_API const struct ptl_perf_event *ptl_perf_events(const struct ptl_perf *perf, size_t *count);

/* Feature bits of the header. */
enum ptl_perf_feature {
    PTL_FEAT_TRACING_DATA = 1,
    PTL_FEAT_BUILD_ID = 2,
    PTL_FEAT_HOSTNAME = 3,
    PTL_FEAT_OSRELEASE = 4,
    PTL_FEAT_VERSION = 5,
    PTL_FEAT_ARCH = 6,
    PTL_FEAT_NRCPUS = 7,
    PTL_FEAT_CPUDESC = 8,
    PTL_FEAT_CPUID = 9,
    PTL_FEAT_TOTAL_MEM = 10,
    PTL_FEAT_CMDLINE = 11,
    PTL_FEAT_EVENT_DESC = 12,
    PTL_FEAT_CPU_TOPOLOGY = 13,
    PTL_FEAT_NUMA_TOPOLOGY = 14,
    PTL_FEAT_BRANCH_STACK = 15,
    PTL_FEAT_PMU_MAPPINGS = 16,
    PTL_FEAT_GROUP_DESC = 17,
    PTL_FEAT_AUXTRACE = 18,
    PTL_FEAT_STAT = 19,
    PTL_FEAT_CACHE = 20,
    PTL_FEAT_SAMPLE_TIME = 21,
    PTL_FEAT_MEM_TOPOLOGY = 22,
    PTL_FEAT_CLOCKID = 23,
    PTL_FEAT_DIR_FORMAT = 24,
    PTL_FEAT_BPF_PROG_INFO = 25,
    PTL_FEAT_BPF_BTF = 26,
    PTL_FEAT_COMPRESSED = 27,
    PTL_FEAT_CPU_PMU_CAPS = 28,
    PTL_FEAT_CLOCK_DATA = 29,
    PTL_FEAT_HYBRID_TOPOLOGY = 30,
    PTL_FEAT_PMU_CAPS = 31,
    PTL_FEAT_MAX = 256
};

/* The payload of a feature as stored; NULL if it is absent. */
PTL_API const uint8_t *ptl_perf_feature(const struct ptl_perf *perf, unsigned feature, size_t *len);

/* The features that are text or numbers, decoded; absent ones are NULL or 0. */
struct ptl_perf_info {
    const char *hostname, *osrelease, *version, *arch, *cpudesc, *cpuid;
    const char *const *cmdline; /* NULL-terminated, or NULL */
    uint32_t nrcpus_available, nrcpus_online;
    uint64_t total_mem_kb;
    uint64_t first_time, last_time; /* SAMPLE_TIME, ns */
    uint64_t clock_resolution;      /* CLOCKID: the times are not perf's default clock */
    uint32_t clockid;               /* CLOCK_DATA, with the two times taken together */
    uint64_t clock_wall_ns, clock_ns;
    uint8_t have_clock_data, compressed, pipe;
    /* cpuid "GenuineIntel,6,85,4" */
    uint8_t intel;
    uint16_t cpu_family;
    uint8_t cpu_model, cpu_stepping;
};

PTL_API const struct ptl_perf_info *ptl_perf_info(const struct ptl_perf *perf);

/* Build ids of the header or, in pipes, of the records. */
struct ptl_perf_build_id {
    uint8_t id[20];
    uint8_t size; /* 1..20 */
    uint16_t misc;
    int32_t pid; /* -1: any */
    const char *filename;
};

PTL_API const struct ptl_perf_build_id *ptl_perf_build_ids(const struct ptl_perf *perf,
                                                           size_t *count);

/* The PT configuration, from AUXTRACE_INFO and the attr of the PT event. */
struct ptl_perf_pt {
    struct ptl_pt_info info;
    const struct ptl_perf_event *event; /* NULL: none has info.pmu_type */
    uint64_t config;                    /* of the event, or 0 */
    uint8_t tsc, mtc, cyc, noretcomp;   /* on */
    uint8_t mtc_freq;                   /* an MTC every 2^mtc_freq crystal ticks */
    uint8_t have_time;                  /* info.time_* convert between TSC and the records' times */
};

/* NULL if the file holds no Intel PT. */
PTL_API const struct ptl_perf_pt *ptl_perf_pt(const struct ptl_perf *perf);

/* --- records ------------------------------------------------------------------- */

struct ptl_perf_record {
    struct ptl_record record;
    const struct ptl_perf_event *event; /* who wrote it; NULL for perf's own records */
    const uint8_t *bytes;               /* record.size of them */
    uint64_t offset;                    /* in its file; of decompressed ones: of the COMPRESSED
                                           record */
    uint32_t stream;                    /* 0: the file or `data`; N + 1: data.N */
    int status;                         /* 0, or why the body could not be decoded (PTL_NOSYNC) */
};

/* A position; all zero = the first record. Plain memory, may be copied. */
struct ptl_perf_iter {
    uint64_t segment, at;
};

/* The next record in file order, those inside COMPRESSED ones in their place (COMPRESSED
 * itself is not reported). The trace behind AUXTRACE is skipped. Returns 1, or 0 at the
 * end; damage ends the stream and is in ptl_perf_problems(). */
PTL_API int ptl_perf_next(const struct ptl_perf *perf, struct ptl_perf_iter *iter,
                          struct ptl_perf_record *record);

/* The event that wrote records with this identifier (0: the first one). Never NULL if
 * there are events. */
PTL_API const struct ptl_perf_event *ptl_perf_event_of(const struct ptl_perf *perf, uint64_t id);

/* --- trace --------------------------------------------------------------------- */

#define PTL_PERF_ANY UINT32_MAX /* cpu, pid, tid: any or unknown */

/* One AUXTRACE record or one AUX sample. */
struct ptl_perf_buffer {
    const uint8_t *bytes;
    uint64_t size;      /* as stored: may end in up to 7 bytes of padding */
    uint64_t offset;    /* AUX stream position as recorded */
    uint64_t reference; /* TSC at copy time */
    uint64_t record;    /* file offset of its record */
    uint64_t file;      /* file offset of `bytes` */
    uint32_t queue;     /* index of its queue */
    uint32_t cpu, tid;
};

enum ptl_perf_piece_kind {
    PTL_PIECE_FULL,     /* what one AUX record tells */
    PTL_PIECE_SNAPSHOT, /* one copy of the ring, without what the one before had */
    PTL_PIECE_SAMPLE,   /* one AUX sample, likewise */
    PTL_PIECE_UNTOLD    /* trace that no AUX record tells of */
};

/* A run of trace that hardware wrote in one go: decode it by itself, or - when `joined`
 * is set - on from the piece before. */
struct ptl_perf_piece {
    const uint8_t *bytes; /* a piece across two buffers has been joined */
    uint64_t size;
    uint64_t offset;  /* AUX stream position */
    uint64_t file;    /* file offset of the first byte */
    uint64_t missing; /* bytes the AUX records tell of before this piece that are not in the file */
    uint64_t reference; /* TSC when its buffer was copied */
    uint64_t time;      /* perf time when it ended; 0: unknown */
    uint64_t record;    /* file offset of the AUX record or sample, else of the AUXTRACE */
    uint64_t trimmed;   /* bytes left out because the piece before has them */
    uint32_t flags;     /* PTL_AUX_* */
    uint32_t queue, cpu, pid, tid; /* task at its end; in per-CPU buffers others ran, too */
    uint8_t kind;                  /* enum ptl_perf_piece_kind */
    uint8_t joined;                /* begins where the piece before it ended */
};

/* The trace of one ring: of a CPU, or of a thread. */
struct ptl_perf_queue {
    uint32_t idx; /* as recorded */
    uint32_t cpu, tid;
    uint64_t size;                       /* bytes of all pieces */
    const struct ptl_perf_piece *pieces; /* in stream order */
    size_t piece_count;
};

PTL_API const struct ptl_perf_queue *ptl_perf_queues(const struct ptl_perf *perf, size_t *count);
PTL_API const struct ptl_perf_buffer *ptl_perf_buffers(const struct ptl_perf *perf, size_t *count);

/* These bytes (of a piece) will hardly be read again: the memory that holds them may be used for
 * other things. They stay valid. */
PTL_API void ptl_perf_release(const struct ptl_perf *perf, const uint8_t *bytes, uint64_t len);

/* --- writing ------------------------------------------------------------------- */

/* A streaming compressor. */
struct ptl_zip {
    void *(*open)(void *context);
    /* Compress `len` bytes and flush, so that they can be read back; at most `cap` bytes to
     * `dst`. Returns how many, or a negative status. */
    int64_t (*flush)(void *stream, const uint8_t *src, size_t len, uint8_t *dst, size_t cap);
    void (*close)(void *stream);
    void *context;
    uint32_t level; /* for the header */
};

struct ptl_perf_writer_config {
    size_t size;               /* sizeof(struct ptl_perf_writer_config) */
    const struct ptl_zip *zip; /* NULL: no compression */
    uint32_t mmap_len;         /* bytes of a data ring, for readers of compressed files */
    uint8_t pipe;              /* write the pipe format: `fd` need not seek */
};

struct ptl_perf_writer;

/* Write to `fd` (kept open by the caller, empty). The order of calls: events and
 * features in any order, _begin, records, _finish. Features may also follow until
 * _finish in a file, not in a pipe.
 * All functions return 0 or a negative status; PTL_IO leaves errno. After an error of
 * the output every later call returns it again. */
PTL_API int ptl_perf_writer_new(struct ptl_perf_writer **writer, int fd,
                                const struct ptl_perf_writer_config *config) PTL_MUST_CHECK;
/* Does not write; the file is as of the last _sync or _finish. */
PTL_API void ptl_perf_writer_free(struct ptl_perf_writer *writer);

/* An event with the ids of its file descriptors. `name` is copied. */
PTL_API int ptl_perf_writer_event(struct ptl_perf_writer *writer, const struct ptl_attr *attr,
                                  const uint64_t *ids, size_t id_count,
                                  const char *name) PTL_MUST_CHECK;

/* Features. The payload is copied; a second one of the same kind replaces the first.
 * EVENT_DESC, AUXTRACE, SAMPLE_TIME and COMPRESSED are made by the writer itself. */
PTL_API int ptl_perf_writer_feature(struct ptl_perf_writer *writer, unsigned feature,
                                    const void *payload, size_t len) PTL_MUST_CHECK;
PTL_API int ptl_perf_writer_string(struct ptl_perf_writer *writer, unsigned feature,
                                   const char *text) PTL_MUST_CHECK;
PTL_API int ptl_perf_writer_nrcpus(struct ptl_perf_writer *writer, uint32_t available,
                                   uint32_t online) PTL_MUST_CHECK;
PTL_API int ptl_perf_writer_cmdline(struct ptl_perf_writer *writer, size_t argc,
                                    const char *const *argv) PTL_MUST_CHECK;
/* PMU_MAPPINGS: pairs of number and name. */
PTL_API int ptl_perf_writer_pmus(struct ptl_perf_writer *writer, size_t count,
                                 const uint32_t *types, const char *const *names) PTL_MUST_CHECK;
/* CPU_TOPOLOGY: lists such as "0-3" of cores, threads and dies; core, socket and die of each of the
 * `cpus` available CPUs. */
struct ptl_perf_topology {
    size_t core_lists, thread_lists, die_lists, cpus;
    const char *const *cores, *const *threads, *const *dies;
    const uint32_t *core_ids, *socket_ids, *die_ids;
};
PTL_API int ptl_perf_writer_topology(struct ptl_perf_writer *writer,
                                     const struct ptl_perf_topology *topology) PTL_MUST_CHECK;
PTL_API int ptl_perf_writer_clock(struct ptl_perf_writer *writer, uint32_t clockid,
                                  uint64_t wall_ns, uint64_t clock_ns) PTL_MUST_CHECK;
PTL_API int ptl_perf_writer_build_id(struct ptl_perf_writer *writer,
                                     const struct ptl_perf_build_id *id) PTL_MUST_CHECK;

PTL_API int ptl_perf_writer_begin(struct ptl_perf_writer *writer) PTL_MUST_CHECK;

/* Whole records of the kernel as they come from a ring: up to two pieces (a copy that
 * wraps), a record may be cut between them. Compressed if the writer compresses. Their
 * times (found by the layouts of the events) widen SAMPLE_TIME. */
PTL_API int ptl_perf_write_ring(struct ptl_perf_writer *writer, const struct iovec *parts,
                                size_t count) PTL_MUST_CHECK;
/* One record, encoded; layout NULL: no trailer. Never compressed. */
PTL_API int ptl_perf_write_record(struct ptl_perf_writer *writer, const struct ptl_record *record,
                                  const struct ptl_layout *layout) PTL_MUST_CHECK;
PTL_API int ptl_perf_write_pt_info(struct ptl_perf_writer *writer,
                                   const struct ptl_pt_info *info) PTL_MUST_CHECK;
PTL_API int ptl_perf_write_id_index(struct ptl_perf_writer *writer,
                                    const struct ptl_id_index_entry *entries,
                                    size_t count) PTL_MUST_CHECK;
PTL_API int ptl_perf_write_time_conv(struct ptl_perf_writer *writer,
                                     const struct ptl_rec_time_conv *conv) PTL_MUST_CHECK;
/* AUXTRACE with its trace (auxtrace->size is computed: the sum of the parts, padded to 8).
 * Parts must end at an aux_head: a packet cut by the end of a buffer is lost for perf. */
PTL_API int ptl_perf_write_auxtrace(struct ptl_perf_writer *writer,
                                    const struct ptl_rec_auxtrace *auxtrace,
                                    const struct iovec *parts, size_t count) PTL_MUST_CHECK;
/* FINISHED_ROUND: what follows is newer than what preceded the round before. */
PTL_API int ptl_perf_write_round(struct ptl_perf_writer *writer) PTL_MUST_CHECK;
PTL_API int ptl_perf_write_init_done(struct ptl_perf_writer *writer) PTL_MUST_CHECK;

/* A recorder that is killed leaves a whole file: the records of full buffers, and the features set
 * before the beginning. This also writes what else is known by now (the index of trace, times,
 * build ids) and what is still buffered. */
PTL_API int ptl_perf_writer_sync(struct ptl_perf_writer *writer) PTL_MUST_CHECK;
PTL_API int ptl_perf_writer_finish(struct ptl_perf_writer *writer) PTL_MUST_CHECK;

/* Bytes written so far. */
PTL_API uint64_t ptl_perf_writer_bytes(const struct ptl_perf_writer *writer);

#ifdef __cplusplus
}
#endif

#endif
