/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recording_options.h - options for perf.data files. Use as an OPT_SUB row whose context is a
 * struct recording_options.
 */
#ifndef PTXED_RECORDING_OPTIONS_H
#define PTXED_RECORDING_OPTIONS_H

#include "opts_select.h"

#define FIELD_COMM 0x01u
#define FIELD_PID  0x02u
#define FIELD_TID  0x04u
#define FIELD_CPU  0x08u
#define FIELD_TIME 0x10u

struct recording_options {
    const char *prog;  /* set by the tool before parsing, for messages */
    const char *path;  /* NULL: none */
    const char *given; /* the last of these options but --select:*, NULL: none */
    const char *sysroot, *buildid_dir, *kcore, *vmlinux;
    unsigned fields; /* FIELD_* */
    int merge, no_time;
    struct opts_select select;
};

extern const struct opt recording_options_table[];

#endif
