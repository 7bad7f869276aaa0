/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/session.h - from a recording to ready decoders.
 *
 * A session opens a perf.data file, works out what decoders need to know - processor and
 * errata, timing, filters, kernel and process images - and builds the timeline of each
 * queue. It is const then: any number of threads may make decoders from it.
 *
 *     for each queue:  ptl_decoder_new(&decoder, session, queue)
 *         for each piece:  flow = ptl_decoder_piece(decoder, piece)
 *             ptl_flow_next(flow, ...) until 0
 *
 * A piece that begins where the one before ended goes on in the same stream; any other piece
 * starts anew at its first PSB, so nothing bleeds from one into the next.
 */
#ifndef PT_SESSION_H
#define PT_SESSION_H

#include <pt/flow.h>
#include <pt/losses.h>
#include <pt/perfdata.h>
#include <pt/segments.h>
#include <pt/sideband.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ptl_session;
struct ptl_decoder;

#define PTL_SESSION_KEEP_RECORDS 0x1u /* all records, for ptl_sideband_get() */
#define PTL_SESSION_NO_TIME      0x2u /* as if the trace had no time: records apply by position */

/* An unpacker of files, by what they begin with. */
struct ptl_unpack {
    uint8_t magic[8];
    uint8_t magic_size;
    struct ptl_unzip unzip;
};

/* What the recording does not say, or says wrong. NULL and 0: as the recording has it. */
struct ptl_session_config {
    size_t size; /* sizeof(struct ptl_session_config) */
    unsigned flags;
    const struct ptl_unzip *unzip;
    const char *tmpdir;
    const char *sysroot;                         /* put before file names */
    const char *buildid_dir;                     /* perf's build-id cache */
    const char *vdso_x64, *vdso_x32, *vdso_ia32; /* else: vdso-x64.so ... beside the recording */
    const char *kcore, *vmlinux;                 /* kernel images */
    const struct ptl_space *base;                /* other code, below everything; copied */
    uint64_t kernel_start;
    uint64_t tsc_offset;           /* records apply this many ticks earlier */
    uint32_t flow_flags;           /* PTL_FLOW_*, in addition */
    const struct ptl_cpu *cpu;     /* the processor */
    const uint32_t *errata;        /* instead of the processor's */
    struct ptl_clock_config clock; /* fields that are not 0 replace the recording's */
    struct ptl_addr_range addr[4]; /* if one is used: replace the recording's filters */
    /* For compressed kernel modules (tool/unzip.h has some); ended by one with magic_size 0. NULL:
     * they are not unpacked. */
    const struct ptl_unpack *unpack;
};

/* Errors: those of ptl_perf_open(); PTL_NOT_SUPPORTED if there is no Intel PT in the file;
 * `problem` (may be NULL) says why. */
PTL_API int ptl_session_open(struct ptl_session **session, const char *path,
                             const struct ptl_session_config *config,
                             struct ptl_perf_problem *problem) PTL_MUST_CHECK;
PTL_API void ptl_session_close(struct ptl_session *session); /* NULL is ignored */

PTL_API const struct ptl_perf *ptl_session_perf(const struct ptl_session *session);

/* The sideband that decoders of this queue (index as in ptl_perf_queues()) follow: the same
 * for all queues, except when the trace has no time. Its times and those of the flow's items
 * have 56 bits, as TSC packets have; ptl_session_tsc() gives the whole, _ns() perf's time. */
PTL_API const struct ptl_sideband *ptl_session_sideband(const struct ptl_session *session,
                                                        uint32_t queue);
PTL_API uint64_t ptl_session_tsc(const struct ptl_session *session, uint64_t tsc);
/* 0 if there is no conversion. */
PTL_API uint64_t ptl_session_ns(const struct ptl_session *session, uint64_t tsc);
/* The other way: ticks as the flow counts them. */
PTL_API uint64_t ptl_session_ticks(const struct ptl_session *session, uint64_t ns);

/* Can the times of trace and records be compared? */
PTL_API int ptl_session_has_time(const struct ptl_session *session);

/* Things to know about the recording as a whole: sentences without a full stop. */
struct ptl_session_note {
    uint8_t severity; /* 0 to know, 1 something will be missing */
    char text[400];
};
PTL_API const struct ptl_session_note *ptl_session_notes(const struct ptl_session *session,
                                                         size_t *count);

/* The vmlinux that the kernel's code is from, or NULL. The kernel patches its code when it starts
 * and as it runs, so this is not all as it ran; a kcore is. */
PTL_API const char *ptl_session_vmlinux(const struct ptl_session *session);

/* What was lost before it is decoded. */
PTL_API const struct ptl_losses *ptl_session_losses(const struct ptl_session *session);

/* What a flow over trace of this queue needs, without trace and cursor. Errors: PTL_INVALID. */
PTL_API int ptl_session_flow_config(const struct ptl_session *session, uint32_t queue,
                                    struct ptl_flow_config *config);
/* The lane of the queue in its timeline. */
PTL_API uint32_t ptl_session_lane(const struct ptl_session *session, uint32_t queue);
PTL_API uint64_t ptl_session_kernel_start(const struct ptl_session *session);

/* The pieces of the queue. */
PTL_API struct ptl_stream ptl_session_stream(const struct ptl_session *session, uint32_t queue);
/* Where to begin for a time (ticks, as the flow counts them): the last PSB that is not later, in
 * whatever piece; only as much of the trace is read as a binary search needs. Without times that
 * can be compared: the beginning. The end of the stream if all of it is older. */
PTL_API struct ptl_place ptl_session_find(const struct ptl_session *session, uint32_t queue,
                                          uint64_t tsc);

/* --- decoders ---------------------------------------------------------------------- */

/* A flow and a cursor for one queue. Belongs to one thread at a time. */
PTL_API int ptl_decoder_new(struct ptl_decoder **decoder, const struct ptl_session *session,
                            uint32_t queue) PTL_MUST_CHECK;
/* The same for a raw trace: of one piece, with the configuration's cursor if it has one. */
PTL_API int ptl_decoder_raw(struct ptl_decoder **decoder,
                            const struct ptl_flow_config *config) PTL_MUST_CHECK;
PTL_API void ptl_decoder_free(struct ptl_decoder *decoder);

/* Get ready for a piece (an index into the queue's pieces). Returns 1 if it goes on from the
 * piece decoded before, 0 if it starts anew, or PTL_INVALID, PTL_NOMEM. */
PTL_API int ptl_decoder_piece(struct ptl_decoder *decoder, size_t piece) PTL_MUST_CHECK;
/* Would it go on? Then tracing that is on at the end of the piece before is no end. */
PTL_API int ptl_decoder_goes_on(const struct ptl_decoder *decoder, size_t piece);

/* Start anew at a place, to decode up to `to`: the flow pauses or ends there. What lies before
 * is not decoded. The pieces between are the caller's to go through. */
PTL_API int ptl_decoder_start(struct ptl_decoder *decoder, struct ptl_place from,
                              struct ptl_place to) PTL_MUST_CHECK;
/* At its end: go on up to `to`, as if there had been no end. */
PTL_API void ptl_decoder_extend(struct ptl_decoder *decoder, struct ptl_place to);
/* The next piece before that end; SIZE_MAX: there is none. */
PTL_API size_t ptl_decoder_next_piece(const struct ptl_decoder *decoder);

/* At the end of a segment: all that what follows depends on, cursor included. */
PTL_API void ptl_decoder_get_state(const struct ptl_decoder *decoder, int with_time,
                                   struct ptl_flow_state *state);

/* What has been decoded will hardly be read again: memory that holds it may be used for other
 * things. Cheap; to be called now and then. */
PTL_API void ptl_decoder_release(struct ptl_decoder *decoder);

/* The flow to pull items from: of the queue, whatever the piece. */
PTL_API struct ptl_flow *ptl_decoder_flow(const struct ptl_decoder *decoder);
/* The task that runs at the flow's position (which may be ahead of the items read). */
PTL_API struct ptl_context ptl_decoder_context(const struct ptl_decoder *decoder);

#ifdef __cplusplus
}
#endif

#endif
