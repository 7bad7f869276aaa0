/* SPDX-License-Identifier: BSD-3-Clause */
/* preload.h - what preload.c and who serves it agree on. */
#ifndef FAULT_PRELOAD_H
#define FAULT_PRELOAD_H

#define FAULT_TELL_FD 200 /* out of the way of the program's own */
#define FAULT_GO_FD   201

#endif
