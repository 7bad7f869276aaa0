/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perf.h - the kernel backend: PT events, a dummy event for sideband, and their rings.
 *
 * Source: perf_event_open(2), sections "MMAP layout" and "Overflow handling";
 * linux/perf_event.h, struct perf_event_mmap_page ("aux_head").
 *
 * Per CPU (the target's children included) or per thread there is one *lane*: a data ring
 * and an AUX area that belong to its first PT event; all further events of that CPU or
 * thread write into them.
 */
#ifndef PTCAPTURE_PERF_H
#define PTCAPTURE_PERF_H

#include "backend.h"
#include "control.h"
#include "filter.h"
#include "ring.h"

#define PERF_NOBODY UINT32_MAX
#define PERF_MARK   4096 /* bytes by which a snapshot recognises the one before */

struct perf_lane {
    int cpu;   /* -1: per thread */
    pid_t tid; /* of a per-thread lane, else -1 */
    int fd;    /* the PT event that owns the rings */
    struct ring ring;
    struct ptl_losses losses;
    uint8_t *aux;
    uint64_t aux_size;
    uint64_t position; /* AUX stream position of the next byte to write to the file */
    uint64_t seen; /* full trace: aux_head up to which all is taken; snapshot: that of the last */
    uint8_t mark[PERF_MARK]; /* the bytes before `seen` in the last snapshot */
    size_t mark_len;
};

/* The descriptors of one kind of event. */
struct perf_events {
    struct ptl_attr attr;
    char name[160];
    int *fds;
    size_t *lane_of; /* index of the lane each belongs to */
    uint64_t *ids;
    size_t count, cap;
};

struct perf_recorder {
    struct capture *capture;
    pid_t *tids; /* targets; -1: whatever runs */
    size_t tid_count;
    struct perf_lane *lanes;
    size_t lane_count;
    struct perf_events pt, dummy, other[OPTION_STRINGS];
    size_t others;
    struct pollfd *polls; /* one for each PT event, then the FIFO */
    struct filter filter; /* text NULL: none */
    struct control control;
    uint64_t data_size, aux_size;
    uint64_t end_ns, enable_ns;          /* CLOCK_MONOTONIC; 0: none */
    uint8_t per_thread, cpu_wide, sized; /* sized: the sizes were asked for */
    uint8_t tracing;                     /* the PT events are meant to be on */
    uint8_t failed;                      /* a message has been printed */
};

/* perf_open.c: lanes and events. Each returns 0, or -1 with the message printed. */
int perf_open_all(struct perf_recorder *rec);
void perf_close_all(struct perf_recorder *rec);
/* Start or stop a PT event, or all. If that fails the recording has, and goes no further. */
void perf_turn(struct perf_recorder *rec, int fd, int on);
void perf_switch(struct perf_recorder *rec, int on);

/* perf_other.c: the events that carry AUX samples. */
int perf_other_parse(struct perf_events *events, const char *text, uint64_t aux_sample_size);

/* perf_lane.c: map and empty the rings of a lane. */
/* Lower the default sizes to what this user may map for this number of lanes. */
void perf_lane_fit(struct perf_recorder *rec);
int perf_lane_map(struct perf_recorder *rec, struct perf_lane *lane);
void perf_lane_unmap(struct perf_lane *lane);
/* Data ring, then trace, to the file. Returns 1 if there was something, 0, or a negative status. */
int perf_lane_drain(struct perf_recorder *rec, struct perf_lane *lane);
/* The trace of a stopped lane that the last snapshot does not have. As perf_lane_drain(). */
int perf_lane_snapshot(struct perf_recorder *rec, struct perf_lane *lane);

/* perf_begin.c: what stands before the rings in the file. Returns 0 or a negative status. */
int perf_write_begin(struct perf_recorder *rec);

/* kernel.c: records of the kernel's own maps, and copies of its code. Returns 0, a negative status,
 * or PROC_UNREAD with errno if they cannot be read. */
int kernel_write_maps(struct ptl_perf_writer *writer, const struct ptl_layout *layout);
/* Into DIRECTORY/kcore_dir. Returns 0, or -1 with a reason. */
int kernel_copy(const char *directory, char *reason, size_t size);
/* The address and size of a function of the kernel. Returns 0, or -1 with errno: 0 if there is none
 * whose address is told. */
int kernel_symbol(const char *name, uint64_t *addr, uint64_t *size);
/* Save the [vdso] of this process as DIRECTORY-of-`output`/vdso-x64.so, where decoders look.
 * Returns 0, a negative status, or PROC_UNREAD with errno if it cannot be saved. */
int kernel_save_vdso(const char *output, struct ptl_perf_writer *writer);

/* perf_error.c: a refusal of the kernel: which limit, its value, what was asked, what fixes it. */
void perf_explain_open(const struct perf_recorder *rec, const struct ptl_attr *attr, pid_t tid,
                       int cpu, int err, char *text, size_t size);
void perf_explain_map(const struct perf_recorder *rec, const char *what, uint64_t bytes, int err,
                      char *text, size_t size);

#endif
