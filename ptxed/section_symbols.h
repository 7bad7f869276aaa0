/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * section_symbols.h - names of code by the section it lies in: for recordings, where the same
 * file is at different places in different processes, and at different times.
 *
 * The symbols of a file are read when its code is first printed.
 */
#ifndef PTXED_SECTION_SYMBOLS_H
#define PTXED_SECTION_SYMBOLS_H

#include <pt/flow.h>

struct section_symbols;

/* `kallsyms`: a file in the format of /proc/kallsyms, or NULL. Symbols that were split off files
 * are below `root` (NULL: /). Returns NULL without memory. */
struct section_symbols *section_symbols_new(const char *kallsyms, const char *root);
void section_symbols_free(struct section_symbols *symbols);

/* The symbol of the instruction at `ip`, whose bytes are at `bytes` in a block, and the offset into
 * it; NULL if there is none. The name lives as long as the symbols. */
const char *section_symbols_find(struct section_symbols *symbols, const struct ptl_section *section,
                                 const uint8_t *bytes, uint64_t ip, uint64_t *offset);

/* Was a name not found because there was no memory? */
int section_symbols_failed(const struct section_symbols *symbols);

/* Say on standard error which file could not be read for its symbols. Returns whether there is
 * one. */
int symbols_report(const char *prog, const struct ptl_symbols *symbols);
int section_symbols_report(const char *prog, const struct section_symbols *symbols);

#endif
