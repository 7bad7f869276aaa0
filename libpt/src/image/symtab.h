/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * symtab.h - the symbols of one file, ready for binary search.
 *
 * A list collects symbols in any order; finishing it makes a table of disjoint ranges: at
 * each position the innermost symbol that covers it, of several with the same start the
 * best name.
 */
#ifndef LIBPT_IMAGE_SYMTAB_H
#define LIBPT_IMAGE_SYMTAB_H

#include <stddef.h>
#include <stdint.h>

struct ptl__sym {
    uint64_t start;
    uint64_t end;   /* exclusive; == start: not known, goes on to the next symbol */
    uint64_t limit; /* but not beyond this */
    const char *name;
    uint8_t rank; /* of two with the same start the higher one names it */
};

struct ptl__symlist {
    struct ptl__sym *syms;
    size_t count, cap;
};

struct ptl__symrange {
    uint64_t start;     /* of this range; it ends where the next one starts */
    uint64_t sym_start; /* of the symbol */
    const char *name;   /* NULL: no symbol here */
};

struct ptl__symtab {
    struct ptl__symrange *ranges; /* by start */
    size_t count;
    char *names; /* what the names point into */
};

int ptl__symlist_add(struct ptl__symlist *list, const struct ptl__sym *sym);

/* Makes the table; takes `names` and frees the list, also on failure. */
int ptl__symlist_finish(struct ptl__symlist *list, char *names, struct ptl__symtab **table);

void ptl__symtab_free(struct ptl__symtab *table);
const char *ptl__symtab_find(const struct ptl__symtab *table, uint64_t at, uint64_t *offset);

/* Higher is better: a function before a label, then global before weak before local. */
enum { PTL__RANK_LOCAL, PTL__RANK_WEAK, PTL__RANK_GLOBAL, PTL__RANK_FUNCTION };

struct ptl__elf;
/* .symtab and .dynsym, by file offset. `*table` is NULL if there are no symbols of code. */
int ptl__symtab_elf(struct ptl__symtab **table, const struct ptl__elf *elf);
/* The same with the tables of another file, which was split off this one: it has the addresses of
 * the segments, but not where they lie in the file. */
int ptl__symtab_split(struct ptl__symtab **table, const struct ptl__elf *elf,
                      const struct ptl__elf *split);
int ptl__symtab_is_stripped(const struct ptl__elf *elf);

#endif
