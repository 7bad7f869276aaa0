/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault.h - make the n-th call of the library into libc fail.
 *
 * The unit tests are linked with --wrap for the functions below, so that nothing in the
 * library knows about this. The usual loop:
 *
 *     for (n = 1; more; n++) {
 *         fault_arm(FAULT_ALL, n);
 *         status = scenario();
 *         more = fault_disarm();
 *         ... `more`: a clean error, nothing leaked (LSan); else: success
 *     }
 */
#ifndef TEST_FAULT_H
#define TEST_FAULT_H

#define FAULT_MEMORY 1u /* malloc, calloc, realloc: NULL, ENOMEM */
#define FAULT_FILES  2u /* stat, fstat, open, read, pread, mmap, write, pwrite: -1, EIO */
#define FAULT_ALL    3u

/* The n-th call (from 1) of these kinds fails, and no other one. */
void fault_arm(unsigned kinds, unsigned n);
/* Returns whether that call has come. */
int fault_disarm(void);

#endif
