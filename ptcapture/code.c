/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * code.c - see code.h.
 *
 * A page of code is *settled* when its bytes cannot change before the maps do: private and not
 * writable. Instructions of settled pages are decoded once. Others are read anew each time, and
 * compared with what readers of the recording would see.
 */
#include "code.h"

#include "code_internal.h"
#include "proc.h"

#include <fcntl.h>
#include <pt/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE       4096u
#define CACHE_SIZE 16384u /* instructions, a power of two */
#define PAGE_SLOTS 4096u  /* hash chains of pages, a power of two */

/* Where readers of the recording find the bytes of a page. */
enum shown { SHOWN_NOT, SHOWN_BY_FILE, SHOWN_BY_COPY };

struct page {
    struct page *next; /* in its chain */
    uint64_t addr;
    uint64_t generation; /* of the maps, when it was last read */
    uint64_t offset;     /* SHOWN_BY_COPY: in the store */
    uint8_t settled, shown, vdso;
    uint8_t bytes[PAGE]; /* as shown */
};

struct region {
    uint64_t from, to, pgoff;
    uint32_t prot, flags;
    char *name;
};

struct cached {
    struct code_insn insn;
    uint64_t generation; /* 0: unused */
};

struct code {
    unsigned users;
    int mem_fd;
    uint64_t generation; /* of the maps; from 1 */
    uint64_t regions_of; /* generation of `region` */
    struct region *region;
    size_t regions, region_cap;
    struct page *chain[PAGE_SLOTS];
    struct cached cache[CACHE_SIZE];
};

/* --- life ------------------------------------------------------------------------ */

static void drop_regions(struct code *code)
{
    for (size_t i = 0; i < code->regions; i++)
        free(code->region[i].name);
    code->regions = 0;
}

struct code *code_new(pid_t pid)
{
    struct code *code = calloc(1, sizeof(*code));
    char path[64];

    if (!code)
        return NULL;
    code->users = 1;
    code->generation = 1;
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    code->mem_fd = ptl_open(path, O_RDWR, 0);
    return code;
}

struct code *code_share(struct code *code)
{
    code->users++;
    return code;
}

void code_release(struct code *code)
{
    if (!code || --code->users)
        return;
    if (code->mem_fd >= 0)
        close(code->mem_fd);
    drop_regions(code);
    free(code->region);
    for (size_t i = 0; i < PAGE_SLOTS; i++) {
        while (code->chain[i]) {
            struct page *page = code->chain[i];
            code->chain[i] = page->next;
            free(page);
        }
    }
    free(code);
}

void code_maps_changed(struct code *code)
{
    code->generation++;
}

/* --- maps -------------------------------------------------------------------------- */

static int add_region(void *context, const struct proc_map *map)
{
    struct code *code = context;
    struct region *region;

    if (!(map->prot & PROT_EXEC))
        return 0;
    if (code->regions == code->region_cap) {
        size_t cap = code->region_cap ? 2 * code->region_cap : 32;
        struct region *grown = realloc(code->region, cap * sizeof(*grown));

        if (!grown)
            return -1;
        code->region = grown;
        code->region_cap = cap;
    }
    region = &code->region[code->regions];
    region->from = map->from;
    region->to = map->to;
    region->pgoff = map->pgoff;
    region->prot = map->prot;
    region->flags = map->flags;
    region->name = strdup(map->name);
    if (!region->name)
        return -1;
    code->regions++;
    return 0;
}

static const struct region *region_of(struct code *code, pid_t pid, uint64_t addr)
{
    if (code->regions_of != code->generation) {
        drop_regions(code);
        proc_maps(pid, add_region, code);
        code->regions_of = code->generation;
    }
    for (size_t i = 0; i < code->regions; i++) {
        if (addr >= code->region[i].from && addr < code->region[i].to)
            return &code->region[i];
    }
    return NULL;
}

int code_place(struct code *code, pid_t pid, uint64_t ip, const char **name, uint64_t *offset)
{
    const struct region *region = region_of(code, pid, ip);

    if (!region)
        return -1;
    *name = region->name;
    *offset = ip - region->from + region->pgoff;
    return 0;
}

/* As much as there is. */
static size_t read_all(int fd, void *bytes, size_t size, uint64_t from)
{
    size_t n = 0;
    ssize_t more;

    while (n < size && (more = pread(fd, (char *)bytes + n, size - n, (off_t)(from + n))) > 0)
        n += (size_t)more;
    return n;
}

/* Does the file that is mapped at the page hold these bytes? Its name is that of the process's
 * own root directory. What lies behind the end of the file is zero. */
static int file_holds(const struct region *region, pid_t pid, uint64_t addr, const uint8_t *bytes)
{
    uint8_t held[PAGE];
    char path[4200];
    size_t n;
    int fd;

    if (region->name[0] != '/' || !strncmp(region->name, "//", 2))
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, region->name);
    fd = ptl_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0)
        return 0;
    memset(held, 0, sizeof(held));
    n = read_all(fd, held, sizeof(held), addr - region->from + region->pgoff);
    close(fd);
    return n > 0 && !memcmp(held, bytes, sizeof(held));
}

/* --- pages --------------------------------------------------------------------------- */

static size_t slot_of(uint64_t addr)
{
    return (addr / PAGE) & (PAGE_SLOTS - 1);
}

static struct page *known_page(const struct code *code, uint64_t addr)
{
    struct page *page = code->chain[slot_of(addr)];

    while (page && page->addr != addr)
        page = page->next;
    return page;
}

static struct page *find_page(struct code *code, uint64_t addr)
{
    size_t slot = slot_of(addr);
    struct page *page = known_page(code, addr);

    if (page)
        return page;
    page = calloc(1, sizeof(*page));
    if (!page)
        return NULL;
    page->addr = addr;
    page->next = code->chain[slot];
    code->chain[slot] = page;
    return page;
}

/* The whole [vdso] into its own file: an ELF file, by which readers see that it is 32-bit. */
static int copy_vdso32(struct code *code, const struct region *region, struct code_store *store,
                       struct page *page)
{
    uint8_t bytes[4 * PAGE];
    uint64_t len = region->to - region->from, offset;
    ssize_t n;

    if (len > sizeof(bytes))
        return -1;
    n = pread(code->mem_fd, bytes, len, (off_t)region->from);
    if (n != (ssize_t)len)
        return -1;
    if (!store->size[CODE_FILE_VDSO32] &&
        code_store_add(store, CODE_FILE_VDSO32, bytes, len, &offset))
        return -1;
    page->offset = 0;
    page->shown = SHOWN_BY_COPY;
    page->vdso = 1;
    return 0;
}

static void tell_copy(const struct page *page, const struct region *region,
                      struct code_copy *copies, unsigned *count)
{
    struct code_copy *copy = &copies[(*count)++];

    copy->addr = page->vdso ? region->from : page->addr;
    copy->len = page->vdso ? region->to - region->from : PAGE;
    copy->offset = page->offset;
    copy->file = page->vdso ? CODE_FILE_VDSO32 : CODE_FILE_PAGES;
}

/* See that readers find the bytes that `page` now has. */
static void show_page(struct code *code, pid_t pid, const struct region *region,
                      enum ptl_exec_mode mode, struct code_store *store, struct page *page,
                      struct code_copy *copies, unsigned *count)
{
    int shared = (region->flags & MAP_SHARED) != 0;

    page->vdso = 0;
    page->shown = SHOWN_NOT;
    if (!strcmp(region->name, "[vdso]")) {
        if (mode == PTL_MODE_32 && !copy_vdso32(code, region, store, page))
            tell_copy(page, region, copies, count);
        else
            page->shown = SHOWN_BY_FILE; /* every reader has its own */
        return;
    }
    if (!shared && file_holds(region, pid, page->addr, page->bytes)) {
        page->shown = SHOWN_BY_FILE;
    } else if (!code_store_add(store, CODE_FILE_PAGES, page->bytes, PAGE, &page->offset)) {
        page->shown = SHOWN_BY_COPY;
        tell_copy(page, region, copies, count);
    }
}

/* Bring the page up to date. The bytes [at, at + len) of it are about to execute: only a change
 * of those makes a new version. */
static struct page *use_page(struct code *code, pid_t pid, uint64_t addr, size_t at, size_t len,
                             enum ptl_exec_mode mode, struct code_store *store,
                             struct code_copy *copies, unsigned *count)
{
    struct page *page = find_page(code, addr);
    const struct region *region;
    uint8_t bytes[PAGE];
    int current, same;

    if (!page)
        return NULL;
    current = page->generation == code->generation;
    if (current && page->settled)
        return page;
    region = region_of(code, pid, addr);
    if (!region || read_all(code->mem_fd, bytes, PAGE, addr) != PAGE)
        return NULL;
    same =
        page->shown != SHOWN_NOT &&
        !memcmp(bytes + (current ? at : 0), page->bytes + (current ? at : 0), current ? len : PAGE);
    page->settled = !(region->prot & PROT_WRITE) && !(region->flags & MAP_SHARED);
    page->generation = code->generation;
    if (current && same)
        return page;
    memcpy(page->bytes, bytes, PAGE);
    /* New maps hide what readers saw at this address before, even if the bytes are the same. */
    if (same && page->shown == SHOWN_BY_COPY)
        tell_copy(page, region, copies, count);
    else
        show_page(code, pid, region, mode, store, page, copies, count);
    return page;
}

int code_alone(const struct code *code)
{
    return code->users == 1;
}

int code_byte(const struct code *code, uint64_t addr, uint8_t *byte)
{
    const struct page *page = known_page(code, addr - addr % PAGE);

    if (!page || !page->settled || page->generation != code->generation)
        return -1;
    *byte = page->bytes[addr % PAGE];
    return 0;
}

int code_poke(const struct code *code, uint64_t addr, uint8_t byte)
{
    /* A breakpoint that stays would be the end of the program: one failure is no answer. */
    for (int tries = 0; tries < 2; tries++)
        if (pwrite(code->mem_fd, &byte, 1, (off_t)addr) == 1)
            return 0;
    return -1;
}

/* --- instructions ---------------------------------------------------------------------- */

static int is_prefix(uint8_t byte, enum ptl_exec_mode mode)
{
    static const uint8_t legacy[] = {0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x26,
                                     0x2e, 0x36, 0x3e, 0x64, 0x65};

    return memchr(legacy, byte, sizeof(legacy)) || (mode == PTL_MODE_64 && (byte & 0xf0) == 0x40);
}

uint8_t code_traits(const uint8_t *bytes, const struct ptl_insn *insn)
{
    uint8_t traits = 0, opcode;
    size_t i = 0;
    int rep = 0;

    if (insn->kind == PTL_KIND_SYSCALL || insn->kind == PTL_KIND_SYSENTER ||
        insn->kind == PTL_KIND_INT)
        traits |= CODE_SYSCALL;
    while (i + 1 < insn->size && is_prefix(bytes[i], (enum ptl_exec_mode)insn->mode)) {
        rep |= bytes[i] == 0xf2 || bytes[i] == 0xf3;
        i++;
    }
    opcode = bytes[i];
    if (rep && ((opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf) ||
                (opcode >= 0x6c && opcode <= 0x6f)))
        traits |= CODE_REP;
    if ((traits & CODE_SYSCALL) &&
        (insn->kind != PTL_KIND_INT || (opcode == 0xcd && bytes[i + 1] == 0x80)))
        traits |= CODE_CALLS;
    if (opcode == 0x9c)
        traits |= CODE_PUSHF;
    if (opcode == 0x9d || opcode == 0xcf)
        traits |= CODE_POPF;
    return traits;
}

/* The bytes at `ip`; fewer where the next page is not mapped. */
static size_t read_bytes(const struct code *code, uint64_t ip, uint8_t *bytes)
{
    size_t rest = PAGE - ip % PAGE, n = read_all(code->mem_fd, bytes, PTL_INSN_MAX_SIZE, ip);

    if (!n && rest < PTL_INSN_MAX_SIZE)
        n = read_all(code->mem_fd, bytes, rest, ip);
    return n;
}

int code_fetch(struct code *code, pid_t pid, uint64_t ip, enum ptl_exec_mode mode,
               struct code_store *store, struct code_insn *insn, struct code_copy *copies,
               unsigned *count)
{
    struct cached *cached = &code->cache[(ip ^ ip >> 14) & (CACHE_SIZE - 1)];
    uint8_t bytes[PTL_INSN_MAX_SIZE];
    size_t n, at = ip % PAGE, first;
    struct page *page, *second = NULL;
    int size;

    *count = 0;
    if (cached->generation == code->generation && cached->insn.ip == ip &&
        cached->insn.insn.mode == mode) {
        *insn = cached->insn;
        return 0;
    }
    n = read_bytes(code, ip, bytes);
    if (!n)
        return PTL_NOMAP;
    insn->ip = ip;
    size = ptl_insn_decode(&insn->insn, bytes, n, mode);
    if (size < 0)
        return size == PTL_EOS ? PTL_NOMAP : PTL_BAD_INSN;
    insn->traits = code_traits(bytes, &insn->insn);
    first = (size_t)size <= PAGE - at ? (size_t)size : PAGE - at;
    page = use_page(code, pid, ip - at, at, first, mode, store, copies, count);
    if (first < (size_t)size)
        second = use_page(code, pid, ip - at + PAGE, 0, (size_t)size - first, mode, store, copies,
                          count);
    insn->settled = page && page->settled && (first == (size_t)size || (second && second->settled));
    if (insn->settled) {
        cached->insn = *insn;
        cached->generation = code->generation;
    }
    return 0;
}
