/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * versions.h - damaged versions of a file, one after the other, and what they may cost.
 *
 *   prefix  the first so many bytes: each length. Beyond 512 KiB each of the first and of the last
 *           64 KiB, and some 4000 between
 *   bytes   each byte but for trace inside a recording, changed in five ways. Of other files
 *           beyond 256 KiB the first 64 KiB and the last 4
 *   values  each byte of the headers (file, attributes, identifiers, tables of sections, the first
 * 64 records, every AUXTRACE record), changed to all other values swaps   1000 times: two random
 * blocks change places
 *
 * Linear: a version may cost FLOOR and FACTOR times what each byte of the unchanged file costs.
 */
#ifndef TEST_MUTATE_VERSIONS_H
#define TEST_MUTATE_VERSIONS_H

#include <stddef.h>
#include <stdint.h>

struct cost {
    uint64_t ns;     /* CPU */
    uint64_t memory; /* bytes, at most */
};

struct versions {
    const char *name;
    int fd;         /* holds the version at hand */
    uint8_t *bytes; /* as well; what lies behind `len` must not be read */
    size_t len;
    /* The unchanged file. */
    uint8_t *whole, *level; /* of each byte: enum level */
    size_t size;
    /* Use the version. Returns 1 if it was told that something is missing, 0 if
     * not, and less if it is not as it should be (which has been said). */
    int (*run)(struct versions *v, struct cost *cost);
    struct cost unchanged, limit_base, limit_byte;
    uint64_t worst_ns, worst_memory; /* in thousandths of what was allowed */
    unsigned long count, told;
};

enum level { TRACE, DATA, HEADER };

/* Set name, fd and run before. Returns 0, or -1 if the file cannot be read. */
int versions_open(struct versions *v, const char *path);
void versions_close(struct versions *v);
int versions_is_recording(const struct versions *v);
/* A stream that ends behind a record has ended, for all that it says. */
int versions_is_pipe(const struct versions *v);

/* Every step-th version of this kind. Ends the process with 1 and a message for one that fails,
 * costs too much, or is a cut recording of which nothing was told; with 2 for a kind that there is
 * not. */
void versions_run(struct versions *v, const char *kind, size_t step);

#endif
