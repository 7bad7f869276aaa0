/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * caps.h - capabilities that an administrator has given to the program's file: as few as possible,
 * as short as possible. For a user who is root nothing changes: that is what root asked for.
 */
#ifndef PTCAPTURE_CAPS_H
#define PTCAPTURE_CAPS_H

#include "options.h"

/* At the start: keep those that this recording may need, and pass none on. */
void caps_limit(const struct capture_options *options);

/* Everything is open: keep `ptrace` (not 0: to read the memory of processes of others) at most. */
void caps_drop(int ptrace);

#endif
