/* SPDX-License-Identifier: BSD-3-Clause */
/* test_elf.c - loading ELF files: well-formed, cut, absurd, and not ELF at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first. */
#include "elf_make.h"

#include <cmocka.h>
#include <errno.h>
#include <pt/image.h>
#include <sys/stat.h>
#include <sys/wait.h>

static uint8_t buf[ELF_MAX];

static const struct elf_seg two_segments[] = {
    {PT_LOAD, PF_R | PF_X, 0x1000, 0x401000, 0x800, 0x1000},
    {PT_LOAD, PF_R | PF_W, 0x2000, 0x403000, 0x100, 0x1000},
    {PT_LOAD, PF_R | PF_W, 0x2000, 0x300000, 0, 0x1000}, /* no contents: not there */
    {PT_DYNAMIC, PF_R, 0x2000, 0x500000, 0x80, 8},
};

static struct elf_spec spec_of(int is64, const struct elf_seg *segs, unsigned nsegs)
{
    struct elf_spec spec = {.is64 = is64, .segs = segs, .nsegs = nsegs};

    return spec;
}

static int load_file(struct ptl_space *space, size_t size, uint64_t base)
{
    const char *path = elf_write(buf, size);
    int status = ptl_space_load_elf(space, path, base, NULL, NULL);

    unlink(path);
    return status;
}

/* `size` bytes at `vaddr` come from `offset` of the file, and nothing is beside them. */
static void check_range(const struct ptl_space *space, uint64_t vaddr, uint64_t offset,
                        uint64_t size)
{
    struct ptl_mapping map;
    uint8_t got[0x1000];

    assert_int_equal(ptl_space_find(space, vaddr, &map), 0);
    assert_int_equal(map.begin, vaddr);
    assert_int_equal(map.end, vaddr + size);
    assert_int_equal(ptl_section_offset(map.section) + map.offset, offset);
    assert_int_equal(ptl_space_read(space, got, sizeof(got), vaddr), size);
    assert_memory_equal(got, buf + offset, size);
    assert_int_equal(ptl_space_find(space, vaddr - 1, &map), PTL_NOMAP);
    assert_int_equal(ptl_space_find(space, vaddr + size, &map), PTL_NOMAP);
}

static int count(void *context, const struct ptl_mapping *map)
{
    (void)map;
    ++*(int *)context;
    return 0;
}

static int mappings(const struct ptl_space *space)
{
    int n = 0;

    assert_int_equal(ptl_space_each(space, count, &n), 0);
    return n;
}

static void loads_segments(void **state)
{
    (void)state;
    for (int is64 = 0; is64 < 2; is64++) {
        struct elf_spec spec = spec_of(is64, two_segments, 4);
        struct ptl_space *space;

        assert_int_equal(ptl_space_new(&space), 0);
        assert_int_equal(load_file(space, elf_make(buf, &spec), 0), 0);
        assert_int_equal(mappings(space), 2);
        check_range(space, 0x401000, 0x1000, 0x800);
        check_range(space, 0x403000, 0x2000, 0x100);
        ptl_space_free(space);
    }
}

/* The lowest vaddr that has contents lands on the base. */
static void loads_at_base(void **state)
{
    static const uint64_t bases[] = {0x10000, 0x7f1234567000, 0xffffffffc0000000, 0x401000};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct elf_spec spec = spec_of(1, two_segments, 4);
        struct ptl_space *space;

        assert_int_equal(ptl_space_new(&space), 0);
        assert_int_equal(load_file(space, elf_make(buf, &spec), bases[i]), 0);
        check_range(space, bases[i], 0x1000, 0x800);
        check_range(space, bases[i] + 0x2000, 0x2000, 0x100);
        ptl_space_free(space);
    }
}

static void later_segment_wins(void **state)
{
    static const struct elf_seg segs[] = {
        {PT_LOAD, PF_X, 0x1000, 0x401000, 0x800, 1},
        {PT_LOAD, PF_X, 0x2100, 0x401100, 0x100, 1},
    };
    struct elf_spec spec = spec_of(1, segs, 2);
    struct ptl_space *space;
    struct ptl_mapping map;
    uint8_t got[0x800];

    (void)state;
    assert_int_equal(ptl_space_new(&space), 0);
    assert_int_equal(load_file(space, elf_make(buf, &spec), 0), 0);
    assert_int_equal(ptl_space_read(space, got, sizeof(got), 0x401000), 0x800);
    assert_memory_equal(got, buf + 0x1000, 0x100);
    assert_memory_equal(got + 0x100, buf + 0x2100, 0x100);
    assert_memory_equal(got + 0x200, buf + 0x1200, 0x600);
    assert_int_equal(ptl_space_find(space, 0x401180, &map), 0);
    assert_int_equal(map.begin, 0x401100);
    assert_int_equal(map.end, 0x401200);
    ptl_space_free(space);
}

struct reported {
    struct ptl_elf_segment segment[8];
    unsigned n;
};

static void report(void *context, const struct ptl_elf_segment *segment)
{
    struct reported *r = context;

    assert_true(r->n < 8);
    r->segment[r->n++] = *segment;
}

/* Also: vaddr is the one in the file, the size is what is there. */
static void reports_segments(void **state)
{
    struct elf_spec spec = spec_of(1, two_segments, 4);
    struct reported r = {.n = 0};
    struct ptl_space *space;
    const char *path;

    (void)state;
    (void)elf_make(buf, &spec);
    path = elf_write(buf, 0x2040);
    assert_int_equal(ptl_space_new(&space), 0);
    assert_int_equal(ptl_space_load_elf(space, path, 0x100000, report, &r), 0);
    assert_int_equal(r.n, 2);
    assert_int_equal(r.segment[0].offset, 0x1000);
    assert_int_equal(r.segment[0].size, 0x800);
    assert_int_equal(r.segment[0].vaddr, 0x401000);
    assert_int_equal(r.segment[1].size, 0x40);
    check_range(space, 0x102000, 0x2000, 0x40);
    unlink(path);
    ptl_space_free(space);
}

/* Every length of file: as far as it goes, or a clean refusal. */
static void every_truncation(void **state)
{
    (void)state;
    for (int is64 = 0; is64 < 2; is64++) {
        struct elf_spec spec = spec_of(is64, two_segments, 4);
        size_t size = elf_make(buf, &spec), heads = is64 ? 64 + 4 * 56 : 52 + 4 * 32;
        uint8_t *copy;

        for (size_t n = 0; n < size; n += n < 0x200 ? 1 : 61) {
            struct ptl_space *space;
            struct ptl_section *section;
            int status;

            copy = malloc(n ? n : 1); /* its end is the end of a heap block, for ASan */
            memcpy(copy, buf, n);
            assert_int_equal(ptl_space_new(&space), 0);
            status = ptl_section_memory(&section, copy, n, 0, "cut");
            assert_int_equal(status, n ? 0 : PTL_INVALID);
            if (n) {
                status = ptl_space_load_elf_section(space, section, 0, NULL, NULL);
                assert_int_equal(status, n <= 0x1000 ? PTL_BAD_IMAGE : 0);
                ptl_section_unref(section);
            }
            assert_int_equal(mappings(space), n <= 0x1000 ? 0 : n <= 0x2000 ? 1 : 2);
            assert_true(n > heads || mappings(space) == 0);
            ptl_space_free(space);
            free(copy);
        }
    }
}

/* --- absurd headers --------------------------------------------------------- */

struct mutation {
    const char *what;
    size_t at; /* offset in the 64-bit file */
    size_t size;
    uint64_t value;
    int status;
};

#define EH(field)    offsetof(Elf64_Ehdr, field), sizeof(((Elf64_Ehdr *)0)->field)
#define PH(i, field) 64 + (i)*56 + offsetof(Elf64_Phdr, field), sizeof(((Elf64_Phdr *)0)->field)

static const struct mutation mutations[] = {
    {"magic", 0, 1, 0x7e, PTL_BAD_IMAGE},
    {"class 0", EI_CLASS, 1, 0, PTL_BAD_IMAGE},
    {"class 3", EI_CLASS, 1, 3, PTL_BAD_IMAGE},
    {"big-endian", EI_DATA, 1, ELFDATA2MSB, PTL_NOT_SUPPORTED},
    {"no byte order", EI_DATA, 1, 0, PTL_NOT_SUPPORTED},
    {"arm", EH(e_machine), EM_AARCH64, PTL_NOT_SUPPORTED},
    {"no program headers", EH(e_phnum), 0, PTL_BAD_IMAGE},
    {"too many", EH(e_phnum), 0xfffe, PTL_BAD_IMAGE},
    {"extended count without sections", EH(e_phnum), PN_XNUM, PTL_BAD_IMAGE},
    {"phoff at the end", EH(e_phoff), ELF_TAIL, PTL_BAD_IMAGE},
    {"phoff beyond", EH(e_phoff), UINT64_C(1) << 40, PTL_BAD_IMAGE},
    {"phoff wraps", EH(e_phoff), UINT64_MAX - 16, PTL_BAD_IMAGE},
    {"phentsize 0", EH(e_phentsize), 0, PTL_BAD_IMAGE},
    {"phentsize small", EH(e_phentsize), 32, PTL_BAD_IMAGE},
    {"phentsize big", EH(e_phentsize), 0xffff, PTL_BAD_IMAGE},
    {"shoff beyond", EH(e_shoff), UINT64_MAX, 0},
    {"shnum absurd", EH(e_shnum), 0xffff, 0},
    {"shentsize absurd", EH(e_shentsize), 1, 0},
    {"offset beyond", PH(0, p_offset), ELF_TAIL, 0},
    {"offset wraps", PH(0, p_offset), UINT64_MAX, 0},
    {"filesz beyond", PH(1, p_filesz), 0x100000, 0},
    {"filesz wraps", PH(1, p_filesz), UINT64_MAX, 0},
    {"vaddr wraps", PH(0, p_vaddr), UINT64_MAX - 0x7fe, PTL_BAD_IMAGE},
    {"vaddr to the very end", PH(0, p_vaddr), UINT64_MAX - 0x7ff, 0},
    {"align absurd", PH(0, p_align), 0x123456789, 0},
};

static void absurd_headers(void **state)
{
    struct elf_spec spec = spec_of(1, two_segments, 2);

    (void)state;
    for (size_t i = 0; i < sizeof(mutations) / sizeof(mutations[0]); i++) {
        const struct mutation *m = &mutations[i];
        size_t size = elf_make(buf, &spec);
        struct ptl_space *space;
        uint64_t generation;
        int status;

        memcpy(buf + m->at, &m->value, m->size);
        assert_int_equal(ptl_space_new(&space), 0);
        generation = ptl_space_generation(space);
        status = load_file(space, size, 0);
        if (status != m->status)
            print_error("%s: %d\n", m->what, status);
        assert_int_equal(status, m->status);
        assert_int_equal(mappings(space) == 0, status < 0);
        assert_true(status == 0 || ptl_space_generation(space) >= generation);
        ptl_space_free(space);
    }
}

/* Every byte of the headers takes every value: nothing but a status, and only file bytes. */
static void every_header_byte(void **state)
{
    (void)state;
    for (int is64 = 0; is64 < 2; is64++) {
        struct elf_spec spec = spec_of(is64, two_segments, 4);
        size_t heads = is64 ? 64 + 4 * 56 : 52 + 4 * 32;
        size_t size = elf_make(buf, &spec);
        uint8_t *copy = malloc(size);

        for (size_t at = 0; at < heads; at++) {
            for (unsigned value = 0; value < 256; value++) {
                struct ptl_section *section;
                struct ptl_space *space;
                int status;

                memcpy(copy, buf, size);
                copy[at] = (uint8_t)value;
                assert_int_equal(ptl_section_memory(&section, copy, size, 0, "m"), 0);
                assert_int_equal(ptl_space_new(&space), 0);
                status = ptl_space_load_elf_section(space, section, 0x1000, NULL, NULL);
                assert_true(status == 0 || status == PTL_BAD_IMAGE || status == PTL_NOT_SUPPORTED);
                assert_int_equal(mappings(space) == 0, status < 0);
                ptl_space_free(space);
                ptl_section_unref(section);
            }
        }
        free(copy);
    }
}

/* gABI: more than 0xfffe program headers are counted in section header 0. There is that one
 * section header, as in core files of Linux, and it may have to count itself. */
static void extended_header_count(uint16_t shnum, uint64_t shsize, uint32_t info, int status)
{
    enum { N = 70000 };
    size_t size = sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr) + N * sizeof(Elf64_Phdr) + 16;
    uint8_t *file = calloc(1, size);
    Elf64_Ehdr eh = {.e_type = ET_CORE, .e_machine = EM_X86_64, .e_phentsize = sizeof(Elf64_Phdr)};
    Elf64_Shdr sh = {.sh_info = info, .sh_size = shsize};
    struct ptl_section *section;
    struct ptl_space *space;

    memcpy(eh.e_ident, ELFMAG "\2\1\1", 7);
    eh.e_phnum = PN_XNUM;
    eh.e_shnum = shnum;
    eh.e_shoff = sizeof(eh);
    eh.e_shentsize = sizeof(sh);
    eh.e_phoff = sizeof(eh) + sizeof(sh);
    memcpy(file, &eh, sizeof(eh));
    memcpy(file + sizeof(eh), &sh, sizeof(sh));
    for (uint64_t i = 0; i < N; i++) {
        Elf64_Phdr ph = {.p_type = PT_LOAD, .p_offset = size - 16, .p_filesz = 16};
        ph.p_vaddr = i * 0x1000;
        memcpy(file + eh.e_phoff + i * sizeof(ph), &ph, sizeof(ph));
    }
    assert_int_equal(ptl_section_memory(&section, file, size, 0, "many"), 0);
    assert_int_equal(ptl_space_new(&space), 0);
    assert_int_equal(ptl_space_load_elf_section(space, section, 0, NULL, NULL), status);
    assert_int_equal(mappings(space), status < 0 ? 0 : info);
    ptl_space_free(space);
    ptl_section_unref(section);
    free(file);
}

static void extended_header_counts(void **state)
{
    (void)state;
    extended_header_count(1, 1, 70000, 0);
    extended_header_count(0, 1, 70000, 0);
    extended_header_count(1, 0, 65535, 0);
    extended_header_count(1, 1, 70001, PTL_BAD_IMAGE);      /* beyond the file */
    extended_header_count(1, 1, UINT32_MAX, PTL_BAD_IMAGE); /* negative as libelf's index */
    extended_header_count(0, UINT64_MAX, 70000, PTL_BAD_IMAGE);
    extended_header_count(0, 0, 70000, PTL_BAD_IMAGE); /* no section header, no count */
}

/* A failed load leaves what was there. */
static void failure_changes_nothing(void **state)
{
    static const struct elf_seg segs[] = {
        {PT_LOAD, PF_X, 0x1000, 0x401000, 0x800, 1},
        {PT_LOAD, PF_X, 0x1000, UINT64_MAX - 3, 0x800, 1},
    };
    struct elf_spec spec = spec_of(1, segs, 2);
    struct ptl_section *section;
    struct ptl_space *space;
    struct ptl_mapping map;

    (void)state;
    assert_int_equal(ptl_space_new(&space), 0);
    assert_int_equal(ptl_section_memory(&section, "abcd", 4, 1, "m"), 0);
    assert_int_equal(ptl_space_map(space, 0x401002, section, 0, 4), 0);
    ptl_section_unref(section);
    assert_int_equal(load_file(space, elf_make(buf, &spec), 0), PTL_BAD_IMAGE);
    assert_int_equal(mappings(space), 1);
    assert_int_equal(ptl_space_find(space, 0x401002, &map), 0);
    assert_string_equal(ptl_section_name(map.section), "m");
    ptl_space_free(space);
}

/* --- things that are not files ---------------------------------------------- */

static void not_regular(void **state)
{
    char dir[] = "/tmp/pt_test_XXXXXX", path[64];
    struct ptl_section *section;
    struct ptl_space *space;

    (void)state;
    alarm(20); /* an open that waits for a writer must not hang the test */
    assert_non_null(mkdtemp(dir));
    assert_int_equal(ptl_space_new(&space), 0);
    assert_int_equal(ptl_space_load_elf(space, dir, 0, NULL, NULL), PTL_BAD_FILE);
    assert_int_equal(errno, EISDIR);
    snprintf(path, sizeof(path), "%s/fifo", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(ptl_space_load_elf(space, path, 0, NULL, NULL), PTL_BAD_FILE);
    assert_int_equal(ptl_section_file(&section, path, 0, 1), PTL_BAD_FILE);
    assert_int_equal(ptl_section_file(&section, "/dev/zero", 0, 1), PTL_BAD_FILE);
    unlink(path);
    assert_int_equal(ptl_space_load_elf(space, path, 0, NULL, NULL), PTL_BAD_FILE);
    assert_int_equal(errno, ENOENT);
    rmdir(dir);
    ptl_space_free(space);
    alarm(0);
}

static void sections_of_a_file(void **state)
{
    struct ptl_section *section;
    const char *path;

    (void)state;
    for (size_t i = 0; i < sizeof(buf); i++)
        buf[i] = elf_content(i);
    path = elf_write(buf, 0x2345);
    assert_int_equal(ptl_section_file(&section, path, 0x1234, 0x100), 0);
    assert_string_equal(ptl_section_name(section), path);
    assert_int_equal(ptl_section_offset(section), 0x1234);
    assert_int_equal(ptl_section_size(section), 0x100);
    assert_memory_equal(ptl_section_bytes(section), buf + 0x1234, 0x100);
    ptl_section_unref(section);
    assert_int_equal(ptl_section_file(&section, path, 0x2340, UINT64_MAX), 0);
    assert_int_equal(ptl_section_size(section), 5);
    assert_memory_equal(ptl_section_bytes(section), buf + 0x2340, 5);
    ptl_section_unref(section);
    assert_int_equal(ptl_section_file(&section, path, 0x2345, 1), PTL_INVALID);
    assert_int_equal(ptl_section_file(&section, path, 0, 0), PTL_INVALID);
    unlink(path);
    path = elf_write(buf, 0);
    assert_int_equal(ptl_section_file(&section, path, 0, UINT64_MAX), PTL_INVALID);
    unlink(path);
}

static int read_even(void *context, uint8_t *out, size_t len, uint64_t offset)
{
    if (*(int *)context)
        return *(int *)context;
    for (size_t i = 0; i < len; i++)
        out[i] = elf_content(offset + i);
    return (int)len;
}

static void reader_sections(void **state)
{
    struct ptl_section *section;
    struct ptl_mapping map;
    struct ptl_space *space;
    uint8_t got[32];
    int says = 0;

    (void)state;
    assert_int_equal(ptl_section_reader(&section, read_even, &says, 64, "target"), 0);
    assert_int_equal(ptl_space_new(&space), 0);
    assert_int_equal(ptl_space_map(space, 0x1000, section, 8, 48), 0);
    assert_int_equal(ptl_space_map(space, 0x1030, section, 0, 8), 0);
    assert_int_equal(ptl_space_find(space, 0x1002, &map), 0);
    assert_null(map.bytes);
    assert_int_equal(ptl_space_read(space, got, 32, 0x1020), 24);
    for (unsigned i = 0; i < 24; i++)
        assert_int_equal(got[i], elf_content(i < 16 ? 0x28 + i : i - 16));
    says = 1000; /* more than was asked for */
    assert_int_equal(ptl_space_read(space, got, 32, 0x1000), PTL_NOMAP);
    says = PTL_IO;
    assert_int_equal(ptl_space_read(space, got, 32, 0x1000), PTL_NOMAP);
    assert_int_equal(ptl_section_read(section, got, 8, 0), PTL_IO);
    says = 3; /* fewer */
    assert_int_equal(ptl_space_read(space, got, 32, 0x1000), 3);
    ptl_space_free(space);
    ptl_section_unref(section);
}

/* --- kernel images, build ids, cache ---------------------------------------- */

static void kcore(void **state)
{
    static const struct elf_seg segs[] = {
        {PT_NOTE, 0, 0x1000, 0, 0x100, 4},
        {PT_LOAD, PF_R | PF_W | PF_X, 0x1000, 0xffffffff81000000, 0x1000, 0x1000},
        {PT_LOAD, PF_R | PF_W | PF_X, 0x2000, 0xffffffffc0000000, 0x800, 0x1000},
    };
    struct elf_spec spec = spec_of(1, segs, 3);
    struct ptl_space *space;
    const char *path;

    (void)state;
    assert_int_equal(ptl_space_new(&space), 0);
    path = elf_write(buf, elf_make(buf, &spec));
    assert_int_equal(ptl_space_load_kcore(space, path), PTL_BAD_IMAGE); /* ET_EXEC */
    unlink(path);
    spec.type = ET_CORE;
    path = elf_write(buf, elf_make(buf, &spec));
    assert_int_equal(ptl_space_load_kcore(space, path), 0);
    unlink(path);
    assert_int_equal(mappings(space), 2);
    check_range(space, 0xffffffff81000000, 0x1000, 0x1000);
    check_range(space, 0xffffffffc0000000, 0x2000, 0x800);
    ptl_space_free(space);
}

static void vmlinux(void **state)
{
    static const struct elf_seg segs[] = {
        {PT_LOAD, PF_R | PF_X, 0x1000, 0xffffffff81000000, 0x800, 0x1000},
        {PT_LOAD, PF_R | PF_W, 0x1800, 0xffffffff82000000, 0x200, 0x1000},
        {PT_LOAD, PF_R | PF_W | PF_X, 0x2000, 0, 0x100, 0x1000}, /* per-CPU */
        {PT_LOAD, PF_R | PF_W | PF_X, 0x2800, 0xffffffff83000000, 0x200, 0x1000},
    };
    struct elf_spec spec = spec_of(1, segs, 4);
    struct ptl_space *space;
    const char *path;

    (void)state;
    assert_int_equal(ptl_space_new(&space), 0);
    path = elf_write(buf, elf_make(buf, &spec));
    assert_int_equal(ptl_space_load_vmlinux(space, path, 0x1e000000), 0);
    assert_int_equal(mappings(space), 2);
    check_range(space, 0xffffffff9f000000, 0x1000, 0x800);
    check_range(space, 0xffffffffa1000000, 0x2800, 0x200);
    ptl_space_free(space);
    assert_int_equal(ptl_space_new(&space), 0);
    assert_int_equal(ptl_space_load_vmlinux(space, path, (uint64_t)-0x1000000), 0);
    check_range(space, 0xffffffff80000000, 0x1000, 0x800);
    ptl_space_free(space);
    unlink(path);
}

/* Notes at 0x1000: another one, then the id. */
static size_t put_note(size_t at, const char *name, uint32_t type, const void *desc, uint32_t len)
{
    uint32_t head[3] = {(uint32_t)strlen(name) + 1, len, type};

    memcpy(buf + at, head, 12);
    at += 12;
    memset(buf + at, 0, 12);
    strcpy((char *)buf + at, name);
    at += (head[0] + 3) & ~3u;
    memcpy(buf + at, desc, len);
    return at + ((len + 3) & ~3u);
}

static void build_id(void **state)
{
    static const struct elf_seg segs[] = {
        {PT_LOAD, PF_X, 0x2000, 0x400000, 0x100, 1},
        {PT_NOTE, PF_R, 0x1000, 0x401000, 0x40, 4},
    };
    static const uint8_t want[20] = "0123456789abcdefghi";
    uint8_t id[64];
    size_t len = sizeof(id), size, at;
    const char *path;

    (void)state;
    for (int is64 = 0; is64 < 2; is64++) {
        struct elf_spec spec = spec_of(is64, segs, 2);
        size = elf_make(buf, &spec);
        at = put_note(0x1000, "Xen", 3, "x", 1);
        (void)put_note(at, "GNU", NT_GNU_BUILD_ID, want, 20);
        path = elf_write(buf, size);
        len = sizeof(id);
        assert_int_equal(ptl_elf_build_id(path, id, &len), 0);
        assert_int_equal(len, 20);
        assert_memory_equal(id, want, 20);
        len = 19;
        assert_int_equal(ptl_elf_build_id(path, id, &len), PTL_NOMAP);
        unlink(path);
        /* The note says that it is longer than the segment. */
        buf[at + 4] = 0xf0;
        path = elf_write(buf, size);
        len = sizeof(id);
        assert_int_equal(ptl_elf_build_id(path, id, &len), PTL_NOMAP);
        unlink(path);
    }
}

/* 50,000 headers that name the same notes do not cost 50,000 times as much, which would
 * take minutes. */
static void build_id_of_many(void **state)
{
    enum { N = 50000 };
    size_t heads = sizeof(Elf64_Ehdr) + N * sizeof(Elf64_Phdr), size = heads + (1 << 21);
    uint8_t *file = calloc(1, size), id[32];
    Elf64_Ehdr eh = {.e_type = ET_EXEC, .e_machine = EM_X86_64, .e_phentsize = sizeof(Elf64_Phdr)};
    struct ptl_section *section;
    size_t len = sizeof(id);

    (void)state;
    memcpy(eh.e_ident, ELFMAG "\2\1\1", 7);
    eh.e_phnum = N;
    eh.e_phoff = sizeof(eh);
    memcpy(file, &eh, sizeof(eh));
    for (int round = 0; round < 2; round++) { /* whole, then in little pieces */
        for (size_t i = 0; i < N; i++) {
            Elf64_Phdr ph = {.p_type = PT_NOTE, .p_offset = heads, .p_filesz = 1 << 21};
            if (round) {
                ph.p_offset = heads + i * 16;
                ph.p_filesz = 16;
            }
            memcpy(file + eh.e_phoff + i * sizeof(ph), &ph, sizeof(ph));
        }
        assert_int_equal(ptl_section_memory(&section, file, size, 0, "many"), 0);
        assert_int_equal(ptl_section_build_id(section, id, &len), PTL_NOMAP);
        ptl_section_unref(section);
    }
    free(file);
}

static void file_cache(void **state)
{
    struct ptl_section *a, *b, *c;
    struct ptl_files *files;
    char path[2][64];

    (void)state;
    strcpy(path[0], elf_write("first", 5));
    strcpy(path[1], elf_write("second", 6));
    assert_int_equal(ptl_files_new(&files), 0);
    assert_int_equal(ptl_files_get(files, path[0], &a), 0);
    assert_int_equal(ptl_files_get(files, path[1], &b), 0);
    assert_ptr_not_equal(a, b);
    unlink(path[0]);
    assert_int_equal(ptl_files_get(files, path[0], &c), 0);
    assert_ptr_equal(a, c);
    assert_int_equal(ptl_section_size(c), 5);
    for (int i = 0; i < 300; i++) { /* the table grows */
        char name[80];
        snprintf(name, sizeof(name), "%s/%d", path[0], i);
        errno = 0;
        assert_int_equal(ptl_files_get(files, name, &c), PTL_BAD_FILE);
        assert_int_equal(errno, ENOENT);
    }
    assert_int_equal(ptl_files_get(files, path[1], &c), 0);
    assert_ptr_equal(b, c);
    /* A failure is remembered. */
    unlink(path[1]);
    assert_int_equal(ptl_files_get(files, "/tmp/pt_test_none/x", &c), PTL_BAD_FILE);
    errno = 0;
    assert_int_equal(ptl_files_get(files, "/tmp/pt_test_none/x", &c), PTL_BAD_FILE);
    assert_int_equal(errno, ENOENT);
    (void)ptl_section_ref(b);
    ptl_files_free(files);
    assert_memory_equal(ptl_section_bytes(b), "second", 6);
    ptl_section_unref(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_segments),
        cmocka_unit_test(loads_at_base),
        cmocka_unit_test(later_segment_wins),
        cmocka_unit_test(reports_segments),
        cmocka_unit_test(every_truncation),
        cmocka_unit_test(absurd_headers),
        cmocka_unit_test(every_header_byte),
        cmocka_unit_test(extended_header_counts),
        cmocka_unit_test(failure_changes_nothing),
        cmocka_unit_test(not_regular),
        cmocka_unit_test(sections_of_a_file),
        cmocka_unit_test(reader_sections),
        cmocka_unit_test(kcore),
        cmocka_unit_test(vmlinux),
        cmocka_unit_test(build_id),
        cmocka_unit_test(build_id_of_many),
        cmocka_unit_test(file_cache),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
