/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/io.h - opening and mapping files as the library does.
 */
#ifndef PT_IO_H
#define PT_IO_H

#include <pt/status.h>
#include <stddef.h>
#include <stdint.h>

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

/*
 * Traces, recordings and images are mapped. If another process truncates such a file, or it cannot
 * be read, touching the bytes that it had raises SIGBUS. The library installs no handler by itself,
 * since signals are the program's; a program that has no use for SIGBUS calls ptl_map_guard() when
 * it starts. Then such bytes read as 0, and all that decodes them takes them for the end of the
 * trace, or for code that is not there. The last page of what is left reads as 0 behind the end of
 * the file, with or without the guard: that is noticed, too.
 */

/* Handle SIGBUS in the library's mappings. What comes from elsewhere is handled as before. Calling
 * it again does no harm. Returns 0, or PTL_INTERNAL if the handler cannot be installed. */
PTL_API int ptl_map_guard(void);

/* Keep a descriptor of the file, so that its size is known if its name is not. */
#define PTL_MAP_WATCH 0x1u

/* Map `len` bytes (not 0) of a file, read-only, from `offset` (a multiple of the page size) on.
 * `name` is for messages and is copied; `fd` may be closed. Returns NULL with errno if that fails.
 */
PTL_API void *ptl_map(const char *name, int fd, uint64_t offset, size_t len, unsigned flags);
/* Undo it; nobody else may use the mapping. NULL is ignored. */
PTL_API void ptl_unmap(void *map, size_t len);

/* How many of the `len` bytes from `bytes` on, which have just been read, were still those of the
 * file. All, if they are not in a mapping of ptl_map(). What is lost reads as 0, so that the file
 * is asked for its size only if 0 is what stands at the end of the bytes, and behind them. */
PTL_API size_t ptl_map_left(const void *bytes, size_t len);

/* A mapping that has lost bytes. */
struct ptl_map_loss {
    const char *name; /* until it is unmapped */
    uint64_t offset;  /* in the file: so far it can be read */
    int err;          /* 0: the file was truncated; else why it cannot be read */
};
/* The next mapping that has lost bytes, from place `*i` (0: the first) on; `*i` becomes the place
 * behind it. All files that are mapped are asked for their size. Nothing may be unmapped meanwhile.
 * Returns 1, or 0 if there is none. */
PTL_API int ptl_map_loss(size_t *i, struct ptl_map_loss *loss);

#ifdef __cplusplus
}
#endif

#endif
