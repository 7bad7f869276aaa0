/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/io.h - opening files as the library does.
 */
#ifndef PT_IO_H
#define PT_IO_H

#include <pt/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* open(2) with O_CLOEXEC that a signal does not fail: of a FIFO, or of a file system over the
 * network. Returns a descriptor, or -1 with errno. */
PTL_API int ptl_open(const char *path, int flags, unsigned mode);

/* Open what is to be read, a recording or a trace; a FIFO that nobody writes does not block for
 * ever, but a writer that is just being started gets its time. Returns a descriptor, or -1 with
 * errno. */
PTL_API int ptl_open_input(const char *path);

#ifdef __cplusplus
}
#endif

#endif
