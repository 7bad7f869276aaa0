/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options.h - the command line of ptcapture, with perf record's habits.
 */
#ifndef PTCAPTURE_OPTIONS_H
#define PTCAPTURE_OPTIONS_H

#include "losses.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum capture_target {
    TARGET_NONE,
    TARGET_COMMAND, /* started by us */
    TARGET_PIDS,    /* -p: all threads of these processes */
    TARGET_TIDS,    /* -t: these threads alone */
    TARGET_CPUS     /* -a, -C: whatever runs on all (some) CPUs */
};

/* A list of numbers: PIDs, TIDs or CPUs. */
struct id_list {
    int *ids;
    size_t count;
};

/* Strings in the order given, e.g. -e or --filter. Not copied. */
#define OPTION_STRINGS 32
struct string_list {
    const char *item[OPTION_STRINGS];
    size_t count;
};

/* --per-cpu: a queue of trace for a virtual CPU, and how records tell who has it. */
enum { PER_CPU_NO, PER_CPU_TASK, PER_CPU_WIDE };

/* All zero = nothing asked for. Flags are ints so that one function sets them all. */
struct capture_options {
    const char *prog;
    enum capture_target target;
    char **command; /* NULL-terminated, TARGET_COMMAND */
    struct id_list ids;
    struct id_list cpus; /* TARGET_CPUS: empty = all */

    const char *output;
    struct string_list events;  /* -e, as given */
    struct string_list filters; /* --filter, as given */
    const char *backend;        /* "auto", "perf", "step" */
    const char *control;        /* "fifo:CTL[,ACK]" */
    const char *truth;

    uint64_t data_size, aux_size; /* bytes, 0 = default */
    uint64_t snapshot_size;       /* with `snapshot`; 0 = as large as the AUX area */
    uint64_t aux_sample_size;     /* with `aux_sample`; 0 = default */
    struct losses_options losses;
    uint64_t max_size;              /* bytes of output, 0 = no limit */
    uint64_t delay_ns, duration_ns; /* 0 = none */
    int snapshot, aux_sample, kcore, per_thread, per_cpu, no_inherit, compress, quiet, verbose,
        check, json, single_step;
};

/* Parse the command line. Returns 0, or exit status + 1 to leave with (all messages printed;
 * --help and --version are exit status 0). */
int options_parse(struct capture_options *options, int argc, char **argv);
void options_free(struct capture_options *options);

/* Parse "1,3-5,9" into a sorted or given-order list. Returns 0 or -1. */
int id_list_parse(struct id_list *list, const char *text, int ranges);

#endif
