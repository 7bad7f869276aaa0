/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outfile.h - files that a tool writes beside its output.
 */
#ifndef TOOL_OUTFILE_H
#define TOOL_OUTFILE_H

/* Does something stand at `path` that another user has put into a directory that all may write to?
 * It is not to be written to, followed or moved: it may be a trap. Also 1 if nothing can be seen
 * there. */
int outfile_is_foreign(const char *path);

/* Create the file with `mode`, or empty the one that is there, unless it is foreign; `flags` are
 * those of open(2), more than these. Returns a descriptor, or -1 with errno (EACCES: foreign). */
int outfile_open(const char *path, int flags, unsigned mode);

#endif
