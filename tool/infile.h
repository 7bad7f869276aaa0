/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * infile.h - a file, or a part of it, given as "F[:from[-to]]": mapped, not copied. What
 * cannot be mapped (a pipe) is read into memory. "-" is standard input, from where it is on: what
 * was read of a file before does not belong to it.
 */
#ifndef TOOL_INFILE_H
#define TOOL_INFILE_H

#include <stddef.h>
#include <stdint.h>

struct infile {
    char *name; /* NULL: not open */
    const uint8_t *bytes;
    size_t len;
    uint64_t from; /* where the part begins, from `begin` on */
    size_t done;   /* see infile_done() */
    void *base;    /* what to unmap or free */
    size_t base_len;
    size_t begin; /* the place in it that is offset 0: not its first byte in standard input only */
    int mapped;
};

/* Returns 0; else exit status 2, plus 1, as options do: the message has been printed. */
int infile_open(struct infile *file, const char *prog, const char *arg);

/* The part before `upto` will hardly be read again: its pages need not stay in memory, so that a
 * long trace takes no more than a short one. Cheap when there is little to give back. */
void infile_done(struct infile *file, size_t upto);

void infile_close(struct infile *file);

/* The bytes before `pos` (within `bytes`) are not needed soon: the kernel may take their pages,
 * so that memory stays flat. Reading them again is still right. */
void infile_forget(const struct infile *file, const uint8_t *pos);

#endif
