/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.h - what the files of this room share.
 *
 *   session.c  opening, and what users ask for
 *   setup.c    processor, timing
 *   filters.c  address filters
 *   records.c  the recording's records into sidebands
 *   kernel.c   kernel images
 *   modules.c  kernel modules, where no kcore has them
 *   unpack.c   compressed files
 *   bpf.c      code of BPF programs, from the header
 *   vdso.c     the [vdso] of this machine
 *   seek.c     where to begin for a time
 *   decoder.c  a flow and a cursor for a queue
 */
#ifndef LIBPT_SESSION_SESSION_H
#define LIBPT_SESSION_SESSION_H

#include <pt/session.h>

struct ptl_session {
    struct ptl_perf *perf;
    const struct ptl_perf_pt *pt;
    struct ptl_space *base; /* kernel and the caller's own code; may be NULL */
    struct ptl_section *vdso;
    struct ptl_sideband **sidebands; /* one, or one for each queue */
    size_t sideband_count;
    struct ptl_flow_config flow;
    struct ptl_time_conv time; /* mult 0: none */
    uint64_t tsc_high;         /* bits above the 56 of a TSC packet */
    uint64_t kernel_start;
    struct ptl_addr_range *filters;
    size_t filter_count, filter_cap;
    struct ptl_losses losses;
    struct ptl_session_note *notes;
    size_t note_count, note_cap;
    char *beside;  /* directory of the recording, with a slash at its end; or "" */
    char *vmlinux; /* the file that was loaded, and how far above where it was linked; or NULL */
    uint64_t slide;
    uint8_t have_kcore;
    uint8_t timeless;
    uint8_t by_thread; /* queues are of threads */
};

/* session.c; returns 0 or PTL_NOMEM. */
int ptl__session_note(struct ptl_session *session, uint8_t severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* setup.c */
void ptl__session_setup(struct ptl_session *session, const struct ptl_session_config *config);

/* filters.c: into session->flow. Returns 0 or PTL_NOMEM. */
int ptl__session_filters(struct ptl_session *session, const struct ptl_session_config *config);

/* kernel.c: into session->base. */
int ptl__session_kernel(struct ptl_session *session, const struct ptl_session_config *config);

/* Is this the machine, and the kernel, that was recorded? */
int ptl__session_is_here(const struct ptl_session *session);

/* modules.c: into session->base. */
int ptl__session_modules(struct ptl_session *session, const struct ptl_session_config *config);

/* bpf.c: what the header knows into the sideband. */
int ptl__session_bpf(const struct ptl_session *session, struct ptl_sideband *sideband);

/* vdso.c: into session->vdso, if it is that of the recording. */
int ptl__session_vdso(struct ptl_session *session);

/* records.c */
int ptl__session_records(struct ptl_session *session, const struct ptl_session_config *config);

/* The first MMAP of the kernel, e.g. "[kernel.kallsyms]_text". Returns 1 if there is one. */
int ptl__session_kernel_map(const struct ptl_session *session, struct ptl_rec_mmap *map);

/* What the file lacks: trace that is not there, damage. */
void ptl__losses_file(struct ptl_losses *losses, const struct ptl_perf *perf);

#endif
