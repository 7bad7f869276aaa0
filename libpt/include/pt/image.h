/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/image.h - code: sections (ranges of bytes) and spaces (which section is
 * mapped where).
 *
 * A section is immutable once made, reference counted (atomically), and may be
 * mapped in any number of spaces. A space is built by one thread and then only
 * read: any number of decoders in any number of threads may share a const space.
 */
#ifndef PT_IMAGE_H
#define PT_IMAGE_H

#include <pt/insn.h>
#include <pt/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ptl_section;
struct ptl_space;

/* --- sections ------------------------------------------------------------- */

/* Read up to `len` bytes at `offset` of a section into `buf`: the number of bytes
 * read, 0 if nothing is there, or a negative status. Must be thread-safe if the
 * section is used by several threads, and give the same bytes each time. */
typedef int (*ptl_read_fn)(void *context, uint8_t *buf, size_t len, uint64_t offset);

/* A range of a regular file, mapped read-only. `size` is cut to the end of the file
 * (UINT64_MAX: all of it). Nothing but regular files is opened, so this never blocks. A
 * file that is truncated while it is in use raises SIGBUS, as with any mapping: see
 * ptl_map_guard() in pt/io.h.
 * Errors: PTL_BAD_FILE (cannot open or map, not a regular file; errno tells),
 * PTL_INVALID (the range is empty), PTL_NOMEM. */
PTL_API int ptl_section_file(struct ptl_section **section, const char *path, uint64_t offset,
                             uint64_t size) PTL_MUST_CHECK;

/* Bytes in memory: copied when `copy` is not 0, else they must outlive the section. */
PTL_API int ptl_section_memory(struct ptl_section **section, const void *bytes, size_t size,
                               int copy, const char *name) PTL_MUST_CHECK;

/* Bytes from a callback, e.g. a debugger's target memory. `size` bounds the offsets. */
PTL_API int ptl_section_reader(struct ptl_section **section, ptl_read_fn read, void *context,
                               uint64_t size, const char *name) PTL_MUST_CHECK;

PTL_API struct ptl_section *ptl_section_ref(struct ptl_section *section);
PTL_API void ptl_section_unref(struct ptl_section *section); /* NULL is ignored */

PTL_API const char *ptl_section_name(const struct ptl_section *section); /* path or name */
PTL_API uint64_t ptl_section_offset(const struct ptl_section *section);  /* in its file */
PTL_API uint64_t ptl_section_size(const struct ptl_section *section);
/* The bytes, or NULL for a reader section. */
PTL_API const uint8_t *ptl_section_bytes(const struct ptl_section *section);
/* Read up to `len` bytes at `offset`, whatever the kind of section. Returns the number of
 * bytes read (0: beyond the end), or what a reader callback returned. */
PTL_API int ptl_section_read(const struct ptl_section *section, uint8_t *buf, size_t len,
                             uint64_t offset) PTL_MUST_CHECK;

/* --- spaces --------------------------------------------------------------- */

/* What is mapped at an address. Valid as long as the space is not changed. */
struct ptl_mapping {
    const struct ptl_section *section;
    uint64_t begin, end;  /* the visible part of the mapping, end exclusive (0: up to 2^64) */
    uint64_t offset;      /* of `begin` in the section */
    const uint8_t *bytes; /* at `begin`; NULL for a reader section */
};

PTL_API int ptl_space_new(struct ptl_space **space) PTL_MUST_CHECK;
PTL_API void ptl_space_free(struct ptl_space *space);
/* A copy that shares the sections (fork). Costs the same for any number of mappings: copies
 * share what has not changed since, so that one space per moment in time is affordable. */
PTL_API int ptl_space_clone(struct ptl_space **copy, const struct ptl_space *space) PTL_MUST_CHECK;

/* Map `size` bytes of the section from `offset` at `vaddr`; takes a reference of its
 * own. What was mapped there before goes in the overlapping part only. On error the space is
 * unchanged.
 * Errors: PTL_INVALID (empty, beyond the section, wraps around), PTL_NOMEM. */
PTL_API int ptl_space_map(struct ptl_space *space, uint64_t vaddr, struct ptl_section *section,
                          uint64_t offset, uint64_t size) PTL_MUST_CHECK;
PTL_API int ptl_space_unmap(struct ptl_space *space, uint64_t vaddr, uint64_t size) PTL_MUST_CHECK;

/* Returns 0, or PTL_NOMAP. */
PTL_API int ptl_space_find(const struct ptl_space *space, uint64_t vaddr, struct ptl_mapping *out);

/* Read up to `len` bytes at `vaddr`, across adjacent mappings. Returns the number of
 * bytes read (> 0), or PTL_NOMAP if there is none. */
PTL_API int ptl_space_read(const struct ptl_space *space, uint8_t *buf, size_t len, uint64_t vaddr);

/* Changes whenever the mappings of this space change; never 0. */
PTL_API uint64_t ptl_space_generation(const struct ptl_space *space);

/* Call `fn` for each mapping in address order; stops when it returns non-zero and
 * returns that. */
PTL_API int ptl_space_each(const struct ptl_space *space,
                           int (*fn)(void *context, const struct ptl_mapping *mapping),
                           void *context);

/* --- files ---------------------------------------------------------------- */

struct ptl_files; /* files opened so far: one section each, however often it is mapped */

PTL_API int ptl_files_new(struct ptl_files **files) PTL_MUST_CHECK;
PTL_API void ptl_files_free(struct ptl_files *files);

/* The whole file as one section, so that all mappings of the file share it (use the file
 * offset as offset of the mapping). Borrowed from `files`; take a reference to keep it
 * longer. What ptl_section_file() said of a file, good or bad, it says again without another
 * look at the file (errno too); but PTL_NOMEM is not remembered. */
PTL_API int ptl_files_get(struct ptl_files *files, const char *path,
                          struct ptl_section **section) PTL_MUST_CHECK;

/* --- ELF ------------------------------------------------------------------ */

/* x86 files of both classes. Nothing in a file is believed before it has been compared with
 * the file's size; section headers are not needed. */

/* One loaded segment, for callers that want to report them. */
struct ptl_elf_segment {
    uint64_t offset, size, vaddr; /* as in the file; size: as far as the file goes */
};

/* Map the PT_LOAD segments that have file contents (ELF gABI "Program Header").
 * `base` non-zero: shift so that the lowest vaddr lands there.
 * `report` (may be NULL) is called per segment mapped.
 * Errors: PTL_BAD_FILE (cannot be opened, see ptl_section_file), PTL_BAD_IMAGE (not ELF, no
 * code, headers beyond the file, a segment wraps around), PTL_NOT_SUPPORTED (not x86),
 * PTL_NOMEM; then the space is unchanged. Segments cut by the end of the file are mapped as
 * far as they go. */
PTL_API int ptl_space_load_elf(struct ptl_space *space, const char *path, uint64_t base,
                               void (*report)(void *context, const struct ptl_elf_segment *segment),
                               void *context) PTL_MUST_CHECK;

/* The same for a section that holds a whole ELF file: of ptl_files, or in memory (a vdso). */
PTL_API int ptl_space_load_elf_section(struct ptl_space *space, struct ptl_section *section,
                                       uint64_t base,
                                       void (*report)(void *context,
                                                      const struct ptl_elf_segment *segment),
                                       void *context) PTL_MUST_CHECK;

/* Map the code of a kernel (vmlinux) that ran `slide` bytes (modulo 2^64) above the addresses
 * it was linked at. Errors as ptl_space_load_elf(). */
PTL_API int ptl_space_load_vmlinux(struct ptl_space *space, const char *path,
                                   uint64_t slide) PTL_MUST_CHECK;

/* Map /proc/kcore or a copy of it: the segments of an ELF core file, at their addresses. What
 * cannot be mapped (the original) is read when it is needed. Errors as
 * ptl_space_load_elf(); other ELF files are PTL_BAD_IMAGE. */
PTL_API int ptl_space_load_kcore(struct ptl_space *space, const char *path) PTL_MUST_CHECK;

/* Where a kernel module was loaded, and what it was linked against. */
struct ptl_module {
    size_t size;   /* sizeof(struct ptl_module) */
    uint64_t base; /* of its code, as /proc/modules has it */
    void *context;
    /* The address of a section (".text"), as /sys/module/NAME/sections has it; PTL_NOMAP: not
     * known, then the kernel's rule is followed. May be NULL. */
    int (*where)(void *context, const char *section, uint64_t *addr);
    /* The address of a symbol of the kernel or of another module; PTL_NOMAP: not known, then what
     * refers to it is left as it is in the file. May be NULL. */
    int (*resolve)(void *context, const char *symbol, uint64_t *addr);
};

/* Map the code of a kernel module (a relocatable file, .ko): its sections as they lie in memory,
 * relocated. Errors as ptl_space_load_elf(); other ELF files, and damaged ones, are
 * PTL_BAD_IMAGE. */
PTL_API int ptl_space_load_module(struct ptl_space *space, const char *path,
                                  const struct ptl_module *config) PTL_MUST_CHECK;

/* The same for a section that holds the whole file: one that was compressed. */
PTL_API int ptl_space_load_module_section(struct ptl_space *space, struct ptl_section *section,
                                          const struct ptl_module *config) PTL_MUST_CHECK;

/* The build id (NT_GNU_BUILD_ID). `*len`: the size of `id` (20 bytes is usual, 64 ample), then
 * the length of the build id.
 * Errors: PTL_NOMAP (there is none that fits), and those of ptl_space_load_elf(). */
PTL_API int ptl_elf_build_id(const char *path, uint8_t *id, size_t *len) PTL_MUST_CHECK;
PTL_API int ptl_section_build_id(const struct ptl_section *section, uint8_t *id,
                                 size_t *len) PTL_MUST_CHECK;

/* The value of a symbol of .symtab or .dynsym by name, e.g. where `_text` was linked.
 * Errors: PTL_NOMAP (there is none), and those of ptl_space_load_elf(). */
PTL_API int ptl_elf_symbol(const char *path, const char *name, uint64_t *value) PTL_MUST_CHECK;

/* Where the function `name` lies in its file, and its size (of a symbol without size: up to the
 * next one). What address filters want. Errors as ptl_elf_symbol(). */
PTL_API int ptl_elf_function(const char *path, const char *name, uint64_t *offset,
                             uint64_t *size) PTL_MUST_CHECK;

/* --- symbols -------------------------------------------------------------- */

/* Names of code addresses. Built by one thread, then only read. Symbols belong to bytes of
 * files, so they hold wherever a file is mapped. Functions and labels, not data; of several
 * names for one address a function's, a global one; a symbol without size goes on to the
 * next one. Memory sections that are not ELF are their own symbol, if they have a name. */
struct ptl_symbols;

/* Read .symtab and .dynsym of every file mapped in the space. Files without symbols are
 * skipped. `space` may be NULL. Errors: PTL_NOMEM. */
PTL_API int ptl_symbols_new(struct ptl_symbols **symbols,
                            const struct ptl_space *space) PTL_MUST_CHECK;
PTL_API void ptl_symbols_free(struct ptl_symbols *symbols);

/* Also those of another space. */
PTL_API int ptl_symbols_add_space(struct ptl_symbols *symbols,
                                  const struct ptl_space *space) PTL_MUST_CHECK;

/* From now on a file without .symtab (a stripped one) gets its symbols from the file that was
 * split off it, if that is below `root` (NULL: /) in usr/lib/debug, by build id. Errors:
 * PTL_NOMEM. */
PTL_API int ptl_symbols_set_debug_root(struct ptl_symbols *symbols,
                                       const char *root) PTL_MUST_CHECK;

/* How many files that are there could not be read for their symbols: split off ones, and files
 * mapped in part. Their code has fewer names, or none. Of the first one the name in *path (owned
 * by `symbols`) and the errno in *error; NULL and 0 if there is none. Both may be NULL. */
PTL_API size_t ptl_symbols_unread(const struct ptl_symbols *symbols, const char **path, int *error);

/* Kernel symbols in the format of /proc/kallsyms; replaces those added before. Used where
 * files have no symbol. Errors: PTL_BAD_FILE (cannot be read; errno), PTL_NOMAP (no symbols
 * in it, or all addresses hidden), PTL_NOMEM. */
PTL_API int ptl_symbols_add_kallsyms(struct ptl_symbols *symbols, const char *path) PTL_MUST_CHECK;

/* The symbol that covers `vaddr` of the space given to ptl_symbols_new(), as it was then: its
 * name (owned by `symbols`) and the offset into it; NULL if there is none. */
PTL_API const char *ptl_symbols_find(const struct ptl_symbols *symbols, uint64_t vaddr,
                                     uint64_t *offset);
/* The same for a space that was added, or one that maps the same sections. */
PTL_API const char *ptl_symbols_find_in(const struct ptl_symbols *symbols,
                                        const struct ptl_space *space, uint64_t vaddr,
                                        uint64_t *offset);

#ifdef __cplusplus
}
#endif

#endif
