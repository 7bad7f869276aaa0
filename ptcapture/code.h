/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * code.h - the code of a stepped address space: instructions by address, decoded once where
 * the bytes cannot change and read anew where they can; and copies of code that no file holds.
 */
#ifndef PTCAPTURE_CODE_H
#define PTCAPTURE_CODE_H

#include <pt/insn.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One decoded instruction. */
struct code_insn {
    uint64_t ip;
    struct ptl_insn insn;
    uint8_t traits;  /* CODE_* */
    uint8_t settled; /* cannot change before the maps do */
};

#define CODE_REP     0x1u  /* repeated string instruction: stops at itself until it is done */
#define CODE_PUSHF   0x2u  /* stores the flags */
#define CODE_POPF    0x4u  /* loads them */
#define CODE_SYSCALL 0x8u  /* SYSCALL, SYSENTER, INT n: enters the kernel */
#define CODE_CALLS   0x10u /* of those, what makes a system call: not INT n but for 0x80 */

/* Where copies of code go: files beside the output that only grow. */
enum code_file {
    CODE_FILE_PAGES,  /* pages of code that no file holds */
    CODE_FILE_VDSO32, /* the [vdso] of 32-bit programs, an ELF file */
    CODE_FILES
};

struct code_store {
    char *path[CODE_FILES]; /* absolute; NULL: copies are not wanted */
    int fd[CODE_FILES];     /* -1: not created yet */
    uint64_t size[CODE_FILES];
    int failed; /* errno of the first copy that could not be written */
};

/* A piece of code that readers find in the store from now on. */
struct code_copy {
    uint64_t addr, len, offset;
    enum code_file file;
};

#define CODE_COPIES 2 /* an instruction touches at most two pages */

struct code; /* one address space, shared by its threads */

/* `pid`: any thread of it. Returns NULL without memory. */
struct code *code_new(pid_t pid);
struct code *code_share(struct code *code);
void code_release(struct code *code);

/* The instruction at `ip`. Returns 0; PTL_NOMAP if its bytes cannot be read; PTL_BAD_INSN if
 * they are none. `pid`: a living thread of the space. Where the bytes are not those of a mapped
 * file, copies[0..*count-1] say which pieces have just come into the store (once for each
 * version of the bytes). */
int code_fetch(struct code *code, pid_t pid, uint64_t ip, enum ptl_exec_mode mode,
               struct code_store *store, struct code_insn *insn, struct code_copy *copies,
               unsigned *count);

/* The file that is mapped at `ip` (until the next call) and the offset in it. Returns 0, -1 if
 * there is none. */
int code_place(struct code *code, pid_t pid, uint64_t ip, const char **name, uint64_t *offset);

/* Has the space one traced thread only? */
int code_alone(const struct code *code);
/* The byte at `addr`, if the code there cannot change before the maps do and readers have been told
 * of it. Returns 0, -1 if not. */
int code_byte(const struct code *code, uint64_t addr, uint8_t *byte);
/* Write a byte where the code can be read only. Returns 0, -1 if that is not possible. */
int code_poke(const struct code *code, uint64_t addr, uint8_t byte);

/* The maps may have changed: forget what depends on them. */
void code_maps_changed(struct code *code);

/* Prepare the store beside `output`; NULL: no copies. Returns 0 or -1 without memory. */
int code_store_init(struct code_store *store, const char *output);
void code_store_close(struct code_store *store);

/* What the traits of an instruction are. */
uint8_t code_traits(const uint8_t *bytes, const struct ptl_insn *insn);

#endif
