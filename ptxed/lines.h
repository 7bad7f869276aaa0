/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lines.h - the lines of a block of instructions, made once and kept with the block.
 *
 * Printing a block that ran as a whole is one copy. Each line is
 *
 *     ip16[ <symbol+0xoffset>][ raw bytes][  text]
 *
 * or a JSON object that ends with "}".
 */
#ifndef PTXED_LINES_H
#define PTXED_LINES_H

#include "functions.h"
#include "out.h"
#include "section_symbols.h"
#include "slab.h"
#include "text_insn.h"

#include <pt/flow.h>

struct line_style {
    uint8_t raw;                        /* bytes of the instruction */
    uint8_t json;                       /* a JSON object for each line */
    uint8_t names;                      /* show symbols */
    struct text_insn *text;             /* disassembly; NULL: none */
    const struct ptl_symbols *symbols;  /* by address; NULL: none */
    const struct ptl_space *space;      /* that they are of */
    struct section_symbols *by_section; /* for recordings; NULL: none */
    struct functions *functions;        /* tell functions apart; NULL: do not */
    struct lines_memory *memory;        /* where lines are kept; NULL: each by itself */
};

/* What is looked at for each block that runs lies together, apart from the text. */
struct lines_memory {
    struct slab heads, bodies;
};

/* What --check found, if anything. */
struct line_check {
    struct text_insn *text;
    void (*report)(void *context, uint64_t ip, const char *what);
    void *context;
};

struct lines {
    const char *str; /* the lines */
    uint32_t len;    /* of all lines */
    uint16_t ninsn;
    uint8_t kept; /* in struct lines_memory */
    uint32_t npart;
    const struct function_part *parts; /* by function, if asked for */
    const uint32_t *marks;             /* where each line begins in str; marks[ninsn] is the end */
};

/* The lines of the block, from its `user` field or made now. `check` may be NULL.
 * Returns NULL without memory. They live as long as the block; see ptl_flow_on_free(). */
const struct lines *lines_of(const struct ptl_block *block, const struct line_style *style,
                             const struct line_check *check);
/* Free those that are kept by themselves. */
void lines_free(void *lines);
/* The blocks have gone, or go now. */
void lines_forget(struct lines_memory *memory);
void lines_close(struct lines_memory *memory);

#endif
